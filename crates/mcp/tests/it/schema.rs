//! The messages of the argument validator.

use expect_test::{Expect, expect};
use mcp::Schema;
use serde_json::{Value, json};

#[test]
fn every_problem_is_named_at_once() {
    check(
        json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 1, "maxLength": 5},
                "priority": {"type": "integer", "minimum": 1, "maximum": 4},
                "status": {"enum": ["Draft", "Active"]},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true},
                "description": {"type": "string"},
            },
            "required": ["title", "description"],
            "additionalProperties": false,
        }),
        json!({"title": "far too long", "priority": "high", "status": "draft", "tags": ["a", 1, "a"], "titel": 1}),
        expect![[r#"
            description: is required (a string)
            title: expected a string of 1 to 5 characters, found 12 characters
            priority: expected an integer from 1 to 4, found the string "high"
            status: expected one of "Draft", "Active", found the string "draft" [nearest Draft] [allowed "Draft" "Active"]
            tags: expected an array of at most 2 items, found an array of 3 items
            tags[1]: expected a string, found 1
            titel: unknown; did you mean "title"? (known: title, priority, status, tags, description) [nearest title]
        "#]],
    );
}

#[test]
fn an_integer_may_be_written_with_a_point() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}});
    check(schema.clone(), json!({"n": 4.0}), expect![""]);
    check(
        schema.clone(),
        json!({"n": 3}),
        expect![[r#"
        n: expected an integer divisible by 2, found 3
    "#]],
    );
    check(
        schema,
        json!({"n": 1.5}),
        expect![[r#"
        n: expected an integer divisible by 2, found 1.5
    "#]],
    );
}

#[test]
fn the_alternative_of_the_right_kind_is_the_one_that_complains() {
    let schema = json!({"type": "object", "properties": {
        "due": {"anyOf": [{"type": "string", "minLength": 10}, {"type": "null"}]},
        "limit": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    }});
    check(schema.clone(), json!({"due": null, "limit": 3}), expect![""]);
    check(
        schema,
        json!({"due": "soon", "limit": true}),
        expect![[r#"
        due: expected a string of at least 10 characters, found 4 characters
        limit: expected an integer or a string, found true
    "#]],
    );
}

#[test]
fn references_are_followed_and_circles_end() {
    let schema = json!({
        "type": "object",
        "properties": {"child": {"$ref": "#/$defs/node"}, "circle": {"$ref": "#/$defs/circle"}},
        "$defs": {
            "node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}, "additionalProperties": false},
            "circle": {"$ref": "#/$defs/circle"},
        },
    });
    check(
        schema.clone(),
        json!({"child": {"child": {"chidl": {}}}, "circle": 1}),
        expect![[r#"
        child.child.chidl: unknown; did you mean "child"? (known: child) [nearest child]
    "#]],
    );
    assert_eq!(Schema::new(schema).unsupported_keywords(), Vec::<String>::new());
}

#[test]
fn ignored_keywords_are_listed() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^x"}}, "not": {}});
    assert_eq!(Schema::new(schema).unsupported_keywords(), ["pattern", "not"]);
}

#[track_caller]
fn check(schema: Value, value: Value, expected: Expect) {
    let mut text = String::new();
    for error in Schema::new(schema).check(&value) {
        text += &format!("{}: {}", error.field, error.message);
        if let Some(nearest) = error.nearest {
            text += &format!(" [nearest {nearest}]");
        }
        if !error.allowed.is_empty() {
            let allowed: Vec<String> = error.allowed.iter().map(Value::to_string).collect();
            text += &format!(" [allowed {}]", allowed.join(" "));
        }
        text.push('\n');
    }
    expected.assert_eq(&text);
}
