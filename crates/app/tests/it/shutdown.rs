//! An orderly end: what was accepted is answered, streams end, and the process goes with 0.

use std::{
    io::Read,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use private_postgres::Server;

use crate::server::{Client, Spexus, check_all_there, load, sqlite, wait_until};

const N_CLIENTS: usize = 16;
/// The end comes at once when nobody holds it up.
const END_MAX: Duration = Duration::from_secs(5);

#[test]
fn a_server_on_sqlite_ends_in_order_under_load() {
    let folder = tempfile::tempdir().expect("a folder");
    end_under_load(&sqlite(&folder.path().join("spexus.db")), || {
        // One file is left, and nothing to recover.
        let left = folder.path().read_dir().expect("the folder");
        let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(left, ["spexus.db"]);
    });
}

#[test]
fn a_server_on_postgres_ends_in_order_under_load() {
    let Some(postgres) = Server::shared() else { return };
    end_under_load(postgres.database().url(), || {});
}

#[track_caller]
fn end_under_load(database: &str, check_what_is_left: impl FnOnce()) {
    let mut server = Spexus::start(database);
    let streams: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = server.client().events("").expect("a stream");
            thread::spawn(move || {
                let mut told = Vec::new();
                stream.read_to_end(&mut told).map(|_| String::from_utf8_lossy(&told).into_owned())
            })
        })
        .collect();
    // A connection without a request must not hold up the end.
    let mut idle = server.client();
    assert_eq!(idle.get("/health/live").status, 200);
    let (address, token) = (server.address.clone(), server.token.clone());
    let (seen, (status, log, elapsed)) = load(&[&address], &token, N_CLIENTS, |n_acknowledged| {
        wait_until("some creates", || n_acknowledged() >= 200);
        let started = Instant::now();
        server.terminate();
        let (status, log) = server.wait(END_MAX);
        (status, log, started.elapsed())
    });
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(elapsed < END_MAX, "{elapsed:?}");
    assert!(!log.contains("had to be cut"), "{log}");
    assert!(seen.refused.is_empty(), "{:?}", seen.refused);
    for stream in streams {
        let told = stream.join().expect("no panic").expect("the stream ends in order");
        assert!(told.ends_with("0\r\n\r\n"), "a stream that was cut off: {told}");
    }

    check_what_is_left();
    // Had one been made and not answered, there would be more epics than acknowledgements.
    let again = Spexus::start(database);
    let epics = Client::new(&again.address, &server.token).epics();
    check_all_there(&seen.acknowledged, &epics);
    assert_eq!(epics.len(), seen.acknowledged.len());
}

#[test]
fn requests_that_came_before_the_end_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let mut server = Spexus::on_file(&path);
    let mut client = server.client();
    // What a server writes for itself when it starts, and when a token is first used, is done first.
    for _ in 0..3 {
        assert_eq!(client.create_epic("before").expect("an answer").status, 201);
        wait_until("nobody to wait", || client.get("/metrics").text.contains("\nspexus_store_waiting 0\n"));
    }
    let other = rusqlite::Connection::open(&path).expect("the store");
    // Somebody else writes, so that ours wait: the first for the lock, the second for the first.
    other.execute_batch("begin immediate").expect("the lock");
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let mut client = server.client();
            thread::spawn(move || client.create_epic("accepted"))
        })
        .collect();
    wait_until("both to wait", || client.get("/metrics").text.contains("\nspexus_store_waiting 1\n"));
    server.terminate();
    wait_until("no new connections", || TcpStream::connect(&server.address).is_err());
    other.execute_batch("commit").expect("the lock goes");
    for waiting in waiting {
        let answer = waiting.join().expect("no panic").expect("an answer");
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    assert_eq!(server.wait(END_MAX).0.code(), Some(0));
}

#[test]
fn a_server_that_is_stopped_as_soon_as_it_greets_ends_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..5 {
        let mut server = Spexus::on_file(&folder.path().join("spexus.db"));
        server.terminate();
        let (status, log) = server.wait(END_MAX);
        assert_eq!(status.code(), Some(0), "{status}: {log}");
    }
}
