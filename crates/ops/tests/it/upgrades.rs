//! Stores of all schemas so far are opened by this version, and hold what they held.
//!
//! A fixture is the text of a store on SQLite after a migration: its schema, and some rows of every table. On PostgreSQL the same
//! rows are put into what the migrations up to then made; that these are the released ones is seen by their hashes.

use std::path::{Path, PathBuf};

use ops::Credentials;
use private_postgres::Server;
use serde_json::{Value, json};
use store::{Location, Mode, Options, Store, Tx};

use crate::stores::World;

/// The token of the administrator in all fixtures, and the password of Ann.
const TOKEN: &str = include_str!("../../../store/tests/fixtures/token");
const PASSWORD: &str = "correct horse battery staple";
/// Tables that are made from others, and differ between the engines.
const DERIVED: [&str; 4] = ["search_document", "search_index", "search_state", "migration"];

#[test]
fn stores_of_every_version_so_far_are_opened_on_sqlite() {
    for fixture in fixtures() {
        let folder = tempfile::tempdir().expect("a folder");
        let location = Location::Sqlite(folder.path().join("spexus.db"));
        run(&location, &read(&fixture));
        check(&location, &fixture);
    }
}

#[test]
fn stores_of_every_version_so_far_are_opened_on_postgres() {
    let Some(server) = Server::shared() else { return };
    for fixture in fixtures() {
        let database = server.database();
        let location = Location::parse(database.url()).expect("a URL");
        run(&location, &on_postgres(&fixture));
        check(&location, &fixture);
    }
}

