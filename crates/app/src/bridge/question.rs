//! A JSON-RPC request to the server with its headers, self-contained.

use std::time::{Duration, Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

/// The revision used with the server, whatever revision the host uses.
pub const REVISION: &str = "2026-07-28";

/// A request.
pub struct Question<'a> {
    /// The method.
    pub method: &'static str,
    /// Its subject, which the protocol requires in a header: the name of a tool or prompt, or a URI.
    pub name: Option<&'a str>,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// Its id in both logs.
    pub request_id: String,
    /// When the host sent it.
    pub started: Instant,
    /// Its time limit from then; by default the configured one.
    pub timeout: Option<Duration>,
    /// Whether progress is requested.
    pub wants_progress: bool,
    /// For a writing call: another call that shows whether this one happened.
    pub look: Option<String>,
}

/// The progress of a request.
pub struct Told<'a> {
    /// It only increases.
    pub progress: f64,
    /// The total, if known.
    pub total: Option<f64>,
    /// The current step.
    pub message: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// A request that starts now, with the configured time limit.
    pub fn new(method: &'static str, params: Map<String, Value>, request_id: String) -> Question<'a> {
        Question {
            method,
            name: None,
            params,
            request_id,
            started: Instant::now(),
            timeout: None,
            wants_progress: false,
            look: None,
        }
    }

    /// Its headers.
    //@= spexus://REQ-131
    //@# 002 R12.1: the bridge sends the token
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-method", HeaderValue::from_static(self.method));
        let mut insert = |name: &'static str, text: &str| {
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        if let Some(name) = self.name {
            insert("mcp-name", &header_form(name));
        }
        insert("x-request-id", &self.request_id);
        if self.method == "tools/call" {
            insert("idempotency-key", &self.request_id);
        }
        headers
    }

    /// The message, which takes the parameters.
    //@= spexus://REQ-059
    //@# 002 R4.5: the backend is asked by POST to /api/v1/mcp with the token
    pub fn body(&mut self) -> Vec<u8> {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": super::NAME, "version": env!("CARGO_PKG_VERSION")},
        });
        if self.wants_progress {
            meta["progressToken"] = json!(self.request_id);
        }
        let mut params = std::mem::take(&mut self.params);
        params.insert("_meta".into(), meta);
        json!({"jsonrpc": "2.0", "id": self.request_id, "method": self.method, "params": params})
            .to_string()
            .into_bytes()
    }
}

/// A name as a header value: unchanged, or in Base64 if it has other characters or looks like Base64.
fn header_form(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        && name.trim() == name
        && !name.starts_with("=?base64?");
    if is_plain { name.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(name)) }
}

#[cfg(test)]
mod tests {
    use super::header_form;

    #[test]
    fn names_travel_in_headers() {
        for (name, form) in [
            ("create_epic", "create_epic"),
            ("epics://list?status=In Progress", "epics://list?status=In Progress"),
            ("prüfen", "=?base64?cHLDvGZlbg==?="),
            (" x", "=?base64?IHg=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ] {
            assert_eq!(header_form(name), form);
        }
    }
}
