//! A quick look at a message, for what HTTP has in its headers and must be the same: its revision, method and name.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::id::Id;

/// What a message says of itself. Nothing is said of what cannot be read.
#[derive(Debug, Default)]
pub struct Glance {
    /// Its id; none in a notification.
    pub id: Option<Id>,
    /// Its method.
    pub method: Option<String>,
    /// The revision in its `_meta`.
    pub version: Option<String>,
    /// The tool, prompt or resource that it is about.
    pub name: Option<String>,
}

/// Looks at a message. Whether it is in order is not looked at.
pub fn glance<'a>(bytes: &'a [u8]) -> Glance {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        #[serde(borrow, default)]
        method: Option<&'a RawValue>,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
    }
    // Of a member that comes twice the last one counts, as it will when the message is read.
    type Members<'a> = HashMap<Cow<'a, str>, &'a RawValue>;
    let members = |raw: Option<&'a RawValue>| -> Members<'a> {
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    };
    let Ok(message) = serde_json::from_slice::<Message<'_>>(bytes) else { return Glance::default() };
    let params = members(message.params);
    let meta = members(params.get("_meta").copied());
    let method = text(message.method);
    // Each is what the method is about, whatever else the message brings along.
    let name = params.get(if method.as_deref() == Some("resources/read") { "uri" } else { "name" }).copied();
    Glance {
        id: message.id.and_then(Id::parse),
        version: text(meta.get("io.modelcontextprotocol/protocolVersion").copied()),
        name: text(name),
        method,
    }
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str::<Cow<'_, str>>(raw?.get()).ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::glance;

    #[test]
    fn what_can_be_read_is_told() {
        let seen = glance(
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a\u0062","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        );
        assert_eq!(seen.id.map(|id| id.as_json().to_owned()).as_deref(), Some("7"));
        assert_eq!(seen.method.as_deref(), Some("tools/call"));
        assert_eq!(seen.version.as_deref(), Some("2026-07-28"));
        assert_eq!(seen.name.as_deref(), Some("ab"));
        let seen = glance(br#"{"method":"tools/call","params":{"name":"list_types","name":"create_epic","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#);
        assert_eq!(
            (seen.name.as_deref(), seen.version.as_deref()),
            (Some("create_epic"), Some("2026-07-28"))
        );
        let seen = glance(br#"{"method":"resources/read","params":{"uri":"epic://EP-001","name":"else"}}"#);
        assert_eq!(seen.name.as_deref(), Some("epic://EP-001"));
        for bytes in ["", "[]", "{\"id\":{}}", "{\"params\":[]}", "{\"params\":{\"_meta\":1,\"name\":2}}"] {
            let seen = glance(bytes.as_bytes());
            assert!(seen.id.is_none() && seen.method.is_none() && seen.version.is_none(), "{bytes}");
            assert!(seen.name.is_none(), "{bytes}");
        }
    }
}