/// What a store of any version holds, seen through operations.
fn check(location: &Location, fixture: &Path) {
    let world = World::open_filled(location, TOKEN.trim().to_owned());
    let title = |entity: &Value| entity["title"].as_str().unwrap_or("-").to_owned();
    let titles = |answer: &Value| -> Vec<String> {
        answer["data"].as_array().expect("a list").iter().map(title).collect()
    };
    let list = |kind: &str| titles(&world.ok("list_entities", json!({ "kind": kind })));
    let name = fixture.display();
    assert_eq!(list("requirement"), ["The pot heats water", "The lid closes"], "{name}");
    assert_eq!(list("epic"), ["Brewing coffee", "Brewing tea"], "{name}");
    assert_eq!(list("steering_document"), ["Safety"], "{name}");
    let found = world.ok("search_global", json!({ "query": "boils" }));
    assert_eq!(titles(&found), ["The pot heats water"], "{name}");
    assert_eq!(found["indexing"], Value::Null, "{name}");
    let found = world.ok("search_global", json!({ "query": "thermometer" }));
    assert_eq!(found["data"][0]["kind"], "comment", "{name}");
    let history = world.ok("get_history", json!({ "reference": "REQ-001" }));
    let operations: Vec<&Value> =
        history["data"].as_array().expect("a list").iter().map(|revision| &revision["operation"]).collect();
    assert_eq!(operations, ["update_requirement", "create_requirement"], "{name}");
    let requirement = world.ok("get_entity", json!({ "reference": "REQ-001" }));
    let parts = ["status", "priority", "type", "creator", "assignee", "version"].map(|key| &requirement[key]);
    assert_eq!(
        json!(parts).to_string(),
        r#"["Active",1,"Functional","admin","Ann",2]"#,
        "{name}: {requirement}"
    );
    let links = world.ok("list_relationships", json!({ "requirement_id": "REQ-001" }));
    assert_eq!(links["data"].as_array().map(Vec::len), Some(1), "{name}");
    let comments = world.ok("list_comments", json!({ "reference": "REQ-001" }));
    assert_eq!(comments["data"].as_array().map(Vec::len), Some(2), "{name}");
    world.ok("get_prompt", json!({ "prompt_id": "PROMPT-002" }));
    let login = json!({ "username": "Ann", "password": PASSWORD });
    world.call_as(Credentials::None, "login", login).expect("a session");
    world.ok("restore_entity", json!({ "reference": "REQ-003" }));
    let new = json!({ "user_story_id": "US-001", "title": "New", "type_id": "Functional", "priority": 2 });
    let created = world.ok("create_requirement", new);
    assert_eq!(created["reference_id"], "REQ-004", "{name}");
    assert_eq!(list("requirement"), ["The pot heats water", "The lid closes", "The pot whistles", "New"]);
}

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    found.sort();
    assert!(found.len() >= 10, "{found:?}");
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The migrations that the fixture has, and its rows in place of those that they make.
fn on_postgres(fixture: &Path) -> String {
    let fixture = read(fixture);
    let mut rows = statements(&fixture);
    rows.retain(|sql| sql.starts_with("insert into "));
    let table = |row: &str| row.split(' ').nth(2).unwrap_or_default().to_owned();
    let mut sql = String::new();
    for row in rows.iter().filter(|row| table(row) == "migration") {
        let name = row.split('\'').nth(1).expect("a name");
        let path = format!("{}/../store/migrations/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        sql += &for_postgres(&read(Path::new(&path)));
    }
    let mut tables: Vec<String> = rows.iter().map(|row| table(row)).collect();
    tables.dedup();
    tables.retain(|table| !DERIVED.contains(&table.as_str()));
    sql += &format!("truncate {} cascade;\n", tables.join(", "));
    sql += "create table if not exists migration (name text primary key, hash text not null, applied_at bigint not null);\n";
    for row in rows.iter().filter(|row| table(row) == "migration" || tables.contains(&table(row))) {
        // The database counts these, and has to be told that it does not here.
        sql += &row.replacen(") values (", ") overriding system value values (", 1);
        sql += ";\n";
    }
    sql + "select setval('change_sequence_seq', (select max(sequence) from change));\n"
}

fn for_postgres(sql: &str) -> String {
    let mut is_wanted = true;
    let mut chosen = String::new();
    for line in sql.lines() {
        match line.trim() {
            "-- sqlite" => is_wanted = false,
            "-- postgres" | "-- both" => is_wanted = true,
            line if line.starts_with("--") => {}
            _ if is_wanted => chosen += &format!("{line}\n"),
            _ => {}
        }
    }
    chosen
        .replace(" text", " text collate \"C\"")
        .replace("{sequence}", "bigint generated always as identity primary key")
        .replace("{now}", "0")
}

/// The statements of a script, each of which ends with its line.
fn statements(sql: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut statement = String::new();
    for piece in sql.split_inclusive(";\n") {
        statement += piece;
        let text = statement.trim().trim_end_matches(';').trim_start();
        let lower = text.to_ascii_lowercase();
        let is_trigger = lower.starts_with("create trigger") && lower.contains("begin");
        let is_inside = text.matches("$$").count() % 2 == 1 || is_trigger && !lower.ends_with("end");
        if !is_inside {
            found.push(text.to_owned());
            statement.clear();
        }
    }
    found.retain(|sql| !sql.is_empty());
    found
}

fn run(location: &Location, sql: &str) {
    let statements: Vec<&'static str> =
        statements(sql).into_iter().map(|sql| -> &'static str { sql.leak() }).collect();
    let store = Store::open_as_it_is(location, Options::default()).expect("a store");
    let run_all = move |tx: &mut Tx<'_>| -> store::Result<()> {
        for sql in &statements {
            let done = tx.execute(sql, &[]).map(drop);
            done.unwrap_or_else(|error| panic!("{sql}: {error} {:?}", error.cause));
        }
        Ok(())
    };
    store.wait(Mode::Long, run_all).expect("a filled store");
}

/// After a new migration, this writes the fixture of the schema that it made, from the fixture before.
#[test]
#[ignore = "writes a file"]
fn the_fixture_of_the_current_schema_is_written() {
    let fixtures = fixtures();
    let last = fixtures.last().expect("a fixture");
    let folder = tempfile::tempdir().expect("a folder");
    let location = Location::Sqlite(folder.path().join("spexus.db"));
    run(&location, &read(last));
    let world = World::open_filled(&location, TOKEN.trim().to_owned());
    fill_threats(&world);
    let store = world.engine.store().clone();
    let migrations = store.migrations().expect("migrations");
    let name = &migrations.last().expect("a migration").name;
    std::fs::write(last.with_file_name(format!("after_{name}.sql")), dump(&store, &store)).expect("a file");
}

/// A decision about a threat, and a criterion that is against it.
fn fill_threats(world: &World) {
    let sql = "insert into threat_link (id, project_id, entity_id, pattern, pattern_version, name, severity, decision, signs,
                   content_version, actor_id, version, created_at, updated_at)
               select 'l-1', e.project_id, e.id, 'TMKB-AUTHZ-001', '1.0.0', 'A job without rights', 'critical', 'applies', '[\"job\"]',
                   1, 'u', 1, 1, 1
               from entity e where e.kind = 'requirement' and e.number = 1";
    let criterion = "insert into threat_criterion (link_id, criterion_id, created_at)
                     select 'l-1', e.id, 1 from entity e where e.kind = 'acceptance_criteria' and e.number = 1";
    let fill = move |tx: &mut Tx<'_>| tx.execute(sql, &[]).and_then(|_| tx.execute(criterion, &[])).map(drop);
    world.engine.store().wait(Mode::Write, fill).expect("rows");
}

