//! Statuses and types: what administrators set up is what everybody is held to.

use serde_json::{Value, json};

use crate::people::{outcome, token, user};
use crate::stores::{World, on_every_pair, on_every_store};

#[test]
fn without_transitions_any_status_follows_any() {
    on_every_store(|world| {
        epic(world);
        for (written, meant) in [
            ("done", "Done"),
            ("in_progress", "In Progress"),
            ("INPROGRESS", "In Progress"),
            ("canceled", "Cancelled"),
            ("Cancelled", "Cancelled"),
            ("backlog", "Backlog"),
        ] {
            assert_eq!(set_status(world, written).expect("a status")["status"], meant, "{written}");
        }
        let refused = world.call("update_epic", json!({ "epic_id": "EP-001", "status": "Obsolete" }));
        let error = refused.expect_err("epics have no such status");
        assert_eq!(error.fields[0].allowed, ["Backlog", "Draft", "In Progress", "Done", "Cancelled"]);
    });
}

#[test]
fn stored_transitions_are_enforced() {
    on_every_store(|world| {
        epic(world);
        world.ok(
            "update_status_model",
            model(&["Backlog", "Doing", "Done"], &[("Backlog", "Doing"), ("Doing", "Done")]),
        );
        assert_eq!(
            set_status(world, "Done").expect_err("a step is missing").message,
            "EP-001 is Backlog, which Done cannot follow; Doing can"
        );
        assert_eq!(outcome(set_status(world, "Backlog")), "ok", "staying is no change");
        for status in ["doing", "done"] {
            assert_eq!(outcome(set_status(world, status)), "ok");
        }
        assert_eq!(
            set_status(world, "Doing").expect_err("there is no way back").message,
            "EP-001 is Done, which Doing cannot follow; nothing can"
        );
        // Going back to an earlier version is a change of status like any other.
        assert_eq!(
            outcome(world.call("restore_entity", json!({ "reference": "EP-001", "version": 1 }))),
            "CONFLICT"
        );
        // Other kinds have models of their own.
        world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Story", "priority": 1 }));
        world.ok("update_user_story", json!({ "user_story_id": "US-001", "status": "Done" }));
        world.ok("update_status_model", model(&["Backlog", "Doing", "Done"], &[]));
        assert_eq!(outcome(set_status(world, "Backlog")), "ok");
    });
}

