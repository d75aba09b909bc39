//! What requirements say that code cites, now and before.

use serde_json::{Value, json};

use crate::stores::{World, on_every_store};

fn cited(world: &World, reference: &str) -> Value {
    world.ok("cited_texts", json!({ "references": [reference] }))["items"][0].clone()
}

fn filled(world: &World) {
    world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Story", "priority": 1 }));
    world.ok(
        "create_acceptance_criteria",
        json!({ "user_story_id": "US-001", "description": "The link is refused." }),
    );
    world.ok(
        "create_requirement",
        json!({
            "user_story_id": "US-001", "title": "Links expire", "type_id": "Functional", "priority": 1,
            "description": "It MUST stop.",
        }),
    );
}

#[test]
fn earlier_texts_are_told_with_the_versions_in_which_they_were_written() {
    on_every_store(|world| {
        filled(world);
        let change = |change: Value| {
            let mut arguments = json!({ "requirement_id": "REQ-001" });
            arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            world.ok("update_requirement", arguments);
        };
        assert_eq!(cited(world, "REQ-001")["text"]["earlier"], json!([]));
        change(json!({ "priority": 2 }));
        change(json!({ "description": "It MUST stop soon." }));
        change(json!({ "labels": ["links"] }));
        change(json!({ "title": "Links end", "description": "It MUST stop now." }));
        let found = cited(world, "req-1");
        assert_eq!(found["reference_id"], "REQ-001");
        let expected = json!({
            "project": "DEFAULT", "kind": "requirement", "title": "Links end", "description": "It MUST stop now.",
            "content_version": 5, "version": 5,
            "earlier": [
                { "version": 1, "title": "Links expire", "description": "It MUST stop." },
                { "version": 3, "title": "Links expire", "description": "It MUST stop soon." },
            ],
        });
        assert_eq!(found["text"], expected);
        assert_eq!(cited(world, "AC-001")["text"]["kind"], "acceptance_criteria");
    });
}

#[test]
fn deleted_and_obsolete_texts_are_marked() {
    on_every_store(|world| {
        filled(world);
        assert_eq!(cited(world, "REQ-001")["text"].get("gone"), None);
        world.ok("update_requirement", json!({ "requirement_id": "REQ-001", "status": "Obsolete" }));
        assert_eq!(cited(world, "REQ-001")["text"]["gone"], "obsolete");
        world.ok("delete_entity", json!({ "reference": "AC-001" }));
        assert_eq!(cited(world, "AC-001")["text"]["gone"], "deleted");
    });
}

#[test]
fn hidden_and_missing_requirements_have_the_same_answer() {
    on_every_store(|world| {
        world.ok("create_project", json!({ "key": "HID", "name": "Hidden", "access": "members" }));
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1, "project": "HID" }));
        world.ok("create_user_story", json!({ "epic_id": "HID-EP-001", "title": "Story", "priority": 1 }));
        world.ok(
            "create_requirement",
            json!({
                "user_story_id": "HID-US-001", "title": "Hidden", "type_id": "Functional", "priority": 1,
                "description": "It MUST hide.",
            }),
        );
        let stranger = world.member("ann", "User");
        let ask = |reference: &str| {
            let asked = json!({ "references": [reference] });
            world.call_as(stranger.clone(), "cited_texts", asked).expect("an answer")["items"][0].clone()
        };
        assert_eq!(ask("HID-REQ-001"), json!({ "reference_id": "HID-REQ-001" }));
        assert_eq!(ask("HID-REQ-002"), json!({ "reference_id": "HID-REQ-002" }));
        assert_eq!(ask("NOT-REQ-001"), json!({ "reference_id": "NOT-REQ-001" }));
        assert_eq!(cited(world, "HID-REQ-001")["text"]["project"], "HID");
        assert_eq!(cited(world, "HID-REQ-009")["last"], "HID-REQ-001");
        // An epic cannot be cited.
        assert_eq!(cited(world, "HID-EP-001"), json!({ "reference_id": "HID-EP-001" }));
    });
}

#[test]
fn at_most_a_hundred_are_read_at_once() {
    on_every_store(|world| {
        let references: Vec<String> = (1..=101).map(|number| format!("REQ-{number:03}")).collect();
        let refused = world.refused("cited_texts", json!({ "references": references }));
        assert!(refused.contains("at most 100 references, found 101"), "{refused}");
    });
}
