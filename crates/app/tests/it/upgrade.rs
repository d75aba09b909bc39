//! An older store under the real program: what `spexus migrate` tells, and a server whose search index is still to be made.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;

use crate::backend::{Backend, send};
use crate::spexus_cli::{refused, spexus};

const AFTER_TOKENS: &str = include_str!("../../../store/tests/fixtures/after_0007_tokens.sql");
const AFTER_MEMBERS: &str = include_str!("../../../store/tests/fixtures/after_0010_members.sql");
const TOKEN: &str = include_str!("../../../store/tests/fixtures/token");

#[test]
fn migrate_tells_what_it_does_to_an_older_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    make(&path.join("spexus.db"), AFTER_TOKENS);
    let database = ["--database", "sqlite:spexus.db"];
    refused(path, &[&["migrate", "--check"][..], &database].concat(), 1);
    let migrated = spexus(path, &[&["migrate"][..], &database].concat(), "");
    let told = String::from_utf8_lossy(&migrated.stderr);
    assert_eq!(migrated.status.code(), Some(0), "{told}");
    assert!(told.starts_with("migration 0008_streams: changed the schema (1 of 1 parts)\n"), "{told}");
    let again = spexus(path, &[&["migrate"][..], &database].concat(), "");
    assert!(again.stderr.is_empty(), "{}", String::from_utf8_lossy(&again.stderr));
}

#[test]
fn a_server_answers_while_its_search_index_is_made_and_the_next_one_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let database = make(&path, AFTER_MEMBERS);
    // Far more than can be indexed before somebody asks.
    let epics = "insert into entity (project_id, id, kind, number, title, priority, status, creator_id, version, content_version,
                     created_at, updated_at)
                 with recursive n (i) as (select 1000 union all select i + 1 from n where i < 31000)
                 select project_id, 'epic ' || i, kind, i, 'Kettle', priority, status, creator_id, 1, 1, created_at, updated_at
                 from n cross join entity where kind = 'epic' and number = 1";
    database.execute(epics, []).expect("epics");
    drop(database);
    let location = format!("sqlite:{}", path.display());
    let n_done = |server: &Backend| -> Option<i64> {
        let request = server.anonymous("GET", "/search?query=boils").bearer_auth(TOKEN.trim());
        let answer = send(request);
        assert_eq!(
            (answer.status, &answer.json["data"][0]["title"]),
            (200, &Value::from("The pot heats water"))
        );
        answer.json["indexing"]["done"].as_i64()
    };
    let server = Backend::start(&location, &[]);
    let first = n_done(&server).expect("the index is being made");
    let started = Instant::now();
    while n_done(&server).expect("the index is being made") <= first {
        assert!(started.elapsed() < Duration::from_secs(30), "nothing is indexed any more");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.log_with("the search index is being brought up to date");
    let reached = n_done(&server);
    drop(server);
    let server = Backend::start(&location, &[]);
    assert!(n_done(&server) >= reached, "it began again");
}

fn make(path: &Path, fixture: &str) -> Connection {
    let database = Connection::open(path).expect("a file");
    database.execute_batch(fixture).expect("a store");
    database
}
