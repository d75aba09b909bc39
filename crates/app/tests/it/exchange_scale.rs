//! Large files in and out of the real server: it is killed in the middle of an import, and exports in little memory.

use std::io::Read as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use private_postgres::Server as Postgres;
use serde_json::{Value, json};

use crate::backend::{Answer, Backend, on_sqlite, send};

/// More than is imported in one transaction.
const N_NEW: usize = 10_100;

/// [decisions 45]
#[test]
fn an_import_whose_server_was_killed_is_resumed_and_doubles_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    check_kill(&format!("sqlite:{}", folder.path().join("spexus.db").display()));
    let Some(server) = Postgres::shared() else { return };
    check_kill(server.database().url());
}

fn check_kill(database: &str) {
    let mut backend = Backend::start(database, &[]);
    let token = backend.token.clone();
    let file = csv();
    let (url, sent) = (backend.url.clone(), file.clone());
    let importing = thread::spawn({
        let token = token.clone();
        move || {
            let request = reqwest::blocking::Client::new().post(format!("{url}/api/v1/import"));
            request.bearer_auth(token).header("content-type", "text/csv").body(sent).send()
        }
    });
    // Some rows are done, and most are not.
    let import = wait_for(&backend, |import| import["rows_done"].as_u64() > Some(1_000));
    assert_eq!((&import["state"], &import["rows_total"]), (&json!("unfinished"), &json!(N_NEW + 2)));
    backend.kill();
    assert!(importing.join().expect("a client").is_err(), "the server is gone");

    let mut backend = Backend::start(database, &[]);
    backend.token = token;
    let again = import_file(&backend, "", &file);
    assert_eq!((again.status, again.code()), (409, "CONFLICT"), "{}", again.text);
    let import_id = again.json["error"]["import_id"].as_str().expect("an import").to_owned();
    assert_eq!(import["id"], import_id.as_str());
    let report = import_file(&backend, &format!("?resume={import_id}"), &file);
    assert_eq!(report.status, 200, "{}", report.text);
    assert_eq!(report.json["import_id"], import_id.as_str());
    assert!(report.json["unchanged"].as_u64() > Some(1_000), "{}", report.json["unchanged"]);
    let found = backend.get("/requirements?limit=1");
    assert_eq!(found.json["total_count"], N_NEW);
    let import = backend.get(&format!("/imports/{import_id}")).json;
    assert_eq!((&import["state"], &import["rows_done"]), (&json!("finished"), &json!(N_NEW + 2)));
}

