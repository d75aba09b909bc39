//! Projects: reference ids with a prefix, and nothing that crosses from one to the other.

use serde_json::json;

use crate::people::outcome;
use crate::stores::{World, on_every_store};

#[test]
fn reference_ids_carry_the_key_and_count_for_themselves() {
    on_every_store(|world| {
        two_trees(world);
        for (short, long) in [("US-001", "ABC-US-001"), ("EP-001", "ABC-EP-001"), ("REQ-001", "ABC-REQ-001")]
        {
            let ours = world.ok("get_entity", json!({ "reference": short }));
            let theirs = world.ok("get_entity", json!({ "reference": long.to_lowercase() }));
            assert_eq!((&ours["reference_id"], &ours["project"]), (&json!(short), &json!("DEFAULT")));
            assert_eq!((&theirs["reference_id"], &theirs["project"]), (&json!(long), &json!("ABC")));
            assert_ne!(ours["id"], theirs["id"]);
            let by_id =
                world.ok("get_entity", json!({ "reference": theirs["id"].as_str().map(str::to_uppercase) }));
            assert_eq!(by_id["reference_id"], long);
        }
        let theirs = world.ok("get_entity", json!({ "reference": "ABC-REQ-001" }));
        assert_eq!(
            (&theirs["user_story"], &theirs["acceptance_criteria"]),
            (&json!("ABC-US-001"), &json!("ABC-AC-001"))
        );
        assert_eq!(world.ok("get_entity", json!({ "reference": "DEFAULT-EP-1" }))["reference_id"], "EP-001");
        assert!(world.refused("get_entity", json!({ "reference": "XYZ-EP-001" })).starts_with("NOT_FOUND"));
    });
}

