//! Crashes and outages: what was acknowledged is there afterwards, nobody waits for ever, and nobody has to be restarted.

use std::{
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use private_postgres::{Options, Server};
use rusqlite::Connection;

use crate::{
    process::clean,
    server::{Client, Load, REQUEST_TIMEOUT, Spexus, check_all_there, load, sqlite, wait_until},
};

const N_CLIENTS: usize = 16;

#[test]
fn acknowledged_creates_survive_a_kill_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let token = kill_during_load(&sqlite(&path));
    check_integrity(&path);
    // And nothing of it was mended by looking: the next server works on it.
    let server = Spexus::on_file(&path);
    assert_eq!(Client::new(&server.address, &token).create_epic("one more").expect("an answer").status, 201);
}

#[test]
fn acknowledged_creates_survive_a_kill_on_postgres() {
    let Some(postgres) = Server::shared() else { return };
    kill_during_load(postgres.database().url());
}

/// Kills the server twice while clients create epics, and checks after each start that what it acknowledged is there.
fn kill_during_load(database: &str) -> String {
    let mut server = Spexus::start(database);
    let token = server.token.clone();
    let mut acknowledged = Vec::new();
    for _ in 0..2 {
        let address = server.address.clone();
        let (seen, ()) = load(&[&address], &token, N_CLIENTS, |n_acknowledged| {
            wait_until("some creates", || n_acknowledged() >= 200);
            server.kill();
            wait_until("the clients to notice", || Client::new(&address, "").create_epic("").is_err());
        });
        let refused: Vec<_> = seen.refused.iter().map(|answer| answer.status).collect();
        assert!(refused.is_empty(), "{refused:?}");
        acknowledged.extend(seen.acknowledged);
        server = Spexus::start(database);
        assert_eq!(server.token, "", "a second first start");
        let epics = Client::new(&server.address, &token).epics();
        check_all_there(&acknowledged, &epics);
        // One per client may have been made without a word.
        assert!(
            epics.len() <= acknowledged.len() + 2 * N_CLIENTS,
            "{} of {}",
            epics.len(),
            acknowledged.len()
        );
    }
    token
}

#[test]
fn postgres_may_be_killed_under_load() {
    let outage = |postgres: &mut Server| {
        postgres.kill();
        thread::sleep(Duration::from_millis(500));
        postgres.start();
    };
    survive(Options { fsync: true, ..Options::default() }, outage);
}

#[test]
fn postgres_may_be_away_for_five_seconds() {
    let outage = |postgres: &mut Server| {
        postgres.stop();
        thread::sleep(Duration::from_secs(5));
        postgres.start();
    };
    survive(Options::default(), outage);
}

/// Lets an outage of PostgreSQL happen under load. Requests wait, or are told to come back.
#[track_caller]
fn survive(options: Options, outage: impl FnOnce(&mut Server)) {
    let Some(mut postgres) = Server::own(options) else { return };
    let database = postgres.database();
    let server = Spexus::start(database.url());
    let (seen, ()) = load(&[&server.address], &server.token, N_CLIENTS, |n_acknowledged| {
        wait_until("some creates", || n_acknowledged() >= 100);
        outage(&mut postgres);
        let n_before = n_acknowledged();
        wait_until("creates after the outage", || n_acknowledged() >= n_before + 100);
    });
    check_outage(&seen);
    check_all_there(&seen.acknowledged, &server.client().epics());
    assert_eq!(server.client().get("/health/ready").status, 200);
}

/// Nobody got anything but success or "come back later", and nobody waited longer than a request may take.
#[track_caller]
fn check_outage(seen: &Load) {
    for answer in &seen.refused {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.body["error"]["code"], "UNAVAILABLE", "{answer:?}");
        assert!(answer.headers.contains_key("retry-after"), "{answer:?}");
    }
    assert!(seen.unanswered.is_empty(), "{:?}", seen.unanswered);
    assert!(seen.longest < REQUEST_TIMEOUT, "{:?}", seen.longest);
}

#[test]
fn without_postgres_requests_are_told_to_come_back() {
    let Some(mut postgres) = Server::own(Options::default()) else { return };
    let database = postgres.database();
    let mut command = crate::server::command(database.url());
    command.env("SPEXUS_DATABASE_WAIT", "1");
    let server = Spexus::spawn(command);
    let mut client = server.client();
    assert_eq!(client.create_epic("before").expect("an answer").status, 201);
    postgres.stop();
    let started = Instant::now();
    for path in ["/api/v1/epics", "/api/v1/epics/EP-001", "/api/v1/users", "/health/ready"] {
        let answer = client.get(path);
        assert_eq!(answer.status, 503, "{path}: {answer:?}");
        assert!(answer.headers.contains_key("retry-after"), "{path}: {answer:?}");
    }
    let answer = client.create_epic("meanwhile").expect("an answer");
    assert_eq!(answer.status, 503, "{answer:?}");
    let message = answer.body["error"]["message"].as_str().expect("a message");
    // Where it is and how it failed is in the log, and nobody else's business.
    assert_eq!(message, "the database does not answer");
    // Nobody has to wait for a store to hear that the process lives.
    assert_eq!(client.get("/health/live").status, 200);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    postgres.start();
    wait_until("the server to be ready", || client.get("/health/ready").status == 200);
    assert_eq!(client.create_epic("after").expect("an answer").status, 201);
}

#[test]
fn a_store_of_a_newer_version_is_refused() {
    check_refused(
        "insert into migration (name, hash, applied_at) values ('9999_future', 'x', 0)",
        "the store was written by a newer version (it has the migration 9999_future, which this one does not know); \
         use that version or a backup from before",
    );
}

#[test]
fn a_store_with_an_altered_migration_is_refused() {
    check_refused(
        "update migration set hash = 'x' where name = '0001_start'",
        "the store's migration 0001_start is not the one of this version",
    );
}

/// Changes the record of migrations, and checks that neither the server nor a command works on the store then.
#[track_caller]
fn check_refused(sql: &str, expected: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    drop(Spexus::on_file(&path));
    Connection::open(&path)
        .and_then(|connection| connection.execute_batch(sql))
        .expect("the store is changed");
    check_refused_at(&sqlite(&path), expected);

    let Some(postgres) = Server::shared() else { return };
    let database = postgres.database();
    drop(Spexus::start(database.url()));
    let mut client = postgres::Client::connect(database.url(), postgres::NoTls).expect("a connection");
    client.batch_execute(sql).expect("the store is changed");
    check_refused_at(database.url(), expected);
}

#[track_caller]
fn check_refused_at(database: &str, expected: &str) {
    let (code, log) = Spexus::try_spawn(crate::server::command(database)).err().expect("no server");
    assert_eq!((code, log.trim()), (Some(2), format!("the server cannot start: {expected}").as_str()));
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_spexus")), &[]);
    let output = command.args(["epic", "list", "--database", database]).stdin(Stdio::null()).output();
    let output = output.expect("the program is there");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && log.contains(expected), "{log}");
}

/// What SQLite itself finds in the file.
#[track_caller]
pub fn check_integrity(path: &Path) {
    let connection = Connection::open(path).expect("the store");
    let found: String =
        connection.query_row("pragma integrity_check", [], |row| row.get(0)).expect("an answer");
    assert_eq!(found, "ok");
    let n_orphans: i64 = connection
        .query_row("select count(*) from pragma_foreign_key_check", [], |row| row.get(0))
        .expect("an answer");
    assert_eq!(n_orphans, 0);
}
