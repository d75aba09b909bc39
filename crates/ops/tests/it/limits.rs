//! How long texts may be, and that any text comes back as it went in.

use serde_json::{Value, json};

use crate::people::outcome;
use crate::stores::{World, on_every_store};

#[test]
fn characters_are_counted_and_not_bytes() {
    on_every_store(|world| {
        for character in ["a", "ж", "漢", "👩"] {
            for (title, description, expected) in [
                (500, 50_000, "ok"),
                (501, 0, "VALIDATION_ERROR"),
                (1, 50_001, "VALIDATION_ERROR"),
                (0, 10, "VALIDATION_ERROR"),
            ] {
                let arguments = json!({
                    "title": character.repeat(title), "description": character.repeat(description), "priority": 1
                });
                let result = world.call("create_epic", arguments.clone());
                if let Ok(made) = &result {
                    let read = world.ok("get_entity", json!({ "reference": made["id"] }));
                    assert_eq!(
                        (&read["title"], &read["description"]),
                        (&arguments["title"], &arguments["description"])
                    );
                }
                assert_eq!(outcome(result), expected, "{title} and {description} times {character}");
            }
        }
        story(world);
        for (length, expected) in [(50_000, "ok"), (50_001, "VALIDATION_ERROR"), (0, "VALIDATION_ERROR")] {
            let text = "🦀".repeat(length);
            let criterion = json!({ "user_story_id": "US-001", "description": text });
            assert_eq!(outcome(world.call("create_acceptance_criteria", criterion)), expected);
            assert_eq!(
                outcome(world.call("add_comment", json!({ "reference": "EP-001", "content": text }))),
                expected
            );
        }
    });
}

#[test]
fn blank_titles_and_nul_are_refused() {
    on_every_store(|world| {
        for title in ["", " ", "\n\t", "\u{a0}\u{3000}", "a\0b"] {
            let refused = world.refused("create_epic", json!({ "title": title, "priority": 1 }));
            assert!(refused.starts_with("VALIDATION_ERROR: title: "), "{title:?}: {refused}");
        }
        let refused =
            world.refused("create_epic", json!({ "title": "x", "description": "a\0b", "priority": 1 }));
        assert_eq!(refused, "VALIDATION_ERROR: description: must not contain the character NUL");
        for (field, value, why) in [
            ("priority", json!(0), "expected a whole number from 1 to 4, found 0"),
            ("priority", json!(5), "expected a whole number from 1 to 4, found 5"),
            ("priority", json!(1.5), "expected a whole number from 1 to 4, found 1.5"),
            ("priority", json!("1"), "expected a whole number from 1 to 4, found \"1\""),
            ("titel", json!("x"), "is not known here; did you mean title?"),
        ] {
            let mut arguments = json!({ "title": "x", "priority": 1 });
            arguments[field] = value;
            assert_eq!(world.refused("create_epic", arguments), format!("VALIDATION_ERROR: {field}: {why}"));
        }
    });
}

/// Texts that break what is built by putting texts together.
const TEXTS: &[&str] = &[
    "'; drop table entity; --",
    "\" or 1 = 1 --",
    "?1 $1 :name @name %s {0} {{capabilities}}",
    "\\' \\\\ \\0 \\x00",
    "<script>alert(1)</script> &amp; ]]>",
    "\u{202e}reversed\u{202c} \u{200b} \u{feff}",
    "e\u{301} é ﬁ ß İ",
    "  around  ",
    "line\r\nbreaks\n\n\ttabs",
    "null",
    "🏳️‍🌈 👨‍👩‍👧‍👦 \u{10ffff}",
];

