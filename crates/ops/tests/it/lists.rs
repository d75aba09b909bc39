//! Lists a page at a time, and what they say of how many there are.

use serde_json::{Value, json};
use store::{Mode, tally};

use super::stores::{World, on_every_store};

const SORTS: [&str; 6] = ["number", "number_descending", "title", "priority", "created", "updated"];

/// Three projects with a few requirements each, of several statuses and priorities, some of them with equal titles.
fn fill(world: &World) {
    for key in ["BBB", "AAA", "CCC"] {
        world.ok("create_project", json!({ "key": key, "name": key }));
        let epic = world.ok("create_epic", json!({ "project": key, "title": "Epic", "priority": 1 }));
        for story in 0..2 {
            let story = json!({ "epic_id": epic["id"], "title": format!("Story {story}"), "priority": 2 });
            let story = world.ok("create_user_story", story);
            for index in 0..5 {
                let requirement = json!({
                    "user_story_id": story["id"], "title": format!("Requirement {}", index % 3),
                    "type_id": "Functional", "priority": 1 + index % 4
                });
                let requirement = world.ok("create_requirement", requirement);
                if index % 2 == 0 {
                    let active = json!({ "requirement_id": requirement["id"], "status": "Active" });
                    world.ok("update_requirement", active);
                }
            }
        }
    }
}

fn references(page: &Value) -> Vec<String> {
    let items = page["data"].as_array().expect("a list");
    items.iter().map(|item| item["reference_id"].as_str().expect("a name").to_owned()).collect()
}

/// Everything that a list has, by following its cursors.
fn followed(world: &World, operation: &str, arguments: &Value, limit: i64) -> Vec<Value> {
    let mut found = Vec::new();
    let mut arguments = arguments.clone();
    arguments["limit"] = json!(limit);
    loop {
        let page = world.ok(operation, arguments.clone());
        found.extend(page["data"].as_array().expect("a list").clone());
        match page.get("next_cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => return found,
        }
        assert!(found.len() < 1_000, "{operation} does not end");
    }
}

#[test]
fn pages_that_follow_cursors_are_the_whole_list_in_every_order() {
    on_every_store(|world| {
        fill(world);
        let filters = [
            json!({}),
            json!({ "project": "AAA" }),
            json!({ "status": ["Active"] }),
            json!({ "status": ["Active", "Draft"] }),
            json!({ "project": "BBB", "status": ["Active", "Draft"] }),
            json!({ "priority": [1, 2], "project": "CCC" }),
            json!({ "epic_id": "AAA-EP-001" }),
            json!({ "include_deleted": true }),
        ];
        for sort in SORTS {
            for filter in &filters {
                let mut arguments = filter.clone();
                arguments["kind"] = json!("requirement");
                arguments["sort"] = json!(sort);
                arguments["limit"] = json!(100);
                let whole = world.ok("list_entities", arguments.clone());
                let total = whole["total_count"].as_i64().expect("a number");
                assert_eq!(
                    whole["data"].as_array().map(|items| items.len() as i64),
                    Some(total),
                    "{arguments}"
                );
                assert_eq!(whole.get("next_cursor"), None, "{arguments}");
                let parts = followed(world, "list_entities", &arguments, 4);
                assert_eq!(json!(parts), whole["data"], "{arguments}");
                arguments["offset"] = json!(3);
                let rest = world.ok("list_entities", arguments.clone());
                let from_offset: Vec<Value> = parts.into_iter().skip(3).collect();
                assert_eq!(rest["data"], json!(from_offset), "{arguments}");
            }
        }
    });
}

#[test]
fn creates_and_deletes_move_nothing_between_pages() {
    on_every_store(|world| {
        fill(world);
        for sort in ["number", "created", "title"] {
            let all = json!({ "kind": "requirement", "sort": sort, "limit": 100 });
            let all = references(&world.ok("list_entities", all));
            let mut arguments = json!({ "kind": "requirement", "sort": sort, "limit": 6 });
            let first = world.ok("list_entities", arguments.clone());
            // The last of the page goes, which the cursor stands on, and the one before it.
            for name in references(&first).iter().rev().take(2) {
                world.ok("delete_entity", json!({ "reference": name }));
            }
            arguments["cursor"] = first["next_cursor"].clone();
            let second = world.ok("list_entities", arguments);
            assert_eq!(references(&second), all[6..12], "{sort}");
        }
    });
}

#[test]
fn a_cursor_of_another_list_is_refused() {
    on_every_store(|world| {
        fill(world);
        let page = world.ok("list_entities", json!({ "kind": "requirement", "limit": 2 }));
        for (operation, mut arguments) in [
            ("list_entities", json!({ "kind": "requirement", "sort": "title" })),
            ("list_audit", json!({})),
            ("list_comments", json!({})),
            ("list_users", json!({})),
        ] {
            for cursor in [page["next_cursor"].clone(), json!("AAAA"), json!("\u{e9}?")] {
                arguments["cursor"] = cursor;
                let refused = world.refused(operation, arguments.clone());
                assert!(refused.contains("is not of this list"), "{operation} {arguments}: {refused}");
            }
        }
    });
}

