//! Holds what a server sends in a test against the official schema of its revision.
//!
//! Exempt, as the protocol leaves no other way, are two ids and nothing around them: the missing one of an error up to
//! 2025-06-18, whose schemas require one, and the echo of an id that is not an integer.

mod schema;

use std::collections::HashMap;

use serde_json::{Value, json, value::RawValue};

const STATELESS: &str = "2026-07-28";
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Both directions of one conversation. What was asked, and in which revision, decides what an answer must look like.
pub struct Conversation {
    /// The revision that the handshake settled, and before it the one that our servers begin with.
    revision: String,
    /// What is not answered yet, by its id.
    requests: HashMap<String, Request>,
}

struct Request {
    method: String,
    is_stateless: bool,
    progress_token: Option<String>,
    /// Answered or not, its id may be used again.
    is_cancelled: bool,
}

impl Default for Conversation {
    fn default() -> Self {
        Self { revision: "2025-11-25".into(), requests: HashMap::new() }
    }
}

impl Conversation {
    /// Takes note of a message to the server, which may be anything.
    pub fn sent(&mut self, message: &[u8]) {
        let text = str::from_utf8(message).unwrap_or_default();
        match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(batch) => batch.iter().for_each(|message| self.note(message.get())),
            Err(_) => self.note(text),
        }
    }

    /// Checks a message from the server. Returns what does not fit.
    pub fn received(&mut self, message: &[u8]) -> Result<(), String> {
        let text = str::from_utf8(message).map_err(|error| error.to_string())?;
        let problem = match text.starts_with('[') {
            _ if text.contains('\n') => Err("a message is one line".into()),
            true => self.check_batch(text),
            false => self.check(text),
        };
        problem.map_err(|problem| format!("{problem}\n{text}"))
    }

    fn note(&mut self, message: &str) {
        let message = members(message);
        let params = inside(&message, "params");
        let Some(Ok(method)) =
            message.get("method").map(|method| serde_json::from_str::<String>(method.get()))
        else {
            return;
        };
        if let Some(id) = params.get("requestId").filter(|_| method == "notifications/cancelled") {
            self.requests.entry(key(id)).and_modify(|request| request.is_cancelled = true);
        }
        let Some(id) = message.get("id").map(|id| key(id)) else { return };
        let meta = inside(&params, "_meta");
        // A revision of the handshake says nothing here; one that nobody knows is refused in the newest.
        let is_stateless = meta
            .get(PROTOCOL_VERSION)
            .and_then(|version| serde_json::from_str::<String>(version.get()).ok())
            .is_some_and(|version| version == STATELESS || !schema::is_known(&version));
        let progress_token = meta.get("progressToken").map(|token| key(token));
        // A second request with an id in flight does not take the first one's place.
        if self.requests.get(&id).is_none_or(|request| request.is_cancelled) {
            self.requests.insert(id, Request { method, is_stateless, progress_token, is_cancelled: false });
        }
    }

    fn check_batch(&mut self, text: &str) -> Result<(), String> {
        let batch: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if self.revision != "2025-03-26" {
            return Err(format!("{} has no batches", self.revision));
        }
        batch.iter().try_for_each(|message| self.check(message.get()))
    }

    fn check(&mut self, text: &str) -> Result<(), String> {
        let raw: HashMap<String, &RawValue> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let request = self.answered(&raw);
        let mut message = json!({});
        for (name, value) in raw.iter().filter(|(name, _)| *name != "id") {
            // Only the echo of an id can be what no value holds, such as 1e999; then there is nothing to check.
            let Ok(value) = serde_json::from_str(value.get()) else { return Ok(()) };
            message[name] = value;
        }
        let parts = ["result", "error", "method"].map(|part| message.get(part).is_some());
        let [is_result, is_error, is_notification] = parts;
        if parts.iter().filter(|is_there| **is_there).count() != 1 {
            return Err("expected one of result, error and method".into());
        }
        if let Some(settled) = message["result"]["protocolVersion"].as_str()
            && request.as_ref().is_some_and(|request| request.method == "initialize")
        {
            self.revision = settled.into();
        }
        let is_stateless = match &request {
            Some(request) => request.is_stateless,
            None => self.belongs_to_stateless(&raw),
        };
        let revision = if is_stateless { STATELESS } else { &self.revision };
        if let Some(id) = comparable_id(raw.get("id"), is_error, revision) {
            message["id"] = id;
        }

        let has_later_names = revision >= "2025-11-25";
        let check = |definition: &str, value: &Value| schema::check(revision, definition, value);
        if is_error {
            check(if has_later_names { "JSONRPCErrorResponse" } else { "JSONRPCError" }, &message)?;
            if message["error"]["code"] == -32022 {
                check("UnsupportedProtocolVersionError", &message)?;
            }
        } else if is_notification {
            check("JSONRPCNotification", &message)?;
            check(definition_of_notification(&message["method"])?, &message)?;
        } else if is_result {
            let request = request.ok_or("nothing was asked with this id")?;
            check(if has_later_names { "JSONRPCResultResponse" } else { "JSONRPCResponse" }, &message)?;
            check(definition_of_result(&request.method, is_stateless)?, &message["result"])?;
        }
        Ok(())
    }

    /// Returns the request that a message answers. A refused namesake leaves the one in flight where it is.
    fn answered(&mut self, message: &HashMap<String, &RawValue>) -> Option<Request> {
        let id = key(message.get("id")?);
        let is_namesake =
            message.get("error").is_some_and(|error| error.get().contains("is still in flight"));
        if is_namesake { None } else { self.requests.remove(&id) }
    }

    /// Tells whether a notification belongs to a request of the stateless revision.
    fn belongs_to_stateless(&self, notification: &HashMap<String, &RawValue>) -> bool {
        let params = inside(notification, "params");
        let token = params.get("progressToken").map(|token| key(token));
        let is_its_progress = |request: &Request| request.is_stateless && request.progress_token == token;
        inside(&params, "_meta").contains_key(SUBSCRIPTION_ID)
            || token.is_some() && self.requests.values().any(is_its_progress)
    }
}