#[test]
fn any_text_comes_back_as_it_went_in() {
    on_every_store(|world| {
        story(world);
        for (number, text) in TEXTS.iter().enumerate() {
            let both = json!({ "title": text, "description": text, "priority": 1 });
            let epic = same(world, "create_epic", both.clone(), &["title", "description"]);
            same(
                world,
                "update_epic",
                json!({ "epic_id": epic["id"], "title": format!("{text}!") }),
                &["title"],
            );
            let mut story = both.clone();
            story["epic_id"] = json!("EP-001");
            same(world, "create_user_story", story, &["title", "description"]);
            let mut requirement = both;
            requirement["user_story_id"] = json!("US-001");
            requirement["type_id"] = json!("Data");
            same(world, "create_requirement", requirement, &["title", "description"]);
            let criterion = json!({ "user_story_id": "US-001", "description": text });
            same(world, "create_acceptance_criteria", criterion, &["description"]);
            same(
                world,
                "create_steering_document",
                json!({ "title": text, "description": text }),
                &["title", "description"],
            );
            let said = json!({ "reference": epic["id"], "content": text, "quote": text });
            let said = world.ok("add_comment", said);
            let read = world.ok("get_comment", json!({ "comment_id": said["id"] }));
            assert_eq!((&read["content"], &read["quote"]), (&json!(text), &json!(text)));
            let prompt = json!({ "name": text, "title": text, "content": text, "description": text });
            let made = world.ok("create_prompt", prompt);
            let read = world.ok("get_prompt", json!({ "prompt_id": made["id"] }));
            assert_eq!(
                [&read["name"], &read["title"], &read["content"], &read["description"]],
                [&json!(text); 4]
            );
            let project = json!({ "key": format!("P{number}"), "name": text, "description": text });
            world.ok("create_project", project);
            let read = world.ok("get_project", json!({ "project": format!("P{number}") }));
            assert_eq!([&read["name"], &read["description"]], [&json!(text); 2]);
            world.ok("create_requirement_type", json!({ "name": text, "description": text }));
            let read = world.ok("get_requirement_type", json!({ "requirement_type": text }));
            assert_eq!([&read["name"], &read["description"]], [&json!(text); 2]);
            let made = world.ok("create_token", json!({ "name": text }));
            assert_eq!(world.ok("get_token", json!({ "token_id": made["id"] }))["name"], json!(text));
            let history = world.ok("get_history", json!({ "reference": epic["id"] }));
            assert_eq!(history["data"][1]["changes"]["title"], json!([null, text]));
        }
        assert_eq!(world.ok("list_entities", json!({ "kind": "epic" }))["total_count"], TEXTS.len() + 1);
    });
}

#[test]
fn any_text_may_be_asked_for() {
    on_every_store(|world| {
        story(world);
        for text in TEXTS {
            for (name, field) in [
                ("get_entity", "reference"),
                ("get_user", "user"),
                ("get_project", "project"),
                ("get_requirement_type", "requirement_type"),
                ("get_token", "token_id"),
                ("get_status_model", "kind"),
            ] {
                let outcome = outcome(world.call(name, json!({ field: text })));
                assert!(["NOT_FOUND", "VALIDATION_ERROR"].contains(&outcome), "{name} {text:?}: {outcome}");
            }
            for field in
                ["status", "priority", "project", "assignee", "creator", "created_from", "epic_id", "sort"]
            {
                let value = if ["status", "priority"].contains(&field) { json!([text]) } else { json!(text) };
                let outcome =
                    outcome(world.call("list_entities", json!({ "kind": "user_story", field: value })));
                assert_eq!(outcome, "VALIDATION_ERROR", "{field} {text:?}");
            }
        }
    });
}

/// Makes or changes an entity, and checks that its fields are read as they were written.
#[track_caller]
fn same(world: &World, name: &str, arguments: Value, fields: &[&str]) -> Value {
    let made = world.ok(name, arguments.clone());
    let read = world.ok("get_entity", json!({ "reference": made["reference_id"] }));
    for field in fields {
        assert_eq!(read[field], arguments[field], "{name}");
    }
    made
}

fn story(world: &World) {
    world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Story", "priority": 1 }));
}
