//! Bodies from strangers and from people without the right: refused before they are read, in little memory.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::backend::{Backend, on_sqlite, send};
use crate::mcp_http::token_of;

/// What the server may take in memory to refuse whatever strangers send.
const GROWTH_MAX: usize = 8 << 20;
/// With huge pages the system counts 2 MiB for whatever is touched first in them, and nothing could be said of less.
const SMALL_PAGES: [(&str, &str); 1] = [("MIMALLOC_ALLOW_THP", "0")];
/// Nine of ten refusals take no longer than this.
const PROMPT: Duration = Duration::from_millis(50);
/// Other tests share the machine, and some refusals wait for their turn on it.
const LATE: Duration = Duration::from_millis(800);

/// How a stranger sends a body.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// 52 MB of JSON that parses into gigabytes; stops when the server stops taking it.
    Huge,
    /// One byte, and then nothing.
    Slow,
    /// Chunks without an end.
    Endless,
}

/// Every route that there is, as a method and a path.
fn routes() -> Vec<(&'static str, String)> {
    let mut routes: Vec<(&'static str, String)> = ops::OPERATIONS
        .iter()
        .flat_map(|entry| entry.routes)
        .map(|route| (route.method.name(), format!("/api/v1{}", route.path.replace(['{', '}'], ""))))
        .collect();
    for method in ["GET", "POST", "DELETE", "PUT"] {
        routes.push((method, "/api/v1/mcp".to_owned()));
    }
    for path in ["events", "openapi.json", "nothing"] {
        routes.push(("GET", format!("/api/v1/{path}")));
    }
    for path in ["/", "/sign-in", "/r/REQ-001", "/reference", "/metrics", "/health/live", "/health/ready"] {
        routes.push(("GET", path.to_owned()));
        routes.push(("POST", path.to_owned()));
    }
    routes.push(("POST", "/preferences".to_owned()));
    for operation in ["create_epic", "login", "use_sign_in_link"] {
        routes.push(("POST", format!("/do/{operation}")));
    }
    routes
}

#[test]
fn strangers_cannot_make_the_server_read_a_body() {
    on_sqlite(&[], &SMALL_PAGES, |backend, _| {
        // What is made once, such as the OpenAPI file, is there before.
        let client = reqwest::blocking::Client::new();
        for (method, path) in routes() {
            let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
            send(client.request(method, format!("{}{path}", backend.url)));
        }
        let before = backend.peak_memory();
        for sent in [Sent::Huge, Sent::Endless, Sent::Slow] {
            let routes = routes();
            // Those that send little wait for the most part.
            let n_at_once = if matches!(sent, Sent::Slow) { 8 } else { 1 };
            let mut times: Vec<Duration> = std::thread::scope(|scope| {
                let parts = routes.chunks(routes.len().div_ceil(n_at_once)).map(|part| {
                    scope.spawn(move || {
                        let check =
                            |(method, path): &(&str, String)| check_refused(backend, method, path, sent);
                        part.iter().map(check).collect::<Vec<_>>()
                    })
                });
                let parts: Vec<_> = parts.collect();
                parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
            });
            times.sort();
            let most = times[times.len() * 9 / 10];
            assert!(most < PROMPT, "{sent:?}: {most:?}");
        }
        let grown = backend.peak_memory().saturating_sub(before);
        assert!(grown < GROWTH_MAX, "{} KiB for what strangers sent", grown >> 10);
        assert_eq!(backend.get("/auth/me").status, 200);
    });
}

#[test]
fn one_huge_body_takes_little_memory() {
    for (path, status) in [("/api/v1/import", 401), ("/api/v1/auth/login", 413), ("/api/v1/mcp", 401)] {
        on_sqlite(&[], &SMALL_PAGES, |backend, _| {
            assert_eq!(send(backend.anonymous("GET", "/epics")).status, 401);
            let before = backend.peak_memory();
            assert_eq!(stranger(backend, "POST", path, Sent::Huge, "").0, status);
            let grown = backend.peak_memory().saturating_sub(before);
            assert!(grown < GROWTH_MAX, "{path}: {} KiB", grown >> 10);
        });
    }
}

/// Sends a body as a stranger, and returns how long the refusal took.
#[track_caller]
fn check_refused(backend: &Backend, method: &str, path: &str, sent: Sent) -> Duration {
    let (status, elapsed) = stranger(backend, method, path, sent, "");
    let what = format!("{method} {path} {sent:?}");
    // What anybody may ask is read to 64 KiB, and waited for; the id of a short message is looked for.
    let is_public = [
        "/auth/login",
        "/sign-in-links/show",
        "/sign-in-links/use",
        "/api/v1/identity",
        "/do/login",
        "/do/use_sign_in_link",
    ];
    let is_public = is_public.iter().any(|end| path.ends_with(end));
    let (expected, time): (&[u16], Duration) = match (path, sent) {
        (_, Sent::Slow) if is_public => (&[408], Duration::from_secs(15)),
        _ if is_public => (&[413], LATE),
        // Strangers are led to the sign-in.
        ("/" | "/r/REQ-001" | "/do/create_epic" | "/preferences", _) => (&[303, 405], LATE),
        ("/api/v1/mcp", Sent::Slow) => (&[401, 405], LATE + Duration::from_secs(1)),
        ("/api/v1/mcp", _) => (&[401, 405], LATE),
        _ if path.starts_with("/api/v1/") => (&[401, 404, 200], LATE),
        _ => (&[200, 405], LATE),
    };
    assert!(expected.contains(&status), "{what}: {status}");
    let is_open = path.ends_with("openapi.json") || path.ends_with("nothing");
    assert!(status != 200 || is_open || !path.starts_with("/api/v1/"), "{what}: {status}");
    assert!(elapsed < time, "{what}: {elapsed:?}");
    elapsed
}

/// Sends a body as a stranger would, and returns the status of the answer and how long it took.
#[track_caller]
fn stranger(backend: &Backend, method: &str, path: &str, sent: Sent, more: &str) -> (u16, Duration) {
    let mut stream = TcpStream::connect(backend.address()).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    let length = match sent {
        Sent::Huge => "Content-Length: 52000000",
        Sent::Slow => "Content-Length: 1000",
        Sent::Endless => "Transfer-Encoding: chunked",
    };
    let address = backend.address();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{more}{length}\r\n\r\n"
    );
    let started = Instant::now();
    stream.write_all(head.as_bytes()).expect("a request");
    let mut writer = stream.try_clone().expect("a second handle");
    writer.set_write_timeout(Some(Duration::from_millis(200))).expect("a time-out");
    let sending = std::thread::spawn(move || match sent {
        Sent::Slow => drop(writer.write_all(b"{")),
        Sent::Huge => {
            let _ = writer.write_all(b"{\"content\":[0");
            let part = ",0".repeat(32 << 10);
            // Whatever the server does not take, it does not read.
            (0..792).map_while(|_| writer.write_all(part.as_bytes()).ok()).count();
        }
        Sent::Endless => {
            let chunk = format!("4000\r\n{}\r\n", "[],[".repeat(4 << 10));
            (0..300).map_while(|_| writer.write_all(chunk.as_bytes()).ok()).count();
        }
    });
    let mut answer = [0; 12];
    let read = stream.read_exact(&mut answer);
    let elapsed = started.elapsed();
    let _ = stream.shutdown(std::net::Shutdown::Both);
    sending.join().expect("no panic");
    match read {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => panic!("{method} {path} {sent:?}: cut off"),
        Err(error) => panic!("{method} {path} {sent:?}: {error}"),
    }
    let status = std::str::from_utf8(&answer[9..]).ok().and_then(|status| status.parse().ok());
    (status.expect("a status"), elapsed)
}

