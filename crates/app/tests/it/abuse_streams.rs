//! Streams of changes: so many for a user and an address, and none for whom it is over.

use std::io::Read;
use std::time::{Duration, Instant};

use private_postgres::Server as Postgres;
use reqwest::blocking::Response;
use serde_json::json;

use crate::backend::{Backend, on_every_store, on_sqlite, send};
use crate::mcp_http::token_of;

/// A stream ends within this time; without a word from the store it would be noticed after 15 s.
const AT_ONCE: Duration = Duration::from_secs(8);

/// Opens a stream of events with a header that says who asks.
#[track_caller]
fn open(backend: &Backend, name: &str, value: &str) -> Response {
    let stream = backend.anonymous("GET", "/events").header(name, value).send().expect("an answer");
    assert_eq!(stream.status(), 200);
    stream
}

/// Opens a stream of an agent's session.
#[track_caller]
fn open_agent(backend: &Backend, token: &str) -> Response {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let begun = send(backend.anonymous("POST", "/mcp").bearer_auth(token).body(message.to_string()));
    let session = begun.header("mcp-session-id");
    let request = backend.anonymous("GET", "/mcp").bearer_auth(token).header("mcp-session-id", session);
    let stream = request.send().expect("an answer");
    assert_eq!(stream.status(), 200);
    stream
}

/// Waits for a stream to end.
#[track_caller]
fn check_ends(mut stream: Response, what: &str) {
    let started = Instant::now();
    let _ = stream.read_to_end(&mut Vec::new());
    assert!(started.elapsed() < AT_ONCE, "{what}: {:?}", started.elapsed());
}

/// Logs a user in and returns the cookie.
#[track_caller]
fn cookie_of(backend: &Backend, username: &str) -> String {
    let body = json!({ "username": username, "password": "correct horse battery", "cookie": true });
    let login = backend.anonymous("POST", "/auth/login").header("sec-fetch-site", "same-origin");
    let login = send(login.header("content-type", "application/json").body(body.to_string()));
    login.header("set-cookie").split(';').next().expect("a cookie").to_owned()
}

#[test]
fn a_stream_ends_when_its_listener_may_no_longer_listen() {
    on_every_store(|backend| {
        check_all_end(backend, backend);
    });
}

#[test]
fn a_stream_ends_when_another_server_ends_the_right_to_it() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database();
    let first = Backend::start(database.url(), &[]);
    let mut second = Backend::start(database.url(), &[]);
    second.token.clone_from(&first.token);
    check_all_end(&first, &second);
}

/// Listens on one server, and takes the right to it on another.
fn check_all_end(here: &Backend, there: &Backend) {
    let ann = token_of(here, "ann", "User");
    let other = token_of(here, "bob", "User");
    let watching = open(here, "authorization", &format!("Bearer {other}"));
    let streams = [open(here, "authorization", &format!("Bearer {ann}")), open_agent(here, &ann)];
    assert_eq!(there.send("PATCH", "/users/ann", &json!({ "disabled": true })).status, 200);
    streams.into_iter().for_each(|stream| check_ends(stream, "a disabled user"));

    let made = here.create("/tokens", &json!({ "name": "gone", "scopes": ["read"] }));
    let secret = made["token"].as_str().expect("a secret");
    let streams = [open(here, "authorization", &format!("Bearer {secret}")), open_agent(here, secret)];
    let path = format!("/tokens/{}", made["id"].as_str().expect("an id"));
    assert_eq!(send(there.request("DELETE", &path)).status, 200);
    streams.into_iter().for_each(|stream| check_ends(stream, "a revoked token"));

    let cookie = cookie_of(here, "bob");
    let stream = open(here, "cookie", &cookie);
    let logout = there.anonymous("POST", "/auth/logout").header("cookie", &cookie);
    assert_eq!(send(logout.header("sec-fetch-site", "same-origin")).status, 200);
    check_ends(stream, "an ended session");
    drop(watching);
}

/// A session with streams on two servers is told once, on the last one; and on the first when that is gone.
#[test]
fn a_session_with_streams_on_two_servers_is_told_once() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database();
    let first = Backend::start(database.url(), &[]);
    let mut second = Backend::start(database.url(), &[]);
    second.token.clone_from(&first.token);
    first.create("/epics", &json!({ "title": "Pay", "priority": 1 }));
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let begun = send(first.request("POST", "/mcp").body(message.to_string()));
    let session = begun.header("mcp-session-id").to_owned();
    let subscribe = json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": { "uri": "epic://EP-001" } });
    let subscribed =
        send(first.request("POST", "/mcp").header("mcp-session-id", &session).body(subscribe.to_string()));
    assert_eq!(subscribed.status, 200, "{}", subscribed.text);
    let listen = |backend: &Backend| {
        let request = backend.request("GET", "/mcp").header("mcp-session-id", &session);
        let mut stream = request.timeout(Duration::from_secs(4)).send().expect("a stream");
        std::thread::spawn(move || {
            let mut heard = Vec::new();
            let mut part = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut part) {
                heard.extend_from_slice(&part[..n]);
            }
            String::from_utf8_lossy(&heard).matches("epic://EP-001").count()
        })
    };
    let (old, new) = (listen(&first), listen(&second));
    for title in ["One", "Two"] {
        assert_eq!(first.send("PATCH", "/epics/EP-001", &json!({ "title": title })).status, 200);
    }
    let (n_old, n_new) = (old.join().expect("no panic"), new.join().expect("no panic"));
    assert_eq!((n_old, n_new > 0), (0, true), "told {n_old} and {n_new} times");
    // The streams have ended, and a new one on the first server is told.
    let again = listen(&first);
    assert_eq!(second.send("PATCH", "/epics/EP-001", &json!({ "title": "Three" })).status, 200);
    assert!(again.join().expect("no panic") > 0);
}

#[test]
fn a_user_has_so_many_streams() {
    on_sqlite(&[], &[("SPEXUS_STREAM_LIMIT", "3")], |backend, _| {
        let open =
            |token: &str| backend.anonymous("GET", "/events").bearer_auth(token).send().expect("an answer");
        let streams: Vec<_> = (0..3).map(|_| open(&backend.token)).collect();
        assert!(streams.iter().all(|stream| stream.status() == 200));
        let refused = send(backend.request("GET", "/events"));
        assert_eq!((refused.status, refused.code()), (429, "RATE_LIMITED"), "{}", refused.text);
        assert!(refused.header("retry-after").parse::<u64>().is_ok());
        // Those of agents count along.
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
        let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
        let agent = send(
            backend
                .request("POST", "/mcp")
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", "subscriptions/listen")
                .body(listen.to_string()),
        );
        assert_eq!(agent.status, 429, "{}", agent.text);
        let other = token_of(backend, "ann", "User");
        let others: Vec<_> = (0..3).map(|_| open(&other)).collect();
        assert!(others.iter().all(|stream| stream.status() == 200), "others are not kept out");
        drop(streams);
        crate::server::wait_until("room", || open(&backend.token).status() == 200);
    });
}
