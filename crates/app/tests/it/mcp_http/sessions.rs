//! Sessions of handshake revisions, and what is told to them.

use serde_json::json;

use super::agent::{Agent, HANDSHAKES, initialize, rename};
use super::refusals::{check, token_of};
use crate::backend::{on_every_store, on_sqlite, send};
use crate::server::wait_until;

#[test]
fn a_session_belongs_to_its_user_until_it_is_ended() {
    on_every_store(|backend| {
        let agent = Agent::handshake(backend, "2025-11-25");
        let session = agent.session.clone().expect("a session");
        assert!(session.bytes().all(|byte| byte.is_ascii_graphic()), "{session}");
        agent.result("ping", json!({}));

        let mut mallory = Agent::new(backend, "2025-11-25", &token_of(backend, "mallory", "User"));
        mallory.session = Some(session.clone());
        check(&mallory.ask("ping", json!({})), 404, -32600, "SESSION_NOT_FOUND");
        let delete = |token: &str| {
            send(backend.anonymous("DELETE", "/mcp").bearer_auth(token).header("mcp-session-id", &session))
        };
        check(&delete(&mallory.token), 404, -32600, "SESSION_NOT_FOUND");
        let stream =
            backend.anonymous("GET", "/mcp").bearer_auth(&mallory.token).header("mcp-session-id", &session);
        check(&send(stream), 404, -32600, "SESSION_NOT_FOUND");
        agent.result("ping", json!({}));

        let again = agent.ask("initialize", initialize("2025-11-25"));
        assert_eq!((again.status, again.message()), (400, "Already initialized"));
        assert_eq!(delete(&agent.token).status, 204);
        check(&agent.ask("ping", json!({})), 404, -32600, "SESSION_NOT_FOUND");
        check(&delete(&agent.token), 404, -32600, "SESSION_NOT_FOUND");
        let mut lost = Agent::new(backend, "2025-11-25", &backend.token);
        lost.session = Some("no-such-session".into());
        check(&lost.ask("ping", json!({})), 404, -32600, "SESSION_NOT_FOUND");
        let nameless = send(backend.request("DELETE", "/mcp"));
        check(&nameless, 400, -32600, "MALFORMED_REQUEST");
    });
}

#[test]
fn an_old_session_has_expired() {
    on_sqlite(&[], &[], |backend, folder| {
        let agent = Agent::handshake(backend, "2025-06-18");
        let database = rusqlite::Connection::open(folder.join("spexus.db")).expect("the store");
        let day = 24 * 3600 * 1_000_000_i64;
        let aged = database.execute("update mcp_session set used_at = used_at - ?1", [day - 60_000_000]);
        assert_eq!(aged.expect("the store can be written"), 1);
        agent.result("ping", json!({}));
        database
            .execute("update mcp_session set used_at = used_at - ?1", [2 * day])
            .expect("it can be written");
        check(&agent.ask("ping", json!({})), 404, -32600, "SESSION_NOT_FOUND");
    });
}

#[test]
fn a_message_without_a_session_is_served_but_cannot_subscribe() {
    on_sqlite(&[], &[], |backend, _| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        let agent = Agent::new(backend, "2025-03-26", &backend.token);
        agent.call("get_entity", json!({"reference": "EP-001"}));
        let refused = agent.ask("resources/subscribe", json!({"uri": "epic://EP-001"}));
        assert_eq!(
            (refused.status, &refused.json["error"]["code"]),
            (200, &json!(-32602)),
            "{}",
            refused.text
        );
        assert!(refused.message().contains("Mcp-Session-Id"), "{}", refused.text);
    });
}

/// Subscriptions are really served: each is told in the words of who subscribed.
//@= spexus://REQ-049
//@= type=test
//@# 002 R3.2: resources have subscribe and listChanged
//@= spexus://REQ-124
//@= type=test
//@# 002 R11.3: a message without an id is a notification
#[test]
fn a_session_hears_of_what_it_subscribed_to() {
    on_every_store(|backend| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        backend.create("/epics", &json!({"title": "Ship", "priority": 1}));
        for revision in HANDSHAKES {
            let agent = Agent::handshake(backend, revision);
            let stream = agent.open_stream();
            agent.result("resources/subscribe", json!({"uri": "epic://ep-001"}));
            rename(backend, "EP-002");
            rename(backend, "EP-001");
            let updated = agent.hear_of(&stream, "notifications/resources/updated");
            assert_eq!(updated["params"], json!({"uri": "epic://ep-001"}), "{revision}");
            agent.result("resources/unsubscribe", json!({"uri": "epic://EP-001"}));
            rename(backend, "EP-001");
            stream.assert_quiet();
            let missing = agent.ask("resources/subscribe", json!({"uri": "epic://EP-404"}));
            assert_eq!(missing.json["error"]["code"], -32002, "{}", missing.text);
        }
    });
}