#[test]
fn who_lacks_the_right_is_refused_before_the_body() {
    on_sqlite(&[], &SMALL_PAGES, |backend, _| {
        let commenter = token_of(backend, "carol", "Commenter");
        let reader = backend.create("/tokens", &json!({ "name": "reader", "scopes": ["read"] }));
        let before = backend.peak_memory();
        for token in [commenter.as_str(), reader["token"].as_str().expect("a secret")] {
            let known = format!("Authorization: Bearer {token}\r\n");
            for sent in [Sent::Huge, Sent::Slow, Sent::Endless] {
                let (status, elapsed) = stranger(backend, "POST", "/api/v1/import", sent, &known);
                assert_eq!(status, 403, "{sent:?}");
                assert!(elapsed < LATE, "{sent:?}: {elapsed:?}");
            }
        }
        let grown = backend.peak_memory().saturating_sub(before);
        assert!(grown < GROWTH_MAX, "{} KiB", grown >> 10);
    });
}

#[test]
fn json_is_bounded_by_its_values() {
    on_sqlite(&[], &SMALL_PAGES, |backend, _| {
        let deep = format!("[{}[]]", "[],".repeat(3 << 20));
        let reader = backend.create("/tokens", &json!({ "name": "reader", "scopes": ["read"] }));
        let reader = reader["token"].as_str().expect("a secret");
        let before = backend.peak_memory();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let request = backend.anonymous("POST", "/mcp").bearer_auth(reader);
                    let answer = send(request.body(deep.clone()));
                    assert_eq!(
                        (answer.status, answer.message()),
                        (413, "Message too large (limit 100000 JSON values)")
                    );
                });
            }
        });
        for path in ["/epics", "/import", "/bulk"] {
            let body = format!("{{\"content\":{deep}}}");
            let request = backend.request("POST", path).header("content-type", "application/json");
            let answer = send(request.body(body));
            assert_eq!((answer.status, answer.code()), (413, "TOO_LARGE"), "{path}: {}", answer.text);
            assert_eq!(answer.message(), "the body has more than 100000 JSON values");
        }
        let grown = backend.peak_memory().saturating_sub(before);
        assert!(grown < GROWTH_MAX, "{} KiB", grown >> 10);
        // Commas in text are no values.
        let text = format!("title,priority\n{}", ",".repeat(200_000));
        let import = json!({ "format": "csv", "content": text, "dry_run": true });
        assert_ne!(backend.send("POST", "/import", &import).code(), "TOO_LARGE");
    });
}

#[test]
fn a_login_is_read_to_64_kib() {
    on_sqlite(&[], &[], |backend, _| {
        let login = |text: String| {
            let request = backend.anonymous("POST", "/auth/login").header("content-type", "application/json");
            send(request.body(text))
        };
        let right = json!({ "username": "admin", "password": backend.password }).to_string();
        assert_eq!(login(format!("{right}{}", " ".repeat(60 << 10))).status, 200);
        let large = login(format!("{right}{}", " ".repeat(64 << 10)));
        assert_eq!((large.status, large.message()), (413, "the body is larger than 64 KiB"));
    });
}

/// A header that is given twice is refused wherever somebody asks.
#[test]
fn two_tokens_in_one_request_are_refused() {
    on_sqlite(&[], &[], |backend, _| {
        for (method, path) in [("GET", "/epics"), ("GET", "/events"), ("POST", "/mcp"), ("GET", "/mcp")] {
            let request = backend.request(method, path).header("authorization", "Bearer mcp_pat_other");
            let answer = send(request.body(if method == "POST" { "{}" } else { "" }));
            assert_eq!(answer.status, 400, "{method} {path}: {}", answer.text);
        }
    });
}
