//! Epics, stories, criteria and requirements: made, changed, deleted and restored.

use serde_json::json;

use crate::stores::on_every_store;

#[test]
fn a_tree_is_made_changed_deleted_and_restored() {
    on_every_store(|world| {
        let epic = world.ok("create_epic", json!({ "title": "Checkout", "priority": 1 }));
        assert_eq!(epic["reference_id"], "EP-001");
        assert_eq!(epic["status"], "Backlog");
        assert_eq!(epic["assignee"], "admin");
        let story =
            world.ok("create_user_story", json!({ "epic_id": "ep-1", "title": "Pay", "priority": 2 }));
        assert_eq!(story["epic"], "EP-001");
        world.ok(
            "create_acceptance_criteria",
            json!({ "user_story_id": "US-001", "description": "A receipt is sent" }),
        );
        let requirement = world.ok(
            "create_requirement",
            json!({ "user_story_id": "US-001", "title": "Cards are charged", "type_id": "functional", "priority": 2,
                    "acceptance_criteria_id": "AC-001" }),
        );
        assert_eq!(requirement["type"], "Functional");
        let changed = world.ok(
            "update_requirement",
            json!({ "requirement_id": "REQ-001", "status": "active", "description": "Within 2 s.", "expected_version": 1 }),
        );
        assert_eq!((&changed["status"], &changed["version"]), (&json!("Active"), &json!(2)));
        assert_eq!(
            world.refused(
                "update_requirement",
                json!({ "requirement_id": "REQ-001", "title": "x", "expected_version": 1 })
            ),
            "STALE_VERSION: REQ-001 has version 2, not 1: it was changed meanwhile"
        );
        assert_eq!(
            world.refused("delete_entity", json!({ "reference": "EP-001" })),
            "CONFLICT: EP-001 has 3 things that would go with it (US-001, AC-001, REQ-001); use force to delete them all"
        );
        let gone = world.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
        assert_eq!(gone["with_it"]["requirements"], 1);
        assert!(
            world
                .refused("get_entity", json!({ "reference": "REQ-001" }))
                .starts_with("NOT_FOUND: REQ-001 was deleted at")
        );
        assert_eq!(world.ok("list_entities", json!({ "kind": "requirement" }))["total_count"], 0);
        world.ok("restore_entity", json!({ "reference": "US-001" }));
        let restored = world.ok("get_entity", json!({ "reference": "REQ-001" }));
        assert_eq!(restored["acceptance_criteria"], "AC-001");
        let history = world.ok("get_history", json!({ "reference": "REQ-001" }));
        assert_eq!(history["total_count"], 4);
        let tree = world.ok("get_hierarchy", json!({ "reference": "EP-001" }));
        assert_eq!(tree["data"][0]["children"][0]["children"][1]["reference_id"], "REQ-001");
    });
}
