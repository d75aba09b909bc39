//! Validates arguments against the JSON Schema 2020-12 of a tool, and reports all errors at once.
//!
//! This is our own validator because its errors matter most: they name the path, what was
//! expected, what was found, the allowed values and the nearest known name, so that an agent can correct the call.
//! It supports the keywords that our tools use; [`Schema::unsupported_keywords`] lists others.

mod describe;
mod normalise;

use serde_json::{Map, Number, Value};

use crate::{
    failure::FieldError,
    wording::{shown_value, unknown_name},
};
use describe::{describe, describe_fully, measured, one_of};

/// Longer lists of errors do not help.
const ERRORS_MAX: usize = 50;

/// References may be cyclic.
const DEPTH_MAX: usize = 64;

const CHECKED_KEYWORDS: [&str; 23] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "allOf",
    "anyOf",
    "oneOf",
    "$ref",
];

/// Keywords that describe but do not restrict.
const DESCRIBING_KEYWORDS: [&str; 11] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "$comment",
    "$schema",
    "$id",
];

/// The JSON Schema of a tool's arguments.
#[derive(Clone, Debug)]
pub struct Schema(Value);

impl Schema {
    /// Takes a schema unchanged.
    pub fn new(schema: Value) -> Self {
        Self(schema)
    }

    /// Returns the schema for clients.
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// Returns all errors in a value, in the order of the schema.
    pub fn check(&self, value: &Value) -> Vec<FieldError> {
        let mut check = Check { root: &self.0, errors: Vec::new(), depth: 0 };
        check.value(&self.0, value, "");
        check.errors
    }

    /// Lists the keywords that [`Schema::check`] ignores, so that a test can reject them.
    pub fn unsupported_keywords(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect_unsupported(&self.0, &mut found);
        found
    }
}

struct Check<'a> {
    root: &'a Value,
    errors: Vec<FieldError>,
    depth: usize,
}

impl<'a> Check<'a> {
    fn value(&mut self, schema: &'a Value, value: &Value, path: &str) {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return self.error(path, "is not allowed here".into()),
            _ => return,
        };
        if self.errors.len() >= ERRORS_MAX || self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        self.object_schema(schema, value, path);
        self.depth -= 1;
    }

    fn object_schema(&mut self, schema: &'a Map<String, Value>, value: &Value, path: &str) {
        if let Some(target) =
            schema.get("$ref").and_then(Value::as_str).and_then(|target| self.resolve(target))
        {
            self.value(target, value, path);
        }
        if let Some(types) = schema.get("type")
            && !has_type(types, value)
        {
            return self.mismatch(schema, value, path);
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.iter().any(|candidate| equal(candidate, value))
        {
            return self.not_allowed(allowed, value, path);
        }
        if let Some(expected) = schema.get("const")
            && !equal(expected, value)
        {
            return self.not_allowed(std::slice::from_ref(expected), value, path);
        }
        let fits = match value {
            Value::String(text) => text_fits(schema, text),
            Value::Number(number) => number_fits(schema, number),
            Value::Array(items) => array_fits(schema, items),
            Value::Object(members) => object_fits(schema, members),
            Value::Null | Value::Bool(_) => true,
        };
        if !fits {
            self.mismatch(schema, value, path);
        }
        match value {
            Value::Object(members) => self.members(schema, members, path),
            Value::Array(items) => {
                if let Some(item_schema) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.value(item_schema, item, &format!("{path}[{index}]"));
                    }
                }
            }
            _ => {}
        }
        self.combined(schema, value, path);
    }

    fn members(&mut self, schema: &'a Map<String, Value>, members: &Map<String, Value>, path: &str) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let expected =
                    properties.and_then(|properties| properties.get(name)).and_then(Value::as_object);
                let message = match expected.map(describe_fully) {
                    Some(expected) if !expected.is_empty() => format!("is required ({expected})"),
                    _ => "is required".into(),
                };
                self.error(&join(path, name), message);
            }
        }
        for (name, member_schema) in properties.into_iter().flatten() {
            if let Some(member) = members.get(name) {
                self.value(member_schema, member, &join(path, name));
            }
        }
        let Some(additional) = schema.get("additionalProperties") else { return };
        let is_known = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
        for (name, member) in members.iter().filter(|(name, _)| !is_known(name)) {
            match additional {
                Value::Bool(false) => self.unknown(name, properties, path),
                other => self.value(other, member, &join(path, name)),
            }
        }
    }

    fn unknown(&mut self, name: &str, known: Option<&Map<String, Value>>, path: &str) {
        let known: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let mut error = unknown_name(name, &known);
        error.field = join(path, &error.field);
        self.push(error);
    }

    /// `allOf`, `anyOf` and `oneOf`.
    fn combined(&mut self, schema: &'a Map<String, Value>, value: &Value, path: &str) {
        let branches =
            |keyword| schema.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or(&[]);
        for branch in branches("allOf") {
            self.value(branch, value, path);
        }
        let any = branches("anyOf");
        if !any.is_empty() && self.n_fitting(any, value) == 0 {
            self.no_branch(any, value, path);
        }
        let one = branches("oneOf");
        match self.n_fitting(one, value) {
            _ if one.is_empty() => {}
            0 => self.no_branch(one, value, path),
            1 => {}
            n => self.error(path, format!("fits {n} of the alternatives, expected exactly one")),
        }
    }

    fn n_fitting(&self, branches: &'a [Value], value: &Value) -> usize {
        branches.iter().filter(|branch| self.errors_of(branch, value, "").is_empty()).count()
    }

    /// If just one alternative has the right kind, its errors are the helpful ones.
    fn no_branch(&mut self, branches: &'a [Value], value: &Value, path: &str) {
        let of_kind: Vec<&Value> = branches
            .iter()
            .filter(|branch| branch.get("type").is_none_or(|types| has_type(types, value)))
            .collect();
        if let [only] = of_kind.as_slice() {
            for error in self.errors_of(only, value, path) {
                self.push(error);
            }
            return;
        }
        let described: Vec<String> = branches.iter().filter_map(Value::as_object).map(describe).collect();
        let expected = described.join(" or ");
        self.error(path, format!("expected {expected}, found {}", shown_value(value)));
    }

    fn errors_of(&self, schema: &'a Value, value: &Value, path: &str) -> Vec<FieldError> {
        let mut check = Check { root: self.root, errors: Vec::new(), depth: self.depth };
        check.value(schema, value, path);
        check.errors
    }

    fn resolve(&self, target: &str) -> Option<&'a Value> {
        self.root.pointer(target.strip_prefix('#')?)
    }

    fn mismatch(&mut self, schema: &Map<String, Value>, value: &Value, path: &str) {
        self.error(path, format!("expected {}, found {}", describe_fully(schema), measured(schema, value)));
    }

    fn not_allowed(&mut self, allowed: &[Value], value: &Value, path: &str) {
        let message = format!("expected {}, found {}", one_of(allowed), shown_value(value));
        let nearest = value
            .as_str()
            .and_then(|found| nearest::nearest(found, allowed.iter().filter_map(Value::as_str)))
            .map(str::to_owned);
        self.push(FieldError { field: shown_path(path), message, allowed: allowed.to_vec(), nearest });
    }

    fn error(&mut self, path: &str, message: String) {
        self.push(FieldError::new(shown_path(path), message));
    }

    fn push(&mut self, error: FieldError) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn shown_path(path: &str) -> String {
    if path.is_empty() { "arguments".into() } else { path.to_owned() }
}

fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match types {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

/// Equality as defined by JSON Schema: 1 and 1.0 are equal, and the order of members does not matter.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

fn text_fits(schema: &Map<String, Value>, text: &str) -> bool {
    length_fits(schema, "minLength", "maxLength", || text.chars().count())
}

fn array_fits(schema: &Map<String, Value>, items: &[Value]) -> bool {
    let is_unique = || {
        items.iter().enumerate().all(|(index, item)| !items[..index].iter().any(|other| equal(other, item)))
    };
    length_fits(schema, "minItems", "maxItems", || items.len())
        && (schema.get("uniqueItems") != Some(&Value::Bool(true)) || is_unique())
}

fn object_fits(schema: &Map<String, Value>, members: &Map<String, Value>) -> bool {
    length_fits(schema, "minProperties", "maxProperties", || members.len())
}

fn length_fits(schema: &Map<String, Value>, min: &str, max: &str, length: impl Fn() -> usize) -> bool {
    let limit = |keyword| schema.get(keyword).and_then(Value::as_f64);
    limit(min).is_none_or(|min| length() as f64 >= min) && limit(max).is_none_or(|max| length() as f64 <= max)
}

fn number_fits(schema: &Map<String, Value>, number: &Number) -> bool {
    let Some(number) = number.as_f64() else { return true };
    let limit = |keyword| schema.get(keyword).and_then(Value::as_f64);
    limit("minimum").is_none_or(|limit| number >= limit)
        && limit("maximum").is_none_or(|limit| number <= limit)
        && limit("exclusiveMinimum").is_none_or(|limit| number > limit)
        && limit("exclusiveMaximum").is_none_or(|limit| number < limit)
        && limit("multipleOf").is_none_or(|step| step > 0.0 && (number / step).fract() == 0.0)
}

fn collect_unsupported(schema: &Value, found: &mut Vec<String>) {
    let Value::Object(schema) = schema else { return };
    for (keyword, value) in schema {
        match keyword.as_str() {
            "properties" | "$defs" => {
                value
                    .as_object()
                    .into_iter()
                    .flat_map(Map::values)
                    .for_each(|schema| collect_unsupported(schema, found));
            }
            "items" | "additionalProperties" => collect_unsupported(value, found),
            "allOf" | "anyOf" | "oneOf" => {
                value.as_array().into_iter().flatten().for_each(|schema| collect_unsupported(schema, found));
            }
            known if CHECKED_KEYWORDS.contains(&known) || DESCRIBING_KEYWORDS.contains(&known) => {}
            unknown => found.push(unknown.to_owned()),
        }
    }
}
