//! Several servers on one store: they start at once, number what they make together, and tell each other of changes.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Lines},
    net::TcpStream,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use private_postgres::Server;
use serde_json::{Value, json};

use crate::{
    durability::check_integrity,
    process::PATIENCE,
    server::{Client, Spexus, check_all_there, command, load, sqlite, wait_until},
};

const N_SERVERS: usize = 4;

#[test]
fn servers_that_start_at_once_on_one_file_make_one_administrator() {
    for _ in 0..3 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spexus.db");
        start_at_once(&sqlite(&path));
        check_integrity(&path);
    }
}

#[test]
fn servers_that_start_at_once_on_one_postgres_make_one_administrator() {
    let Some(postgres) = Server::shared() else { return };
    for _ in 0..3 {
        start_at_once(postgres.database().url());
    }
}

#[track_caller]
fn start_at_once(database: &str) {
    let barrier = Barrier::new(N_SERVERS);
    let servers: Vec<Spexus> = thread::scope(|scope| {
        let start = || {
            barrier.wait();
            Spexus::spawn(command(database))
        };
        let starting: Vec<_> = (0..N_SERVERS).map(|_| scope.spawn(start)).collect();
        starting.into_iter().map(|server| server.join().expect("a server")).collect()
    });
    let tokens: Vec<&str> =
        servers.iter().map(|server| server.token.as_str()).filter(|token| !token.is_empty()).collect();
    let [token] = tokens.as_slice() else { panic!("{} first starts", tokens.len()) };
    for server in &servers {
        let mut client = Client::new(&server.address, token);
        let users = client.get("/api/v1/users").body;
        assert_eq!((&users["total_count"], &users["data"][0]["username"]), (&json!(1), &json!("admin")));
        assert_eq!(client.get("/api/v1/prompts").body["total_count"], 1);
        assert_eq!(client.create_epic("from each").expect("an answer").status, 201);
    }
    let mut client = Client::new(&servers[0].address, token);
    let epics = client.epics();
    assert_eq!(epics.len(), N_SERVERS);
    check_all_there(&[], &epics);
}

/// Documents wait beside PostgreSQL's index, where searches find them, until a server enters them.
#[test]
fn a_server_enters_what_waits_in_the_search_index() {
    let Some(installed) = Server::shared() else { return };
    let database = installed.database();
    let server = Spexus::start(database.url());
    let mut client = Client::new(&server.address, &server.token);
    assert_eq!(client.create_epic("Kettle").expect("an answer").status, 201);
    assert_eq!(client.get("/api/v1/search?query=kettle").body["data"][0]["title"], "Kettle");
    let mut inspector = postgres::Client::connect(database.url(), postgres::NoTls).expect("a connection");
    inspector.batch_execute("create extension pgstattuple").expect("an extension of PostgreSQL");
    wait_until("an empty list", || {
        let sql = "select pending_tuples from pgstatginindex('search_document_terms')";
        inspector.query_one(sql, &[]).expect("a count").get::<_, i64>(0) == 0
    });
    assert_eq!(client.get("/api/v1/search?query=kettle").body["data"][0]["title"], "Kettle");
}

/// Without sizes PostgreSQL goes through all of a table for one row of it, and by itself it looks once a minute.
#[test]
fn a_server_has_postgres_look_at_tables_that_have_grown() {
    let Some(installed) = Server::shared() else { return };
    let database = installed.database();
    let server = Spexus::start(database.url());
    let mut client = Client::new(&server.address, &server.token);
    assert_eq!(client.create_epic("Kettle").expect("an answer").status, 201);
    let mut inspector = postgres::Client::connect(database.url(), postgres::NoTls).expect("a connection");
    let fill = "insert into note_for_test select n from generate_series(1, 2000) n";
    inspector.batch_execute("create table note_for_test (n bigint)").expect("a table");
    inspector.batch_execute(fill).expect("rows");
    wait_until("the size of the table", || {
        let sql = "select reltuples from pg_class where relname = 'note_for_test'";
        inspector.query_one(sql, &[]).expect("a size").get::<_, f32>(0) == 2000.0
    });
}

#[test]
fn two_servers_number_what_they_make_without_a_double() {
    let Some(postgres) = Server::shared() else { return };
    let database = postgres.database();
    let (one, other) = (Spexus::start(database.url()), Spexus::start(database.url()));
    let (seen, ()) = load(&[&one.address, &other.address], &one.token, 16, |n_acknowledged| {
        wait_until("creates on both", || n_acknowledged() >= 400);
    });
    assert!(
        seen.refused.is_empty() && seen.unanswered.is_empty(),
        "{:?} {:?}",
        seen.refused,
        seen.unanswered
    );
    let epics = Client::new(&other.address, &one.token).epics();
    assert_eq!(epics.len(), seen.acknowledged.len());
    check_all_there(&seen.acknowledged, &epics);
}

/// Each client reads the epic and adds one to a number in its text, if nobody was faster. No step may be lost.
#[test]
fn optimistic_locks_hold_across_two_servers() {
    const N_CLIENTS: usize = 8;
    const N_STEPS: usize = 12;
    let Some(postgres) = Server::shared() else { return };
    let database = postgres.database();
    let (one, other) = (Spexus::start(database.url()), Spexus::start(database.url()));
    let token = one.token.as_str();
    let epic = json!({"title": "counter", "priority": 1, "description": "0"});
    assert_eq!(one.client().post("/api/v1/epics", &epic).status, 201);
    thread::scope(|scope| {
        for number in 0..N_CLIENTS {
            let address = if number % 2 == 0 { &one.address } else { &other.address };
            scope.spawn(move || {
                let mut client = Client::new(address, token);
                for _ in 0..N_STEPS {
                    count_up(&mut client);
                }
            });
        }
    });
    let epic = Client::new(&other.address, token).get("/api/v1/epics/EP-001").body;
    let n_steps = N_CLIENTS * N_STEPS;
    assert_eq!(epic["description"], n_steps.to_string());
    assert_eq!(epic["version"], n_steps + 1);
}

