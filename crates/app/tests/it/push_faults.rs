//! A push whose server dies in the middle: nobody sees anything of it, and the same push again is whole.

use std::thread;

use private_postgres::Server as Postgres;
use serde_json::{Value, json};

use crate::server::{Client, Spexus, sqlite, wait_until};

const REPOSITORY: &str = "kettle";
/// Enough for some twenty transactions.
const N_FILES: usize = 10_000;

#[test]
fn a_push_whose_server_dies_is_invisible_and_can_be_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let file = rusqlite::Connection::open(&path).expect("a file");
    check(&sqlite(&path), || {
        file.query_row("select count(*) from trace_file", [], |row| row.get(0)).unwrap_or_default()
    });
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database();
    let mut connection = postgres::Client::connect(database.url(), postgres::NoTls).expect("a connection");
    check(database.url(), || {
        let counted = connection.query_one("select count(*) from trace_file", &[]);
        counted.map(|row| row.get::<_, i64>(0)).unwrap_or_default()
    });
}

/// Kills the server as soon as some of a push is written. `n_written` counts the files of all pushes, finished or not.
fn check(database: &str, mut n_written: impl FnMut() -> i64) {
    let server = Spexus::start(database);
    let token = server.token.clone();
    let mut client = server.client();
    prepare(&mut client);
    assert_eq!(push(&mut client, "a", 1).expect("an answer"), 200);
    let before = thread_of(&mut client);
    let address = server.address.clone();
    let n_before = n_written();
    let pushing = {
        let token = token.clone();
        thread::spawn(move || push(&mut Client::new(&address, &token), "b", N_FILES))
    };
    wait_until("a part of the push", || n_written() > n_before);
    server.kill();
    assert!(pushing.join().expect("a thread").is_err(), "the push was answered before the server died");
    let n_left_over = n_written();

    let server = Spexus::start(database);
    let mut client = Client::new(&server.address, &token);
    assert_eq!(thread_of(&mut client), before, "a part of a push is visible");
    assert_eq!(push(&mut client, "b", N_FILES).expect("an answer"), 200);
    let (head, n_citations) = thread_of(&mut client);
    assert_eq!((head, n_citations), (json!("b".repeat(40)), N_FILES as u64));
    assert!(n_left_over > n_before && n_left_over < n_before + N_FILES as i64, "{n_left_over} files");
}

/// Makes a requirement, and a repository whose code cites it.
fn prepare(client: &mut Client) {
    let mut create = |path: &str, body: Value| {
        let answer = client.post(&format!("/api/v1/{path}"), &body);
        assert_eq!(answer.status, 201, "{answer:?}");
    };
    create("epics", json!({ "title": "Kettle", "priority": 1 }));
    create("user-stories", json!({ "epic_id": "EP-001", "title": "Boil water", "priority": 1 }));
    create(
        "requirements",
        json!({
            "user_story_id": "US-001", "title": "Switch off", "priority": 1, "type_id": "Functional",
            "description": "The kettle MUST switch off at 100 degrees.",
        }),
    );
    create("repositories", json!({ "name": REPOSITORY, "projects": ["DEFAULT"] }));
}

/// Pushes files of which each cites the requirement; the status of the answer.
fn push(client: &mut Client, commit: &str, n_files: usize) -> std::io::Result<u16> {
    let citation =
        json!({ "line": 1, "last_line": 1, "kind": "code", "reference": "DEFAULT-REQ-001", "pin": 1 });
    let line =
        |index| json!({ "path": format!("src/{index}.rs"), "blob": "0".repeat(40), "citations": [citation] });
    let content: String = (0..n_files).map(|index| format!("{}\n", line(index))).collect();
    let body = json!({ "commit": commit.repeat(40), "content": content });
    let path = format!("/api/v1/repositories/{REPOSITORY}/trace");
    let answer = client.send("POST", &path, &[], Some(&body))?;
    Ok(answer.status)
}

/// The commit that the thread of the requirement is about, and how many places cite the requirement.
fn thread_of(client: &mut Client) -> (Value, u64) {
    let answer = client.get("/api/v1/thread?from=REQ-001");
    assert_eq!(answer.status, 200, "{answer:?}");
    let unit = &answer.body["data"][0]["units"][0];
    let n_shown = unit["code"].as_array().map_or(0, Vec::len) as u64;
    (answer.body["heads"][0]["commit"].clone(), n_shown + unit["left_out"].as_u64().unwrap_or_default())
}
