//! `subscriptions/listen`, and calls that nobody waits for any more.

use std::cell::RefCell;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use private_postgres::{Options, Server as Postgres};
use serde_json::{Value, json};

use super::agent::{Agent, STATELESS, rename};
use crate::backend::{Backend, on_every_store, on_sqlite, send};
use crate::server::wait_until;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[test]
fn a_subscription_hears_what_it_asked_for_and_nothing_else() {
    on_every_store(|backend| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        backend.create("/epics", &json!({"title": "Ship", "priority": 1}));
        let agent = Agent::stateless(backend);
        let resource = agent.listen(json!({"resourceSubscriptions": ["epic://ep-1"]}));
        let prompts = agent.listen(json!({"promptsListChanged": true}));
        rename(backend, "EP-002");
        rename(backend, "EP-001");
        let updated = agent.hear(&resource);
        assert_eq!(updated["method"], "notifications/resources/updated", "{updated}");
        assert_eq!(updated["params"]["uri"], "epic://ep-1");
        assert_eq!(updated["params"]["_meta"][SUBSCRIPTION], 1);
        backend.create("/prompts", &json!({"name": "ours", "title": "Ours", "content": "Be brief."}));
        let changed = agent.hear(&prompts);
        assert_eq!(changed["method"], "notifications/prompts/list_changed", "{changed}");
        assert_eq!(changed["params"]["_meta"][SUBSCRIPTION], 2);
        resource.assert_quiet();
        prompts.assert_quiet();
    });
}

/// The acknowledgement names what will be heard of: as with `resources/subscribe`, that is what can be read.
#[test]
fn what_is_not_there_is_not_acknowledged() {
    on_every_store(|backend| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        backend.create("/epics", &json!({"title": "Gone", "priority": 1}));
        backend.create("/user-stories", &json!({"epic_id": "EP-001", "title": "Card", "priority": 1}));
        assert_eq!(backend.send("DELETE", "/epics/EP-002", &json!({})).status, 200);
        let there = [
            "epic://ep-1",
            "epic://EP-001/hierarchy",
            "user-story://US-001",
            "user-story://US-001/requirements",
            "user-story://US-001/acceptance-criteria",
            "prompt://PROMPT-001",
            "epics://list?status=Backlog",
            "user-stories://list?epic_id=EP-001",
            "requirements://search?query=card",
        ];
        let not_there = [
            "epic://EP-002",
            "epic://EP-404",
            "epic://EP-404/hierarchy",
            "epic://US-001/hierarchy",
            "user-story://EP-001",
            "user-story://US-404/requirements",
            "requirement://REQ-001/relationships",
            "prompt://PROMPT-404",
            "epics://list?status=Sold",
            "epics://list?state=Backlog",
            "user-stories://list?epic_id=EP-404",
            "tale://1",
            "",
        ];
        let agent = Agent::stateless(backend);
        let wanted: Vec<&str> = not_there.into_iter().chain(there).collect();
        let (stream, acknowledged) =
            agent.listen_to(json!({"promptsListChanged": true, "resourceSubscriptions": wanted}));
        assert_eq!(acknowledged, json!({"promptsListChanged": true, "resourceSubscriptions": there}));
        rename(backend, "EP-001");
        // The hierarchy may come first: its epic got a story before anyone listened, and that may be told late.
        agent.hear_until(&stream, |message| message["params"]["uri"] == there[0]);

        // Both eras say the same of each.
        let old = Agent::handshake(backend, "2025-11-25");
        for uri in wanted {
            let answer = old.ask("resources/subscribe", json!({ "uri": uri }));
            assert_eq!(answer.json.get("result").is_some(), there.contains(&uri), "{uri}: {}", answer.text);
            let answer = old.ask("resources/read", json!({ "uri": uri }));
            assert_eq!(answer.json.get("result").is_some(), there.contains(&uri), "{uri}: {}", answer.text);
        }
        let (_, nothing) = agent.listen_to(json!({"resourceSubscriptions": ["epic://EP-404"]}));
        assert_eq!(nothing, json!({}));
    });
}

#[test]
fn streams_end_in_order_when_the_server_stops() {
    on_sqlite(&[], &[], |backend, _| {
        let (new, old) = (Agent::stateless(backend), Agent::handshake(backend, "2025-11-25"));
        let listening = new.listen(json!({"toolsListChanged": true}));
        let stream = old.open_stream();
        backend.stop();
        let last = listening.end();
        assert_eq!(last.len(), 1, "{last:?}");
        new.check(&last[0]);
        let last: Value = serde_json::from_str(&last[0]).expect("JSON");
        assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(1), &json!("complete")), "{last}");
        assert!(stream.end().is_empty());
    });
}

#[test]
fn dropped_streams_leave_nothing_behind() {
    on_sqlite(&[], &[], |backend, _| {
        let (new, old) = (Agent::stateless(backend), Agent::handshake(backend, "2025-11-25"));
        let count = || backend.metric("spexus_mcp_streams");
        let n_files = backend.n_open_files();
        let streams: Vec<_> = (0..20)
            .flat_map(|_| [new.listen(json!({"resourcesListChanged": true})), old.open_stream()])
            .collect();
        assert_eq!(count(), 40.0);
        drop(streams);
        wait_until("the streams to be forgotten", || count() == 0.0);
        wait_until("the connections to be closed", || backend.n_open_files() <= n_files + 2);
        backend.create("/epics", &json!({"title": "Still here", "priority": 1}));
    });
}

