//! Changes as they happen, over REST: who is told of what, and where a stream goes on.

use std::path::Path;

use serde_json::{Value, json};

use crate::backend::{Backend, on_every_store, send};
use crate::spexus_cli::json_of;

#[test]
fn events_tell_of_changes_and_resume_where_a_stream_was_cut() {
    on_every_store(|backend| {
        let mut stream = Events::open(backend, None);
        backend.create("/epics", &json!({ "title": "One", "priority": 1 }));
        let one = stream.next();
        assert_eq!((&one["reference_id"], &one["operation"]), (&json!("EP-001"), &json!("create_epic")));
        drop(stream);
        backend.create("/epics", &json!({ "title": "Two", "priority": 1 }));
        let mut resumed = Events::open(backend, one["sequence"].as_i64());
        assert_eq!(resumed.next()["reference_id"], "EP-002");
        backend.create("/epics", &json!({ "title": "Three", "priority": 1 }));
        let three = resumed.next();
        assert_eq!(three["reference_id"], "EP-003");
        // A browser keeps the address, and says in the header what it has heard since.
        let address = format!("/events?after={}", one["sequence"]);
        let mut again = Events::open_at(backend, &address, &backend.token, three["sequence"].as_i64());
        backend.create("/epics", &json!({ "title": "Four", "priority": 1 }));
        assert_eq!(again.next()["reference_id"], "EP-004");
        assert_eq!(send(backend.anonymous("GET", "/events")).status, 401);
        assert_eq!(backend.get("/events?since=1").status, 400);
    });
}

#[test]
fn only_administrators_are_told_of_users_and_tokens() {
    on_every_store(|backend| {
        let made = backend.create("/tokens", &json!({ "name": "reader", "scopes": ["read"] }));
        backend.create("/users", &json!({ "username": "ann", "email": "a@example.org", "role": "User" }));
        backend.create("/epics", &json!({ "title": "One", "priority": 1 }));
        let mut reader = Events::open_as(backend, made["token"].as_str().unwrap(), Some(1));
        let mut administrator = Events::open(backend, Some(1));
        let mut kinds = Vec::new();
        while kinds.last().is_none_or(|kind| kind != "epic") {
            kinds.push(administrator.next()["entity_kind"].as_str().unwrap().to_owned());
        }
        assert!(
            kinds.iter().any(|kind| kind == "user") && kinds.iter().any(|kind| kind == "token"),
            "{kinds:?}"
        );
        let mut kinds = Vec::new();
        while kinds.last().is_none_or(|kind| kind != "epic") {
            kinds.push(reader.next()["entity_kind"].as_str().unwrap().to_owned());
        }
        assert!(kinds.iter().all(|kind| kind != "user" && kind != "token"), "{kinds:?}");
        backend.create("/users", &json!({ "username": "bob", "email": "b@example.org", "role": "User" }));
        backend.create("/epics", &json!({ "title": "Two", "priority": 1 }));
        assert_eq!(administrator.next()["entity_kind"], "user");
        assert_eq!(reader.next()["reference_id"], "EP-002");
    });
}

#[test]
fn a_restored_store_is_told_of_and_numbers_are_not_given_again() {
    let folder = tempfile::tempdir().expect("a folder");
    check_restored(folder.path(), "sqlite:spexus.db");
    let Some(server) = private_postgres::Server::shared() else { return };
    check_restored(tempfile::tempdir().expect("a folder").path(), server.database().url());
}

#[track_caller]
fn check_restored(folder: &Path, database: &str) {
    let mut command = Backend::command(database, &[]);
    command.current_dir(folder);
    let backend = &Backend::spawn(command);
    let make = |title: &str| backend.create("/epics", &json!({ "title": title, "priority": 1 }));
    make("Kept");
    json_of(folder, &["backup", "copy.db", "--database", database]);
    let mut stream = Events::open(backend, None);
    for title in ["Lost", "Lost, too"] {
        make(title);
        assert_eq!(stream.next()["operation"], "create_epic");
    }
    let seen = stream.id;
    json_of(folder, &["restore", "copy.db", "--replace", "--database", database]);
    let made: Vec<Value> = (0..4).map(|_| make("New")["reference_id"].clone()).collect();
    let message = "changes were missed; read everything anew";
    assert_eq!(stream.next()["message"], message);
    let restored = stream.id;
    let mut resumed = Events::open(backend, seen);
    assert_eq!(resumed.next()["message"], message);
    for stream in [&mut stream, &mut Events::open(backend, restored)] {
        let told: Vec<Value> = (0..4).map(|_| stream.next()["reference_id"].clone()).collect();
        assert_eq!(told, made);
    }
    let audit = backend.get("/audit?event=restore_backup").json;
    assert_eq!((&audit["total_count"], &audit["data"][0]["via"]), (&json!(1), &json!("cli")));
}

/// Only transactions that may note a change keep events waiting, and the log says which.
#[test]
fn an_idle_transaction_of_another_program_does_not_stop_events() {
    let Some(server) = private_postgres::Server::shared() else { return };
    let database = server.database();
    let backend = Backend::start(database.url(), &[]);
    let make = || backend.create("/epics", &json!({ "title": "x", "priority": 1 }));
    let connect = || postgres::Client::connect(database.url(), postgres::NoTls).expect("a connection");
    let mut events = Events::open(&backend, None);
    let mut foreign = connect();
    foreign.batch_execute("create table note (text text)").expect("a table");
    foreign.batch_execute("begin; insert into note values ('x')").expect("a row");
    make();
    assert_eq!(events.next()["operation"], "create_epic");
    // A writer of ours that hangs must not be passed over.
    let mut writer = connect();
    let begin = "begin; select pg_advisory_xact_lock_shared(1936745848, 1); insert into note values ('x')";
    writer.batch_execute(begin).expect("a row");
    let pid: i32 = writer.query_one("select pg_backend_pid()", &[]).expect("a number").get(0);
    make();
    let started = std::time::Instant::now();
    while !backend.log().contains("a transaction of the database has been open for too long") {
        assert!(started.elapsed() < std::time::Duration::from_secs(40), "{}", backend.log());
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert!(backend.log().contains(&pid.to_string()), "{}", backend.log());
    writer.batch_execute("commit").expect("it ends");
    assert_eq!(events.next()["operation"], "create_epic");
    drop(foreign);
}

/// A stream of server-sent events.
pub struct Events {
    reader: std::io::BufReader<reqwest::blocking::Response>,
    /// The last event that had one.
    id: Option<i64>,
}

impl Events {
    fn open(backend: &Backend, after: Option<i64>) -> Events {
        Events::open_as(backend, &backend.token, after)
    }

    pub fn open_as(backend: &Backend, token: &str, after: Option<i64>) -> Events {
        Events::open_at(backend, "/events", token, after)
    }

    fn open_at(backend: &Backend, address: &str, token: &str, after: Option<i64>) -> Events {
        let mut request = backend.anonymous("GET", address).bearer_auth(token);
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let response = request.send().expect("a stream");
        assert_eq!(response.status(), 200);
        let mut events = Events { reader: std::io::BufReader::new(response), id: None };
        assert_eq!(events.line(), ": connected");
        events
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut self.reader, &mut line).expect("a line");
        line.trim_end().to_owned()
    }

    pub fn next(&mut self) -> Value {
        loop {
            let line = self.line();
            if let Some(id) = line.strip_prefix("id: ") {
                self.id = id.parse().ok();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).expect("JSON");
            }
        }
    }
}
