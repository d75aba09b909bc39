//! How a text became another, word by word.

use maud::{Markup, html};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Both texts in one, with what went and what came marked.
pub fn words(old: &str, new: &str) -> Markup {
    let diff = TextDiff::from_words(old, new);
    let mut pieces: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match pieces.last_mut() {
            Some((tag, text)) if *tag == change.tag() => text.push_str(change.value()),
            _ => pieces.push((change.tag(), change.value().to_owned())),
        }
    }
    html! {
        span.diff {
            @for (tag, text) in pieces {
                @match tag {
                    ChangeTag::Equal => { (text) }
                    ChangeTag::Delete => { del { (text) } }
                    ChangeTag::Insert => { ins { (text) } }
                }
            }
        }
    }
}

/// The same for values of any kind.
pub fn values(old: &Value, new: &Value) -> Markup {
    let written = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    words(&written(old), &written(new))
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_compared() {
        let html = super::words("The lid MUST close.", "The lid SHOULD close.").into_string();
        assert_eq!(html, "<span class=\"diff\">The lid <del>MUST</del><ins>SHOULD</ins> close.</span>");
    }
}
