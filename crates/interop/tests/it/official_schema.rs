//! Every message that our servers send fits the official schema of its revision.
//!
//! Exempt, as the protocol leaves no other way: errors to messages without a readable id up to 2025-06-18,
//! whose schemas insist on one, and echoes of ids that are no integer.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::conversation::{Sent, play, split};
use crate::server;

#[test]
fn messages_of_every_conversation_fit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/conversations");
    let mut schemas = Schemas::default();
    for entry in fs::read_dir(folder).expect("the conversations") {
        let file = fs::read_to_string(entry.expect("readable").path()).expect("readable");
        for (title, lines) in split(&file) {
            for sent in play(&lines).1 {
                schemas.check(&sent, title);
            }
        }
    }
    assert!(schemas.n_checked > 150, "only {} messages were checked", schemas.n_checked);
}

#[test]
fn messages_of_the_real_server_fit_in_every_revision() {
    let mut schemas = Schemas::default();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        for sent in converse(revision) {
            schemas.check(&sent, revision);
        }
    }
    assert!(schemas.n_checked > 35, "only {} messages were checked", schemas.n_checked);
}

/// Asks the real server for a bit of everything.
fn converse(revision: &str) -> Vec<Sent> {
    let is_stateless = revision == "2026-07-28";
    let mut requests = vec![
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": "x"})),
        ("tools/call", json!({"name": "tmkb_query", "arguments": {"context": "background job"}})),
        (
            "tools/call",
            json!({"name": "tmkb_query", "arguments": {"context": "tenant", "verbosity": "human"}}),
        ),
        ("tools/call", json!({"name": "tmkb_query", "arguments": {"context": "x", "language": "java"}})),
        ("tools/call", json!({"name": "nothing"})),
        ("resources/list", json!({})),
        ("ping", json!({})),
    ];
    if !is_stateless {
        let client = json!({"name": "interop", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        requests.insert(0, ("initialize", params));
    }
    let mut input = String::new();
    for (id, (method, params)) in requests.iter_mut().enumerate() {
        if is_stateless {
            params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {}});
        }
        input += &format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        if *method == "initialize" {
            input += "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        }
    }
    let mut child = server::spawn();
    child.stdin.take().expect("stdin is piped").write_all(input.as_bytes()).expect("the server reads");
    let lines: Vec<String> =
        BufReader::new(child.stdout.take().expect("stdout is piped")).lines().map_while(Result::ok).collect();
    assert!(child.wait().expect("the server ends").success());
    assert_eq!(lines.len(), requests.len(), "each request is answered: {lines:#?}");
    let sent = |line: &String| {
        let message: Value = serde_json::from_str(line).expect("an answer is JSON");
        let method = message["id"].as_u64().map(|id| requests[id as usize].0.to_owned());
        Sent { message, revision: revision.into(), method }
    };
    lines.iter().map(sent).collect()
}

/// The schemas, read and compiled when first needed.
#[derive(Default)]
struct Schemas {
    documents: HashMap<String, Value>,
    validators: HashMap<(String, String), Option<Validator>>,
    n_checked: usize,
}

impl Schemas {
    #[track_caller]
    fn check(&mut self, sent: &Sent, title: &str) {
        let Sent { message, revision, method } = sent;
        let is_error = message.get("error").is_some();
        let id = message.get("id");
        if id.is_some_and(|id| !id.is_string() && !id.is_i64() && !id.is_u64())
            || is_error && id.is_none() && revision.as_str() <= "2025-06-18"
        {
            return;
        }
        let mut fits = |definition: &str, value: &Value| {
            let Some(validator) = self.validator(revision, definition) else { return false };
            if let Err(error) = validator.validate(value) {
                panic!("{title}: {revision} {definition}: {error} at {}\n{message}", error.instance_path());
            }
            true
        };
        let is_known = if is_error {
            let special =
                if message["error"]["code"] == -32022 { "UnsupportedProtocolVersionError" } else { "" };
            fits("JSONRPCErrorResponse", message) | fits("JSONRPCError", message) | fits(special, message)
        } else if message.get("method").is_some() {
            fits("JSONRPCNotification", message) & fits(definition_of_notification(message), message)
        } else {
            let is_response = fits("JSONRPCResultResponse", message) | fits("JSONRPCResponse", message);
            let method = method.as_deref().unwrap_or_default();
            // The handshake revisions have no definition for asking the capabilities again.
            let is_extension =
                method == "shutdown" || method == "server/discover" && revision != "2026-07-28";
            is_response & (is_extension || fits(definition_of_result(method), &message["result"]))
        };
        assert!(is_known, "{title}: {revision} has no definition for {message}");
        self.n_checked += 1;
    }

    /// Returns nothing where the revision has no definition of that name.
    fn validator(&mut self, revision: &str, definition: &str) -> Option<&Validator> {
        let document = self.documents.entry(revision.to_owned()).or_insert_with(|| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema");
            let text = fs::read_to_string(folder.join(format!("{revision}.json"))).expect("a schema");
            serde_json::from_str(&text).expect("a schema is JSON")
        });
        let key = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        let validator = self.validators.entry((revision.to_owned(), definition.to_owned()));
        let compile = || {
            document[key].get(definition)?;
            let schema = json!({"$ref": format!("#/{key}/{definition}"), key: document[key]});
            Some(jsonschema::validator_for(&schema).expect("an official schema is a schema"))
        };
        validator.or_insert_with(compile).as_ref()
    }
}

fn definition_of_result(method: &str) -> &'static str {
    match method {
        "initialize" => "InitializeResult",
        "server/discover" => "DiscoverResult",
        "subscriptions/listen" => "SubscriptionsListenResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "ping" | "resources/subscribe" | "resources/unsubscribe" => "EmptyResult",
        other => panic!("no definition is known for the result of {other:?}"),
    }
}

fn definition_of_notification(message: &Value) -> &'static str {
    match message["method"].as_str().unwrap_or_default() {
        "notifications/progress" => "ProgressNotification",
        "notifications/tools/list_changed" => "ToolListChangedNotification",
        "notifications/prompts/list_changed" => "PromptListChangedNotification",
        "notifications/resources/list_changed" => "ResourceListChangedNotification",
        "notifications/resources/updated" => "ResourceUpdatedNotification",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
        other => panic!("no definition is known for {other:?}"),
    }
}
