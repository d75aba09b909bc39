//! Words for what is wrong with a value.

use serde_json::Value;

use crate::failure::FieldError;

/// Names the kind of a value, and shows it where it is short.
pub(crate) fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the string {}", quoted(text)),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// A value in an error message is cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// Quotes a text as JSON does, cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    Value::String(shown).to_string()
}

/// Says that a name is not among those known, and which one was probably meant.
pub(crate) fn unknown_argument(name: &str, known: &[&str]) -> FieldError {
    let nearest = nearest(name, known.iter().copied()).map(str::to_owned);
    let suggestion =
        nearest.as_ref().map(|nearest| format!("; did you mean \"{nearest}\"?")).unwrap_or_default();
    let message = match known.is_empty() {
        true => "unknown; nothing is expected here".into(),
        false => format!("unknown{suggestion} (known: {})", known.join(", ")),
    };
    FieldError { field: name.to_owned(), message, allowed: Vec::new(), nearest }
}

/// Returns the candidate that a person who wrote `found` most likely meant, if any is close.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LIKENESS_MIN: f64 = 0.7;
    // Comparing is quadratic, and nobody mistypes a novel.
    const FOUND_BYTES_MAX: usize = 200;
    if found.len() > FOUND_BYTES_MAX {
        return None;
    }
    let found = found.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let likeness = strsim::jaro_winkler(&found, &candidate.to_lowercase());
        if likeness >= LIKENESS_MIN && best.is_none_or(|(highest, _)| likeness > highest) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
