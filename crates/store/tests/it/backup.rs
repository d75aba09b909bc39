//! Backups: what they hold, what is refused, and what a killed process leaves behind.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use private_postgres::Server;
use rusqlite::Connection;
use rusqlite::types::Value;
use store::backup::{Choices, Progress, backup, restore};
use store::model::{DEFAULT_PROJECT_ID, Time};
use store::{ErrorKind, Location, Mode, Options, Store, Tx, values};

const REPLACE: Choices = Choices { replace: true, revoke_tokens: false };

#[test]
fn every_table_is_the_same_after_a_journey_through_both_engines() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let postgres = Location::parse(database.url()).expect("a URL");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let store = open(&Location::Sqlite(file("one.db")));
    fill(&store);
    let told = Arc::new(Mutex::new(Vec::new()));
    let noting = told.clone();
    backup(&store, &file("one.backup"), now(), move |progress| noting.lock().expect("a lock").push(progress))
        .expect("a backup");
    let Some(Progress { done, total }) = told.lock().expect("a lock").last().copied() else {
        panic!("no progress")
    };
    assert_eq!(done, total);
    restore(&postgres, &file("one.backup"), Choices::default(), Options::default(), now(), |_| {})
        .expect("a restored store");
    let store = open(&postgres);
    backup(&store, &file("two.backup"), now(), |_| {}).expect("a backup");
    restore(
        &Location::Sqlite(file("three.db")),
        &file("two.backup"),
        Choices::default(),
        Options::default(),
        now(),
        |_| {},
    )
    .expect("a restored store");
    let expected = dump(&file("one.db"));
    assert!(
        expected.iter().any(|line| line.contains("change") && line.contains("Integer(7)")),
        "{expected:#?}"
    );
    // All is the same but that each restore is told of, and that changes are counted on from far above. Totals are derived.
    let is_told = |line: &&String| {
        line.contains("restore_backup") || line.starts_with("sqlite_sequence ") || line.starts_with("tally ")
    };
    for (name, n_restores) in [("two.backup", 1), ("three.db", 2)] {
        let dumped = dump(&file(name));
        let (told, rest): (Vec<&String>, Vec<&String>) = dumped.iter().partition(is_told);
        assert_eq!(rest, expected.iter().filter(|line| !is_told(line)).collect::<Vec<_>>(), "{name}");
        assert_eq!(told.iter().filter(|line| line.starts_with("change ")).count(), n_restores, "{told:#?}");
        assert_eq!(told.iter().filter(|line| line.starts_with("revision ")).count(), n_restores, "{told:#?}");
    }
    for (store, next) in [(store, 1_000_009), (open(&Location::Sqlite(file("three.db"))), 2_000_010)] {
        let counted = store.wait(Mode::Write, |tx| change(tx).and_then(|()| last_sequence(tx)));
        assert_eq!(counted.expect("a change"), next);
        let sql = "select count(*) from change where transaction_number > 0";
        let strays = store.wait(Mode::Point, move |tx| tx.row(sql, &[], |row| row.get::<i64>(0)));
        // On PostgreSQL: that it was restored, and what was just added.
        assert_eq!(strays.expect("a count"), Some(2 * i64::from(store.is_remote())));
    }
}

#[test]
fn a_backup_overwrites_nothing_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&Location::Sqlite(folder.path().join("spexus.db")));
    fill(&store);
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).expect("a folder");
    let path = backups.join("monday");
    std::fs::write(&path, "precious").expect("a file");
    let error = backup(&store, &path, now(), |_| {}).expect_err("a name that is taken");
    assert_eq!(error.message, format!("{} exists already; choose another name", path.display()));
    assert_eq!(std::fs::read(&path).expect("a file"), b"precious");
    backup(&store, &backups.join("tuesday"), now(), |_| {}).expect("a backup");
    assert_eq!(names(&backups), ["monday", "tuesday"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = backups.join("tuesday").metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "hashes of passwords are in it");
    }
    let missing = folder.path().join("missing").join("file");
    assert!(backup(&store, &missing, now(), |_| {}).is_err());
}