fn count_up(client: &mut Client) {
    let started = Instant::now();
    loop {
        let before = client.get("/api/v1/epics/EP-001");
        let number: u64 = before.body["description"].as_str().expect("text").parse().expect("a number");
        let body = json!({"description": (number + 1).to_string()});
        let tag = [("If-Match", before.headers["etag"].as_str())];
        let answer = client.send("PATCH", "/api/v1/epics/EP-001", &tag, Some(&body)).expect("an answer");
        match answer.status {
            200 => return,
            409 => assert_eq!(answer.body["error"]["code"], "STALE_VERSION", "{answer:?}"),
            _ => panic!("{answer:?}"),
        }
        assert!(started.elapsed() < Duration::from_secs(30), "never first");
    }
}

#[test]
fn a_change_on_one_server_is_told_by_the_other_on_postgres() {
    let Some(postgres) = Server::shared() else { return };
    check_told(postgres.database().url());
}

#[test]
fn a_change_on_one_server_is_told_by_the_other_on_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    check_told(&sqlite(&folder.path().join("spexus.db")));
}

/// Listens on one server to what clients do on both: each change is told once.
#[track_caller]
fn check_told(database: &str) {
    let (one, other) = (Spexus::start(database), Spexus::start(database));
    let mut events = Events::open(&other, &one.token);
    let (seen, ()) = load(&[&one.address, &other.address], &one.token, 8, |n_acknowledged| {
        wait_until("creates on both", || n_acknowledged() >= 200);
    });
    let mut missing: BTreeSet<String> =
        seen.acknowledged.into_iter().map(|(reference, _)| reference).collect();
    while !missing.is_empty() {
        let reference = events.next().unwrap_or_else(|| panic!("{missing:?} are not told"));
        assert!(missing.remove(&reference), "{reference} was told twice, or never acknowledged");
    }
}

/// Numbers are given before the commit, so that a change with a low number may come after one with a high number.
#[test]
fn a_change_that_is_committed_late_is_told() {
    let Some(postgres) = Server::shared() else { return };
    let database = postgres.database();
    let server = Spexus::start(database.url());
    let mut events = Events::open(&server, &server.token);
    let connect = || postgres::Client::connect(database.url(), postgres::NoTls).expect("a connection");
    let (mut first, mut second) = (connect(), connect());
    first.batch_execute("begin; select pg_current_xact_id()").expect("a transaction");
    second.batch_execute(&format!("begin; {}", insert_change("EP-902"))).expect("a transaction");
    first.batch_execute(&format!("{}; commit", insert_change("EP-901"))).expect("a commit");
    assert_eq!(events.next().as_deref(), Some("EP-901"));
    second.batch_execute("commit").expect("a commit");
    assert_eq!(events.next().as_deref(), Some("EP-902"));

    // And who was away meanwhile hears of both in the same order.
    let missed = Events::after(&server, &server.token, "0");
    let told: Vec<String> = missed.filter(|reference| reference.starts_with("EP-")).take(2).collect();
    assert_eq!(told, ["EP-901", "EP-902"]);
    let id: i64 = first
        .query_one("select sequence from change where reference_id = 'EP-901'", &[])
        .map(|row| row.get(0))
        .expect("a change");
    assert_eq!(Events::after(&server, &server.token, &id.to_string()).next().as_deref(), Some("EP-902"));
}

fn insert_change(reference: &str) -> String {
    format!(
        "insert into change (transaction_number, entity_kind, entity_id, reference_id, version, operation, created_at)
         values (cast(cast(pg_current_xact_id() as text) as bigint), 'epic', 'x', '{reference}', 1, 'test', 0)"
    )
}

/// The reference ids of changes as a server tells them.
pub struct Events {
    lines: Lines<BufReader<TcpStream>>,
    until: Instant,
}

impl Events {
    pub fn open(server: &Spexus, token: &str) -> Events {
        Events::begin(Client::new(&server.address, token).events("").expect("a stream"))
    }

    pub fn after(server: &Spexus, token: &str, id: &str) -> Events {
        let query = format!("?after={id}");
        Events::begin(Client::new(&server.address, token).events(&query).expect("a stream"))
    }

    fn begin(stream: BufReader<TcpStream>) -> Events {
        let mut lines = stream.lines();
        let connected = lines.by_ref().any(|line| line.expect("a line in time") == ": connected");
        assert!(connected, "the stream does not begin");
        Events { lines, until: Instant::now() + PATIENCE }
    }
}

impl Iterator for Events {
    type Item = String;

    /// None when nothing is told in time.
    fn next(&mut self) -> Option<String> {
        while Instant::now() < self.until {
            let line = self.lines.next()?.ok()?;
            if let Some(data) = line.strip_prefix("data: ") {
                let change: Value = serde_json::from_str(data).expect("JSON");
                return Some(change["reference_id"].as_str().unwrap_or_default().to_owned());
            }
        }
        None
    }
}
