//! A request's id, stored as the bytes that were received.
//!
//! A client compares ids as it wrote them. A number that was parsed as a float, or a string that was
//! escaped differently, would be another id for it.

use std::{
    borrow::Cow,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// An id is stored while its request is in flight, or while its subscription is open.
pub(crate) const ID_BYTES_MAX: usize = 64 * 1024;

/// The JSON text of an id: a string or a number.
#[derive(Clone)]
pub struct Id(Arc<RawValue>);

impl Id {
    /// Accepts the JSON text of a string or a number of limited length; anything else is not a valid id.
    pub(crate) fn parse(raw: &RawValue) -> Option<Self> {
        match raw.get().as_bytes().first() {
            _ if raw.get().len() > ID_BYTES_MAX => None,
            Some(b'"' | b'-' | b'0'..=b'9') => Some(Self(raw.to_owned().into())),
            _ => None,
        }
    }

    /// Returns the id as the request had it.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Two spellings of one string are the same id: `"a"` and `"\u0061"`.
    fn canonical(&self) -> Cow<'_, str> {
        let text = self.0.get();
        if text.starts_with('"') && text.contains('\\') {
            let decoded = serde_json::from_str::<String>(text).ok();
            if let Some(encoded) = decoded.and_then(|string| serde_json::to_string(&string).ok()) {
                return Cow::Owned(encoded);
            }
        }
        Cow::Borrowed(text)
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().hash(state);
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::serialize(&self.0, serializer)
    }
}

/// Prints at most this many bytes of an id, which may be megabytes long.
const SHOWN_BYTES_MAX: usize = 64;

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.get();
        let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        let end = bare.floor_char_boundary(SHOWN_BYTES_MAX);
        formatter.write_str(&bare[..end])?;
        if end < bare.len() { formatter.write_str("…") } else { Ok(()) }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
