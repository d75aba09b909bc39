//! What happened to what, by whom and how; going back; and relationships that a change has made doubtful.

use ops::Credentials;
use serde_json::{Value, json};

use crate::people::{session, token, user};
use crate::stores::{World, on_every_store};

#[test]
fn a_history_says_who_did_what_how_and_when() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let by_token = token(world, "ann", &["write"]);
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        let change = json!({ "epic_id": "EP-001", "title": "Better", "description": "Text", "priority": 1 });
        world.call_as(by_token, "update_epic", change).expect("a change");
        let by_session = session(world, "ann");
        world
            .call_as(by_session, "update_epic", json!({ "epic_id": "EP-001", "description": null }))
            .expect("a change");
        let local = Credentials::Local(None);
        world.call_as(local, "delete_entity", json!({ "reference": "EP-001" })).expect("a delete");

        let history = world.ok("get_history", json!({ "reference": "EP-001" }));
        let lines: Vec<String> = history["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|revision| {
                let by = if revision.get("token_id").is_some() { "token" } else { "no token" };
                format!(
                    "{} {} by {} with {by} via {} in {}",
                    revision["version"],
                    revision["operation"],
                    revision["actor"],
                    revision["via"],
                    revision["request_id"]
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                r#"4 "delete_entity" by "admin" with no token via "rest" in "test""#,
                r#"3 "update_epic" by "ann" with no token via "rest" in "test""#,
                r#"2 "update_epic" by "ann" with token via "rest" in "test""#,
                r#"1 "create_epic" by "admin" with token via "rest" in "test""#,
            ]
        );
        let changes = |index: usize| history["data"][index]["changes"].clone();
        assert_eq!(changes(2), json!({ "title": ["Epic", "Better"], "description": [null, "Text"] }));
        assert_eq!(changes(1), json!({ "description": ["Text", null] }));
        assert_eq!(changes(3)["title"], json!([null, "Epic"]));
        let times: Vec<&Value> = history["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|revision| &revision["created_at"])
            .collect();
        assert!(times.is_sorted_by_key(|time| std::cmp::Reverse(time.as_str())));
        let second = world.ok("get_history", json!({ "reference": "EP-001", "limit": 1, "offset": 1 }));
        assert_eq!((&second["data"][0]["version"], &second["total_count"]), (&json!(3), &json!(4)));

        // What changes nothing is no revision.
        world.ok("create_epic", json!({ "title": "Same", "priority": 1 }));
        let same =
            world.ok("update_epic", json!({ "epic_id": "EP-002", "title": "Same", "status": "backlog" }));
        assert_eq!(same["version"], 1);
        assert_eq!(world.ok("get_history", json!({ "reference": "EP-002" }))["total_count"], 1);
    });
}