#[test]
fn a_store_with_something_in_it_is_replaced_only_when_told() {
    on_every_location(|location| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("backup");
        let source = open(&Location::Sqlite(folder.path().join("source.db")));
        fill(&source);
        backup(&source, &file, now(), |_| {}).expect("a backup");
        let store = open(location);
        store.wait(Mode::Write, |tx| user(tx, "u9", "other")).expect("a user");
        let restore = |choices| restore(location, &file, choices, Options::default(), now(), |_| {});
        let error = restore(Choices::default()).expect_err("a store in use");
        assert_eq!(error.kind, ErrorKind::Taken);
        assert!(error.message.contains("is not empty"), "{error}");
        assert_eq!(usernames(&store), ["other"]);
        restore(REPLACE).expect("a restored store");
        // Whoever has it open sees what is in it now.
        assert_eq!(usernames(&store), ["ann", "bob"]);
    });
}

/// That it cannot be read any more is a reason to replace a store.
#[test]
fn a_damaged_store_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, path) = (folder.path().join("backup"), folder.path().join("spexus.db"));
    let location = Location::Sqlite(path.clone());
    let store = open(&location);
    fill(&store);
    backup(&store, &file, now(), |_| {}).expect("a backup");
    drop(store);
    let number = |sql: &str| -> u64 {
        let connection = Connection::open(&path).expect("a file");
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a number") as u64
    };
    let page = number("select rootpage from sqlite_schema where name = 'sqlite_sequence'");
    let size = number("pragma page_size");
    let mut bytes = std::fs::read(&path).expect("a file");
    bytes[((page - 1) * size) as usize..(page * size) as usize].fill(0xff);
    std::fs::write(&path, bytes).expect("a file");
    restore(&location, &file, REPLACE, Options::default(), now(), |_| {}).expect("a restored store");
    assert_eq!(usernames(&open(&location)), ["ann", "bob"]);
}

#[test]
fn a_store_without_users_counts_as_empty() {
    on_every_location(|location| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("backup");
        let source = open(&Location::Sqlite(folder.path().join("source.db")));
        fill(&source);
        backup(&source, &file, now(), |_| {}).expect("a backup");
        drop(open(location));
        restore(location, &file, Choices::default(), Options::default(), now(), |_| {})
            .expect("a restored store");
        assert_eq!(usernames(&open(location)), ["ann", "bob"]);
    });
}

#[test]
fn files_that_are_no_sound_backups_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&Location::Sqlite(folder.path().join("spexus.db")));
    fill(&store);
    let sound = folder.path().join("sound");
    backup(&store, &sound, now(), |_| {}).expect("a backup");
    let spoilt = |name: &str, sql: &str| {
        let path = folder.path().join(name);
        std::fs::copy(&sound, &path).expect("a copy");
        Connection::open(&path).and_then(|connection| connection.execute_batch(sql)).expect("a change");
        path
    };
    let text = folder.path().join("text");
    std::fs::write(&text, "kind,title\nepic,x\n".repeat(100)).expect("a file");
    let foreign = folder.path().join("foreign");
    Connection::open(&foreign)
        .and_then(|connection| connection.execute_batch("create table t (x)"))
        .expect("a file");
    let torn = folder.path().join("torn");
    let bytes = std::fs::read(&sound).expect("a file");
    std::fs::write(&torn, &bytes[..bytes.len() / 2]).expect("a file");
    let damaged = folder.path().join("damaged");
    let mut bytes = bytes;
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xa5);
    std::fs::write(&damaged, bytes).expect("a file");
    for (path, expected) in [
        (folder.path().join("missing"), "there is no file"),
        (folder.path().to_owned(), "there is no file"),
        (text, "the file is not a SQLite database"),
        (foreign, "is not a backup of a requirements store"),
        (torn, "damaged"),
        (damaged, "damaged"),
        (
            spoilt("newer", "insert into migration values ('9999_later', 'x', 0)"),
            "was made by a newer version (it has the migration 9999_later, which this one does not know); use that version",
        ),
        (
            spoilt("altered", "update migration set hash = 'x' where name = '0001_start'"),
            "has a migration 0001_start that is not the one of this version",
        ),
        (
            spoilt("strays", "pragma foreign_keys = off; delete from user_account where id = 'u2'"),
            "is damaged: 2 rows refer to others that are not there",
        ),
    ] {
        let target = folder.path().join("restored.db");
        let location = Location::Sqlite(target.clone());
        let error = restore(&location, &path, Choices::default(), Options::default(), now(), |_| {});
        let error = error.expect_err("a file that is no backup");
        assert!(error.message.contains(expected), "{}: {error}", path.display());
        assert!(error.message.contains(path.to_str().expect("a name")), "{error}");
        assert!(!target.exists(), "{}", path.display());
    }
    assert!(!names(folder.path()).iter().any(|name| name.ends_with(".partial")));
}

