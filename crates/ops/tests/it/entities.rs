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
            "STALE_VERSION: REQ-001 has version 2, not 1: it was changed meanwhile; admin changed status to Active, \
             description to Within 2 s. in version 2; if your change still fits, send expected_version 2"
        );
        assert_eq!(
            world.refused("delete_entity", json!({ "reference": "EP-001" })),
            "CONFLICT: EP-001 has 3 things that would go with it (US-001, AC-001, REQ-001); with force they go, too"
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

/// An epic may have more stories than anybody wants to read at once.
#[test]
fn the_children_of_a_root_are_read_page_by_page() {
    on_every_store(|world| {
        world.ok("create_epic", json!({ "title": "Large", "priority": 1 }));
        for number in 1..=7 {
            let story = json!({ "epic_id": "EP-001", "title": format!("Story {number}"), "priority": 1 });
            world.ok("create_user_story", story);
        }
        world.ok("create_acceptance_criteria", json!({ "user_story_id": "US-002", "description": "Fast" }));
        let functional =
            json!({ "user_story_id": "US-002", "title": "R", "type_id": "Functional", "priority": 1 });
        world.ok("create_requirement", functional);
        world.ok("delete_entity", json!({ "reference": "US-004" }));
        let names = |tree: &serde_json::Value| -> Vec<String> {
            let children = tree["data"][0]["children"].as_array().into_iter().flatten();
            children.map(|child| child["reference_id"].as_str().unwrap_or("?").to_owned()).collect()
        };
        let mut page = world.ok("get_hierarchy", json!({ "reference": "EP-001", "depth": 2, "limit": 4 }));
        assert_eq!(names(&page), ["US-001", "US-002", "US-003", "US-005"]);
        assert_eq!(page["data"][0]["n_children"], 6, "all that there are");
        assert_eq!(
            page["data"][0]["children"][1]["n_children"], 2,
            "what is below the last level is counted"
        );
        let next = json!({ "reference": "EP-001", "depth": 2, "limit": 4, "cursor": page["next_cursor"] });
        page = world.ok("get_hierarchy", next);
        assert_eq!(names(&page), ["US-006", "US-007"]);
        assert_eq!(page.get("next_cursor"), None);
        // Criteria come before requirements, and a cursor knows between which of them it stands.
        let first = world.ok("get_hierarchy", json!({ "reference": "US-002", "limit": 1 }));
        assert_eq!(names(&first), ["AC-001"]);
        let next = json!({ "reference": "US-002", "limit": 1, "cursor": first["next_cursor"] });
        assert_eq!(names(&world.ok("get_hierarchy", next)), ["REQ-001"]);
        let left_out = world.ok("get_hierarchy", json!({ "reference": "EP-001", "offset": 5 }));
        assert_eq!(names(&left_out), ["US-007"]);
        let all = world.ok("get_hierarchy", json!({ "reference": "EP-001" }));
        assert_eq!((names(&all).len(), all["data"][0].get("n_children")), (6, None));
        let foreign = json!({ "reference": "EP-001", "cursor": "WyJudW1iZXIiLDFd" });
        assert!(world.refused("get_hierarchy", foreign).contains("cursor: is not of this list"));
    });
}

/// Whoever was overtaken reads in the error what has changed, by whom, and what to send.
#[test]
fn a_stale_version_tells_what_has_changed_since() {
    on_every_store(|world| {
        world.ok("create_epic", json!({ "title": "Checkout", "priority": 1 }));
        for (number, change) in [
            json!({ "title": "Checkout in one step" }),
            json!({ "priority": 2, "description": "word ".repeat(20) }),
            json!({ "description": null, "status": "Draft" }),
        ]
        .into_iter()
        .enumerate()
        {
            let mut arguments = change;
            arguments["epic_id"] = json!("EP-001");
            arguments["expected_version"] = json!(number + 1);
            world.ok("update_epic", arguments);
        }
        let stale = |version: i64| {
            let arguments = json!({ "epic_id": "EP-001", "title": "x", "expected_version": version });
            world.refused("update_epic", arguments)
        };
        assert_eq!(
            stale(2),
            "STALE_VERSION: EP-001 has version 4, not 2: it was changed meanwhile; admin changed priority to 2, description \
             in version 3; admin changed description to nothing, status to Draft in version 4; if your change still fits, send \
             expected_version 4"
        );
        assert_eq!(
            stale(9),
            "STALE_VERSION: EP-001 has version 4, not 9: there is none such yet; if your change still fits, send \
             expected_version 4"
        );
    });
}

/// What is not there is answered with what may be meant.
#[test]
fn unknown_names_suggest_the_nearest() {
    on_every_store(|world| {
        let epic = world.ok("create_epic", json!({ "title": "Checkout", "priority": 1 }));
        world.ok("create_project", json!({ "key": "SHOP", "name": "Shop" }));
        let comment = world.ok("add_comment", json!({ "reference": "EP-001", "content": "Why?" }));
        let id = epic["id"].as_str().expect("an id");
        let other = if id.ends_with('7') { "8" } else { "7" };
        let mistyped = format!("{}{other}", &id[..id.len() - 1]);
        let far = "019a8b5e-2f00-7000-8000-000000000000";
        for (operation, arguments, expected) in [
            ("get_entity", json!({ "reference": mistyped }), r#"; did you mean "EP-001"?"#),
            (
                "get_entity",
                json!({ "reference": far }),
                "; use a reference id, such as REQ-012, or search for it",
            ),
            ("get_entity", json!({ "reference": comment["id"] }), "; it is the id of a comment on EP-001"),
            (
                "create_epic",
                json!({ "title": "x", "priority": 1, "project": "SHOPS" }),
                r#"; did you mean "SHOP"?"#,
            ),
            ("get_project", json!({ "project": "SHPO" }), r#"; did you mean "SHOP"?"#),
            (
                "update_epic",
                json!({ "epic_id": "EP-001", "assignee_id": "admni" }),
                r#"; did you mean "admin"?"#,
            ),
            ("list_entities", json!({ "kind": "epic", "creator": "admins" }), r#"; did you mean "admin"?"#),
        ] {
            let told = world.refused(operation, arguments.clone());
            assert!(told.ends_with(expected), "{operation} {arguments}: {told}");
        }
    });
}