fn wait_for(backend: &Backend, wanted: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(60) {
        let imports = backend.get("/imports").json;
        let import = &imports["data"][0];
        if import.is_object() && wanted(import) {
            return import.clone();
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("no import came so far");
}

fn import_file(backend: &Backend, query: &str, file: &str) -> Answer {
    let request = backend.request("POST", &format!("/import{query}"));
    send(request.header("content-type", "text/csv").body(file.to_owned()).timeout(Duration::from_secs(300)))
}

/// New requirements without names of their own.
fn csv() -> String {
    let mut file = String::from(
        "kind,reference_id,epic,user_story,title\nepic,epic,,,New\nuser_story,story,epic,,New\n",
    );
    for number in 1..=N_NEW {
        file.push_str(&format!("requirement,,,story,Requirement {number}\n"));
    }
    file
}

/// How many rows are imported in little memory.
const N_ROWS: usize = 40_000;
/// How much more than for a small file the server may take for so many rows: some dozen bytes a row, and buffers.
const GROWTH_MAX: usize = 30 << 20;

#[test]
fn an_import_of_any_size_takes_little_memory() {
    on_sqlite(&[], &[], |backend, _| {
        let try_file = |format: &str, n_rows: usize| {
            let file = if format == "csv" { large_csv(n_rows) } else { large_json(n_rows) };
            let request = backend.request("POST", &format!("/import?format={format}&dry_run=true"));
            let report = send(request.body(file).timeout(Duration::from_secs(300)));
            assert_eq!(
                (report.status, &report.json["created"]),
                (200, &json!(n_rows + 2)),
                "{}",
                report.text
            );
        };
        try_file("csv", 2_000);
        try_file("json", 2_000);
        let before = backend.peak_memory();
        for format in ["csv", "json"] {
            try_file(format, N_ROWS);
            let growth = backend.peak_memory().saturating_sub(before);
            assert!(growth < GROWTH_MAX, "{format}: {} MiB more", growth >> 20);
        }
    });
}

#[test]
fn a_key_makes_the_import_of_a_file_happen_once() {
    on_sqlite(&[], &[], |backend, _| {
        let import = |title: &str| {
            let request = backend.request("POST", "/import").header("content-type", "text/csv");
            let file = format!("kind,title\nepic,{title}\n");
            send(request.header("idempotency-key", "import-1").body(file))
        };
        let (first, again, other) = (import("One"), import("One"), import("Two"));
        assert_eq!((first.status, again.status, &first.json), (200, 200, &again.json), "{}", again.text);
        assert_eq!(other.code(), "IDEMPOTENCY_KEY_REUSED", "{}", other.text);
        assert_eq!(backend.get("/epics").json["total_count"], 1);
    });
}

#[test]
fn a_file_in_another_encoding_is_told_by_row() {
    on_sqlite(&[], &[], |backend, _| {
        let import = |format: &str, file: &[u8]| {
            send(backend.request("POST", &format!("/import?format={format}")).body(file.to_vec()))
        };
        let table = import("csv", b"kind,title\nepic,One\nepic,Zw\xf6lf\n");
        let message = "row 3 (line 3): title: expected text, found another encoding in \"Zw\u{fffd}lf\"; \
                       save the table as CSV UTF-8";
        assert_eq!(table.status, 400, "{}", table.text);
        assert!(table.message().contains(message), "{}", table.text);
        let list = import("json", b"[{\"kind\": \"epic\", \"title\": \"One\"},\n\"\xf6\"]");
        assert!(list.message().contains("line 2: expected UTF-8"), "{}", list.text);
        assert_eq!(backend.get("/epics").json["total_count"], 0);
    });
}

/// Requirements below one story, with names, ids and some text.
fn large_csv(n_rows: usize) -> String {
    let mut file = String::from(
        "kind,reference_id,id,epic,user_story,title,description\n\
         epic,EP-1,,,,Large,\nuser_story,US-1,,EP-1,,Large,\n",
    );
    let text = "x".repeat(300);
    for number in 1..=n_rows {
        let id = format!("01890a5d-ac96-774b-bcce-{number:012x}");
        file.push_str(&format!("requirement,REQ-{number},{id},,US-1,Requirement {number},{text}\n"));
    }
    file
}

/// The same as JSON.
fn large_json(n_rows: usize) -> String {
    let mut file = String::from(
        r#"[{"kind": "epic", "reference_id": "EP-1", "title": "Large"},
           {"kind": "user_story", "reference_id": "US-1", "epic": "EP-1", "title": "Large"}"#,
    );
    let text = "x".repeat(300);
    for number in 1..=n_rows {
        let record = json!({
            "kind": "requirement",
            "reference_id": format!("REQ-{number}"),
            "id": format!("01890a5d-ac96-774b-bcce-{number:012x}"),
            "user_story": "US-1",
            "title": format!("Requirement {number}"),
            "description": text,
        });
        file.push_str(&format!(",\n{record}"));
    }
    file + "]"
}

/// More than an export could hold before.
const N_STORED: usize = 105_000;
/// What the server may take: the export of a million takes no more.
const MEMORY_MAX: usize = 200 << 20;

#[test]
fn an_export_of_any_size_takes_little_memory() {
    on_sqlite(&[], &[], |backend, folder| {
        let epic = backend.create("/epics", &json!({ "title": "All", "priority": 1 }));
        let story = json!({ "title": "All", "priority": 1, "epic_id": epic["id"] });
        let story = backend.create("/user-stories", &story);
        let kind = backend.get("/config/requirement-types").json["data"][0]["id"].clone();
        let requirement =
            json!({ "user_story_id": story["id"], "title": "One", "priority": 1, "type_id": kind });
        backend.create("/requirements", &requirement);
        multiply(&folder.join("spexus.db"));
        let mut answer = backend
            .request("GET", "/export?format=json")
            .timeout(Duration::from_secs(300))
            .send()
            .expect("an export");
        let n_bytes = answer.content_length().expect("a length");
        assert!(n_bytes > 60 << 20, "{n_bytes} bytes");
        let (mut n_read, mut n_records) = (0, 0);
        let mut part = vec![0; 1 << 20];
        while let n @ 1.. = answer.read(&mut part).expect("the file") {
            n_read += n as u64;
            n_records += part[..n].iter().filter(|byte| **byte == b'}').count();
        }
        assert_eq!(n_read, n_bytes);
        assert!(n_records > N_STORED, "{n_records} records");
        let peak = backend.peak_memory();
        assert!(peak < MEMORY_MAX, "{} MiB", peak >> 20);
    });
}

/// Makes many requirements of the one that is there.
fn multiply(path: &Path) {
    let sql = format!(
        "with recursive n (number) as (select 2 union all select number + 1 from n where number < {N_STORED})
         insert into entity (project_id, id, kind, number, parent_id, parent_kind, title, description, priority, status,
             type_id, creator_id, version, content_version, created_at, updated_at)
         select e.project_id, printf('01890a5d-ac96-774b-bcce-%012x', n.number), e.kind, n.number, e.parent_id,
                e.parent_kind, 'Requirement ' || n.number, printf('%.*c', 300, 'x'), e.priority, e.status, e.type_id,
                e.creator_id, 1, 1, e.created_at, e.updated_at
         from n cross join entity e where e.kind = 'requirement' and e.number = 1"
    );
    let connection = rusqlite::Connection::open(path).expect("the store");
    connection.busy_timeout(Duration::from_secs(10)).expect("patience");
    connection.execute_batch(&sql).expect("requirements");
}
