//! Our checker of arguments agrees with a complete validator on what is right.

use mcp::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

proptest! {
    #[test]
    fn both_checkers_agree(schema in schema(), value in value()) {
        let errors = Schema::new(schema.clone()).check(&value);
        let validator = jsonschema::draft202012::new(&schema).expect("the generator makes schemas");
        prop_assert_eq!(errors.is_empty(), validator.is_valid(&value), "{} {} {:?}", schema, value, errors);
    }
}

const NAMES: [&str; 4] = ["a", "b", "title", "ä"];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..6).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(1.0), Just(2.5)].prop_map(Value::from),
        prop_oneof![Just(""), Just("x"), Just("low"), Just("äöü"), Just("loooong")].prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((prop::sample::select(&NAMES), inner), 0..4).prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!({"type": "null"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": ["string", "null"]})),
        (0u8..3, 0u8..5).prop_map(|(min, max)| json!({"type": "string", "minLength": min, "maxLength": max})),
        (-2i8..3, 0i8..5).prop_map(|(min, max)| json!({"type": "integer", "minimum": min, "maximum": max})),
        (-2i8..3).prop_map(|limit| json!({"type": "number", "exclusiveMinimum": limit, "multipleOf": 0.5})),
        (-2i8..3).prop_map(|limit| json!({"exclusiveMaximum": limit})),
        Just(json!({"enum": ["low", 1, null, [1.0]]})),
        Just(json!({"const": {"a": 1}})),
        Just(json!({"$ref": "#/$defs/name"})),
    ];
    let schema = leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0u8..3, any::<bool>()).prop_map(|(items, max, unique)| {
                json!({"type": "array", "items": items, "maxItems": max, "minItems": 1, "uniqueItems": unique})
            }),
            (
                proptest::collection::vec((prop::sample::select(&NAMES), inner.clone()), 0..3),
                prop::sample::subsequence(NAMES.to_vec(), 0..3),
                prop_oneof![Just(json!(false)), Just(json!(true)), inner.clone()],
            )
                .prop_map(|(properties, required, additional)| {
                    let properties: Map<String, Value> =
                        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
                    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": additional})
                }),
            (prop::sample::select(&["anyOf", "oneOf", "allOf"]), proptest::collection::vec(inner, 1..4))
                .prop_map(|(keyword, branches)| json!({*keyword: branches})),
        ]
    });
    schema.prop_map(|schema| match schema {
        Value::Object(mut schema) => {
            schema.insert("$defs".into(), json!({"name": {"type": "string", "minLength": 1}}));
            Value::Object(schema)
        }
        other => other,
    })
}
