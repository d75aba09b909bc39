//! Members of a result that a server has already serialized. They are spliced into the bytes of the response without
//! parsing them.

use serde_json::Value;

/// Serialized members, with a comma before each.
#[derive(Debug, Default)]
pub(crate) struct Members(Vec<u8>);

impl Members {
    /// Adds a member with JSON in several pieces.
    pub(crate) fn json(&mut self, name: &str, pieces: &[&str]) {
        self.name(name);
        for piece in pieces {
            self.0.extend_from_slice(piece.as_bytes());
        }
    }

    /// Adds an array whose first object is complete except for its last member: `text`, a string that contains JSON.
    pub(crate) fn text_in(&mut self, name: &str, opening: &str, json: &str, others: &[Value]) {
        self.0.reserve(3 * json.len() + 256);
        self.name(name);
        self.0.push(b'[');
        self.0.extend_from_slice(opening.as_bytes());
        self.0.extend_from_slice(b",\"text\":\"");
        push_escaped(&mut self.0, json);
        self.0.extend_from_slice(b"\"}");
        for other in others {
            self.0.push(b',');
            self.0.extend_from_slice(other.to_string().as_bytes());
        }
        self.0.push(b']');
    }

    /// Appends them to the result of a response.
    pub(crate) fn write_into(&self, response: &mut Vec<u8>, is_result_empty: bool) {
        const ENDS: &[u8] = b"}}";
        if !self.0.is_empty() {
            response.truncate(response.len() - ENDS.len());
            response.extend_from_slice(&self.0[usize::from(is_result_empty)..]);
            response.extend_from_slice(ENDS);
        }
    }

    fn name(&mut self, name: &str) {
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }
}

/// Escapes JSON as a JSON string. Written by hand because every tenth byte of JSON is a quote, and serializers are
/// optimized for texts with few of them.
fn push_escaped(bytes: &mut Vec<u8>, json: &str) {
    // Reading to the end is faster than a check after every byte.
    if json.bytes().fold(false, |found, byte| found | (byte < b' ')) {
        // JSON may have line breaks between its values. Ours has none.
        let string = Value::from(json).to_string();
        return bytes.extend_from_slice(&string.as_bytes()[1..string.len() - 1]);
    }
    bytes.reserve(2 * json.len());
    let mut written = 0;
    for at in memchr::memchr2_iter(b'"', b'\\', json.as_bytes()) {
        bytes.extend_from_slice(&json.as_bytes()[written..at]);
        bytes.push(b'\\');
        written = at;
    }
    bytes.extend_from_slice(&json.as_bytes()[written..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::push_escaped;

    proptest! {
        #[test]
        fn any_text_is_read_as_it_was(text in any::<String>()) {
            let mut bytes = vec![b'"'];
            push_escaped(&mut bytes, &text);
            bytes.push(b'"');
            prop_assert_eq!(serde_json::from_slice::<String>(&bytes).expect("a string"), text);
        }
    }
}