/// The text of a store on SQLite: the schema of one, and of the other the rows that fit.
fn dump(schema: &Store, data: &Store) -> String {
    let texts = |store: &Store, sql: String| -> Vec<String> {
        let sql: &'static str = sql.leak();
        store.wait(Mode::Snapshot, move |tx| tx.rows(sql, &[], |row| row.get(0))).expect("rows")
    };
    let own = "sql is not null and name not like 'search_index_%' and name not like 'sqlite_%'";
    let mut text = String::new();
    for sql in texts(schema, format!("select sql from sqlite_schema where {own} order by rowid")) {
        let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
        text += &format!("{};\n", lines.collect::<Vec<_>>().join("\n"));
    }
    let tables = format!("select name from sqlite_schema where {own} and type = 'table' order by rowid");
    // Triggers fill what is derived.
    let is_derived = |table: &&String| ["search_index", "tally", "entity_label"].contains(&table.as_str());
    for table in texts(schema, tables).iter().filter(|table| !is_derived(table)) {
        let names = format!("select name from pragma_table_xinfo('{table}') where hidden = 0");
        let columns = texts(schema, names);
        let values: Vec<String> = columns.iter().map(|column| format!("quote({column})")).collect();
        let (columns, values) = (columns.join(", "), values.join(" || ', ' || "));
        let has_rowid = texts(
            schema,
            format!(
                "select name from sqlite_schema where name = '{table}' and sql not like '%without rowid%'"
            ),
        );
        let order = if has_rowid.is_empty() { "1" } else { "rowid" };
        let rows = format!(
            "select 'insert into {table} ({columns}) values (' || {values} || ');' from {table} order by {order}"
        );
        match table.as_str() {
            // As an earlier version of the terms would have left it.
            "search_state" => text += "insert into search_state (version) values (1);\n",
            "search_document" => {
                for row in texts(data, rows) {
                    text += &format!("{row}\n");
                }
                let rows = "select 'insert into search_index (rowid, terms) values (' || number || ', ' || quote(title || ' ' || body) || ');'
                            from search_document order by number";
                for row in texts(data, rows.to_owned()) {
                    text += &format!("{row}\n");
                }
            }
            _ => {
                for row in texts(data, rows) {
                    text += &format!("{row}\n");
                }
            }
        }
    }
    text
}
