//! The contents of a resource.

use serde_json::{Map, Value};

use crate::tool::Outcome;

/// The contents of a resource.
#[derive(Clone, Debug)]
pub enum Contents {
    /// Contents in the form of the protocol.
    Values(Vec<Value>),
    /// One text that is JSON.
    Json {
        /// The URI of the resource.
        uri: String,
        /// The text.
        text: String,
    },
}

impl Contents {
    /// One text that is JSON.
    pub fn json(uri: &str, text: String) -> Self {
        Self::Json { uri: uri.to_owned(), text }
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        match self {
            Self::Values(contents) => Map::from_iter([("contents".to_owned(), contents.into())]).into(),
            Self::Json { uri, text } => {
                let mut outcome = Outcome::default();
                let opening = format!(r#"{{"uri":{},"mimeType":"application/json""#, Value::String(uri));
                outcome.more.text_in("contents", &opening, &text, &[]);
                outcome
            }
        }
    }
}

impl From<Value> for Contents {
    fn from(content: Value) -> Self {
        Self::Values(vec![content])
    }
}
