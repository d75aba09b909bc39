//! What somebody might try who means no good, or is in a hurry.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::backend::{Backend, on_sqlite, send};

fn post(backend: &Backend, message: &Value) -> crate::backend::Answer {
    send(backend.request("POST", "/mcp").header("content-type", "application/json").body(message.to_string()))
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    on_sqlite(&[], &[("SPEXUS_REQUEST_TIMEOUT", "2s")], |backend, _| {
        let address = backend.url.trim_start_matches("http://");
        for (authorization, status) in
            [(String::new(), "401"), (format!("Authorization: Bearer {}\r\n", backend.token), "408")]
        {
            let started = Instant::now();
            let mut stream = TcpStream::connect(address).expect("a connection");
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
            let head = format!(
                "POST /api/v1/mcp HTTP/1.1\r\nHost: {address}\r\n{authorization}Content-Length: 60000\r\n\r\n{{"
            );
            stream.write_all(head.as_bytes()).expect("a request");
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).expect("an answer");
            assert!(answer.ends_with(status.as_bytes()), "{}", String::from_utf8_lossy(&answer));
            assert!(started.elapsed() < Duration::from_secs(10));
        }
    });
}

#[test]
fn a_batch_counts_as_its_messages() {
    on_sqlite(&[], &[("SPEXUS_RATE_LIMIT", "20")], |backend, _| {
        let batch = |n: usize| -> Value {
            (0..n).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).collect()
        };
        assert_eq!(post(backend, &batch(5)).status, 200);
        let refused = post(backend, &batch(18));
        assert_eq!(
            (refused.status, &refused.json["error"]["code"]),
            (429, &json!(-32005)),
            "{}",
            refused.text
        );
        assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
    });
}

#[test]
fn headers_must_agree_with_the_message() {
    on_sqlite(&[], &[], |backend, _| {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_types","name":"create_epic",
            "arguments":{"title":"Smuggled","priority":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let answer = send(
            backend
                .request("POST", "/mcp")
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", "tools/call")
                .header("mcp-name", "list_types")
                .body(body),
        );
        assert_eq!((answer.status, &answer.json["error"]["code"]), (400, &json!(-32020)), "{}", answer.text);
        assert_eq!(backend.get("/epics").json["total_count"], 0);
    });
}

#[test]
fn messages_of_a_batch_do_not_hide_each_other() {
    on_sqlite(&[], &[], |backend, _| {
        let batch = json!([
            {"jsonrpc": "2.0", "id": "make", "method": "tools/call",
             "params": {"name": "create_epic", "arguments": {"title": "Made", "priority": 1}}},
            {"jsonrpc": "2.0", "id": "listen", "method": "resources/subscribe", "params": {"uri": "epic://EP-001"}},
            {"jsonrpc": "2.0", "id": "look", "method": "tools/list"},
        ]);
        let answer = post(backend, &batch);
        let answers = answer.json.as_array().expect("a batch of answers");
        let of = |id: &str| answers.iter().find(|answer| answer["id"] == id).expect("an answer to each");
        assert!(of("make")["result"].is_object() && of("look")["result"].is_object(), "{}", answer.text);
        assert_eq!(of("listen")["error"]["code"], -32602, "a subscription needs a session: {}", answer.text);
    });
}

#[test]
fn a_request_is_cancelled_only_by_its_own_session() {
    on_sqlite(&[], &[], |backend, _| {
        // Without sessions two agents of a user may well use the same numbers.
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let ask = json!({"jsonrpc": "2.0", "id": 7, "method": "prompts/list"});
                (0..30).map(|_| post(backend, &ask)).all(|answer| answer.json["result"].is_object())
            });
            let stop =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
            for _ in 0..60 {
                assert_eq!(post(backend, &stop).status, 202);
            }
            assert!(asking.join().expect("no panic"));
        });
    });
}
