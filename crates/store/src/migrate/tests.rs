//! Test migrations on both stores: crashes, concurrent servers, readers and time limits.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use private_postgres::Server;

use super::script::{Part, parts};
use super::{Backfill, STEPS, Slice, State, Step, check_backup, compare, hash_of, run_steps, step};
use crate::db::{Location, Mode, Options, Store, Tx};
use crate::error::{Error, Result};
use crate::model::Time;
use crate::values;

const N_ROWS: i64 = 1_000;
const ROWS_A_SLICE: i64 = 100;

const FIRST: Step = step("1_first", "create table thing (id bigint primary key, name text)");
const BEFORE: &[Step] = &[FIRST];

const SECOND_SQL: &str = "alter table thing add column twice bigint;
-- concurrently
-- Lists in this order.
create index thing_name on thing (name);
create unique index thing_twice on thing (twice) where twice > 0;
-- transaction
create table other (id bigint primary key);";

/// Doubles ids, a slice at a time.
fn double(tx: &mut Tx<'_>, position: &str) -> Result<Slice> {
    let from: i64 = position.parse().unwrap_or_default();
    let sql = "update thing set twice = 2 * id where id >= ?1 and id < ?2";
    let n_rows = tx.execute(sql, values![from, from + ROWS_A_SLICE])?;
    let next = (from + ROWS_A_SLICE <= N_ROWS).then(|| (from + ROWS_A_SLICE).to_string());
    Ok(Slice { next, n_rows })
}

const AFTER: &[Step] = &[
    FIRST,
    Step { name: "2_second", sql: SECOND_SQL, backfills: &[Backfill { name: "doubled ids", slice: double }] },
];

#[test]
fn a_file_is_cut_into_parts_for_each_engine() {
    let sql = "create table a (b text);\n-- concurrently\n-- postgres\n-- Why.\ncreate index a_c on a (c);\n-- both\n\
               create unique index a_b on a(b);\n-- transaction\n-- Nothing but a comment.\n";
    let index = |name: &str, sql: &str| Part::Index {
        name: name.to_owned(),
        table: sql.split([' ', '(']).skip_while(|word| *word != "on").nth(1).unwrap_or_default().to_owned(),
        sql: sql.to_owned(),
    };
    let table = |column: &str| Part::Transaction(format!("create table a (b {column});\n"));
    let unique = index("a_b", "create unique index a_b on a(b)");
    assert_eq!(parts(sql, false), [table("text"), unique.clone()]);
    let others = index("a_c", "create index a_c on a (c)");
    assert_eq!(parts(sql, true), [table("text collate \"C\""), others, unique]);
    assert_eq!(
        super::script::concurrently("create unique index a_b on a(b)"),
        "create unique index concurrently if not exists a_b on a(b)"
    );
}

#[test]
fn a_store_with_rows_is_upgraded_and_told_of_part_by_part() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    on_every_store(|location| {
        TOLD.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let notice = |line: &str| TOLD.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        filled(location);
        upgrade(location, Options { notice, ..Options::default() }, AFTER).expect("an upgrade");
        check_upgraded(location);
        let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
        for line in [
            "migration 2_second: changed the schema (1 of 5 parts)",
            "migration 2_second: built index thing_name (2 of 5 parts)",
            "migration 2_second: doubled ids, 1000 rows (5 of 5 parts)",
        ] {
            assert!(told.contains(line), "{told}");
        }
    });
}

#[test]
fn an_upgrade_that_was_interrupted_goes_on_where_it_was() {
    /// The slice after which the program is killed.
    static CRASHES: AtomicBool = AtomicBool::new(false);
    static SLICES: AtomicU32 = AtomicU32::new(0);
    fn crash_in_the_middle(tx: &mut Tx<'_>, position: &str) -> Result<Slice> {
        let slice = double(tx, position)?;
        if position == "500" && CRASHES.swap(false, Ordering::Relaxed) {
            return Err(Error::internal("crashed"));
        }
        SLICES.fetch_add(1, Ordering::Relaxed);
        Ok(slice)
    }
    const CRASHING: &[Step] = &[
        FIRST,
        Step {
            name: "2_second",
            sql: SECOND_SQL,
            backfills: &[Backfill { name: "doubled ids", slice: crash_in_the_middle }],
        },
    ];
    on_every_store(|location| {
        CRASHES.store(true, Ordering::Relaxed);
        SLICES.store(0, Ordering::Relaxed);
        filled(location);
        let error = upgrade(location, Options::default(), CRASHING).expect_err("a crash");
        assert_eq!(error.message, "migration 2_second: crashed");
        // The previous version still starts, reads and writes.
        upgrade(location, Options::default(), BEFORE).expect("a schema that it knows");
        let insert = "insert into thing (id, name) values (3000, 'meanwhile')";
        open(location).wait(Mode::Write, |tx| tx.execute(insert, &[])).expect("a write");
        upgrade(location, Options::default(), CRASHING).expect("the rest of the upgrade");
        check_upgraded(location);
        assert_eq!(SLICES.load(Ordering::Relaxed), 11, "no slice was done twice");
    });
}

