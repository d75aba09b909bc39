//! For any input bytes, all output matches the official schema, and the session continues.

use std::{sync::Arc, time::Instant};

use interop::Conversation;
use mcp::{Session, Step};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::demo;

proptest! {
    #[test]
    fn output_for_any_bytes_matches_the_schema(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn output_for_anything_like_a_message_matches_the_schema(message in message()) {
        check(message.to_string().as_bytes());
    }

    #[test]
    fn output_for_a_damaged_message_matches_the_schema(message in message(), at in 0usize..300, byte: u8) {
        let mut bytes = message.to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        check(&bytes);
        check(&bytes[..at]);
    }

    #[test]
    fn a_request_with_any_id_is_answered_once_with_that_id(id in prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u128>().prop_map(|n| n.to_string()),
        "-?[1-9][0-9]{0,5}\\.[0-9]{1,20}(e[0-9]{1,3})?",
        ".{0,40}".prop_map(|text| Value::String(text).to_string()),
    ]) {
        let answers = check(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
        prop_assert_eq!(answers, vec![format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)]);
    }
}

/// Feeds the bytes to a session in every state and returns the answers of an initialized one.
#[track_caller]
fn check(bytes: &[u8]) -> Vec<String> {
    let initialize = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let (profile, server) = demo::server("full");
    let profile = Arc::new(profile);
    let mut answers = Vec::new();
    for before in [&[][..], &[initialize], &[initialize, initialized]] {
        let mut session = Session::stdio(profile.clone(), "r");
        let mut conversation = Conversation::default();
        let mut feed = |bytes: &[u8]| {
            conversation.sent(bytes);
            let mut answers = Vec::new();
            for step in session.handle(bytes, Instant::now()) {
                match step {
                    Step::Send(bytes) => answers.push(bytes),
                    Step::Call(call) => answers.extend(session.finish(mcp::run(&*server, call, &|_| {}))),
                    Step::Stop | Step::Cancel(_) | Step::Refused(..) => {}
                }
            }
            for answer in &answers {
                conversation.received(answer).unwrap_or_else(|problem| panic!("{problem}"));
            }
            answers
        };
        before.iter().for_each(|message| drop(feed(message.as_bytes())));
        answers = feed(bytes);
    }
    answers.into_iter().map(|answer| String::from_utf8(answer).expect("what leaves is UTF-8")).collect()
}

fn message() -> impl Strategy<Value = Value> {
    let methods = prop_oneof![
        Just("initialize"),
        Just("ping"),
        Just("tools/list"),
        Just("tools/call"),
        Just("resources/read"),
        Just("resources/subscribe"),
        Just("prompts/get"),
        Just("completion/complete"),
        Just("server/discover"),
        Just("subscriptions/listen"),
        Just("notifications/cancelled"),
        Just("shutdown"),
        Just("nonsense"),
    ];
    let names = prop_oneof![
        Just("name"),
        Just("arguments"),
        Just("uri"),
        Just("cursor"),
        Just("ref"),
        Just("argument"),
        Just("_meta"),
        Just("requestId"),
        Just("notifications"),
        Just("protocolVersion"),
        Just("type"),
        Just("value"),
        Just("progressToken"),
        Just("io.modelcontextprotocol/protocolVersion"),
        Just("io.modelcontextprotocol/clientCapabilities"),
        Just("resourceSubscriptions"),
        Just("text"),
    ];
    let leaves = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("2026-07-28")),
        Just(json!("2025-06-18")),
        Just(json!("echo")),
        Just(json!("ref/prompt")),
        Just(json!("demo://a")),
    ];
    let values = leaves.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((names.clone(), inner), 0..4).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    });
    (any::<Option<i32>>(), methods, proptest::option::of(values)).prop_map(|(id, method, params)| {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(id) = id {
            message["id"] = id.into();
        }
        if let Some(params) = params {
            message["params"] = params;
        }
        message
    })
}