#[test]
fn other_lists_are_followed_too() {
    on_every_store(|world| {
        fill(world);
        for index in 0..7 {
            let comment = json!({ "reference": "AAA-REQ-001", "content": format!("Remark {index}") });
            let comment = world.ok("add_comment", comment);
            if index % 3 == 0 {
                world.ok("update_comment", json!({ "comment_id": comment["id"], "resolved": true }));
            }
        }
        for (operation, arguments) in [
            ("list_audit", json!({})),
            ("list_audit", json!({ "event": "create_requirement" })),
            ("list_comments", json!({})),
            ("list_comments", json!({ "resolved": true })),
            ("list_comments", json!({ "reference": "AAA-REQ-001" })),
            ("list_projects", json!({})),
            ("get_history", json!({ "reference": "AAA-REQ-001" })),
            ("search_global", json!({ "query": "requirement" })),
        ] {
            let mut whole = arguments.clone();
            whole["limit"] = json!(100);
            let whole = world.ok(operation, whole);
            let n_items = whole["data"].as_array().map(Vec::len);
            assert_eq!(
                n_items.map(|number| number as i64),
                whole["total_count"].as_i64(),
                "{operation} {arguments}"
            );
            let parts = followed(world, operation, &arguments, 2);
            assert_eq!(json!(parts), whole["data"], "{operation} {arguments}");
        }
    });
}

/// Compares what is kept with what counting finds.
fn check_totals(world: &World) {
    let store = world.engine.store().clone();
    let counted = "select kind, project_id, 'status', coalesce(status, ''), count(*) from entity
                   where deleted_at is null group by kind, project_id, coalesce(status, '')
                   union all
                   select kind, project_id, 'priority', coalesce(cast(priority as varchar), ''), count(*) from entity
                   where deleted_at is null group by kind, project_id, coalesce(cast(priority as varchar), '')
                   union all
                   select kind, project_id, 'type', coalesce(type_id, ''), count(*) from entity
                   where deleted_at is null group by kind, project_id, coalesce(type_id, '')
                   union all
                   select kind, project_id, 'assignee', coalesce(assignee_id, ''), count(*) from entity
                   where deleted_at is null group by kind, project_id, coalesce(assignee_id, '')
                   union all
                   select kind, project_id, 'criterion', case when criterion_id is null then '0' else '1' end, count(*)
                   from entity where deleted_at is null
                   group by kind, project_id, case when criterion_id is null then '0' else '1' end
                   union all
                   select 'comment', project_id, 'resolved', cast(resolved as varchar), count(*) from comment
                   where deleted_at is null group by project_id, resolved
                   union all
                   select 'revision', '', 'all', '', count(*) from revision
                   union all
                   select 'authentication_event', '', 'all', '', count(*) from authentication_event
                   having count(*) > 0";
    // Weeks count what happened, not what there is.
    let kept = "select kind, project_id, dimension, value, cast(sum(n) as bigint) from tallied where dimension <> 'week'
                group by kind, project_id, dimension, value having sum(n) <> 0";
    let (counted, kept) = store
        .wait(Mode::Snapshot, move |tx| {
            let mut read = |sql| {
                tx.rows(sql, &[], |row| {
                    let (kind, project): (String, String) = (row.get(0)?, row.get(1)?);
                    let (dimension, value): (String, String) = (row.get(2)?, row.get(3)?);
                    Ok((kind, project, dimension, value, row.get::<i64>(4)?))
                })
            };
            let (mut counted, mut kept) = (read(counted)?, read(kept)?);
            counted.sort();
            kept.sort();
            Ok::<_, store::Error>((counted, kept))
        })
        .expect("both are read");
    assert_eq!(kept, counted);
}

#[test]
fn totals_are_kept_by_everything_that_changes_them() {
    on_every_store(|world| {
        fill(world);
        check_totals(world);
        let criterion = json!({ "user_story_id": "AAA-US-001", "description": "It works" });
        world.ok("create_acceptance_criteria", criterion);
        let serve =
            json!({ "requirement_id": "AAA-REQ-001", "acceptance_criteria_id": "AAA-AC-001", "priority": 4 });
        world.ok("update_requirement", serve);
        world.ok("update_requirement", json!({ "requirement_id": "AAA-REQ-002", "assignee_id": null }));
        world.ok("update_requirement", json!({ "requirement_id": "AAA-REQ-003", "type_id": "Data" }));
        let comment = world.ok("add_comment", json!({ "reference": "AAA-US-001", "content": "Really?" }));
        world.ok("update_comment", json!({ "comment_id": comment["id"], "resolved": true }));
        check_totals(world);
        world.ok("delete_entity", json!({ "reference": "AAA-EP-001", "force": true }));
        check_totals(world);
        world.engine.store().wait(Mode::Aside, tally::fold).expect("sums");
        check_totals(world);
        world.ok("restore_entity", json!({ "reference": "AAA-EP-001" }));
        world.ok("delete_comment", json!({ "comment_id": comment["id"] }));
        world.ok("delete_entity", json!({ "reference": "BBB-REQ-001" }));
        world.ok("purge_entity", json!({ "reference": "BBB-REQ-001" }));
        check_totals(world);
        // A status that gets another name takes its entities along.
        let model = world.ok("get_status_model", json!({ "kind": "requirement" }));
        let mut statuses = model["statuses"].clone();
        statuses[1]["name"] = json!("Running");
        let renamed = json!({ "kind": "requirement", "statuses": statuses, "renamed": [{ "from": "Active", "to": "Running" }] });
        world.ok("update_status_model", renamed);
        check_totals(world);
        let refused = json!({ "operations": [
            { "operation": "create_epic", "arguments": { "title": "Ship", "priority": 1 } },
            { "operation": "create_epic", "arguments": { "title": "Ship", "priority": 9 } },
        ] });
        world.refused("bulk_update", refused);
        check_totals(world);
    });
}

#[test]
fn totals_with_two_conditions_are_counted() {
    on_every_store(|world| {
        fill(world);
        let filter = json!({ "kind": "requirement", "status": ["Active"], "priority": [1], "limit": 2 });
        let page = world.ok("list_entities", filter);
        assert_eq!(page["total_count"], 6 + 6);
        assert_eq!(page.get("total_count_exact"), None);
    });
}