#[test]
fn servers_that_start_at_once_upgrade_once() {
    static SLICES: AtomicU32 = AtomicU32::new(0);
    fn counted(tx: &mut Tx<'_>, position: &str) -> Result<Slice> {
        std::thread::sleep(Duration::from_millis(5));
        SLICES.fetch_add(1, Ordering::Relaxed);
        double(tx, position)
    }
    const COUNTED: &[Step] = &[
        FIRST,
        Step {
            name: "2_second",
            sql: SECOND_SQL,
            backfills: &[Backfill { name: "doubled ids", slice: counted }],
        },
    ];
    on_every_store(|location| {
        SLICES.store(0, Ordering::Relaxed);
        filled(location);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| upgrade(location, Options::default(), COUNTED).expect("an upgrade"));
            }
        });
        check_upgraded(location);
        assert_eq!(SLICES.load(Ordering::Relaxed), 11, "every slice once");
    });
    on_every_store(|location| {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| upgrade(location, Options::default(), AFTER).expect("a new store"));
            }
        });
        assert!(states(location).iter().all(|state| *state == State::Applied));
    });
}

/// The time limit of requests is far below the duration of the backfill.
#[test]
fn no_time_limit_of_requests_applies_to_an_upgrade() {
    fn slow(tx: &mut Tx<'_>, _position: &str) -> Result<Slice> {
        let sql = if tx.is_postgres() {
            "select cast(pg_sleep(0.4) as text)"
        } else {
            "with recursive n (i) as (select 1 union all select i + 1 from n where i < 3000000) select count(*) from n"
        };
        tx.each(sql, &[], |_| Ok(()))?;
        Ok(Slice { next: None, n_rows: 0 })
    }
    const SLOW: &[Step] = &[
        FIRST,
        Step { backfills: &[Backfill { name: "slept", slice: slow }], ..step("2_slow", "select 1") },
    ];
    on_every_store(|location| {
        filled(location);
        let options = Options { statement_timeout: Duration::from_millis(100), ..Options::default() };
        let limited = Store::open_as_it_is(location, options.clone()).expect("a store");
        let error = limited.wait(Mode::Write, |tx| slow(tx, "").map(drop)).expect_err("a time limit");
        assert_eq!(error.message, "the query took too long");
        drop(limited);
        upgrade(location, options, SLOW).expect("an upgrade");
    });
}

/// A dump, or a report that was left open, holds the lock that `alter table` needs.
#[test]
fn a_long_reader_delays_an_upgrade_and_nobody_waits_behind_it() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let location = Location::parse(database.url()).expect("a URL");
    filled(&location);
    let options = Options { connections: 4, ..Options::default() };
    let store = Store::open_as_it_is(&location, options).expect("a store");
    let (begun, has_begun) = std::sync::mpsc::sync_channel(1);
    let (end, may_end) = std::sync::mpsc::sync_channel::<()>(1);
    store.run(
        Mode::Snapshot,
        move |tx| {
            tx.each("select id from thing", &[], |_| Ok(()))?;
            let _ = begun.send(());
            let _ = may_end.recv();
            Ok(())
        },
        |_: Result<()>| {},
    );
    has_begun.recv().expect("a reader");
    std::thread::scope(|scope| {
        let upgrading = scope.spawn(|| upgrade(&location, Options::default(), AFTER));
        let started = Instant::now();
        let mut longest = Duration::ZERO;
        while started.elapsed() < Duration::from_secs(2) {
            let asked = Instant::now();
            store
                .wait(Mode::Point, |tx| tx.each("select max(id) from thing", &[], |_| Ok(())))
                .expect("a read");
            longest = longest.max(asked.elapsed());
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!upgrading.is_finished());
        assert!(longest < Duration::from_millis(1_500), "somebody waited for {longest:?}");
        end.send(()).expect("a reader that waits");
        upgrading.join().expect("no panic").expect("an upgrade");
    });
    check_upgraded(&location);
}