/// Lists that were promised to be told of are.
//@= spexus://REQ-030
//@= type=test
//@# 001 R4.4: capabilities are what the server can do
//@= spexus://REQ-031
//@= type=test
//@# 001 R4.5: what is declared is served
#[test]
fn a_session_hears_of_new_resources_and_prompts() {
    on_every_store(|backend| {
        let agent = Agent::handshake(backend, "2025-11-25");
        let stream = agent.open_stream();
        backend.create("/epics", &json!({"title": "New", "priority": 1}));
        agent.hear_of(&stream, "notifications/resources/list_changed");
        backend.create("/prompts", &json!({"name": "ours", "title": "Ours", "content": "Be brief."}));
        agent.hear_of(&stream, "notifications/prompts/list_changed");
    });
}

#[test]
fn the_last_stream_of_a_session_is_told_and_ends_with_it() {
    on_sqlite(&[], &[], |backend, _| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        let agent = Agent::handshake(backend, "2025-11-25");
        agent.result("resources/subscribe", json!({"uri": "epic://EP-001"}));
        let first = agent.open_stream();
        let second = agent.open_stream();
        rename(backend, "EP-001");
        agent.hear_of(&second, "notifications/resources/updated");
        first.assert_quiet();
        drop(second);
        // The server may need a moment to see that it is gone.
        wait_until("the first stream to be told", || {
            rename(backend, "EP-001");
            first.has_said_something()
        });
        let session = agent.session.as_deref().expect("a session");
        let ended = send(backend.request("DELETE", "/mcp").header("mcp-session-id", session));
        assert_eq!((ended.status, ended.text.as_str()), (204, ""));
        first.end();
    });
}

/// Batches exist in 2025-03-26 alone.
#[test]
fn a_batch_is_answered_as_one() {
    on_sqlite(&[], &[], |backend, _| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        let agent = Agent::handshake(backend, "2025-03-26");
        let batch = json!([
            {"jsonrpc": "2.0", "id": "a", "method": "ping"},
            {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "get_entity", "arguments": {"reference": "EP-001"}}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": "c", "method": "no/such/method"},
            {"jsonrpc": "2.0", "id": "d", "method": "resources/subscribe", "params": {"uri": "epic://EP-001"}},
            {"jsonrpc": "1.0", "id": "e", "method": "ping"},
        ]);
        let answer = agent.post(&batch.to_string());
        // One bad message in it does not make the others bad requests.
        assert_eq!(answer.status, 200, "{}", answer.text);
        let mut answers = answer.json.as_array().expect("a batch").clone();
        answers.sort_by_key(|answer| answer["id"].as_str().unwrap_or_default().to_owned());
        let outcome = |index: usize| answers[index]["error"]["code"].as_i64();
        assert_eq!(
            (0..5).map(outcome).collect::<Vec<_>>(),
            [None, None, Some(-32601), None, Some(-32600)],
            "{}",
            answer.text
        );
        let stream = agent.open_stream();
        rename(backend, "EP-001");
        agent.hear_of(&stream, "notifications/resources/updated");

        let notes = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
        assert_eq!(agent.post(&notes.to_string()).status, 202);
        let inside =
            json!([{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-03-26")}]);
        let inside = agent.post(&inside.to_string());
        assert_eq!(inside.json[0]["error"]["code"], -32600, "{}", inside.text);
        assert_eq!(inside.header("mcp-session-id"), "");
        let elsewhere =
            Agent::handshake(backend, "2025-06-18").post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#);
        assert_eq!(
            (elsewhere.status, &elsewhere.json["error"]["code"]),
            (400, &json!(-32600)),
            "{}",
            elsewhere.text
        );
    });
}