#[test]
fn lists_are_of_one_project_or_of_all() {
    on_every_store(|world| {
        two_trees(world);
        let list = |arguments: serde_json::Value| {
            let found = world.ok("list_entities", arguments);
            assert_eq!(found["total_count"], found["data"].as_array().map(Vec::len).expect("a list"));
            let references = found["data"].as_array().expect("a list").iter();
            references
                .map(|entity| entity["reference_id"].as_str().expect("text").to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(list(json!({ "kind": "epic" })), "ABC-EP-001 EP-001");
        assert_eq!(list(json!({ "kind": "epic", "project": "abc" })), "ABC-EP-001");
        assert_eq!(list(json!({ "kind": "epic", "project": "DEFAULT" })), "EP-001");
        assert_eq!(list(json!({ "kind": "requirement", "epic_id": "ABC-EP-001" })), "ABC-REQ-001");
        assert_eq!(list(json!({ "kind": "requirement", "epic_id": "ABC-EP-001", "project": "DEFAULT" })), "");
        assert_eq!(
            world.refused("list_entities", json!({ "kind": "epic", "project": "XYZ" })),
            "VALIDATION_ERROR: project: expected one of ABC, DEFAULT, found \"XYZ\""
        );
        let tree = world.ok("get_hierarchy", json!({ "project": "ABC" }));
        assert_eq!(
            (&tree["total_count"], &tree["data"][0]["reference_id"]),
            (&json!(1), &json!("ABC-EP-001"))
        );
        let found = world.ok("search_requirements", json!({ "query": "requirement", "project": "abc" }));
        assert_eq!(
            (&found["total_count"], &found["data"][0]["reference_id"]),
            (&json!(1), &json!("ABC-REQ-001"))
        );
        assert_eq!(world.ok("list_comments", json!({ "project": "ABC" }))["total_count"], 1);
        assert_eq!(world.ok("list_comments", json!({ "project": "DEFAULT" }))["total_count"], 0);
    });
}

#[test]
fn nothing_crosses_from_one_project_to_another() {
    on_every_store(|world| {
        two_trees(world);
        world.ok("create_steering_document", json!({ "title": "Rules", "project": "ABC" }));
        let another = "is in another project than";
        for (name, arguments, why) in [
            (
                "update_user_story",
                json!({ "user_story_id": "US-001", "epic_id": "ABC-EP-001" }),
                format!("epic_id: ABC-EP-001 {another} US-001"),
            ),
            (
                "update_requirement",
                json!({ "requirement_id": "REQ-001", "user_story_id": "ABC-US-001" }),
                format!("user_story_id: ABC-US-001 {another} REQ-001"),
            ),
            (
                "update_requirement",
                json!({ "requirement_id": "REQ-001", "acceptance_criteria_id": "ABC-AC-001" }),
                "acceptance_criteria_id: ABC-AC-001 belongs to ABC-US-001, and the requirement to US-001"
                    .to_owned(),
            ),
            (
                "create_requirement",
                json!({ "user_story_id": "US-001", "title": "x", "type_id": "Data", "priority": 1, "acceptance_criteria_id": "ABC-AC-001" }),
                "acceptance_criteria_id: ABC-AC-001 belongs to ABC-US-001, and the requirement to US-001"
                    .to_owned(),
            ),
            (
                "create_relationship",
                json!({ "source_requirement_id": "REQ-001", "relationship_type_id": "blocks", "target_requirement_id": "ABC-REQ-001" }),
                format!("target_requirement_id: ABC-REQ-001 {another} REQ-001"),
            ),
            (
                "link_steering_document",
                json!({ "epic_id": "EP-001", "steering_document_id": "ABC-STD-001" }),
                format!("steering_document_id: ABC-STD-001 {another} EP-001"),
            ),
            (
                "create_user_story",
                json!({ "epic_id": "REQ-001", "title": "x", "priority": 1 }),
                "epic_id: expected an epic, and REQ-001 is a requirement".to_owned(),
            ),
        ] {
            assert_eq!(world.refused(name, arguments), format!("VALIDATION_ERROR: {why}"));
        }
        // Within a project a story moves with all that is below it.
        world.ok("create_epic", json!({ "title": "Second", "priority": 1 }));
        world.ok("update_user_story", json!({ "user_story_id": "US-001", "epic_id": "EP-002" }));
        let path = world.ok("get_path", json!({ "reference": "REQ-001" }));
        assert_eq!(path["path"][0]["reference_id"], "EP-002");
    });
}

#[test]
fn keys_are_unique_and_no_prefix_of_a_reference_id() {
    on_every_store(|world| {
        let create =
            |key: &str| outcome(world.call("create_project", json!({ "key": key, "name": "Project" })));
        for key in ["EP", "us", "REQ", "PROMPT", "1AB", "A", "TOOLONGAKEY", "A-B", "ПРО", "A B"] {
            assert_eq!(create(key), "VALIDATION_ERROR", "{key}");
        }
        assert_eq!((create("abc"), create("ABC"), create("default")), ("ok", "CONFLICT", "CONFLICT"));
        assert_eq!(
            world.refused("update_project", json!({ "project": "ABC", "key": "XYZ" })),
            "VALIDATION_ERROR: key: is not known here"
        );
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1, "project": "ABC" }));
        world.ok("delete_entity", json!({ "reference": "ABC-EP-001" }));
        assert!(
            world
                .refused("delete_project", json!({ "project": "ABC" }))
                .starts_with("CONFLICT: ABC is not empty")
        );
        assert!(world.refused("delete_project", json!({ "project": "DEFAULT" })).starts_with("CONFLICT"));
        assert_eq!(create("XYZ"), "ok");
        world.ok("delete_project", json!({ "project": "xyz" }));
        assert_eq!(create("XYZ"), "ok");
    });
}

/// An epic, a story, a criterion and a requirement in each of two projects, and a comment in the second.
fn two_trees(world: &World) {
    world.ok("create_project", json!({ "key": "ABC", "name": "Other" }));
    for (key, project) in [("", "DEFAULT"), ("ABC-", "ABC")] {
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1, "project": project }));
        world.ok(
            "create_user_story",
            json!({ "epic_id": format!("{key}EP-001"), "title": "Story", "priority": 1 }),
        );
        let story = format!("{key}US-001");
        world.ok("create_acceptance_criteria", json!({ "user_story_id": story, "description": "It works" }));
        let requirement = json!({
            "user_story_id": story, "title": "Requirement", "type_id": "Data", "priority": 1,
            "acceptance_criteria_id": format!("{key}AC-001")
        });
        world.ok("create_requirement", requirement);
    }
    world.ok("add_comment", json!({ "reference": "ABC-EP-001", "content": "Why?" }));
}
