//! A message that has been read, and the fields that HTTP repeats in its headers and that must agree: its
//! revision, method and name.

use serde_json::Value;

use crate::id::Id;
use crate::message::{self, Incoming, Rejection};
use crate::stateless::PROTOCOL_VERSION;

/// The contents of one line or one HTTP body, for [`Session::take`](crate::Session::take).
#[derive(Debug)]
pub struct Arrived<'a> {
    pub(crate) content: Result<Incoming<'a>, Rejection>,
    pub(crate) n_bytes: usize,
}

/// The header fields of a message; empty for an unreadable message or a batch.
#[derive(Debug, Default)]
pub struct Glance {
    /// Its id; none in a notification.
    pub id: Option<Id>,
    /// Its method.
    pub method: Option<String>,
    /// The revision in its `_meta`.
    pub version: Option<String>,
    /// The tool, prompt or resource that it addresses.
    pub name: Option<String>,
}

/// Reads the bytes of a message.
pub fn read(bytes: &[u8]) -> Arrived<'_> {
    Arrived { content: message::parse(bytes), n_bytes: bytes.len() }
}

impl Arrived<'_> {
    /// Whether it is several messages at once.
    pub fn is_batch(&self) -> bool {
        matches!(self.content, Ok(Incoming::Batch(_)))
    }

    /// Extracts the header fields, without validating the message.
    pub fn glance(&self) -> Glance {
        let message = match &self.content {
            Ok(Incoming::One(message)) => message,
            Ok(Incoming::Batch(_)) => return Glance::default(),
            Err(rejection) => return Glance { id: rejection.id.clone(), ..Glance::default() },
        };
        let params = message.params.as_ref().ok();
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        // Only the member that identifies the subject of the method, whatever else the message contains.
        let name = if message.method == "resources/read" { "uri" } else { "name" };
        Glance {
            id: message.id.clone(),
            method: Some(message.method.clone()),
            version: text(params.and_then(|params| params.get("_meta")?.get(PROTOCOL_VERSION))),
            name: text(params.and_then(|params| params.get(name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Glance, read};

    fn glance(bytes: &[u8]) -> Glance {
        read(bytes).glance()
    }

    #[test]
    fn what_can_be_read_is_told() {
        let seen = glance(
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a\u0062","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        );
        assert_eq!(seen.id.map(|id| id.as_json().to_owned()).as_deref(), Some("7"));
        assert_eq!(seen.method.as_deref(), Some("tools/call"));
        assert_eq!(seen.version.as_deref(), Some("2026-07-28"));
        assert_eq!(seen.name.as_deref(), Some("ab"));
        let seen = glance(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"list_types","name":"create_epic","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#);
        assert_eq!(
            (seen.name.as_deref(), seen.version.as_deref()),
            (Some("create_epic"), Some("2026-07-28"))
        );
        let seen = glance(
            br#"{"jsonrpc":"2.0","method":"resources/read","params":{"uri":"epic://EP-001","name":"else"}}"#,
        );
        assert_eq!(seen.name.as_deref(), Some("epic://EP-001"));
        for bytes in ["", "[]", "{\"id\":{}}", "{\"params\":[]}", "{\"params\":{\"_meta\":1,\"name\":2}}"] {
            let seen = glance(bytes.as_bytes());
            assert!(seen.id.is_none() && seen.method.is_none() && seen.version.is_none(), "{bytes}");
            assert!(seen.name.is_none(), "{bytes}");
        }
    }
}
