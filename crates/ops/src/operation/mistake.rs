//! What is wrong with an argument, worded for people.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};
use serde_json::Value;

use super::argument::Path;
use crate::error::FieldError;

/// What is wrong with an argument. It is made where that is seen, and learns its place from the deserializer.
#[derive(Debug)]
pub(super) struct Mistake(Box<Found>);

#[derive(Debug)]
struct Found {
    /// Where it is, once that is known.
    place: Option<String>,
    /// The field of the object there that is missing.
    missing: Option<&'static str>,
    message: String,
    allowed: Vec<String>,
}

impl Mistake {
    /// It is of the wrong type.
    pub(super) fn wrong(value: &Value, expected: &dyn Expected) -> Mistake {
        let found = match value {
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
            Value::String(text) => Unexpected::Str(text),
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Null => Unexpected::Unit,
            Value::Number(_) => return Mistake::unlike(&value.to_string(), expected),
        };
        Mistake::invalid_type(found, expected)
    }

    /// A list has more items than were read.
    pub(super) fn too_long(found: usize, expected: usize) -> Mistake {
        Mistake::custom(format_args!("expected a list of {expected}, found {found}"))
    }

    /// Says where it is, unless that was said from nearer to it.
    #[cold]
    pub(super) fn at(mut self, path: &Path<'_>) -> Mistake {
        self.0.place.get_or_insert_with(|| path.to_string());
        self
    }

    fn unlike(found: &str, expected: &dyn Expected) -> Mistake {
        let expected = expected.to_string();
        Mistake::custom(format_args!("expected {}, found {found}", wanted(&expected)))
    }
}

impl Error for Mistake {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Mistake {
        let message = message.to_string();
        Mistake(Box::new(Found { place: None, missing: None, message, allowed: Vec::new() }))
    }

    #[cold]
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Mistake {
        Mistake::unlike(&plainly(found), expected)
    }

    #[cold]
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Mistake {
        Mistake::unlike(&plainly(found), expected)
    }

    #[cold]
    fn invalid_length(found: usize, expected: &dyn Expected) -> Mistake {
        Mistake::unlike(&found.to_string(), expected)
    }

    #[cold]
    fn missing_field(name: &'static str) -> Mistake {
        let mut mistake = Mistake::custom("is required");
        mistake.0.missing = Some(name);
        mistake
    }

    #[cold]
    fn unknown_field(name: &str, known: &'static [&'static str]) -> Mistake {
        let nearest = nearest::nearest(name, known.iter().copied())
            .map(|name| format!("; did you mean {name}?"))
            .unwrap_or_default();
        let mut mistake = Mistake::custom(format_args!("is not known here{nearest}"));
        mistake.0.allowed = known.iter().map(|&name| name.to_owned()).collect();
        mistake
    }

    #[cold]
    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Mistake {
        let mut mistake =
            Mistake::custom(format_args!("expected one of {}, found {name:?}", known.join(", ")));
        mistake.0.allowed = known.iter().map(|&name| name.to_owned()).collect();
        mistake
    }
}

impl From<Mistake> for FieldError {
    fn from(Mistake(found): Mistake) -> FieldError {
        let Found { place, missing, message, allowed } = *found;
        let place = place.filter(|place| !place.is_empty());
        let field = match (place, missing) {
            (Some(place), Some(name)) => format!("{place}.{name}"),
            (None, Some(name)) => name.to_owned(),
            (Some(place), None) => place,
            (None, None) => "arguments".to_owned(),
        };
        FieldError { field, message, allowed }
    }
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

/// `operations[2].priority`; nothing for the arguments themselves.
impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Arguments => Ok(()),
            Path::Field(Path::Arguments, name) => formatter.write_str(name),
            Path::Field(parent, name) => write!(formatter, "{parent}.{name}"),
            Path::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}

/// What a visitor expects, in words for people.
fn wanted(expected: &str) -> &str {
    match expected {
        "a string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "a map" => "an object",
        other => other,
    }
}

/// A value in the usual notation.
fn plainly(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Float(number) => Value::from(number).to_string(),
        Unexpected::Str(text) => format!("{text:?}"),
        Unexpected::Unit => "null".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::super::argument::read;
    use crate::input::{Number, Patch, Text};

    /// Arguments of all shapes.
    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether they can be read matters")]
    struct Shapes {
        title: Patch<Text<1, 10>>,
        priority: Option<Number<1, 4>>,
        sort: Option<Sort>,
        scopes: Vec<String>,
        pair: Option<(u8, String)>,
        is_sure: bool,
        any: Option<serde_json::Value>,
        operations: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Sort {
        Title,
        Number,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "as above")]
    struct Inner {
        operation: String,
        ratio: Option<f64>,
    }

    #[test]
    fn errors_name_the_field_and_what_was_expected() {
        for (arguments, expected) in [
            (json!({ "operations": [{ "operation": "a" }, {}] }), "operations[1].operation: is required"),
            (json!({ "titel": "x" }), "titel: is not known here; did you mean title?"),
            (json!({ "title": "" }), "title: expected 1 to 10 characters, found only blanks"),
            (json!({ "title": 7 }), "title: expected a text, found 7"),
            (json!({ "priority": 9 }), "priority: expected a whole number from 1 to 4, found 9"),
            (json!({ "priority": 2.5 }), "priority: expected a whole number from 1 to 4, found 2.5"),
            (json!({ "priority": "high" }), "priority: expected a whole number from 1 to 4, found \"high\""),
            (json!({ "sort": "x" }), "sort: expected one of title, number, found \"x\""),
            (json!({ "sort": 1 }), "sort: expected a text, found 1"),
            (json!({ "scopes": "read" }), "scopes: expected a list, found \"read\""),
            (json!({ "scopes": ["read", null] }), "scopes[1]: expected a text, found null"),
            (json!({ "pair": [1, "a", 3] }), "pair: expected a list of 2, found 3"),
            (json!({ "pair": [1] }), "pair: expected a tuple of size 2, found 1"),
            (json!({ "is_sure": "yes" }), "is_sure: expected true or false, found \"yes\""),
            (json!({ "operations": [[]] }), "operations[0]: expected an object, found a list"),
            (
                json!({ "operations": [{ "operation": "a", "ratio": {} }] }),
                "operations[0].ratio: expected f64, found an object",
            ),
            (json!([]), "arguments: expected an object, found a list"),
        ] {
            let error = read::<Shapes>(&arguments).unwrap_err();
            let fields: Vec<String> =
                error.fields.iter().map(|field| format!("{}: {}", field.field, field.message)).collect();
            assert_eq!(fields, [expected], "{arguments}");
        }
    }

    #[test]
    fn arguments_may_have_any_shape() {
        let any = json!({ "a": [1, -2, 2.5, null, true, "b"] });
        let arguments = json!({
            "title": null, "priority": 2.0, "sort": "number", "scopes": ["read"], "pair": [1, "a"],
            "is_sure": true, "any": any, "operations": [{ "operation": "a", "ratio": 1, "more": {} }],
        });
        let shapes: Shapes = read(&arguments).unwrap();
        assert_eq!((shapes.title, shapes.priority), (Patch::Null, Some(Number(2))));
        assert!(matches!(shapes.sort, Some(Sort::Number)));
        assert_eq!((shapes.pair, shapes.any), (Some((1, "a".to_owned())), Some(any)));
        assert_eq!(shapes.operations[0].ratio, Some(1.0));
    }
}
