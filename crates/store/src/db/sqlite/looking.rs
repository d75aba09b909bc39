//! Checks the whole file for damage, on a separate connection, using at most half of the time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{connect, translate};
use crate::error::Result;

/// How long it works before it pauses for as long.
const SPELL: Duration = Duration::from_millis(5);
/// After how many steps or pages SQLite asks whether to continue.
const STEPS: i32 = 100;
const CACHE_KIB: i64 = 2_000;

/// The first damage in the file; none if the store was closed before the end.
pub(super) fn look_through(path: &Path, is_open: &Arc<AtomicBool>) -> Result<Option<String>> {
    let mut connection = connect(path, false, Duration::MAX, CACHE_KIB)?.sqlite;
    let (mut started, goes_on) = (Instant::now(), is_open.clone());
    let rest = move || {
        let worked = started.elapsed();
        if worked >= SPELL {
            std::thread::sleep(worked);
            started = Instant::now();
        }
        !goes_on.load(Ordering::Relaxed)
    };
    connection.progress_handler(STEPS, Some(rest)).map_err(|error| translate(error).0)?;
    match find(&connection) {
        Err(_) if !is_open.load(Ordering::Relaxed) => Ok(None),
        found => found.map_err(|error| translate(error).0),
    }
}

/// Tables are checked one by one, so that no snapshot is held for long.
fn find(connection: &rusqlite::Connection) -> rusqlite::Result<Option<String>> {
    let sql = "select name from sqlite_schema where type = 'table' and rootpage > 0";
    let mut statement = connection.prepare(sql)?;
    let tables = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let mut statement = connection.prepare("select * from pragma_quick_check(?1)")?;
    for table in tables {
        for finding in statement.query_map([&table], |row| row.get::<_, String>(0))? {
            let finding = finding?;
            if finding != "ok" {
                return Ok(Some(finding));
            }
        }
    }
    Ok(None)
}