#[test]
fn the_audit_trail_holds_changes_and_logins() {
    on_every_store(|world| {
        user(world, "ann", "User");
        session(world, "ann");
        let ann = token(world, "ann", &["write"]);
        world.call_as(ann, "create_epic", json!({ "title": "Epic", "priority": 1 })).expect("an epic");
        let events = |arguments: Value| {
            let found = world.ok("list_audit", arguments);
            let entries = found["data"].as_array().expect("a list").iter();
            entries
                .map(|entry| entry["event"].as_str().expect("text").to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(events(json!({ "actor": "ann" })), "create_epic login");
        assert_eq!(events(json!({ "entity": "EP-001" })), "create_epic");
        assert_eq!(events(json!({ "event": "login" })), "login");
        assert_eq!(events(json!({ "actor": "admin", "event": "create_user" })), "create_user");
        assert_eq!(events(json!({ "to": "2026-11-14" })), "");
        assert!(
            events(json!({ "from": "2026-11-15", "to": "2026-11-15" }))
                .starts_with("create_epic create_token login")
        );
    });
}

#[test]
fn an_entity_goes_back_to_what_it_was() {
    on_every_store(|world| {
        user(world, "ann", "User");
        requirements(world, 1);
        let update = |mut change: Value| {
            change["requirement_id"] = json!("REQ-001");
            world.ok("update_requirement", change)
        };
        update(json!({ "title": "Second", "description": "Two", "priority": 4, "status": "active" }));
        update(json!({ "title": "Third", "type_id": "Functional", "assignee_id": "ann" }));
        update(json!({ "assignee_id": null }));
        let back = world.ok("restore_entity", json!({ "reference": "REQ-001", "version": 2 }));
        assert_eq!(
            json!([
                back["title"],
                back["description"],
                back["priority"],
                back["status"],
                back["type"],
                back["assignee"]
            ]),
            json!(["Second", "Two", 4, "Active", "Data", "admin"])
        );
        assert_eq!(back["version"], 5);
        let first = world.ok("restore_entity", json!({ "reference": "REQ-001", "version": 1 }));
        assert_eq!(
            json!([first["title"], first.get("description"), first["priority"], first["status"]]),
            json!(["Requirement", null, 1, "Draft"])
        );
        let third = world.ok("restore_entity", json!({ "reference": "REQ-001", "version": 3 }));
        assert_eq!(
            json!([third["title"], third["type"], third["assignee"]]),
            json!(["Third", "Functional", "ann"])
        );
        let fourth = world.ok("restore_entity", json!({ "reference": "REQ-001", "version": 4 }));
        assert_eq!(fourth.get("assignee"), None);
        for version in [8, 9, 99] {
            let refused =
                world.refused("restore_entity", json!({ "reference": "REQ-001", "version": version }));
            assert!(
                refused.starts_with("VALIDATION_ERROR: version: expected a version before 8"),
                "{refused}"
            );
        }
        // What is no more by then stays as it is.
        world.ok("create_requirement_type", json!({ "name": "Passing" }));
        update(json!({ "type_id": "Passing", "title": "Ninth" }));
        update(json!({ "type_id": "Data", "title": "Tenth", "status": "active" }));
        world.ok("delete_requirement_type", json!({ "requirement_type": "Passing" }));
        let statuses = json!([{ "name": "New", "initial": true }, { "name": "Active" }, { "name": "Obsolete", "final": true }]);
        let renamed = json!([{ "from": "Draft", "to": "New" }]);
        world.ok(
            "update_status_model",
            json!({ "kind": "requirement", "statuses": statuses, "renamed": renamed }),
        );
        let ninth = world.ok("restore_entity", json!({ "reference": "REQ-001", "version": 9 }));
        assert_eq!(
            json!([ninth["title"], ninth["type"], ninth["status"]]),
            json!(["Ninth", "Data", "Active"])
        );
        world.ok("delete_entity", json!({ "reference": "REQ-001" }));
        assert!(
            world
                .refused("restore_entity", json!({ "reference": "REQ-001", "version": 2 }))
                .starts_with("NOT_FOUND")
        );
    });
}

#[test]
fn a_history_names_where_something_belonged_and_goes_back_there() {
    on_every_store(|world| {
        requirements(world, 1);
        world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Other", "priority": 1 }));
        for story in ["US-001", "US-001", "US-002"] {
            world.ok("create_acceptance_criteria", json!({ "user_story_id": story, "description": "Given" }));
        }
        let update = |mut change: Value| {
            change["requirement_id"] = json!("REQ-001");
            world.ok("update_requirement", change)
        };
        update(json!({ "acceptance_criteria_id": "AC-001" }));
        update(json!({ "acceptance_criteria_id": "AC-002" }));
        update(json!({ "user_story_id": "US-002", "acceptance_criteria_id": "AC-003" }));
        let history = world.ok("get_history", json!({ "reference": "REQ-001" }));
        let named = |index: usize| {
            let changes = &history["data"][index]["changes"];
            json!([changes["user_story"], changes["acceptance_criteria"]])
        };
        assert_eq!(named(0), json!([["US-001", "US-002"], ["AC-002", "AC-003"]]));
        assert_eq!(named(1), json!([null, ["AC-001", "AC-002"]]));
        assert_eq!(named(3), json!([[null, "US-001"], null]));
        let go_back = |version: i64| {
            let back = world.ok("restore_entity", json!({ "reference": "REQ-001", "version": version }));
            json!([back["user_story"], back.get("acceptance_criteria")])
        };
        assert_eq!(go_back(2), json!(["US-001", "AC-001"]));
        assert_eq!(go_back(4), json!(["US-002", "AC-003"]));
        assert_eq!(go_back(1), json!(["US-001", null]));
        // What is deleted by then holds nothing, and the requirement stays where it is.
        world.ok("delete_entity", json!({ "reference": "US-002", "force": true }));
        world.ok("update_requirement", json!({ "requirement_id": "REQ-001", "title": "Later" }));
        assert_eq!(go_back(4), json!(["US-001", null]));
    });
}

#[test]
fn a_link_is_suspect_when_its_target_means_something_else() {
    on_every_store(|world| {
        requirements(world, 2);
        let link = world.ok("create_relationship", json!({
            "source_requirement_id": "REQ-001", "relationship_type_id": "depends_on", "target_requirement_id": "REQ-002"
        }));
        let suspects = || world.ok("list_suspect_links", json!({}))["total_count"].clone();
        let update = |mut change: Value| {
            change["requirement_id"] = json!("REQ-002");
            world.ok("update_requirement", change);
        };
        assert_eq!((&link["suspect"], suspects()), (&json!(false), json!(0)));
        // Who works on it and how urgent it is does not change what it says.
        update(json!({ "priority": 4, "status": "active", "assignee_id": null }));
        world.ok("update_requirement", json!({ "requirement_id": "REQ-001", "title": "The source" }));
        assert_eq!(suspects(), 0);
        for change in
            [json!({ "title": "New" }), json!({ "description": "New" }), json!({ "type_id": "Functional" })]
        {
            update(change.clone());
            assert_eq!(suspects(), 1, "{change}");
            let version =
                world.ok("get_entity", json!({ "reference": "REQ-002" }))["version"].as_i64().unwrap();
            let clear = |version: i64| json!({ "id": link["id"], "target_version": version });
            let refused = world.refused("clear_suspect_link", clear(version - 1));
            assert!(refused.starts_with("STALE_VERSION: REQ-002 has version"), "{refused}");
            let cleared = world.ok("clear_suspect_link", clear(version));
            assert_eq!((&cleared["suspect"], suspects()), (&json!(false), json!(0)));
        }
        let version = world.ok("clear_suspect_link", json!({ "id": link["id"] }))["version"].clone();
        assert_eq!(version, 4, "clearing what is clear changes nothing");
        update(json!({ "title": "Newer" }));
        assert_eq!(
            world.ok("list_suspect_links", json!({ "project": "DEFAULT" }))["data"][0]["id"],
            link["id"]
        );
        world.ok("delete_relationship", json!({ "id": link["id"] }));
        assert_eq!(suspects(), 0);
    });
}

#[test]
fn a_link_is_not_suspect_when_its_target_says_again_what_it_was_confirmed_against() {
    on_every_store(|world| {
        requirements(world, 3);
        let relate = |source: &str| {
            world.ok("create_relationship", json!({
                "source_requirement_id": source, "relationship_type_id": "depends_on", "target_requirement_id": "REQ-002"
            }))
        };
        let suspects = || {
            let found = world.ok("list_suspect_links", json!({}));
            let sources = found["data"].as_array().expect("a list").iter();
            sources.map(|link| link["source"].as_str().expect("a source").to_owned()).collect::<Vec<_>>()
        };
        let update = |mut change: Value| {
            change["requirement_id"] = json!("REQ-002");
            world.ok("update_requirement", change)["version"].clone()
        };
        let old = relate("REQ-001");
        update(json!({ "title": "New", "description": "Other words", "type_id": "Functional" }));
        assert_eq!(suspects(), ["REQ-001"]);
        // This one was made against the new text.
        relate("REQ-003");
        update(json!({ "title": "Requirement", "description": null }));
        assert_eq!(suspects().len(), 2, "the type is still another one");
        let version = update(json!({ "type_id": "Data", "priority": 4 }));
        assert_eq!(suspects(), ["REQ-003"], "the text and the type of the first link's target are back");
        let settled = &world.ok("list_relationships", json!({ "requirement_id": "REQ-001" }))["data"][0];
        assert_eq!((&settled["suspect"], &settled["target_version"]), (&json!(false), &version));
        assert_eq!(settled["version"], old["version"].as_i64().unwrap() + 1, "listeners hear of it");
        // Restoring an old version does the same.
        world.ok("restore_entity", json!({ "reference": "REQ-002", "version": 2 }));
        assert_eq!(suspects(), ["REQ-001"]);
        // So does a file that brings the old text back, with the link itself in it.
        let file = world.ok("export", json!({ "format": "json" }))["content"].take();
        let mut file: Value = serde_json::from_str(file.as_str().expect("a file")).expect("JSON");
        for record in file["records"].as_array_mut().expect("records") {
            record.as_object_mut().expect("a record").remove("version");
        }
        update(json!({ "title": "Newest" }));
        assert_eq!(suspects().len(), 2);
        world.ok("import", json!({ "format": "json", "content": file.to_string() }));
        assert_eq!(suspects(), ["REQ-001"]);
    });
}

fn requirements(world: &World, number: usize) {
    world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Story", "priority": 1 }));
    for _ in 0..number {
        let requirement =
            json!({ "user_story_id": "US-001", "title": "Requirement", "type_id": "Data", "priority": 1 });
        world.ok("create_requirement", requirement);
    }
}
