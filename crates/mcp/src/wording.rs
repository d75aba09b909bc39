//! Words error messages about values.

use serde_json::Value;

use crate::failure::FieldError;

/// A text in an error message is cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 100;

/// Returns a text for use in a message: shortened, and without characters that move a terminal's cursor.
pub fn shown(text: &str) -> String {
    let plain = text.chars().map(|character| if is_plain(character) { character } else { '\u{fffd}' });
    let mut shown: String = plain.take(SHOWN_CHARACTERS_MAX).collect();
    if text.chars().nth(SHOWN_CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns whether a character is safe to print: it moves no cursor, ends no line and does not change the text direction.
pub fn is_plain(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Quotes a text as JSON, cut if it is long.
pub(crate) fn quoted(text: &str) -> String {
    Value::String(shown(text)).to_string()
}

/// Shows a value if it is short, otherwise its kind.
pub(crate) fn shown_value(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the string {}", quoted(text)),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// Reports that a value is not what was expected.
pub(crate) fn mismatch(field: &str, expected: &str, found: &Value) -> FieldError {
    FieldError::new(field, format!("expected {expected}, found {}", shown_value(found)))
}

/// Reports an unknown name, and the known one that was probably meant.
pub(crate) fn unknown_name(name: &str, known: &[&str]) -> FieldError {
    let nearest = nearest::nearest(name, known.iter().copied()).map(str::to_owned);
    let suggestion =
        nearest.as_ref().map(|nearest| format!("; did you mean \"{nearest}\"?")).unwrap_or_default();
    let message = if known.is_empty() {
        "unknown; nothing is expected here".into()
    } else {
        format!("unknown{suggestion} (known: {})", known.join(", "))
    };
    FieldError { nearest, ..FieldError::new(shown(name), message) }
}