/// Returns the id that goes into the comparison: a stand-in where the one that was sent, or its absence, is exempt.
fn comparable_id(id: Option<&&RawValue>, is_error: bool, revision: &str) -> Option<Value> {
    let stand_in = json!(0);
    match id.map(|id| serde_json::from_str::<Value>(id.get())) {
        None if is_error && revision <= "2025-06-18" => Some(stand_in),
        None => None,
        Some(Ok(Value::Number(number))) if number.is_f64() => Some(stand_in),
        Some(Ok(id)) => Some(id),
        // It is JSON, but what no value holds: 1e999, or half a surrogate pair.
        Some(Err(_)) => Some(stand_in),
    }
}

fn definition_of_result(method: &str, is_stateless: bool) -> Result<&'static str, String> {
    Ok(match method {
        "initialize" => "InitializeResult",
        "server/discover" if is_stateless => "DiscoverResult",
        // What only our servers answer: that they end, and after a handshake what they can do.
        "shutdown" | "server/discover" => "Result",
        "subscriptions/listen" => "SubscriptionsListenResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" | "resources/get" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "ping" | "resources/subscribe" | "resources/unsubscribe" => "EmptyResult",
        other => return Err(format!("no definition is known for the result of {other}")),
    })
}

fn definition_of_notification(method: &Value) -> Result<&'static str, String> {
    Ok(match method.as_str().unwrap_or_default() {
        "notifications/progress" => "ProgressNotification",
        "notifications/tools/list_changed" => "ToolListChangedNotification",
        "notifications/prompts/list_changed" => "PromptListChangedNotification",
        "notifications/resources/list_changed" => "ResourceListChangedNotification",
        "notifications/resources/updated" => "ResourceUpdatedNotification",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
        other => return Err(format!("no definition is known for {other}")),
    })
}

/// One spelling for each id: strings can be escaped in many ways, numbers come back as they were sent.
fn key(id: &RawValue) -> String {
    let string = serde_json::from_str::<String>(id.get());
    string.map_or_else(|_| id.get().to_owned(), |string| Value::String(string).to_string())
}

fn inside<'a>(members_outside: &HashMap<String, &'a RawValue>, name: &str) -> HashMap<String, &'a RawValue> {
    members_outside.get(name).map(|raw| members(raw.get())).unwrap_or_default()
}

/// The members of an object, not looked into: they may be nested deeper than a value can be. Nothing has none.
fn members(text: &str) -> HashMap<String, &RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}
