//! How a text became another, word by word.

use maud::{Markup, html};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::parts::PRIORITIES;

/// Both texts in one: what both have, what went and what came, in order.
pub fn pieces(old: &str, new: &str) -> Vec<(ChangeTag, String)> {
    let diff = TextDiff::from_words(old, new);
    let mut pieces: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match pieces.last_mut() {
            Some((tag, text)) if *tag == change.tag() => text.push_str(change.value()),
            _ => pieces.push((change.tag(), change.value().to_owned())),
        }
    }
    pieces
}

/// Both texts in one, with what went and what came marked.
pub fn words(old: &str, new: &str) -> Markup {
    html! {
        span.diff {
            @for (tag, text) in pieces(old, new) {
                @match tag {
                    ChangeTag::Equal => { (text) }
                    ChangeTag::Delete => { del { (text) } }
                    ChangeTag::Insert => { ins { (text) } }
                }
            }
        }
    }
}

/// Fields with texts, which change word by word; the others change as a whole.
pub const TEXTS: [&str; 5] = ["title", "description", "rationale", "content", "quote"];

/// How a field of something became another.
pub fn field(name: &str, change: &Value) -> Markup {
    let [old, new] = [0, 1].map(|side| written(name, &change[side]));
    if TEXTS.contains(&name) || old.is_empty() || new.is_empty() || old == new {
        return words(&old, &new);
    }
    html! { span.diff { del { (old) } " → " ins { (new) } } }
}

fn written(name: &str, value: &Value) -> String {
    let named = value.as_u64().filter(|_| name == "priority");
    let named = named.and_then(|number| PRIORITIES.get((number as usize).wrapping_sub(1)));
    match (named, value) {
        (Some(priority), _) => (*priority).to_owned(),
        (None, Value::String(text)) => text.clone(),
        (None, Value::Null) => String::new(),
        (None, Value::Array(items)) => {
            items.iter().map(|item| written("", item)).collect::<Vec<_>>().join(", ")
        }
        (None, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_choice_changes_as_a_whole_and_a_priority_has_its_name() {
        let shown = |name, change| super::field(name, &change).into_string();
        assert_eq!(
            shown("priority", json!([2, 1])),
            "<span class=\"diff\"><del>High</del> → <ins>Critical</ins></span>"
        );
        assert_eq!(
            shown("status", json!(["In Progress", "In Review"])),
            "<span class=\"diff\"><del>In Progress</del> → <ins>In Review</ins></span>"
        );
        assert_eq!(shown("labels", json!([null, ["a", "b"]])), "<span class=\"diff\"><ins>a, b</ins></span>");
    }

    #[test]
    fn words_are_compared() {
        let html = super::words("The lid MUST close.", "The lid SHOULD close.").into_string();
        assert_eq!(html, "<span class=\"diff\">The lid <del>MUST</del><ins>SHOULD</ins> close.</span>");
    }
}
