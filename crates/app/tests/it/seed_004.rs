//! The server of seed 004, sentence by sentence. Each test cites the part that it proves.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::process::Serving;
use crate::token_estimates;

/// The answer to `initialize`, word for word.
//@= spexus://REQ-200
//@= type=test
//@# 004 Initialization Flow: initialize is answered word for word
#[test]
fn initialize_answers_as_the_document_shows() {
    let mut serving = Serving::start();
    let answer = serving.request(
        1,
        "initialize",
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {"listChanged": true}, "sampling": {}},
            "clientInfo": {"name": "Claude Desktop", "version": "1.0.0"},
        }),
    );
    assert_eq!(
        answer,
        json!({
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": false}},
                "serverInfo": {
                    "name": "tmkb",
                    "version": "0.1.0",
                    "description": "Threat Model Knowledge Base - Query authorization security threats",
                },
            },
        })
    );
}

/// A supported version is echoed, another gets the server's latest.
//@= spexus://REQ-201
//@= type=test
//@# 004 Protocol Version Negotiation: a supported version is echoed, another is answered with the latest
#[test]
fn versions_are_negotiated() {
    for (requested, answered) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("1999-12-31", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let answer = Serving::start().handshake(requested);
        assert_eq!(answer["result"]["protocolVersion"], answered, "{requested}");
    }
}

/// The one tool, word for word.
//@= spexus://REQ-202
//@= type=test
//@# 004 Tool Discovery: tools/list has the one tool, word for word
#[test]
fn tools_list_answers_as_the_document_shows() {
    let mut serving = Serving::ready("2025-11-25");
    serving.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let expected = json!({
        "jsonrpc": "2.0",
        "id": 2,
        "result": {
            "tools": [{
                "name": "tmkb_query",
                "description": "Query the Threat Model Knowledge Base for authorization security threats relevant to your implementation. Returns concise, actionable security context optimized for code generation.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "context": {
                            "type": "string",
                            "description": "What you're implementing (e.g., 'multi-tenant API endpoint', 'background job processing')",
                            "minLength": 1,
                        },
                        "language": {
                            "type": "string",
                            "enum": ["python"],
                            "description": "Programming language (MVP: Python only)",
                        },
                        "framework": {
                            "type": "string",
                            "enum": ["flask", "any"],
                            "description": "Framework context (MVP: Flask or any)",
                        },
                        "verbosity": {
                            "type": "string",
                            "enum": ["agent", "human"],
                            "default": "agent",
                            "description": "Output format: 'agent' for concise, 'human' for detailed",
                        },
                    },
                    "required": ["context"],
                    "additionalProperties": false,
                },
            }],
        },
    });
    assert_eq!(serving.receive(), expected);
}

/// An answer is one text block of JSON, and not an error.
//@= spexus://REQ-203
//@= type=test
//@# 004 Tool Invocation: an answer is one text block of JSON
#[test]
fn tools_call_answers_with_the_patterns_that_fit() {
    let mut serving = Serving::ready("2025-11-25");
    let answer = serving
        .query(json!({"context": "background job processing", "language": "python", "framework": "flask"}));
    let result = answer["result"].as_object().expect("a result");
    assert_eq!(result.keys().collect::<Vec<_>>(), ["content", "isError"]);
    assert_eq!(result["isError"], false);
    assert_eq!(result["content"][0]["type"], "text");
    let patterns: Value = serde_json::from_str(text(&answer)).expect("the text is JSON");
    assert_eq!(patterns["patterns"][0]["id"], "TMKB-AUTHZ-001");
    assert_eq!(
        patterns["patterns"][0].as_object().expect("a pattern").keys().collect::<Vec<_>>(),
        ["id", "severity", "threat", "check", "fix"]
    );
    assert_eq!(patterns["code_pattern"]["language"], "python");
    let n_tokens = patterns["token_count"].as_u64().expect("a count");
    // An estimate, which must not be too low.
    assert!((token_estimates::n_tokens(text(&answer))..=500).contains(&(n_tokens as usize)), "{n_tokens}");
}

/// `Human` gives every field, of at most three patterns.
//@= spexus://REQ-204
//@= type=test
//@# 004 Verbosity Validation: human answers have every field of at most three patterns
#[test]
fn human_verbosity_gives_every_detail() {
    let mut serving = Serving::ready("2025-11-25");
    let answer =
        serving.query(json!({"context": "tenant isolation in a list endpoint", "verbosity": "human"}));
    let value: Value = serde_json::from_str(text(&answer)).expect("the text is JSON");
    let patterns = value["verbose_patterns"].as_array().expect("patterns");
    assert!((1..=3).contains(&patterns.len()));
    for field in
        ["id", "name", "severity", "likelihood", "threat", "description", "attack_scenario", "mitigations"]
    {
        assert!(!patterns[0][field].is_null(), "{field}");
    }
    assert!(value.get("patterns").is_none());
    let reasons = &answer["result"]["_meta"]["tmkb/matched"];
    assert_eq!(reasons.as_object().map(serde_json::Map::len), Some(patterns.len()));
}

