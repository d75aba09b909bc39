//! Parses arguments, and words the errors for people.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, FieldError, Result};

/// Parses arguments.
pub(super) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        Error::fields(vec![explain(&path, &error.into_inner().to_string())])
    })
}

/// Rewords the deserializer's error, and names the field.
fn explain(path: &str, message: &str) -> FieldError {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let within = |name: &str| if path == "." { name.to_owned() } else { format!("{path}.{name}") };
    if let (true, Some(name)) = (message.starts_with("missing field"), quoted.first()) {
        return FieldError { field: within(name), message: "is required".to_owned(), allowed: Vec::new() };
    }
    if let (true, Some((name, known))) = (message.starts_with("unknown field"), quoted.split_first()) {
        let nearest = nearest::nearest(name, known.iter().copied())
            .map(|name| format!("; did you mean {name}?"))
            .unwrap_or_default();
        let parent = path.rsplit_once('.').map(|(parent, _)| format!("{parent}.")).unwrap_or_default();
        let field = if path.ends_with(name) { path.to_owned() } else { format!("{parent}{name}") };
        let allowed = known.iter().map(|&name| name.to_owned()).collect();
        return FieldError { field, message: format!("is not known here{nearest}"), allowed };
    }
    if let (true, Some((name, known))) = (message.starts_with("unknown variant"), quoted.split_first()) {
        let allowed: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        let message = format!("expected one of {}, found {name:?}", allowed.join(", "));
        return FieldError { field: path.to_owned(), message, allowed };
    }
    let message = match message.split_once(", expected ") {
        Some((found, expected)) => {
            let found = found.trim_start_matches("invalid type: ").trim_start_matches("invalid value: ");
            format!("expected {}, found {}", wanted(expected), plainly(found))
        }
        None => message.to_owned(),
    };
    let field = if path == "." { "arguments" } else { path };
    FieldError { field: field.to_owned(), message, allowed: Vec::new() }
}

/// What the deserializer expects, in words for people.
fn wanted(expected: &str) -> &str {
    match expected {
        "string or map" | "a string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "map" | "a map" => "an object",
        other => other,
    }
}

/// A value in the usual notation: `9` for `integer `9``.
fn plainly(found: &str) -> &str {
    for kind in ["integer ", "floating point ", "boolean ", "string "] {
        if let Some(value) = found.strip_prefix(kind) {
            return value.trim_matches('`');
        }
    }
    match found {
        "map" => "an object",
        "sequence" => "a list",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn errors_name_the_field_and_what_was_expected() {
        for (path, message, expected) in [
            (".", "missing field `title`", "title: is required"),
            (
                "titel",
                "unknown field `titel`, expected `title` or `priority`",
                "titel: is not known here; did you mean title?",
            ),
            (
                "priority",
                "invalid value: integer `9`, expected a whole number from 1 to 4",
                "priority: expected a whole number from 1 to 4, found 9",
            ),
            (
                "sort",
                "unknown variant `x`, expected one of `title`, `number`",
                "sort: expected one of title, number, found \"x\"",
            ),
            ("role", "invalid type: null, expected string or map", "role: expected a text, found null"),
            (
                "scopes",
                "invalid type: string \"read\", expected a sequence",
                "scopes: expected a list, found \"read\"",
            ),
            ("operations[2]", "missing field `operation`", "operations[2].operation: is required"),
        ] {
            let error = explain(path, message);
            assert_eq!(format!("{}: {}", error.field, error.message), expected);
        }
    }
}
