//! What the overview of a project and the home page show: the burn-up, the example, and changes everywhere.

use ops::Credentials;
use serde_json::{Value, json};
use store::model::Via;

use crate::exchange::export;
use crate::stores::{World, on_every_pair, on_every_store};

const DAY_S: i64 = 86_400;

fn weeks(world: &World, arguments: Value) -> Vec<String> {
    let report = world.ok("burn_up_report", arguments);
    let line = |week: &Value| {
        format!("{} {}/{}", week["week"].as_str().unwrap_or_default(), week["done"], week["total"])
    };
    report["data"].as_array().expect("weeks").iter().map(line).collect()
}

fn set_status(world: &World, story: &str, status: &str) {
    world.ok("update_user_story", json!({ "user_story_id": story, "status": status }));
}

/// The clock begins on Sunday, 15 November 2026.
#[test]
fn a_burn_up_says_what_there_was_and_what_was_done() {
    on_every_store(|world| {
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        for number in 1..=5 {
            world.ok(
                "create_user_story",
                json!({ "epic_id": "EP-001", "title": format!("Story {number}"), "priority": 1 }),
            );
        }
        set_status(world, "US-001", "Done");
        let three = json!({ "project": "DEFAULT", "weeks": 3 });
        assert_eq!(weeks(world, three.clone()), ["2026-10-26 0/0", "2026-11-02 0/0", "2026-11-09 1/5"]);
        world.pass_seconds(DAY_S);
        set_status(world, "US-002", "Done");
        set_status(world, "US-003", "Cancelled");
        world.ok("delete_entity", json!({ "reference": "US-004" }));
        assert_eq!(weeks(world, three.clone()), ["2026-11-02 0/0", "2026-11-09 1/5", "2026-11-16 2/3"]);
        world.pass_seconds(7 * DAY_S);
        set_status(world, "US-001", "In Progress");
        set_status(world, "US-003", "Backlog");
        world.ok("restore_entity", json!({ "reference": "US-004" }));
        let after = ["2026-11-09 1/5", "2026-11-16 2/3", "2026-11-23 1/5"];
        assert_eq!(weeks(world, three.clone()), after);
        // A change of something else is no progress.
        world.ok("update_user_story", json!({ "user_story_id": "US-002", "title": "Another" }));
        assert_eq!(weeks(world, three), after);
        assert_eq!(weeks(world, json!({ "weeks": 1, "kind": "epic" })), ["2026-11-23 0/1"]);
        assert_eq!(weeks(world, json!({})).len(), 12);
        let refused = world.refused("burn_up_report", json!({ "kind": "acceptance_criteria" }));
        assert_eq!(
            refused,
            "VALIDATION_ERROR: kind: expected one of epic, user_story, requirement, found \"acceptance_criteria\""
        );
    });
}

/// What an import brings appears when it was made, not when it was brought.
#[test]
fn a_burn_up_knows_when_imported_stories_were_made() {
    on_every_pair(|from, to| {
        from.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        from.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Old", "priority": 1 }));
        from.pass_seconds(8 * DAY_S);
        set_status(from, "US-001", "Done");
        to.pass_seconds(15 * DAY_S);
        let file = export(from, json!({ "format": "json", "project": "DEFAULT" }));
        to.ok("import", json!({ "format": "json", "content": file }));
        let expected = ["2026-11-09 0/1", "2026-11-16 0/1", "2026-11-23 1/1", "2026-11-30 1/1"];
        assert_eq!(weeks(to, json!({ "weeks": 4 })), expected);
    });
}

#[test]
fn the_example_fills_an_empty_project_and_no_other() {
    on_every_store(|world| {
        world.ok("create_project", json!({ "key": "TRY", "name": "Tryout" }));
        let loaded = world.ok("load_example", json!({ "project": "try" }));
        assert_eq!(loaded, json!({ "project": "TRY", "created": 23 }));
        let report = world.ok("status_report", json!({ "project": "TRY" }));
        assert_eq!(report["total"], 22, "{report}");
        assert_eq!(world.ok("list_suspect_links", json!({ "project": "TRY" }))["total_count"], 2);
        assert_eq!(world.ok("status_report", json!({ "project": "DEFAULT" }))["total"], 0);
        assert_eq!(
            world.refused("load_example", json!({ "project": "TRY" })),
            "CONFLICT: the project TRY is not empty; the example goes into a new project"
        );
        // Everything is undone when something is refused, and only those who may write in it fill a project.
        let ann = world.member("ann", "Commenter");
        world.call_as(ann, "load_example", json!({ "project": "DEFAULT" })).expect_err("may not write");
        assert_eq!(world.ok("load_example", json!({ "project": "default" }))["project"], "DEFAULT");
    });
}

#[test]
fn changes_of_all_projects_are_those_that_one_sees() {
    on_every_store(|world| {
        for key in ["ABC", "XYZ"] {
            world.ok("create_project", json!({ "key": key, "name": key }));
        }
        for (number, project) in ["ABC", "DEFAULT", "XYZ", "ABC", "DEFAULT"].into_iter().enumerate() {
            let entry = ops::find("create_epic").expect("an operation");
            let new = json!({ "title": format!("Epic {number}"), "priority": 1, "project": project });
            let mut call = world.the_call(entry, new, None);
            call.request.via = if number == 1 { Via::Rest } else { Via::Mcp };
            world.engine.wait(call).result.expect("an epic");
        }
        let lines = |page: &Value| -> Vec<String> {
            let line = |change: &Value| {
                format!(
                    "{} {}",
                    change["project"].as_str().unwrap_or_default(),
                    change["title"].as_str().unwrap_or_default()
                )
            };
            page["data"].as_array().expect("a list").iter().map(line).collect()
        };
        let agents = world.ok("list_changes", json!({ "by_agents": true }));
        assert_eq!(lines(&agents), ["DEFAULT Epic 4", "ABC Epic 3", "XYZ Epic 2", "ABC Epic 0"]);
        assert_eq!(agents["total_count"], 4);
        // In parts, in one order.
        let first = world.ok("list_changes", json!({ "by_agents": true, "limit": 3 }));
        let rest = world
            .ok("list_changes", json!({ "by_agents": true, "limit": 3, "cursor": first["next_cursor"] }));
        assert_eq!([lines(&first), lines(&rest)].concat(), lines(&agents));
        let all = world.ok("list_changes", json!({}));
        assert_eq!(all["total_count"], 7, "with two projects");
        let ann = world.member("ann", "User");
        world.ok("update_project", json!({ "project": "ABC", "access": "members" }));
        let seen = world.call_as(ann, "list_changes", json!({ "by_agents": true })).expect("a list");
        assert_eq!(
            (lines(&seen), &seen["total_count"]),
            (vec!["DEFAULT Epic 4".to_owned(), "XYZ Epic 2".to_owned()], &json!(2))
        );
        let ann = Credentials::Local(Some("ann".to_owned()));
        world.call_as(ann, "list_changes", json!({ "project": "ABC" })).expect_err("hidden");
    });
}
