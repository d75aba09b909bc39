//! What limits the time of a call on SQLite.

use std::time::Duration;

use store::model::Time;
use store::{ErrorKind, Location, Mode, Options, Store};

#[test]
fn a_call_of_many_short_statements_may_take_longer_than_one_statement() {
    const LIMIT: Duration = Duration::from_millis(200);
    let folder = tempfile::tempdir().expect("a folder");
    let location = Location::Sqlite(folder.path().join("spexus.db"));
    let options = Options { statement_timeout: LIMIT, ..Options::default() };
    let store = Store::open(&location, options, Time::from_microseconds(0)).expect("a store");
    let read = |mode| {
        store.wait(mode, |tx| {
            std::thread::sleep(2 * LIMIT);
            // Long enough to be looked at while it runs.
            let sql = "with recursive counted (n) as (select 1 union all select n + 1 from counted where n < 100000)
                       select count(*) from counted";
            tx.row(sql, &[], |row| row.get::<i64>(0))
        })
    };
    assert_eq!(read(Mode::Snapshot).expect_err("too long").kind, ErrorKind::Timeout);
    assert_eq!(read(Mode::LongSnapshot), Ok(Some(100_000)));
}
