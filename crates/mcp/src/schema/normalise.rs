//! Normalizes arguments that models write from memory: `"2"` for 2, `"Epics"` for `epic`, one string for a list. Only unambiguous
//! values are changed, and texts never; everything else is validated strictly.

use serde_json::{Map, Value};

use super::{Schema, has_type};
use crate::wording::shown;

/// Arguments with a maximum that may be exceeded: the maximum is used instead.
const LIMITS: [&str; 2] = ["limit", "max_tokens"];

/// Members in which other programs wrap a value.
const WRAPPERS: [&str; 4] = ["id", "key", "name", "value"];

impl Schema {
    /// Normalizes arguments. Returns notes for the caller.
    pub fn normalise(&self, arguments: &mut Value) -> Vec<String> {
        let mut notes = Vec::new();
        let (Some(properties), Value::Object(given)) = (self.properties(), arguments) else { return notes };
        rename(properties, given);
        given.retain(|name, value| !value.is_null() || properties.get(name).is_none_or(takes_null));
        for (name, value) in given.iter_mut() {
            let Some(property) = properties.get(name).and_then(Value::as_object) else { continue };
            fit(property, value);
            if LIMITS.contains(&name.as_str())
                && let Some(maximum) = property.get("maximum")
                && value.as_f64() > maximum.as_f64()
            {
                notes.push(format!("{name} is at most {maximum}, not {}", shown(&value.to_string())));
                *value = maximum.clone();
            }
        }
        notes
    }

    /// The known arguments, with their schemas.
    pub fn properties(&self) -> Option<&Map<String, Value>> {
        self.as_json().get("properties")?.as_object()
    }
}

/// Spells names as the schema does: `user_story_id` for `userStoryId` and `user-story-id`.
fn rename(properties: &Map<String, Value>, given: &mut Map<String, Value>) {
    let strangers: Vec<String> =
        given.keys().filter(|name| !properties.contains_key(*name)).cloned().collect();
    for name in strangers {
        let plain = nearest::plain(&name);
        if properties.contains_key(&plain)
            && !given.contains_key(&plain)
            && let Some(value) = given.shift_remove(&name)
        {
            given.insert(plain, value);
        }
    }
}

fn takes_null(property: &Value) -> bool {
    property.get("type").is_none_or(|types| has_type(types, &Value::Null))
}

/// Converts a value of another kind into the only one that the schema accepts, if there is just one.
fn fit(property: &Map<String, Value>, value: &mut Value) {
    let Some(types) = property.get("type") else { return };
    let takes = |name: &str| match types {
        Value::Array(names) => names.iter().any(|known| known == name),
        known => known == name,
    };
    if let Value::String(text) = value {
        let inner: Option<Value> = match text.trim() {
            list if list.starts_with('[') && takes("array") => serde_json::from_str(list).ok(),
            object if object.starts_with('{') && takes("object") => serde_json::from_str(object).ok(),
            _ if takes("string") => None,
            number if takes("integer") || takes("number") => number.parse().ok().map(Value::Number),
            flag if takes("boolean") => match flag.to_ascii_lowercase().as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            _ => None,
        };
        if let Some(inner) = inner.filter(|inner| has_type(types, inner)) {
            *value = inner;
        }
    }
    // `{"key": "EP-001"}` and `["EP-001"]` where only the text is expected.
    let inner = match &*value {
        Value::Object(members) if !takes("object") && members.len() == 1 => {
            WRAPPERS.iter().find_map(|name| members.get(*name))
        }
        Value::Array(items) if !takes("array") && items.len() == 1 => items.first(),
        _ => None,
    };
    if let Some(inner) = inner.filter(|inner| !inner.is_null()).cloned() {
        *value = inner;
        return fit(property, value);
    }
    if takes("array") && !has_type(types, value) {
        *value = Value::Array(vec![value.take()]);
    }
    split(property, value);
    choose(property, value);
    if let (Value::Array(items), Some(Value::Object(of_items))) = (value, property.get("items")) {
        items.iter_mut().for_each(|item| fit(of_items, item));
    }
}

/// Splits `epic, user_story` into two choices of a list.
fn split(property: &Map<String, Value>, value: &mut Value) {
    let allowed = property.get("items").and_then(|items| items.get("enum")).and_then(Value::as_array);
    let (Some(allowed), Some(text)) = (allowed, value.as_str()) else { return };
    let is_known =
        |part: &str| allowed.iter().filter_map(Value::as_str).any(|known| nearest::is_same(known, part));
    if text.contains(',') && text.split(',').all(is_known) {
        *value = text.split(',').map(|part| Value::from(part.trim())).collect();
    }
}

