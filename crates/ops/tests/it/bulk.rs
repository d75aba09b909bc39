//! Lists of operations in one transaction.

use ops::Credentials;
use serde_json::{Value, json};

use crate::stores::on_every_store;

#[test]
fn a_bulk_is_atomic_and_may_use_earlier_answers() {
    on_every_store(|world| {
        let done = world.ok(
            "bulk_update",
            json!({ "operations": [
                step("create_epic", json!({ "title": "Checkout", "priority": 1 })),
                step("create_user_story", json!({ "epic_id": "$0.id", "title": "Pay", "priority": 2 })),
                step("create_user_story", json!({ "epic_id": "$0.reference_id", "title": "$$0.id", "priority": 2 })),
                step("delete_entity", json!({ "reference": "$2.id" })),
            ] }),
        );
        assert_eq!(done["failed"], 0);
        assert_eq!(done["results"][1]["answer"]["epic"], "EP-001");
        assert_eq!(done["results"][2]["answer"]["title"], "$0.id");
        assert_eq!(world.ok("list_entities", json!({ "kind": "user_story" }))["total_count"], 1);
        let history = world.ok("get_history", json!({ "reference": "US-001" }));
        assert_eq!(history["data"][0]["operation"], "create_user_story");
    });
}

#[test]
fn the_first_failure_undoes_everything_and_is_named() {
    on_every_store(|world| {
        let error = world
            .call(
                "bulk_update",
                json!({ "operations": [
                    step("create_epic", json!({ "title": "Checkout", "priority": 1 })),
                    step("create_epic", json!({ "title": "", "priority": 1 })),
                ] }),
            )
            .expect_err("no title");
        assert_eq!(error.fields[0].field, "operations[1].title");
        assert_eq!(world.ok("list_entities", json!({ "kind": "epic" }))["total_count"], 0);
        for (operations, expected) in [
            (json!([]), "VALIDATION_ERROR: operations: expected 1 to 500 operations, found 0"),
            (
                json!([step("create_epik", json!({}))]),
                "VALIDATION_ERROR: operations[0]: operation: there is no such operation; did you mean create_epic?",
            ),
            (
                json!([step("bulk_update", json!({ "operations": [] }))]),
                "VALIDATION_ERROR: operations[0]: operation: bulk_update cannot be part of a list",
            ),
            (
                json!([step("create_token", json!({ "name": "x" }))]),
                "VALIDATION_ERROR: operations[0]: operation: create_token cannot be part of a list",
            ),
            (
                json!([step("update_epic", json!({ "epic_id": "$0.id" }))]),
                "VALIDATION_ERROR: operations[0]: epic_id: expected an earlier operation, found operations[0]",
            ),
            (
                json!([step("list_projects", json!({})), step("update_epic", json!({ "epic_id": "$0.id" }))]),
                "VALIDATION_ERROR: operations[1]: epic_id: the answer of operations[0] has no id",
            ),
            (
                json!([step("get_entity", json!({ "reference": "EP-009" }))]),
                "NOT_FOUND: operations[0]: there is no epic EP-009",
            ),
        ] {
            assert_eq!(world.refused("bulk_update", json!({ "operations": operations })), expected);
        }
    });
}

#[test]
fn a_dry_run_reports_every_operation_and_changes_nothing() {
    on_every_store(|world| {
        let operations = json!([
            step("create_epic", json!({ "title": "Checkout", "priority": 1 })),
            step("create_epic", json!({ "title": "Checkout", "priority": 9 })),
            step("create_user_story", json!({ "epic_id": "$0.id", "title": "Pay", "priority": 2 })),
            step("create_user_story", json!({ "epic_id": "$1.id", "title": "Pay", "priority": 2 })),
        ]);
        let tried = world.ok("bulk_update", json!({ "operations": operations, "dry_run": true }));
        assert_eq!((&tried["failed"], &tried["dry_run"]), (&json!(2), &json!(true)));
        assert_eq!(tried["results"][2]["answer"]["epic"], tried["results"][0]["answer"]["reference_id"]);
        assert_eq!(tried["results"][1]["error"]["details"][0]["field"], "operations[1].priority");
        assert_eq!(
            tried["results"][3]["error"]["message"],
            "operations[3]: epic_id: operations[1] failed, so it has no answer to use"
        );
        // Not even a number is used up.
        let epic = world.ok("create_epic", json!({ "title": "Checkout", "priority": 1 }));
        assert_eq!(epic["reference_id"], "EP-001");
        assert_eq!(world.ok("list_audit", json!({ "event": "create_user_story" }))["total_count"], 0);
    });
}

#[test]
fn each_operation_needs_its_own_permission() {
    on_every_store(|world| {
        let user = world.member("ursula", "User");
        let commenter = world.member("carl", "Commenter");
        let bulk = |credentials: &Credentials, step: Value| {
            world.call_as(credentials.clone(), "bulk_update", json!({ "operations": [step] }))
        };
        let epic = step("create_epic", json!({ "title": "Checkout", "priority": 1 }));
        bulk(&user, epic.clone()).expect("users write");
        let error =
            bulk(&user, step("create_project", json!({ "key": "ABC", "name": "x" }))).expect_err("a user");
        assert_eq!(error.message, "operations[0]: this needs the role Administrator, and ursula is User");
        assert_eq!(bulk(&commenter, epic).expect_err("a commenter").kind, ops::ErrorKind::Forbidden);
    });
}

#[test]
fn a_new_project_can_be_filled_at_once() {
    on_every_store(|world| {
        let mut operations = vec![step("create_project", json!({ "key": "ABC", "name": "New" }))];
        for _ in 0..20 {
            let arguments = json!({ "title": "Checkout", "priority": 1, "project": "$0.key" });
            operations.push(step("create_epic", arguments));
        }
        let done = world.ok("bulk_update", json!({ "operations": operations }));
        assert_eq!(done["results"][20]["answer"]["reference_id"], "ABC-EP-020");
        let next = world.ok("create_epic", json!({ "title": "Next", "priority": 1, "project": "ABC" }));
        assert_eq!(next["reference_id"], "ABC-EP-021");
    });
}

fn step(operation: &str, arguments: Value) -> Value {
    json!({ "operation": operation, "arguments": arguments })
}