#[test]
fn a_backup_that_is_killed_leaves_nothing_that_looks_like_one() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let folder = tempfile::tempdir().expect("a folder");
    for (index, url) in
        [folder.path().join("spexus.db").display().to_string(), database.url().to_owned()].iter().enumerate()
    {
        let store = open(&Location::parse(url).expect("a URL"));
        fill(&store);
        drop(store);
        let backups = folder.path().join(format!("backups{index}"));
        std::fs::create_dir(&backups).expect("a folder");
        let path = backups.join("spexus.backup");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "backup::a_backup_that_waits_to_be_killed", "--ignored", "--nocapture"])
            .env("SPEXUS_TEST_BACKUP", &path)
            .env("SPEXUS_TEST_STORE", url)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        lines.map_while(Result::ok).find(|line| line.contains("half-way")).expect("a sign");
        child.kill().expect("killed");
        child.wait().expect("gone");
        assert!(!path.exists());
        let left = names(&backups);
        assert!(!left.is_empty(), "it was not killed half-way");
        for name in left {
            assert!(name.contains(".partial"), "{name}");
            let target = Location::Sqlite(folder.path().join("restored.db"));
            let restored =
                restore(&target, &backups.join(&name), Choices::default(), Options::default(), now(), |_| {});
            assert!(restored.is_err(), "{name} was taken for a backup");
        }
        // The store is none the worse for it.
        let store = open(&Location::parse(url).expect("a URL"));
        backup(&store, &path, now(), |_| {}).expect("a backup");
    }
}

#[test]
#[ignore = "run by a_backup_that_is_killed_leaves_nothing_that_looks_like_one"]
#[expect(clippy::print_stdout, reason = "another process waits for it")]
fn a_backup_that_waits_to_be_killed() {
    let [path, url] =
        ["SPEXUS_TEST_BACKUP", "SPEXUS_TEST_STORE"].map(|name| std::env::var(name).expect("a value"));
    let store = open(&Location::parse(&url).expect("a URL"));
    let _ = backup(&store, Path::new(&path), now(), |_| {
        println!("half-way");
        std::thread::sleep(std::time::Duration::from_secs(600));
    });
}

#[test]
fn a_restore_that_fails_changes_nothing() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let location = Location::parse(database.url()).expect("a URL");
    let store = open(&location);
    store.wait(Mode::Write, |tx| user(tx, "u9", "other")).expect("a user");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("source.db");
    let from = open(&Location::Sqlite(source.clone()));
    fill(&from);
    let file = folder.path().join("backup");
    backup(&from, &file, now(), |_| {}).expect("a backup");
    // SQLite keeps what PostgreSQL has no place for.
    let spoil = "update entity set title = cast(x'610062' as text) where id = 'e1'";
    Connection::open(&file).and_then(|connection| connection.execute_batch(spoil)).expect("a change");
    assert!(restore(&location, &file, REPLACE, Options::default(), now(), |_| {}).is_err());
    assert_eq!(usernames(&store), ["other"]);
}

fn on_every_location(test: impl Fn(&Location)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&Location::Sqlite(folder.path().join("spexus.db")));
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    test(&Location::parse(database.url()).expect("a URL"));
}

fn open(location: &Location) -> Store {
    let options = Options { connections: 2, ..Options::default() };
    Store::open(location, options, now()).unwrap_or_else(|error| panic!("{location}: {error}"))
}