#[test]
fn a_status_that_is_in_use_stays() {
    on_every_store(|world| {
        epic(world);
        world.ok("update_epic", json!({ "epic_id": "EP-001", "status": "Draft" }));
        world.ok("delete_entity", json!({ "reference": "EP-001" }));
        assert_eq!(
            world.refused("update_status_model", model(&["Backlog", "Done"], &[])),
            "CONFLICT: 1 entities (deleted ones included) have the status Draft"
        );
        let mut renamed = model(&["Backlog", "Sketch", "Done"], &[("Sketch", "Done")]);
        renamed["renamed"] = json!([{ "from": "draft", "to": "Sketch" }]);
        world.ok("update_status_model", renamed);
        world.ok("restore_entity", json!({ "reference": "EP-001" }));
        assert_eq!(world.ok("get_entity", json!({ "reference": "EP-001" }))["status"], "Sketch");
        let names = |world: &World| {
            let found = world.ok("get_status_model", json!({ "kind": "epic" }));
            found["statuses"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|status| status["name"].to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(world), [r#""Backlog""#, r#""Sketch""#, r#""Done""#]);
    });
}

#[test]
fn an_inconsistent_status_model_is_rejected() {
    on_every_store(|world| {
        let statuses = |statuses: Value| json!({ "kind": "epic", "statuses": statuses });
        for (arguments, why) in [
            (statuses(json!([])), "statuses: expected 1 to 30 statuses, found 0"),
            (statuses(json!([{ "name": "A" }])), "statuses: expected one initial status, found 0"),
            (
                statuses(json!([{ "name": "A", "initial": true }, { "name": "B", "initial": true }])),
                "statuses: expected one initial status, found 2",
            ),
            (
                statuses(json!([{ "name": "A b", "initial": true }, { "name": "a_B" }])),
                "statuses: duplicate status \"a_B\"",
            ),
            (
                statuses(json!([{ "name": " ", "initial": true }])),
                "statuses[0].name: expected 1 to 50 characters, found only blanks",
            ),
            (
                statuses(json!([{ "name": "A", "initial": true, "colour": "red; }" }])),
                "statuses[0].colour: expected a colour such as #2563eb, found \"red; }\"",
            ),
            (
                json!({ "kind": "epic", "statuses": [{ "name": "A", "initial": true }], "transitions": [{ "from": "A", "to": "B" }] }),
                "transitions[0].to: expected one of A, found \"B\"",
            ),
            (
                json!({ "kind": "acceptance_criteria", "statuses": [{ "name": "A", "initial": true }] }),
                "kind: expected one of epic, user_story, requirement, found \"acceptance_criteria\"",
            ),
        ] {
            assert_eq!(world.refused("update_status_model", arguments), format!("VALIDATION_ERROR: {why}"));
        }
        let stale =
            json!({ "kind": "epic", "statuses": [{ "name": "A", "initial": true }], "expected_version": 7 });
        assert!(world.refused("update_status_model", stale).starts_with("STALE_VERSION"));
    });
}

#[test]
fn a_type_that_is_in_use_stays_and_its_name_is_followed() {
    on_every_store(|world| {
        epic(world);
        world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Story", "priority": 1 }));
        world.ok("create_requirement_type", json!({ "name": "Security" }));
        assert_eq!(
            world.refused("create_requirement_type", json!({ "name": "SECURITY" })),
            "CONFLICT: there is already a requirement type Security"
        );
        for title in ["One", "Two"] {
            let requirement =
                json!({ "user_story_id": "US-001", "title": title, "type_id": "security", "priority": 1 });
            world.ok("create_requirement", requirement);
        }
        let unknown =
            json!({ "user_story_id": "US-001", "title": "Three", "type_id": "Imaginary", "priority": 1 });
        let error = world.call("create_requirement", unknown).expect_err("there is no such type");
        assert_eq!(error.fields[0].allowed.len(), 6);
        world.ok("update_requirement_type", json!({ "requirement_type": "Security", "name": "Safety" }));
        assert_eq!(world.ok("get_entity", json!({ "reference": "REQ-001" }))["type"], "Safety");
        assert!(
            world
                .refused("delete_requirement_type", json!({ "requirement_type": "Safety" }))
                .starts_with("CONFLICT: 2 ")
        );
        world.ok("delete_requirement_type", json!({ "requirement_type": "Interface" }));

        world.ok(
            "create_relationship_type",
            json!({ "name": "verifies", "inverse_name": "is_verified_by", "acyclic": true }),
        );
        let relate = |source: &str, target: &str| {
            world.call("create_relationship", json!({
                "source_requirement_id": source, "relationship_type_id": "Verifies", "target_requirement_id": target
            }))
        };
        let made = relate("REQ-001", "REQ-002").expect("a relationship");
        assert_eq!(made["inverse_type"], "is_verified_by");
        assert_eq!(
            relate("REQ-002", "REQ-001").expect_err("a circle").message,
            "REQ-002 verifies REQ-001 would close a cycle: REQ-001 → REQ-002"
        );
        let open = json!({ "relationship_type": "verifies", "acyclic": false });
        assert!(world.refused("update_relationship_type", open).starts_with("CONFLICT: 1 "));
        world.ok("delete_relationship", json!({ "id": made["id"] }));
        assert!(
            world
                .refused("delete_relationship_type", json!({ "relationship_type": "verifies" }))
                .starts_with("CONFLICT: 1 ")
        );
        world.ok("delete_relationship_type", json!({ "relationship_type": "relates_to" }));
    });
}

#[test]
fn the_active_prompt_is_one_or_none() {
    on_every_store(|world| {
        let first = world.ok("get_active_prompt", json!({}));
        world.ok("create_prompt", json!({ "name": "Second", "title": "Second", "content": "Text" }));
        world.ok("activate_prompt", json!({ "prompt_id": "PROMPT-002" }));
        assert_eq!(world.ok("get_active_prompt", json!({}))["reference_id"], "PROMPT-002");
        assert_eq!(world.ok("get_prompt", json!({ "prompt_id": first["id"] }))["active"], false);
        world.ok("delete_prompt", json!({ "prompt_id": "PROMPT-002" }));
        assert_eq!(world.refused("get_active_prompt", json!({})), "NOT_FOUND: no prompt is active");
        world.ok("create_prompt", json!({ "name": "SECOND", "title": "Third", "content": "Text" }));
        assert!(
            world
                .refused("restore_prompt", json!({ "prompt_id": "PROMPT-002" }))
                .starts_with("CONFLICT: the name")
        );
        world.ok("delete_prompt", json!({ "prompt_id": "PROMPT-003" }));
        assert_eq!(world.ok("restore_prompt", json!({ "prompt_id": "PROMPT-002" }))["active"], false);
        user(world, "ann", "User");
        let ops::Credentials::Bearer(secret) = token(world, "ann", &["read"]) else {
            unreachable!("a token")
        };
        let leaked = json!({ "prompt_id": "PROMPT-002", "content": format!("Use {secret} for it") });
        assert!(
            world.refused("update_prompt", leaked).starts_with("VALIDATION_ERROR: content: holds something")
        );
    });
}

#[test]
fn a_final_status_says_how_work_ends_with_it() {
    on_every_pair(|world, other| {
        let outcomes = |world: &World| {
            let model = world.ok("get_status_model", json!({ "kind": "epic" }));
            let statuses = model["statuses"].as_array().expect("statuses").iter();
            let outcome = |status: &Value| format!("{}={}", status["name"], status["outcome"]);
            statuses.map(outcome).collect::<Vec<_>>().join(" ").replace('"', "")
        };
        let by_name = "Backlog=null Draft=null In Progress=null Done=done Cancelled=cancelled";
        assert_eq!(outcomes(world), by_name);
        let requirements = world.ok("get_status_model", json!({ "kind": "requirement" }));
        assert_eq!(requirements["statuses"][2]["outcome"], "obsolete");
        let status = |name: &str, outcome: Value| json!({ "name": name, "final": true, "outcome": outcome });
        let initial = json!({ "name": "Backlog", "initial": true });
        let statuses = json!([
            initial,
            status("Shipped", Value::Null),
            status("Closed", Value::Null),
            status("Rejected", Value::Null),
            status("Replaced", json!("obsolete"))
        ]);
        let renamed = json!([{ "from": "Cancelled", "to": "Closed" }]);
        world.ok("update_status_model", json!({ "kind": "epic", "statuses": statuses, "renamed": renamed }));
        // A name suggests what nobody said, and a status that gets another name keeps what it had.
        let expected = "Backlog=null Shipped=done Closed=cancelled Rejected=cancelled Replaced=obsolete";
        assert_eq!(outcomes(world), expected);
        let open = json!([{ "name": "Backlog", "initial": true, "outcome": "done" }]);
        assert_eq!(
            world.refused("update_status_model", json!({ "kind": "epic", "statuses": open })),
            "VALIDATION_ERROR: statuses[0].outcome: only a final status has one, and Backlog is not final"
        );
        let file = world.ok("export", json!({ "format": "json" }))["content"].take();
        other.ok("import", json!({ "format": "json", "content": file }));
        assert_eq!(outcomes(other), expected);
        let row = "kind,entity_kind,name,final,outcome\nstatus,epic,Dropped,true,forgotten\n";
        let refused = world.call("import", json!({ "format": "csv", "content": row, "dry_run": true }));
        let refused = refused.expect("a report")["problems"].to_string();
        assert!(refused.contains("expected one of done, cancelled, obsolete"), "{refused}");
    });
}

fn epic(world: &World) {
    world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
}

fn set_status(world: &World, status: &str) -> Result<Value, ops::Error> {
    world.call("update_epic", json!({ "epic_id": "EP-001", "status": status }))
}

/// A model of epics whose first status is the initial one.
fn model(statuses: &[&str], transitions: &[(&str, &str)]) -> Value {
    let statuses: Vec<Value> = statuses
        .iter()
        .enumerate()
        .map(|(position, name)| json!({ "name": name, "initial": position == 0, "final": *name == "Done" }))
        .collect();
    let transitions: Vec<Value> =
        transitions.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect();
    json!({ "kind": "epic", "statuses": statuses, "transitions": transitions })
}
