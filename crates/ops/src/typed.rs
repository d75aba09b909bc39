//! Converts arguments from text (a query string, a command line, a URI) to JSON by the operation's schema.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// The schema of an operation's arguments, prepared for lookup.
#[derive(Clone, Debug)]
pub struct Arguments {
    schema: Value,
    /// The types of each argument, and of the items of each list: looked up for every request.
    types: HashMap<String, (Types, Types)>,
}

/// The types that a schema allows, as far as they matter for text.
#[derive(Clone, Copy, Debug, Default)]
struct Types {
    integer: bool,
    boolean: bool,
    object: bool,
    array: bool,
}

impl Types {
    fn of(schema: &Value) -> Types {
        Types {
            integer: may_be(schema, "integer"),
            boolean: may_be(schema, "boolean"),
            object: may_be(schema, "object"),
            array: may_be(schema, "array"),
        }
    }
}

impl Arguments {
    /// From the schema of the arguments.
    pub fn new(schema: Value) -> Arguments {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let types = properties
            .map(|(name, schema)| (name.clone(), (Types::of(schema), Types::of(&schema["items"]))))
            .collect();
        Arguments { schema, types }
    }

    /// The schema of the arguments.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The names and schemas of the arguments.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), schema))
    }

    /// The schema of one argument.
    pub fn property(&self, name: &str) -> Option<&Value> {
        self.schema["properties"].get(name)
    }

    /// Whether an argument is required.
    pub fn is_required(&self, name: &str) -> bool {
        self.schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
    }

    /// Whether an argument takes several values.
    pub fn takes_several(&self, name: &str) -> bool {
        self.types.get(name).is_some_and(|(own, _)| own.array)
    }

    /// Adds an argument given by its name only: a flag, such as `?force`, means true.
    pub fn add_bare(&self, arguments: &mut Map<String, Value>, name: &str) {
        let is_flag = self.types.get(name).is_some_and(|(own, _)| own.boolean);
        self.add(arguments, name, if is_flag { "true" } else { "" });
    }

    /// Adds an argument given as text. A list accepts several, in one text with commas or repeated.
    pub fn add(&self, arguments: &mut Map<String, Value>, name: &str, text: &str) {
        let (own, items) = self.types.get(name).copied().unwrap_or_default();
        if !own.array {
            arguments.insert(name.to_owned(), typed(own, text));
            return;
        }
        // A list of objects must be JSON: all of it, or one object at a time.
        if items.object {
            let value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
            match (value, arguments.get_mut(name)) {
                (value @ Value::Object(_), Some(Value::Array(list))) => list.push(value),
                (value @ Value::Object(_), _) => drop(arguments.insert(name.to_owned(), json!([value]))),
                (value, _) => drop(arguments.insert(name.to_owned(), value)),
            }
            return;
        }
        let list = arguments.entry(name).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.extend(text.split(',').map(|part| typed(items, part.trim())));
        }
    }
}

/// Converts a text to a type of the schema. A mismatch stays text, and is rejected by the validation.
fn typed(types: Types, text: &str) -> Value {
    if types.integer
        && let Ok(number) = text.trim().parse::<i64>()
    {
        return json!(number);
    }
    if types.boolean {
        match text {
            "true" | "1" | "yes" => return json!(true),
            "false" | "0" | "no" => return json!(false),
            _ => {}
        }
    }
    if types.object
        && let Ok(value) = serde_json::from_str(text)
    {
        return value;
    }
    json!(text)
}

/// Whether a schema allows values of a type.
pub fn may_be(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(only) => only == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|keyword| schema[*keyword].as_array())
            .flatten()
            .any(|alternative| may_be(alternative, name)),
    }
}

/// The choices of a schema, or of its list items; none if it allows other values.
pub fn choices(schema: &Value) -> Vec<&str> {
    if let Some(word) = schema["const"].as_str() {
        return vec![word];
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().filter_map(Value::as_str).collect();
    }
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| schema[*keyword].as_array());
    match alternatives {
        None if schema["items"].is_object() => choices(&schema["items"]),
        None => Vec::new(),
        Some(alternatives) => {
            let kept = alternatives.iter().filter(|one| one["type"] != "null");
            let words: Vec<Vec<&str>> = kept.map(choices).collect();
            if words.iter().any(Vec::is_empty) { Vec::new() } else { words.concat() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use serde_json::{Map, json};

    #[test]
    fn text_becomes_what_the_schema_asks_for() {
        let arguments = Arguments::new(json!({ "properties": {
            "limit": { "type": ["integer", "null"] },
            "force": { "type": "boolean" },
            "dry_run": { "type": "boolean" },
            "status": { "type": ["array", "null"], "items": { "type": "string" } },
            "priority": { "type": "array", "items": { "type": "integer" } },
            "title": { "type": "string" },
            "transitions": { "type": "array", "items": { "type": "object" } },
        } }));
        let mut found = Map::new();
        for (name, text) in [
            ("limit", "10"),
            ("force", "yes"),
            ("dry_run", ""),
            ("status", "Draft,Active"),
            ("status", "Obsolete"),
            ("priority", "1, 2"),
            ("title", "12"),
            ("other", "x"),
            ("transitions", r#"{"from": "a"}"#),
            ("transitions", r#"{"from": "b"}"#),
        ] {
            arguments.add(&mut found, name, text);
        }
        let expected = json!({
            "limit": 10, "force": true, "dry_run": "", "status": ["Draft", "Active", "Obsolete"], "priority": [1, 2],
            "title": "12", "other": "x", "transitions": [{"from": "a"}, {"from": "b"}],
        });
        assert_eq!(json!(found), expected);
        arguments.add_bare(&mut found, "dry_run");
        arguments.add_bare(&mut found, "title");
        assert_eq!((&found["dry_run"], &found["title"]), (&json!(true), &json!("")));
        arguments.add(&mut found, "limit", "ten");
        assert_eq!(found["limit"], "ten");
    }
}
