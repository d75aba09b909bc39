//! How a field became another: short values as a whole, texts word by word.

use serde_json::Value;
use similar::ChangeTag;

use super::look::{ADDED, Look, REMOVED};

/// Words that did not change are shown around those that did, so many on each side.
const AROUND: usize = 8;

/// The change of a field from `pair[0]` to `pair[1]`.
pub fn of_field(look: Look, name: &str, pair: &Value) -> String {
    let [old, new] = [0, 1].map(|side| written(name, &pair[side]));
    if !web::TEXTS.contains(&name) || old.is_empty() || new.is_empty() {
        let [old, new] = [old, new].map(|text| if text.is_empty() { "nothing".to_owned() } else { text });
        return format!("{} → {}", look.styled(REMOVED, &brief(&old)), look.styled(ADDED, &brief(&new)));
    }
    words(look, &old, &new)
}

/// The words that differ, with some around them: `stop at [-100-]{+95+} degrees`, or in colours.
pub fn words(look: Look, old: &str, new: &str) -> String {
    let pieces = web::changed_words(old, new);
    let last = pieces.len().saturating_sub(1);
    let mut text = String::new();
    for (index, (tag, piece)) in pieces.iter().enumerate() {
        text.push_str(&match (tag, look.is_colored) {
            (ChangeTag::Equal, _) => super::look::harmless(&shortened(piece, index == 0, index == last)),
            (ChangeTag::Delete, true) => look.styled(REMOVED, piece),
            (ChangeTag::Insert, true) => look.styled(ADDED, piece),
            (ChangeTag::Delete, false) => format!("[-{}-]", super::look::harmless(piece)),
            (ChangeTag::Insert, false) => format!("{{+{}+}}", super::look::harmless(piece)),
        });
    }
    text
}

/// What both have, without the middle where it is long, the beginning of the first piece and the end of the last.
fn shortened(piece: &str, is_first: bool, is_last: bool) -> String {
    let words: Vec<&str> = piece.split_inclusive(char::is_whitespace).collect();
    let kept = match (is_first, is_last) {
        (true, true) => return piece.to_owned(),
        (true, false) | (false, true) => AROUND,
        (false, false) => 2 * AROUND,
    };
    if words.len() <= kept + 1 {
        return piece.to_owned();
    }
    let before: String = if is_first { String::new() } else { words[..AROUND].concat() };
    let after: String = if is_last { String::new() } else { words[words.len() - AROUND..].concat() };
    let gap = if before.ends_with('\n') || before.is_empty() { "… " } else { " … " };
    format!("{}{}{after}", before.trim_end_matches(' '), if is_last { " …" } else { gap })
}

/// The first line of a value, as one line of a list shows it.
fn brief(text: &str) -> String {
    const CHARACTERS: usize = 100;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = words::cut(&line, CHARACTERS);
    if short.len() < line.len() { format!("{short}…") } else { line }
}

/// A value as people say it.
pub fn written(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Number(number) if name == "priority" => {
            number.as_i64().map_or_else(|| number.to_string(), priority)
        }
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(|item| written("", item)).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The name of a priority.
pub fn priority(number: i64) -> String {
    match number {
        1 => "critical".to_owned(),
        2 => "high".to_owned(),
        3 => "medium".to_owned(),
        4 => "low".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_marked_where_there_are_no_colours() {
        let look = Look::default();
        let shown = |name: &str, pair| of_field(look, name, &pair);
        assert_eq!(shown("status", json!(["Draft", "Active"])), "Draft → Active");
        assert_eq!(shown("priority", json!([2, 1])), "high → critical");
        assert_eq!(shown("assignee", json!([null, "ann"])), "nothing → ann");
        assert_eq!(
            shown("description", json!(["It MUST stop at 100 degrees.", "It MUST stop at 95 degrees."])),
            "It MUST stop at [-100-]{+95+} degrees."
        );
    }

    #[test]
    fn long_texts_are_shown_around_the_change() {
        let many = |word: &str| format!("{word} ").repeat(30);
        let old = format!("{}old {}", many("a"), many("b"));
        let new = format!("{}new {}", many("a"), many("b"));
        let shown = words(Look::default(), &old, &new);
        assert_eq!(shown, format!("… {}[-old-]{{+new+}} {}…", "a ".repeat(8), "b ".repeat(7)));
    }
}