#[test]
fn an_index_that_was_never_finished_is_built_again() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let location = Location::parse(database.url()).expect("a URL");
    filled(&location);
    let store = open(&location);
    let insert = "insert into thing (id, name) values (2001, 'same'), (2002, 'same')";
    store.wait(Mode::Write, |tx| tx.execute(insert, &[])).expect("rows");
    // It fails because of duplicate rows, and leaves an invalid index.
    store
        .run_outside_transaction("create unique index concurrently thing_name on thing (name)")
        .expect_err("not unique");
    let sql =
        "select cast(indisvalid as text) from pg_index where indexrelid = cast('thing_name' as regclass)";
    let is_valid = || {
        let found = store.wait(Mode::Point, move |tx| tx.row(sql, &[], |row| row.get::<String>(0)));
        found.expect("an index").expect("a row")
    };
    assert_eq!(is_valid(), "false");
    upgrade(&location, Options::default(), AFTER).expect("an upgrade");
    assert_eq!(is_valid(), "true");
}

/// Servers of the previous version keep working during an upgrade and after it.
#[test]
fn migrations_only_add() {
    let older = |step: &&Step| step.name <= "0010_members";
    for step in STEPS.iter().skip_while(older) {
        for forbidden in ["drop table", "drop column", "rename ", "set not null", "drop view"] {
            let mut lines = step.sql.lines().map(str::to_ascii_lowercase);
            let found = lines.find(|line| line.contains(forbidden) && !line.contains("-- unused since"));
            assert_eq!(found, None, "{}: see CONTRIBUTING.md, `Change the schema`", step.name);
        }
    }
}

#[test]
fn backups_of_older_versions_are_taken_and_of_newer_ones_are_not() {
    let all: Vec<(String, String)> = STEPS.iter().map(|step| (step.name.to_owned(), hash_of(step))).collect();
    assert_eq!(check_backup(all.clone()), Ok(true));
    assert_eq!(check_backup(all[..all.len() - 1].to_vec()), Ok(false));
    let newer = all.iter().cloned().chain([("9999_later".to_owned(), String::new())]).collect();
    assert!(check_backup(newer).is_err_and(|error| error.message.contains("newer version")));
    let altered = all.iter().map(|(name, _)| (name.clone(), "x".to_owned())).collect();
    assert!(check_backup(altered).is_err_and(|error| error.message.contains("is not the one")));
}

fn on_every_store(test: impl Fn(&Location)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&Location::Sqlite(folder.path().join("spexus.db")));
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    test(&Location::parse(database.url()).expect("a URL"));
}

/// A store of the previous version, with rows.
fn filled(location: &Location) {
    upgrade(location, Options::default(), BEFORE).expect("a store");
    let sql = "insert into thing (id, name)
               with recursive n (i) as (select cast(1 as bigint) union all select i + 1 from n where i < ?1)
               select i, 'thing ' || i from n";
    open(location).wait(Mode::Write, |tx| tx.execute(sql, values![N_ROWS])).expect("rows");
}

fn upgrade(location: &Location, options: Options, steps: &'static [Step]) -> Result<()> {
    run_steps(&Store::open_as_it_is(location, options)?, location, steps, Time::from_microseconds(1_000_000))
}

fn open(location: &Location) -> Store {
    Store::open_as_it_is(location, Options::default()).expect("a store")
}

fn states(location: &Location) -> Vec<State> {
    let found = open(location).wait(Mode::Snapshot, |tx| compare(tx, AFTER)).expect("migrations");
    found.into_iter().map(|migration| migration.state).collect()
}

#[track_caller]
fn check_upgraded(location: &Location) {
    assert!(states(location).iter().all(|state| *state == State::Applied));
    let store = open(location);
    let number = |sql: &'static str| {
        let found = store.wait(Mode::Snapshot, move |tx| tx.row(sql, &[], |row| row.get::<i64>(0)));
        found.expect("an answer").expect("a number")
    };
    assert_eq!(number("select count(*) from thing where twice = 2 * id"), N_ROWS);
    assert_eq!(number("select count(*) from migration"), 2);
    assert_eq!(number("select count(*) from migration_progress"), 0);
    assert_eq!(number("select count(*) from other"), 0);
    let indexes = if store.is_remote() {
        "select count(*) from pg_index where indisvalid and indrelid = cast('thing' as regclass)"
    } else {
        "select count(*) from sqlite_schema where type = 'index' and tbl_name = 'thing' and name like 'thing%'"
    };
    assert_eq!(number(indexes), if store.is_remote() { 3 } else { 2 });
}