/// The texts, word for word, each a tool execution error.
//@= spexus://REQ-205
//@= type=test
//@# 004 Validation Rules: arguments that do not fit are tool errors, word for word
#[test]
fn invalid_arguments_are_answered_with_the_texts_of_the_document() {
    let mut serving = Serving::ready("2025-11-25");
    for (arguments, expected) in [
        (json!({}), "context parameter is required"),
        (json!({"context": ""}), "context must be non-empty"),
        (json!({"context": " \t\n"}), "context must be non-empty"),
        (json!({"context": 5}), "context must be a string, found 5"),
        (json!({"context": "x", "language": "java"}), "Invalid language 'java'. Supported languages: python"),
        (
            json!({"context": "x", "language": "Python"}),
            "Invalid language 'Python'. Supported languages: python",
        ),
        (json!({"context": "x", "language": null}), "Invalid language 'null'. Supported languages: python"),
        (
            json!({"context": "x", "framework": "django"}),
            "Invalid framework 'django'. Supported frameworks: flask, any",
        ),
        (
            json!({"context": "x", "verbosity": "loud"}),
            "Invalid verbosity 'loud'. Supported values: agent, human",
        ),
        (
            json!({"context": "x", "foo": 1}),
            "Unknown parameter 'foo'. Supported parameters: context, language, framework, verbosity",
        ),
        (
            json!({"language": "go", "bar": 1}),
            "context parameter is required\nInvalid language 'go'. Supported languages: python\nUnknown parameter 'bar'. Supported parameters: context, language, framework, verbosity",
        ),
    ] {
        let answer = serving.query(arguments.clone());
        assert_eq!(
            answer["result"],
            json!({"content": [{"type": "text", "text": expected}], "isError": true}),
            "{arguments}"
        );
    }
    // Without arguments at all the context is what is missing.
    let answer = serving.request(8, "tools/call", json!({"name": "tmkb_query"}));
    assert_eq!(text(&answer), "context parameter is required");
}

/// Another tool, or another spelling, is a protocol error.
//@= spexus://REQ-206
//@= type=test
//@# 004 Tool Name Validation: another tool is a protocol error
#[test]
fn an_unknown_tool_is_a_protocol_error() {
    let mut serving = Serving::ready("2025-11-25");
    let answer =
        serving.request(3, "tools/call", json!({"name": "invalid_tool_name", "arguments": {"context": "x"}}));
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "Unknown tool: invalid_tool_name"}})
    );
    let answer =
        serving.request(4, "tools/call", json!({"name": "TMKB_QUERY", "arguments": {"context": "x"}}));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["message"], "Unknown tool: TMKB_QUERY");
    assert_eq!(answer["error"]["data"]["nearest"], "tmkb_query");
}

/// Each row of the table.
//@= spexus://REQ-207
//@= type=test
//@# 004 Edge Cases: each row of the table of edge cases holds
#[test]
fn edge_cases_are_handled_as_the_table_says() {
    let mut serving = Serving::start();

    // Requests before the initialized notification.
    let answer = serving.request(1, "tools/list", json!({}));
    assert_eq!(answer["error"]["message"], "Server not initialized. Send initialized notification first.");
    assert_eq!(answer["error"]["code"], -32602);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    assert!(serving.request(2, "initialize", params.clone())["error"].is_null());
    let answer = serving.request(3, "tools/list", json!({}));
    assert_eq!(answer["error"]["message"], "Server not initialized. Send initialized notification first.");
    assert_eq!(answer["error"]["code"], -32600);

    // Multiple initialize requests.
    let answer = serving.request(4, "initialize", params.clone());
    assert_eq!(answer["error"], json!({"code": -32600, "message": "Already initialized"}));
    serving.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let answer = serving.request(5, "initialize", params);
    assert_eq!(answer["error"], json!({"code": -32600, "message": "Already initialized"}));

    // Malformed JSON.
    serving.send("{not json");
    let answer = serving.receive();
    assert_eq!(answer["error"]["code"], -32700);
    assert!(answer.get("id").is_none());

    // Missing request id: a notification, never answered; an id that is none: an error without an id.
    serving.send(r#"{"jsonrpc":"2.0","method":"tools/list"}"#);
    serving.send(r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#);
    let answer = serving.receive();
    assert_eq!(answer["error"]["code"], -32600);
    assert!(answer.get("id").is_none());

    // Unknown method.
    assert_eq!(serving.request(6, "resources/list", json!({}))["error"]["code"], -32601);
    assert_eq!(serving.request(7, "does/not/exist", json!({}))["error"]["code"], -32601);

    // Very large messages.
    serving.send(&"x".repeat(11 * 1024 * 1024));
    let answer = serving.receive();
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "Message too large (limit 10485760 bytes)"}})
    );

    // After all that the server still serves, and ping is answered.
    assert_eq!(serving.request(8, "ping", json!({}))["result"], json!({}));
    assert_eq!(serving.query(json!({"context": "celery task"}))["result"]["isError"], false);

    // End of input.
    let (status, lines, _) = serving.end();
    assert!(status.success());
    assert_eq!(lines, Vec::<String>::new());
}

