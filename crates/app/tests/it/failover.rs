//! Two PostgreSQL servers of which one takes the other's place, and a dump into a third.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use postgres::NoTls;
use private_postgres::{Database, Options, Server, program};
use serde_json::json;

use crate::server::{Client, Spexus, check_all_there, load, wait_until};
use crate::together::Events;

/// How long writing may pause. Promoting alone takes a good part of a second.
const PAUSE_MAX: Duration = Duration::from_secs(9);

#[test]
fn writing_goes_on_when_a_standby_takes_the_place_of_a_killed_server() {
    let Some((mut primary, standby, database)) = pair() else { return };
    // What is acknowledged is on both.
    ask(&primary, "alter system set synchronous_standby_names = '*'");
    ask(&primary, "select pg_reload_conf()");
    check_writing_goes_on(&[&primary, &standby].map(Server::address).join(","), &database, || {
        primary.kill();
        standby.promote();
    });
}

/// As where a server is fenced off before another one takes its place: it still answers, and refuses to write.
#[test]
fn a_server_that_refuses_to_write_is_left_for_the_other() {
    let Some((primary, standby, database)) = pair() else { return };
    check_writing_goes_on(&[&primary, &standby].map(Server::address).join(","), &database, || {
        ask(&primary, "alter system set default_transaction_read_only = on");
        ask(&primary, "select pg_reload_conf()");
        let is_replayed = "select count(*) from pg_stat_replication where replay_lsn = pg_current_wal_lsn()";
        wait_until("the standby to catch up", || {
            // What was already writing may still commit, so that it has to be true for a while.
            (0..20).all(|_| {
                std::thread::sleep(Duration::from_millis(10));
                ask(&primary, is_replayed) == 1
            })
        });
        standby.promote();
    });
    assert!(primary.log().is_some_and(|log| log.contains("read-only transaction")), "nobody was refused");
}

/// Clients create epics before and after a failover; nothing that was acknowledged may be missing.
#[track_caller]
fn check_writing_goes_on(addresses: &str, database: &Database, fail_over: impl FnOnce()) {
    const EACH: usize = 40;
    let (before, after) = database.url().split_once('@').expect("a URL");
    let (_, name) = after.split_once('/').expect("a URL");
    let spexus = Spexus::start(&format!("{before}@{addresses}/{name}?target_session_attrs=read-write"));
    let (seen, pause) = load(&[&spexus.address], &spexus.token, 4, |n_acknowledged| {
        wait_until("creates before", || n_acknowledged() >= EACH);
        let started = Instant::now();
        fail_over();
        let reached = n_acknowledged();
        wait_until("creates after", || n_acknowledged() > reached);
        let pause = started.elapsed();
        wait_until("more creates", || n_acknowledged() >= reached + EACH);
        pause
    });
    assert!(pause < PAUSE_MAX, "nothing was written for {pause:?}");
    check_all_there(&seen.acknowledged, &spexus.client().epics());
}

/// A server, one that follows it, and a database on both.
fn pair() -> Option<(Server, Server, Database)> {
    let primary = Server::own(Options::default())?;
    let database = primary.database();
    let standby = primary.standby()?;
    Some((primary, standby, database))
}

/// Runs a statement and returns the number that it selects, if it does.
fn ask(server: &Server, sql: &str) -> i64 {
    let folder = server.folder().expect("a private server");
    let port = server.address().rsplit(':').next().expect("a port");
    let config = format!("host={} port={port} user=postgres dbname=postgres", folder.display());
    let mut client = postgres::Client::connect(&config, NoTls).expect("a connection");
    let rows = client.query(sql, &[]).expect("a statement");
    rows.first().and_then(|row| row.try_get(0).ok()).unwrap_or_default()
}

/// Transactions are numbered from the beginning in another cluster.
#[test]
fn who_resumes_after_a_dump_into_another_cluster_is_told_to_begin_anew() {
    let (Some(old), Some(new)) = (Server::own(Options::default()), Server::own(Options::default())) else {
        return;
    };
    let (from, to) = (old.database(), new.database());
    let token = {
        let spexus = Spexus::start(from.url());
        for number in 1..=60 {
            assert_eq!(spexus.client().create_epic(&number.to_string()).expect("an answer").status, 201);
        }
        spexus.token.clone()
    };
    let newest = postgres::Client::connect(from.url(), NoTls)
        .and_then(|mut client| client.query_one("select max(sequence) from change", &[]))
        .map(|row| row.get::<_, i64>(0))
        .expect("changes");
    copy(&from, &to);

    let spexus = Spexus::start(to.url());
    let mut client = Client::new(&spexus.address, &token);
    assert_eq!(client.epics().len(), 60);
    // One who has seen all that the dump has, one who has seen less, and one who has seen more.
    let mut resumed = [newest, newest - 5, newest + 3].map(|id| Told::after(&client, id));
    for told in &mut resumed {
        assert!(told.until("event: reset"), "no reset");
    }
    let made = client.post("/api/v1/epics", &json!({"title": "new", "priority": 1}));
    assert_eq!(made.status, 201, "{made:?}");
    for told in &mut resumed {
        assert!(told.until("EP-"), "nothing new");
    }
    let mut events = Events::after(&spexus, &token, &(newest - 1).to_string());
    assert!(events.any(|name| made.body["reference_id"] == name.as_str()), "the new epic is not told");
    // It is noticed once.
    drop(spexus);
    let spexus = Spexus::start(to.url());
    assert_eq!(Client::new(&spexus.address, &token).epics().len(), 61);
    let moves = postgres::Client::connect(to.url(), NoTls)
        .and_then(|mut client| {
            client.query_one("select count(*) from change where entity_kind = 'store'", &[])
        })
        .map(|row| row.get::<_, i64>(0));
    assert_eq!(moves.expect("a count"), 1);
}

/// A stream of changes, line by line.
struct Told(std::io::Lines<std::io::BufReader<std::net::TcpStream>>);

impl Told {
    fn after(client: &Client, id: i64) -> Told {
        Told(std::io::BufRead::lines(client.events(&format!("?after={id}")).expect("a stream")))
    }

    /// Whether a line with this text comes in time.
    fn until(&mut self, text: &str) -> bool {
        self.0.by_ref().map_while(Result::ok).any(|line| line.contains(text))
    }
}

fn copy(from: &Database, to: &Database) {
    let mut dump = Command::new(program("pg_dump"))
        .args(["--no-owner", from.url()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("pg_dump");
    let loaded = Command::new(program("psql"))
        .args(["--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", to.url()])
        .stdin(dump.stdout.take().expect("piped"))
        .status();
    assert!(loaded.expect("psql").success() && dump.wait().expect("pg_dump").success());
}
