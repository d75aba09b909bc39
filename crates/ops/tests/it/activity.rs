//! The changes of a project: who made them, person or agent, and what they are about.

use ops::{Call, Credentials};
use serde_json::{Value, json};
use store::model::Via;

use crate::stores::{World, on_every_store};

/// Calls an operation as an agent does, with the administrator's token.
fn as_agent(world: &World, name: &str, arguments: Value) {
    let entry = ops::find(name).expect("an operation");
    let mut call: Call = world.the_call(entry, arguments, None);
    call.request.via = Via::Mcp;
    world.engine.wait(call).result.expect("a change");
}

fn lines(page: &Value) -> Vec<String> {
    let line = |change: &Value| {
        let names = ["actor", "via", "token", "operation", "entity_kind", "reference_id", "title"];
        names.map(|name| change[name].as_str().unwrap_or("-").to_owned()).join(" ")
    };
    page["data"].as_array().expect("a list").iter().map(line).collect()
}

#[test]
fn the_changes_of_a_project_say_who_did_what() {
    on_every_store(|world| {
        let ann = world.member("ann", "User");
        world.ok("create_project", json!({ "key": "ABC", "name": "Other" }));
        world.ok("create_epic", json!({ "title": "Elsewhere", "priority": 1, "project": "ABC" }));
        world
            .call_as(ann.clone(), "create_epic", json!({ "title": "Shop", "priority": 1 }))
            .expect("an epic");
        as_agent(world, "update_epic", json!({ "epic_id": "EP-001", "description": "x".repeat(1_000) }));
        let remark = json!({ "reference": "EP-001", "content": "Why?" });
        world.call_as(ann.clone(), "add_comment", remark).expect("a comment");
        let page = world.call_as(ann, "list_changes", json!({ "project": "default" })).expect("a list");
        assert_eq!(
            lines(&page),
            [
                "ann rest - add_comment comment EP-001 Shop",
                "admin mcp first start update_epic epic EP-001 Shop",
                "ann rest - create_epic epic EP-001 Shop",
            ]
        );
        assert_eq!(page["total_count"], 3);
        let [before, after] = [0, 1].map(|place| page["data"][1]["changes"]["description"][place].clone());
        assert_eq!((before, after), (Value::Null, json!("x".repeat(200) + "…")), "long text is cut");
        let agents = world.ok("list_changes", json!({ "project": "DEFAULT", "by_agents": true }));
        assert_eq!((lines(&agents).len(), &agents["total_count"]), (1, &json!(1)));
        assert!(agents["data"][0]["operation"] == "update_epic", "{agents}");
        let other = lines(&world.ok("list_changes", json!({ "project": "ABC" })));
        let expected = [
            "admin rest first start create_epic epic ABC-EP-001 Elsewhere",
            "admin rest first start create_project project - -",
        ];
        assert_eq!(other, expected);
        // A project that is closed tells strangers nothing.
        world.ok("update_project", json!({ "project": "ABC", "access": "members" }));
        let stranger = Credentials::Local(Some("ann".to_owned()));
        let hidden =
            world.call_as(stranger, "list_changes", json!({ "project": "ABC" })).expect_err("hidden");
        assert_eq!(hidden.kind.code(), "NOT_FOUND");
    });
}

#[test]
fn changes_are_read_a_page_at_a_time_while_others_write() {
    on_every_store(|world| {
        let create = |number: usize| {
            world.ok("create_epic", json!({ "title": format!("Epic {number}"), "priority": 1 }));
        };
        (1..=7).for_each(create);
        let mut arguments = json!({ "project": "DEFAULT", "limit": 3 });
        let mut found = Vec::new();
        for round in 0..3 {
            let page = world.ok("list_changes", arguments.clone());
            found.extend(lines(&page));
            create(8 + round);
            match page.get("next_cursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => assert_eq!(round, 2),
            }
        }
        let titles: Vec<&str> = found.iter().filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(titles, ["7", "6", "5", "4", "3", "2", "1"]);
    });
}

#[test]
fn a_relationship_is_told_of_by_where_it_starts() {
    on_every_store(|world| {
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Story", "priority": 1 }));
        for title in ["One", "Two"] {
            let new = json!({ "user_story_id": "US-001", "title": title, "type_id": "Data", "priority": 1 });
            world.ok("create_requirement", new);
        }
        world.ok("create_relationship", json!({
            "source_requirement_id": "REQ-002", "relationship_type_id": "depends_on", "target_requirement_id": "REQ-001"
        }));
        let newest = &lines(&world.ok("list_changes", json!({ "project": "DEFAULT", "limit": 1 })))[0];
        assert!(newest.ends_with("create_relationship relationship REQ-002 Two"), "{newest}");
    });
}