/// A query engine that fails is a tool execution error that tells nothing of its insides,
/// and the server recovers.
//@= spexus://REQ-207
//@= type=test
//@# 004 Edge Cases: each row of the table of edge cases holds
#[test]
fn a_failing_query_engine_is_a_sanitized_tool_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let patterns = folder.path().join("later");
    let path = patterns.to_str().expect("UTF-8");
    let mut serving = Serving::start_with(&["-p", path], &[]);
    serving.handshake("2025-11-25");
    let answer = serving.query(json!({"context": "celery"}));
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(text(&answer), "Query failed: the pattern folder cannot be read");
    assert_eq!(serving.request(8, "tools/list", json!({}))["result"]["tools"][0]["name"], "tmkb_query");

    std::fs::create_dir(&patterns).expect("a folder can be made");
    let pattern =
        crate::process::compatibility_data().join("patterns/authorization/tier-a/TMKB-AUTHZ-001.yaml");
    std::fs::copy(pattern, patterns.join("one.yaml")).expect("a pattern can be copied");
    let started = Instant::now();
    while serving.query(json!({"context": "celery"}))["result"]["isError"] == true {
        assert!(started.elapsed() < Duration::from_secs(10), "the server does not recover");
        thread::sleep(Duration::from_millis(50));
    }
    let (_, _, log) = serving.end();
    assert!(log.contains("[ERROR] ") && log.contains("later"), "{log}");
}

/// Stderr alone, the levels, the request's id, and the example lines.
//@= spexus://REQ-208
//@= type=test
//@# 004 Logging Strategy: the log goes to stderr alone, with levels and the id of the request
#[test]
fn logs_look_as_the_document_shows() {
    let mut serving = Serving::ready("2025-11-25");
    serving.request(
        3,
        "tools/call",
        json!({"name": "tmkb_query", "arguments": {"context": "x", "language": "java"}}),
    );
    serving.request(
        4,
        "tools/call",
        json!({"name": "tmkb_query", "arguments": {"context": "celery background job"}}),
    );
    serving.request("five", "tools/call", json!({"name": "nothing"}));
    let (_, lines, log) = serving.end();
    assert_eq!(lines, Vec::<String>::new());
    let log: Vec<&str> = log.lines().collect();
    assert_eq!(log[0], "[ERROR] [req_id=3] Invalid language parameter: java");
    let returned =
        log[1].strip_prefix("[INFO] [req_id=4] Query executed successfully: ").expect("the example");
    assert!(returned.ends_with(" patterns returned"), "{returned}");
    assert_eq!(log[2], "[ERROR] [req_id=five] tools/call: Unknown tool: nothing (-32602)");
}

/// The log can be JSON, and its level is set by the environment.
//@= spexus://REQ-199
//@= type=test
//@# 004 Goals: the log can be JSON, at a level from the environment
#[test]
fn logs_follow_the_environment() {
    let mut serving = Serving::start_with(&[], &[("LOG_FORMAT", "json"), ("LOG_LEVEL", "error")]);
    serving.handshake("2025-11-25");
    serving.request(
        3,
        "tools/call",
        json!({"name": "tmkb_query", "arguments": {"context": "x", "language": "java"}}),
    );
    serving.query(json!({"context": "celery background job"}));
    let (_, _, log) = serving.end();
    assert_eq!(log.lines().count(), 1, "{log}");
    let mut line: Value = serde_json::from_str(&log).expect("a line is JSON");
    let time = line.as_object_mut().and_then(|line| line.remove("time"));
    assert!(time.as_ref().and_then(Value::as_str).is_some_and(|time| time.ends_with('Z')), "{time:?}");
    assert_eq!(line, json!({"level": "ERROR", "message": "Invalid language parameter: java", "req_id": "3"}));
}

#[track_caller]
fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}