/// A stream whose token is revoked ends by itself.
#[test]
fn streams_end_when_the_right_ends() {
    on_sqlite(&[], &[], |backend, _| {
        let token = backend.create("/tokens", &json!({"name": "short", "scopes": ["read"]}));
        let agent = Agent::new(backend, STATELESS, token["token"].as_str().expect("a secret"));
        let listening = agent.listen(json!({"resourcesListChanged": true}));
        let path = format!("/tokens/{}", token["id"].as_str().expect("an id"));
        assert!(backend.send("DELETE", &path, &json!({})).status < 300);
        let last = listening.end();
        assert!(last.len() <= 1, "{last:?}");
    });
}

/// `notifications/cancelled` of the same session: the work stops, and nothing is said for it.
#[test]
fn a_cancelled_call_stops_and_is_not_answered() {
    on_locked_store("30s", |backend, lock| {
        let agent = Agent::handshake(backend, "2025-11-25");
        let other = Agent::handshake(backend, "2025-11-25");
        let call = agent.message("tools/call", get_epic());
        let waiting = agent.request(&call);
        let answer = thread::spawn(move || send(waiting));
        lock.wait_for(1);
        let params = json!({"requestId": call["id"], "reason": "changed my mind"});
        let cancelled =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string();
        // Another session's request with that id is another request.
        assert_eq!(other.post(&cancelled).status, 202);
        thread::sleep(Duration::from_millis(300));
        lock.wait_for(1);
        assert_eq!(agent.post(&cancelled).status, 202);
        lock.wait_for(0);
        let answer = answer.join().expect("an answer");
        assert_eq!((answer.status, answer.text.as_str()), (202, ""));
        // Who cancels what has been answered, or never was, is not told off.
        assert_eq!(agent.post(&cancelled).status, 202);
    });
}

/// In every revision, who closes the connection waits no more. In 2026-07-28 there is no other way to give up.
#[test]
fn a_call_whose_connection_is_closed_stops() {
    on_locked_store("30s", |backend, lock| {
        let agent = Agent::stateless(backend);
        let call = agent.message("tools/call", get_epic());
        let connection = raw(backend, &call, &agent.token);
        lock.wait_for(1);
        // Other agents of the user count their requests as well; theirs are not ours.
        let params = json!({"requestId": call["id"]});
        let theirs = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        assert_eq!(Agent::stateless(backend).post(&theirs.to_string()).status, 202);
        thread::sleep(Duration::from_millis(300));
        lock.wait_for(1);
        connection.shutdown(Shutdown::Both).expect("an open connection");
        lock.wait_for(0);
    });
}

/// A request that takes too long is answered, and stops.
//@= spexus://REQ-156
//@= type=test
//@# 002 R15.1: a request takes at most 30 seconds
#[test]
fn a_call_that_takes_too_long_says_so() {
    on_locked_store("2s", |backend, lock| {
        let old = Agent::handshake(backend, "2025-06-18").ask("tools/call", get_epic());
        assert_eq!((old.status, &old.json["error"]["code"]), (200, &json!(-32006)), "{}", old.text);
        assert_eq!(old.json["error"]["data"]["code"], "TIMEOUT", "{}", old.text);
        lock.wait_for(0);
        let agent = Agent::stateless(backend);
        let call = agent.ask("tools/call", get_epic());
        assert_eq!((call.status, &call.json["result"]["isError"]), (200, &json!(true)), "{}", call.text);
        assert_eq!(call.json["result"]["_meta"]["spexus/error"]["code"], "TIMEOUT", "{}", call.text);
        let read = agent.ask("resources/read", json!({"uri": "epic://EP-001"}));
        assert_eq!((read.status, &read.json["error"]["code"]), (500, &json!(-32603)), "{}", read.text);
        assert_eq!(read.json["error"]["data"]["code"], "TIMEOUT", "{}", read.text);
        lock.wait_for(0);
    });
}

fn get_epic() -> Value {
    json!({"name": "get_entity", "arguments": {"reference": "EP-001"}})
}

/// A table is held, so that whoever wants it waits.
struct Lock {
    /// Not the connection that holds it: a transaction sees others as they were when it first looked.
    watching: RefCell<postgres::Client>,
}

impl Lock {
    /// Waits until so many wait.
    #[track_caller]
    fn wait_for(&self, n_waiting: i64) {
        let sql = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        let count = || self.watching.borrow_mut().query_one(sql, &[]).expect("an answer").get::<_, i64>(0);
        wait_until("others to wait for the lock", || count() == n_waiting);
    }
}

/// Runs a test on a server whose only epic nobody can read.
fn on_locked_store(request_timeout: &str, test: impl Fn(&Backend, &Lock)) {
    // Of its own: who follows changes waits for the oldest transaction of all databases.
    let Some(server) = Postgres::own(Options::default()) else { return };
    let database = server.database();
    let mut command = Backend::command(database.url(), &[]);
    command.env("SPEXUS_REQUEST_TIMEOUT", request_timeout);
    let backend = Backend::spawn(command);
    backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
    let connect = || postgres::Client::connect(database.url(), postgres::NoTls).expect("a database");
    let mut holding = connect();
    holding.batch_execute("begin; lock table entity in access exclusive mode").expect("a lock");
    test(&backend, &Lock { watching: RefCell::new(connect()) });
    drop(backend);
}

/// Sends a message of 2026-07-28 and leaves the connection open.
fn raw(backend: &Backend, message: &Value, token: &str) -> TcpStream {
    let address = backend.url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).expect("the server listens");
    let (body, name) = (message.to_string(), message["params"]["name"].as_str().unwrap_or_default());
    let head = format!(
        "POST /api/v1/mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {name}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes()).expect("the server reads");
    connection.write_all(body.as_bytes()).expect("the server reads");
    connection
}