/// Spells a choice as the schema does, ignoring case, plural and separators.
fn choose(property: &Map<String, Value>, value: &mut Value) {
    let allowed =
        property.get("enum").or_else(|| property.get("items")?.get("enum")).and_then(Value::as_array);
    let (Some(allowed), Value::String(text)) = (allowed, &mut *value) else { return };
    if allowed.iter().any(|known| known == text.as_str()) {
        return;
    }
    let mut same =
        allowed.iter().filter(|known| known.as_str().is_some_and(|known| nearest::is_same(known, text)));
    if let (Some(only), None) = (same.next(), same.next()) {
        *value = only.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_read_as_they_are_meant() {
        for (given, meant) in [
            (json!({"limit": "20"}), json!({"limit": 20})),
            (json!({"limit": null, "kind": "epic"}), json!({"kind": "epic"})),
            (json!({"owner": null}), json!({"owner": null})),
            (json!({"kind": "User-Stories"}), json!({"kind": "user_story"})),
            (json!({"kinds": "epic, user story"}), json!({"kinds": ["epic", "user_story"]})),
            (json!({"epic_id": {"key": "EP-1"}}), json!({"epic_id": "EP-1"})),
            (json!({"epic_id": ["EP-1"]}), json!({"epic_id": "EP-1"})),
            (json!({"kind": "User Story"}), json!({"kind": "user_story"})),
            (json!({"kind": "Epics"}), json!({"kind": "epic"})),
            (json!({"deleted": "True"}), json!({"deleted": true})),
            (json!({"labels": "[\"a\", \"b\"]"}), json!({"labels": ["a", "b"]})),
            (json!({"names": "a"}), json!({"names": ["a"]})),
            (json!({"kinds": "Epics"}), json!({"kinds": "epic"})),
            (json!({"kinds": ["Epics", "user story"]}), json!({"kinds": ["epic", "user_story"]})),
            (json!({"steps": "[{\"n\": \"1\"}]"}), json!({"steps": [{"n": "1"}]})),
            (json!({"epicId": "EP-1"}), json!({"epic_id": "EP-1"})),
            (json!({"epic-id": "EP-1"}), json!({"epic_id": "EP-1"})),
        ] {
            let mut arguments = given.clone();
            assert_eq!(schema().normalise(&mut arguments), Vec::<String>::new(), "{given}");
            assert_eq!(arguments, meant, "{given}");
        }
    }

    #[test]
    fn ambiguous_values_stay_unchanged() {
        for given in [
            json!({"title": "2"}),
            json!({"title": "[a]"}),
            json!({"limit": "many"}),
            json!({"deleted": "yes"}),
            json!({"kind": "task"}),
            json!({"epicId": "EP-1", "epic_id": "EP-2"}),
            json!({"unknown": null}),
            json!({"epic_id": {"key": "EP-1", "name": "Pay"}}),
            json!({"epic_id": ["EP-1", "EP-2"]}),
            json!({"epic_id": {"key": null}}),
            json!([1]),
        ] {
            let mut arguments = given.clone();
            schema().normalise(&mut arguments);
            assert_eq!(arguments, given);
        }
    }

    #[test]
    fn a_limit_above_the_maximum_is_lowered_with_a_note() {
        let mut arguments = json!({"limit": "5000"});
        assert_eq!(schema().normalise(&mut arguments), ["limit is at most 100, not 5000"]);
        assert_eq!(arguments, json!({"limit": 100}));
    }

    fn schema() -> Schema {
        let kinds = json!({"type": "string", "enum": ["epic", "user_story"]});
        Schema::new(json!({"type": "object", "additionalProperties": false, "properties": {
            "title": {"type": "string"},
            "owner": {"type": ["string", "null"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "deleted": {"type": "boolean"},
            "labels": {"type": ["string", "array"], "items": {"type": "string"}},
            "names": {"type": "array", "items": {"type": "string"}},
            "steps": {"type": "array", "items": {"type": "object"}},
            "kind": kinds,
            "kinds": {"type": ["string", "array"], "items": kinds},
            "epic_id": {"type": "string"},
        }}))
    }
}