fn now() -> Time {
    Time::parse("2026-11-15T08:00:00Z").expect("a time")
}

/// Rows that refer to later ones, texts that need care, and a counter that is ahead of its rows.
fn fill(store: &Store) {
    store
        .wait(Mode::Write, |tx| {
            user(tx, "u1", "ann")?;
            user(tx, "u2", "bob")?;
            let entity = "insert into entity (project_id, id, kind, number, parent_id, parent_kind, title, description,
                              priority, status, creator_id, version, content_version, created_at, updated_at)
                          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, 'Backlog', 'u1', 2, 1, 5, 6)";
            let text = "tab\t, line\n, return\r, \\N, \\., quote ', Ещё, 👩‍👩‍👧, \u{1}";
            tx.execute(entity, values![DEFAULT_PROJECT_ID, "e1", "epic", 1, None::<i64>, None::<&str>, "One", text])?;
            tx.execute(entity, values![DEFAULT_PROJECT_ID, "a0", "user_story", 1, "e1", "epic", "\\N", ""])?;
            let comment = "insert into comment (project_id, id, entity_id, entity_kind, parent_id, author_id, content,
                               detached, resolved, version, created_at, updated_at)
                           values (?1, ?2, 'e1', 'epic', ?3, 'u2', 'x', 0, 0, 1, 5, 5)";
            tx.execute(comment, values![DEFAULT_PROJECT_ID, "c2", None::<&str>])?;
            tx.execute(comment, values![DEFAULT_PROJECT_ID, "c1", "c2"])?;
            tx.reserve_numbers(DEFAULT_PROJECT_ID, "epic", 41)?;
            for _ in 0..7 {
                change(tx)?;
            }
            // What others were told long ago is not kept, and is not counted again either.
            tx.execute("delete from change where sequence < 7", &[])?;
            Ok::<(), store::Error>(())
        })
        .expect("rows");
}

fn user(tx: &mut Tx<'_>, id: &'static str, name: &'static str) -> store::Result<()> {
    let sql = "insert into user_account (id, username, username_folded, email, email_folded, role, disabled, version,
                   created_at, updated_at)
               values (?1, ?2, ?2, ?2, ?2, 'User', 0, 1, 5, 5)";
    tx.execute(sql, values![id, name]).map(drop)
}

fn change(tx: &mut Tx<'_>) -> store::Result<()> {
    let number = tx.transaction_number()?;
    let sql =
        "insert into change (transaction_number, entity_kind, entity_id, version, operation, created_at)
               values (?1, 'epic', 'e1', 1, 'x', 5)";
    tx.execute(sql, values![number]).map(drop)
}

fn last_sequence(tx: &mut Tx<'_>) -> store::Result<i64> {
    Ok(tx.row("select max(sequence) from change", &[], |row| row.get(0))?.unwrap_or_default())
}

fn usernames(store: &Store) -> Vec<String> {
    let sql = "select username from user_account order by username";
    store.wait(Mode::Snapshot, move |tx| tx.rows(sql, &[], |row| row.get(0))).expect("users")
}

/// Every row of every table, but for when the schema was made.
fn dump(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("a file");
    let tables = "select name from sqlite_schema where type = 'table' and name <> 'migration' and name not like 'search%'
                  order by name";
    let mut lines = Vec::new();
    let mut statement = connection.prepare(tables).expect("a query");
    let tables: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .expect("tables")
        .map(|name| name.expect("a name"))
        .collect();
    for table in tables {
        let mut statement = connection.prepare(&format!("select * from {table}")).expect("a query");
        let n_columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let values: Vec<Value> = (0..n_columns).map(|index| row.get(index)).collect::<Result<_, _>>()?;
            Ok(format!("{table} {values:?}"))
        });
        let mut of_table: Vec<String> = rows.expect("rows").map(|row| row.expect("a row")).collect();
        // The index for searches is made anew, and so is what counts its documents.
        of_table.retain(|line| !line.contains("Text(\"search_document\")"));
        of_table.sort();
        lines.extend(of_table);
    }
    lines
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut names: Vec<String> = paths.map(file_name).collect();
    names.sort();
    names
}

fn file_name(path: PathBuf) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}
