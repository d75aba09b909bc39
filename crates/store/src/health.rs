//! Whether a store can be read and written, cheap enough for a check every second, and whether its file is intact.

use crate::db::{Mode, Store, Tx};
use crate::error::{Error, ErrorKind, Result};
use crate::user;

/// Starts checking the file of a SQLite store, and records damage as if a call had found it: otherwise a server with a
/// damaged file would be ready until somebody reads the damaged part. `tell` receives why the file is not known to be
/// intact.
pub fn look_through(store: &Store, tell: impl FnOnce(Error) + Send + 'static) -> Result<()> {
    let looked_at = store.downgrade();
    store.look_through(move |found| match found {
        Ok(None) => {}
        Ok(Some(damage)) => {
            if let Some(store) = looked_at.upgrade() {
                store.note_damage();
            }
            tell(damaged(&damage));
        }
        Err(error) => tell(error),
    })
}

fn damaged(finding: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the file is damaged: {finding}"))
}

/// Reads a little, and passes to `done` whether that worked. A store with known damage is checked completely: it may have
/// been replaced by a backup in the meantime.
pub fn check_read(store: &Store, done: impl FnOnce(Result<()>) + Send + 'static) {
    if !store.is_damaged() {
        return store.run(Mode::Point, |tx| user::count(tx).map(drop), done);
    }
    let mended = store.clone();
    store.run(Mode::Snapshot, damage, move |found: Result<Vec<String>>| {
        done(found.and_then(|found| match found.first() {
            Some(damage) => Err(damaged(damage)),
            None => {
                mended.note_mended();
                Ok(())
            }
        }));
    });
}

/// Writes a little, and passes to `done` whether that worked. It records no change, and the store does not grow.
pub fn check_write(store: &Store, done: impl FnOnce(Result<()>) + Send + 'static) {
    store.run(Mode::Aside, write, done);
}

/// Writes data that is never read, because only a commit shows whether the disk has room.
pub fn write(tx: &mut Tx<'_>) -> Result<()> {
    if tx.is_postgres() {
        let sql = "select current_setting('transaction_read_only')";
        if tx.row(sql, &[], |row| row.get::<String>(0))?.as_deref() != Some("off") {
            return Err(Error::new(ErrorKind::ReadOnly, "the database cannot be written to"));
        }
        // Only a log record: an update would leave a dead row behind.
        let sql = "select cast(pg_logical_emit_message(true, 'spexus', 'health') as text)";
        tx.each(sql, &[], |_| Ok(()))?;
        // The log has preallocated space, which lasts longer than that of the tables. A sort with too little memory
        // creates a file next to these, and removes it.
        tx.script("set local work_mem = '64kB'; set local temp_tablespaces = ''")?;
        let sql = "select count(*) from (select repeat(md5(cast(number as text)), 64) as line
                   from generate_series(1, 64) number order by line offset 0) lines";
        return tx.each(sql, &[], |_| Ok(()));
    }
    // An otherwise unused number in the header of the file. It must differ, or nothing is written.
    let number = tx.row("pragma user_version", &[], |row| row.get::<i64>(0))?.unwrap_or_default();
    tx.script(if number == 0 { "pragma user_version = 1" } else { "pragma user_version = 0" })
}

/// The damage in the file of a SQLite store; the first few findings. PostgreSQL checks itself.
pub fn damage(tx: &mut Tx<'_>) -> Result<Vec<String>> {
    if tx.is_postgres() {
        return Ok(Vec::new());
    }
    let found: Vec<String> = tx.rows("pragma quick_check(5)", &[], |row| row.get(0))?;
    Ok(found.into_iter().filter(|finding| finding != "ok").collect())
}
