//! Whether a server can work: what it tells strangers, and what `doctor` finds.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use private_postgres::Server;
use rusqlite::Connection;
use serde_json::json;

use crate::server::{Client, Spexus, sqlite, wait_until};
use crate::spexus_cli::{json_of, spexus};

#[test]
fn a_damaged_store_is_not_ready_until_it_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let database = sqlite(&path);
    let mut server = Spexus::on_file(&path);
    let token = server.token.clone();
    assert_eq!(server.client().create_epic("first").expect("an answer").status, 201);
    json_of(folder.path(), &["backup", "copy.db", "--database", &database]);
    server.terminate();
    assert!(server.wait(crate::process::PATIENCE).0.success());
    let output = spexus(folder.path(), &["doctor", "--database", &database], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("is whole") && text.contains("MiB are free"), "{text}");
    damage(&path, "revision");

    let output = spexus(folder.path(), &["doctor", "--database", &database], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("damaged") && text.contains("restore a backup"), "{text}");

    let server = Spexus::on_file(&path);
    let mut client = Client::new(&server.address, &token);
    // Nobody has asked for what is gone.
    wait_until("the damage to be seen", || {
        let health = client.get("/health/ready");
        health.status == 503 && health.body["read"] == "failed"
    });
    assert_eq!(client.get("/api/v1/epics/EP-001").status, 200);
    assert_eq!(client.get("/api/v1/epics/EP-001/history").status, 500);
    let health = client.get("/health/ready");
    let expected = json!({ "status": "unavailable", "store": "SQLite", "read": "failed", "write": "ok" });
    assert_eq!(health.body, expected);
    json_of(folder.path(), &["restore", "copy.db", "--replace", "--database", &database]);
    wait_until("the server to be ready", || client.get("/health/ready").status == 200);
    assert_eq!(client.get("/api/v1/epics/EP-001/history").status, 200);
}

/// Overwrites the first page of a table.
fn damage(path: &Path, table: &str) {
    let connection = Connection::open(path).expect("the store");
    let sql = "select rootpage, (select page_size from pragma_page_size) from sqlite_schema where name = ?1";
    let (page, size): (u64, u64) = connection
        .query_row(sql, [table], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)))
        .expect("a table");
    drop(connection);
    let file = File::options().write(true).open(path).expect("the file");
    file.write_all_at(&vec![0xee; size as usize], (page - 1) * size).expect("it is written");
}

#[test]
fn a_database_that_may_only_be_read_is_not_ready_to_write() {
    let Some(postgres) = Server::shared() else { return };
    let database = postgres.database();
    let server = Spexus::start(database.url());
    let mut client = server.client();
    let ready = json!({ "status": "ok", "store": "PostgreSQL", "read": "ok", "write": "ok" });
    assert_eq!(client.get("/health/ready").body, ready);
    let mut admin = postgres::Client::connect(database.url(), postgres::NoTls).expect("a connection");
    let name: String = admin.query_one("select current_database()", &[]).expect("a name").get(0);
    admin
        .batch_execute(&format!("alter database \"{name}\" set default_transaction_read_only = on"))
        .expect("it is set");
    let end = "select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid()";
    admin.batch_execute(end).expect("connections end");
    wait_until("the setting to be seen", || {
        let health = client.get("/health/ready");
        (health.status, &health.body["read"], &health.body["write"]) == (503, &"ok".into(), &"failed".into())
    });
    assert_eq!(client.get("/health/ready?for=read").status, 200);
}

#[test]
fn asking_for_health_changes_nothing_and_wakes_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let server = Spexus::on_file(&path);
    let mut client = server.client();
    assert_eq!(client.create_epic("first").expect("an answer").status, 201);
    assert_eq!(client.get("/api/v1/epics/EP-001").status, 200);
    let journal = || std::fs::metadata(path.with_extension("db-wal")).expect("a journal").len();
    assert_eq!(client.get("/health/ready").status, 200);
    let before = journal();
    for _ in 0..200 {
        assert_eq!(client.get("/health/ready").status, 200);
    }
    // At most one small write a second, however often it is asked.
    assert!(journal() - before < 100_000, "{} bytes more", journal() - before);
}

#[test]
fn a_doctor_is_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = spexus(folder.path(), &["doctor", "--as", "ann"], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("--as") && text.contains("as nobody"), "{text}");
}
