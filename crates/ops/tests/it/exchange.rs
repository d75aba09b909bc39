//! Files out and in.

use std::time::{Duration, Instant};

use ops::Credentials;
use private_postgres::Server;
use serde_json::{Value, json};
use store::Location;

use crate::stores::{World, on_every_pair, on_every_store};

const FORMATS: [&str; 4] = ["json", "csv", "markdown", "reqif"];

#[test]
fn an_export_imported_into_an_empty_store_exports_the_same_bytes() {
    on_every_pair(|from, to| {
        fill(from);
        let files = FORMATS.map(|format| export(from, json!({ "format": format, "columns": "all" })));
        to.member("ursula", "User");
        for (index, (format, file)) in FORMATS.into_iter().zip(&files).enumerate() {
            let report = import(to, format, file);
            assert_eq!(report["notes"], json!([]), "{format}");
            // The first makes everything; after that, every format says what is there already.
            let (created, updated) = (report["created"].as_u64(), report["updated"].as_u64());
            if index == 0 {
                assert!(created > Some(20), "{report}");
            } else {
                assert_eq!((created, updated), (Some(0), Some(0)), "{format}: {report}");
            }
            for (format, file) in FORMATS.into_iter().zip(&files) {
                assert_eq!(&export(to, json!({ "format": format, "columns": "all" })), file, "{format}");
            }
        }
        let suspects = to.ok("list_suspect_links", json!({}));
        assert_eq!(suspects["total_count"], 1);
        assert_eq!(suspects["data"][0]["target"], "REQ-002");
    });
}

#[test]
fn every_format_alone_carries_everything() {
    for format in FORMATS {
        on_every_pair(|from, to| {
            fill(from);
            to.member("ursula", "User");
            let file = export(from, json!({ "format": format, "columns": "all" }));
            import(to, format, &file);
            assert_eq!(export(to, json!({ "format": format, "columns": "all" })), file, "{format}");
        });
    }
}

#[test]
fn removed_types_and_statuses_are_not_in_the_export() {
    on_every_pair(|from, to| {
        fill(from);
        from.ok("delete_requirement_type", json!({ "requirement_type": "Non-Functional" }));
        let renamed = json!({ "requirement_type": "Functional", "name": "What", "description": null });
        from.ok("update_requirement_type", renamed);
        from.ok("delete_relationship_type", json!({ "relationship_type": "conflicts_with" }));
        let model = from.ok("get_status_model", json!({ "kind": "requirement" }));
        let statuses = model["statuses"].as_array().expect("statuses").iter();
        let mut statuses: Vec<Value> =
            statuses.filter(|status| status["name"] != "Obsolete").cloned().collect();
        statuses[0]["name"] = json!("Idea");
        statuses.rotate_left(1);
        let renamed = json!([{ "from": "Draft", "to": "Idea" }]);
        let changed =
            json!({ "kind": "requirement", "statuses": statuses, "transitions": [], "renamed": renamed });
        from.ok("update_status_model", changed);
        let file = export(from, json!({ "format": "json" }));
        to.member("ursula", "User");
        import(to, "json", &file);
        assert_eq!(export(to, json!({ "format": "json" })), file);
        // A store that holds something keeps what it has.
        to.ok("create_requirement_type", json!({ "name": "Later" }));
        import(to, "json", &file);
        let types = to.ok("list_requirement_types", json!({}));
        assert!(types.to_string().contains("Later"), "{types}");
    });
}

#[test]
fn an_export_may_be_of_a_project_or_an_epic_and_may_tell_of_what_is_deleted() {
    on_every_store(|world| {
        fill(world);
        let titles = |arguments: Value| -> Vec<String> {
            let file: Value = serde_json::from_str(&export(world, arguments)).expect("JSON");
            let records = file["records"].as_array().expect("records");
            let titles = records.iter().filter(|record| record["deleted_at"].is_null());
            titles.filter_map(|record| Some(record["reference_id"].as_str()?.to_owned())).collect()
        };
        assert_eq!(titles(json!({ "format": "json", "project": "shop" })), ["SHOP-EP-001", "SHOP-US-001"]);
        assert_eq!(
            titles(json!({ "format": "json", "epic": "EP-001" })),
            ["EP-001", "US-001", "AC-001", "REQ-001", "REQ-002", "STD-001"]
        );
        world.ok("delete_entity", json!({ "reference": "REQ-001", "force": true }));
        let with = export(world, json!({ "format": "json", "include_deleted": true }));
        let without = export(world, json!({ "format": "json" }));
        assert!(with.contains("\"deleted_at\"") && !without.contains("\"deleted_at\""));
        assert!(with.contains("Cards are charged") && !without.contains("Cards are charged"));
        let report = import(world, "json", &with);
        assert_eq!((&report["created"], &report["updated"]), (&json!(0), &json!(0)), "{report}");
        assert_eq!(
            report["left_out"], 8,
            "two requirements, three relationships and three comments: {report}"
        );
    });
}

#[test]
fn rows_with_a_reference_change_what_is_there() {
    on_every_store(|world| {
        fill(world);
        let report = import(
            world,
            "csv",
            "kind,reference_id,epic,user_story,title,description,priority,version,entity,content\n\
             epic,EP-1,,,Checkout 2,,,,,\n\
             epic,EP-2,,,Second,,,,,\n\
             user_story,,EP-1,,New,,,,,\n\
             requirement,x,,US-2,From elsewhere,,4,,,\n\
             comment,,,,,,,,x,Says who?\n",
        );
        assert_eq!(
            report["rows"],
            json!([
                { "row": "row 2 (line 2)", "kind": "epic", "outcome": "updated", "title": "Checkout 2", "changes": ["title"], "reference_id": "EP-001" },
                { "row": "row 4 (line 4)", "kind": "user_story", "outcome": "created", "title": "New", "reference_id": "US-003" },
                { "row": "row 5 (line 5)", "kind": "requirement", "outcome": "created", "title": "From elsewhere", "reference_id": "REQ-005" },
                { "row": "row 6 (line 6)", "kind": "comment", "outcome": "created", "reference_id": report["rows"][3]["reference_id"] },
            ])
        );
        let epic = world.ok("get_entity", json!({ "reference": "EP-001" }));
        // An empty cell leaves what is there.
        assert_eq!(
            (&epic["title"], &epic["priority"], &epic["version"]),
            (&json!("Checkout 2"), &json!(1), &json!(2))
        );
        assert_eq!(epic["description"], "Everything about *paying*.");
        let history = world.ok("get_history", json!({ "reference": "EP-001" }));
        assert_eq!(history["data"][0]["operation"], "import");
        assert_eq!(history["data"][0]["changes"], json!({ "title": ["Checkout", "Checkout 2"] }));
        let new = world.ok("get_entity", json!({ "reference": "REQ-005" }));
        assert_eq!(
            (&new["type"], &new["status"], &new["assignee"]),
            (&json!("Functional"), &json!("Draft"), &json!("admin"))
        );
        assert_eq!(
            world.ok("list_comments", json!({ "reference": "REQ-005" }))["data"][0]["entity"],
            "REQ-005"
        );
    });
}

#[test]
fn all_mistakes_are_reported_at_once_and_nothing_is_written() {
    on_every_store(|world| {
        fill(world);
        let before = export(world, json!({ "format": "json" }));
        let file = "\
            kind,reference_id,id,epic,user_story,title,description,priority,status,type,assignee,version,source,target,entity,content,acceptance_criteria,parent\n\
            epic,,,,,Fine,,,,,,,,,,,,\n\
            epic,,,,,Wrong,,7,Nowhere,,nobody,,,,,,,\n\
            epic,EP-1,,,,Changed meanwhile,,,,,,,,,,,,\n\
            user_story,US-77,,EP-99,,No epic,,,,,,,,,,,,\n\
            requirement,,,,US-77,Below what is wrong,,,,,,,,,,,,\n\
            requirement,,,,US-001,Type,,,,Sonnet,,,,,,,,\n\
            requirement,,,,US-002,Criterion,,,,,,,,,,,AC-001,\n\
            requirement,US-9,,,US-001,Kind,,,,,,,,,,,,\n\
            requirement,ZZZ-REQ-1,,,US-001,Project,,,,,,,,,,,,\n\
            requirement,REQ-50,,,US-001,Once,,,,,,,,,,,,\n\
            requirement,REQ-050,,,US-001,Twice,,,,,,,,,,,,\n\
            relationship,,,,,,,,,depends_on,,,REQ-002,REQ-001,,,,\n\
            relationship,,,,,,,,,relates_to,,,REQ-002,REQ-002,,,,\n\
            comment,,,,,,,,,,,,,,STD-001,Words,,\n\
            comment,,,,,,,,,,,,,,REQ-001,Words,,0193b5b2-6f0c-7a3e-8000-0123456789ab\n";
        let arguments = json!({ "format": "csv", "content": file });
        world.ok("update_epic", json!({ "epic_id": "EP-001", "title": "Checkout", "priority": 2 }));
        let file =
            file.replace("epic,EP-1,,,,Changed meanwhile,,,,,,,", "epic,EP-1,,,,Changed meanwhile,,,,,,1,");
        let tried = world.ok("import", json!({ "format": "csv", "content": file, "dry_run": true }));
        let told: Vec<String> = tried["problems"]
            .as_array()
            .expect("problems")
            .iter()
            .map(|problem| {
                let text = |field: &str| problem[field].as_str().unwrap_or_default().to_owned();
                format!("{}: {}: {}", text("row"), text("field"), text("message"))
            })
            .collect();
        expect_test::expect![[r#"
            row 3 (line 3): priority: expected 1 to 4, found 7
            row 3 (line 3): status: expected one of Backlog, Draft, In Progress, Done, Cancelled, found "Nowhere"
            row 3 (line 3): assignee: there is no user "nobody"
            row 4 (line 4): version: EP-001 has version 2, and the file says 1: it was changed meanwhile; leave the version out to write over it
            row 5 (line 5): epic: there is no epic "EP-99", neither in the file nor here
            row 7 (line 7): type: expected one of Functional, Non-Functional, Business Rule, Interface, Data, Poem, Anthem, found "Sonnet"
            row 8 (line 8): acceptance_criteria: belongs to another user story than the requirement
            row 9 (line 9): reference_id: US-009 names a user story, and this is a requirement
            row 10 (line 10): reference_id: there is no project ZZZ, neither in the file nor here
            row 12 (line 12): reference_id: is in the file twice: also at row 11 (line 11)
            row 14 (line 14): target: a requirement cannot be related to itself
            row 13 (line 13): target: REQ-002 depends_on REQ-001 would close a cycle: REQ-001 → REQ-002
            row 15 (line 15): entity: steering documents take no comments
            row 16 (line 16): parent: there is no comment 0193b5b2-6f0c-7a3e-8000-0123456789ab, neither in the file nor here"#]]
        .assert_eq(&told.join("\n"));
        let error = world.call("import", json!({ "format": "csv", "content": file })).expect_err("mistakes");
        assert_eq!(error.fields.len(), told.len());
        assert_eq!(error.more.as_ref().map(|more| &more["report"]["problems"]), Some(&tried["problems"]));
        world.ok("update_epic", json!({ "epic_id": "EP-001", "title": "Checkout", "priority": 1 }));
        let strip = |text: &str| -> Vec<Value> {
            let mut file: Value = serde_json::from_str(text).expect("JSON");
            let records = file["records"].as_array_mut().expect("records");
            for record in records.iter_mut().filter(|record| record["reference_id"] == "EP-001") {
                record["version"] = Value::Null;
                record["updated_at"] = Value::Null;
            }
            records.clone()
        };
        assert_eq!(strip(&export(world, json!({ "format": "json" }))), strip(&before));
        assert!(world.call("import", arguments).is_err());
    });
}

#[test]
fn unreadable_records_are_reported_with_the_others() {
    on_every_store(|world| {
        let file =
            "kind,reference_id,epic,title,priority\nepic,EP-1,,Fine,high\nuser_story,,EP-1,Fine,\nepic,,,,\n";
        let tried = world.ok("import", json!({ "format": "csv", "content": file, "dry_run": true }));
        let fields: Vec<&str> = tried["problems"]
            .as_array()
            .expect("problems")
            .iter()
            .filter_map(|problem| problem["field"].as_str())
            .collect();
        // The story is not blamed for the epic that could not be read.
        assert_eq!(fields, ["priority", "title"]);
        for (format, content, expected) in [
            ("json", "{", "VALIDATION_ERROR: nothing was imported: "),
            ("csv", "", "VALIDATION_ERROR: nothing was imported: "),
        ] {
            let refused = world.refused("import", json!({ "format": format, "content": content }));
            assert!(refused.starts_with(expected), "{refused}");
        }
    });
}

#[test]
fn a_rejected_file_changes_nothing() {
    on_every_store(|world| {
        let file = "kind,title,priority\nepic,Fine,2\nepic,Wrong,9\n";
        let tried = world.ok("import", json!({ "format": "csv", "content": file, "dry_run": true }));
        assert_eq!((&tried["created"], tried["rows"].as_array().map(Vec::len)), (&json!(1), Some(2)));
        assert_eq!((&tried["wrong"], &tried["rows"][1]["outcome"]), (&json!(1), &json!("wrong")));
        let refused = world.call("import", json!({ "format": "csv", "content": file })).expect_err("refused");
        let report = &refused.more.expect("a report")["report"];
        assert_eq!((&report["created"], &report["rows"]), (&json!(0), &json!([])));
        assert_eq!(report["problems"][0]["field"], "priority");
        assert_eq!(world.ok("list_entities", json!({ "kind": "epic" }))["total_count"], 0);
    });
}

#[test]
fn only_administrators_import_types_and_statuses() {
    on_every_pair(|from, to| {
        fill(from);
        let ursula = to.member("ursula", "User");
        let refused = |file: &str| {
            let arguments = json!({ "format": "csv", "content": file, "dry_run": true });
            let tried = to.call_as(ursula.clone(), "import", arguments).expect("a report");
            let problems = tried["problems"].as_array().expect("problems").clone();
            problems
                .iter()
                .map(|problem| problem["message"].as_str().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        let needs = "this needs the role Administrator, and ursula is User";
        assert_eq!(refused("kind,name\nrequirement_type,Poem\n"), [needs]);
        assert_eq!(refused("kind,entity_kind,name\nstatus,epic,Later\n"), [needs]);
        assert_eq!(refused("kind,key,name\nproject,ABC,New\n"), [needs]);
        assert_eq!(refused("kind,name,content\nprompt,x,y\n"), [needs]);
        // What is there already may stand in the file.
        let own = "kind,title,name,creator\nepic,x,,ursula\nrequirement_type,,functional,\n";
        to.call_as(ursula.clone(), "import", json!({ "format": "csv", "content": own }))
            .expect("a user's import");
        let epic = to.ok("get_entity", json!({ "reference": "EP-001" }));
        assert_eq!((&epic["creator"], &epic["assignee"]), (&json!("ursula"), &json!("ursula")));
        let commenter = to.member("carl", "Commenter");
        let error =
            to.call_as(commenter, "import", json!({ "format": "csv", "content": own })).expect_err("carl");
        assert_eq!(error.kind, ops::ErrorKind::Forbidden);
    });
}

#[test]
fn references_without_a_key_are_of_the_given_project() {
    on_every_store(|world| {
        world.ok("create_project", json!({ "key": "ABC", "name": "New" }));
        let file = "kind,reference_id,epic,title\nepic,EP-7,,Seven\nuser_story,,EP-7,One\n";
        let arguments = json!({ "format": "csv", "content": file, "project": "abc" });
        let report = world.ok("import", arguments);
        assert_eq!(report["rows"][0]["reference_id"], "ABC-EP-007");
        assert_eq!(report["rows"][1]["reference_id"], "ABC-US-001");
        let next = world.ok("create_epic", json!({ "title": "Next", "priority": 1, "project": "ABC" }));
        assert_eq!(next["reference_id"], "ABC-EP-008");
    });
}

#[test]
fn imported_numbers_are_not_reused_by_another_server() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let location = Location::parse(database.url()).expect("a URL");
    let one = World::open(&location);
    let two = one.beside(&location);
    let create = |world: &World| {
        let epic = world.ok("create_epic", json!({ "title": "x", "priority": 1 }));
        epic["reference_id"].as_str().expect("a reference").to_owned()
    };
    // Each server has leased a block now.
    assert_eq!((create(&one), create(&two)), ("EP-001".to_owned(), "EP-009".to_owned()));
    import(&two, "csv", "kind,reference_id,title\nepic,EP-2,x\nepic,EP-4,x\nepic,EP-11,x\nepic,EP-500,x\n");
    let mut seen: Vec<String> = Vec::new();
    for _ in 0..20 {
        seen.push(create(&one));
        seen.push(create(&two));
    }
    assert_eq!(seen[..4], ["EP-003", "EP-010", "EP-005", "EP-012"]);
    let mut distinct = seen.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), seen.len());
    for taken in ["EP-002", "EP-004", "EP-011", "EP-500"] {
        assert!(!seen.iter().any(|name| name == taken), "{taken} {seen:?}");
    }
    assert!(seen.iter().any(|name| name.as_str() == "EP-501"), "{seen:?}");
}

#[test]
fn a_file_of_another_tool_is_imported() {
    on_every_store(|world| {
        let file = include_str!("../../../exchange/tests/it/brakes.reqif");
        let report = import(world, "reqif", file);
        assert!(report["created"].as_u64() > Some(2), "{report}");
        assert!(!report["notes"].as_array().expect("notes").is_empty());
    });
}

#[test]
fn ten_thousand_requirements_take_seconds() {
    on_every_store(|world| {
        let mut file = String::from(
            "kind,reference_id,epic,user_story,title,description\nepic,EP-1,,,All,\nuser_story,US-1,EP-1,,All,\n",
        );
        for number in 1..=10_000 {
            file.push_str(&format!(
                "requirement,,,US-1,Requirement {number},It does thing number {number} at once.\n"
            ));
        }
        let started = Instant::now();
        let report = import(world, "csv", &file);
        let taken = started.elapsed();
        assert_eq!(report["created"], 10_002);
        assert!(taken < Duration::from_secs(180), "{taken:?}");
        assert_eq!(report["rows"].as_array().map(Vec::len), Some(1_000));
        let again = import(world, "json", &export(world, json!({ "format": "json" })));
        assert_eq!((&again["created"], &again["updated"]), (&json!(0), &json!(0)));
        totals_stop_at_ten_thousand(world);
    });
}

/// With 10,001 requirements, one filter is answered exactly, and two are counted up to 10,000.
fn totals_stop_at_ten_thousand(world: &World) {
    let one_more =
        json!({ "user_story_id": "US-001", "title": "One more", "type_id": "Functional", "priority": 3 });
    world.ok("create_requirement", one_more);
    let list = |more: Value| {
        let mut arguments = json!({ "kind": "requirement", "limit": 1, "status": ["Draft"] });
        arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        world.ok("list_entities", arguments)
    };
    let exact = list(json!({}));
    assert_eq!((&exact["total_count"], exact.get("total_count_exact")), (&json!(10_001), None));
    let counted = list(json!({ "priority": [3] }));
    assert_eq!((&counted["total_count"], &counted["total_count_exact"]), (&json!(10_000), &json!(false)));
    let last = list(json!({ "priority": [3], "offset": 10_000 }));
    assert_eq!(last["data"][0]["title"], "One more");
}

/// Makes something of everything.
pub fn fill(world: &World) {
    world.member("ursula", "User");
    let ursula = Credentials::Local(Some("ursula".to_owned()));
    world.ok("create_project", json!({ "key": "SHOP", "name": "Лавка", "description": "Another\nproject" }));
    world.ok("update_project", json!({ "project": "DEFAULT", "description": "=cmd()" }));
    world.ok("create_requirement_type", json!({ "name": "Poem" }));
    world.ok("create_requirement_type", json!({ "name": "Anthem", "description": "" }));
    world.ok(
        "create_relationship_type",
        json!({ "name": "rhymes_with", "inverse_name": "rhymes_with", "acyclic": true }),
    );
    let model = world.ok("get_status_model", json!({ "kind": "user_story" }));
    let mut statuses = model["statuses"].clone();
    statuses.as_array_mut().expect("statuses").insert(1, json!({ "name": "Waiting", "colour": "#123456" }));
    let transitions = json!([{ "from": "Backlog", "to": "Waiting" }, { "from": "Waiting", "to": "Done" }]);
    world.ok(
        "update_status_model",
        json!({ "kind": "user_story", "statuses": statuses, "transitions": transitions }),
    );
    world.ok(
        "create_epic",
        json!({ "title": "Checkout", "priority": 1, "description": "Everything about *paying*." }),
    );
    world.ok("create_epic", json!({ "title": "Second", "priority": 4 }));
    world.ok("create_epic", json!({ "title": "Shelves", "priority": 2, "project": "SHOP" }));
    world.ok("create_user_story", json!({ "epic_id": "SHOP-EP-1", "title": "Fill", "priority": 2 }));
    world.ok(
        "create_user_story",
        json!({ "epic_id": "EP-1", "title": "Pay", "priority": 2, "assignee_id": "ursula" }),
    );
    world.ok("create_user_story", json!({ "epic_id": "EP-2", "title": "+1", "priority": 3 }));
    world.ok(
        "update_user_story",
        json!({ "user_story_id": "US-2", "status": "waiting", "assignee_id": null }),
    );
    world.ok(
        "create_acceptance_criteria",
        json!({ "user_story_id": "US-1", "description": "A receipt\n\nis sent" }),
    );
    for (title, kind) in [("Cards are charged", "functional"), ("Receipts rhyme", "poem")] {
        let arguments = json!({ "user_story_id": "US-1", "title": title, "type_id": kind, "priority": 2 });
        world.ok("create_requirement", arguments);
    }
    let arguments = json!({ "user_story_id": "US-2", "title": "Gone", "type_id": "data", "priority": 2 });
    world.ok("create_requirement", arguments.clone());
    world.call_as(ursula.clone(), "create_requirement", arguments).expect("a requirement");
    world.ok("delete_entity", json!({ "reference": "REQ-003" }));
    world.ok("update_requirement", json!({ "requirement_id": "REQ-1", "status": "active", "acceptance_criteria_id": "AC-1", "description": "Within two seconds." }));
    for (source, kind, target) in [
        ("REQ-1", "depends_on", "REQ-2"),
        ("REQ-2", "relates_to", "REQ-1"),
        ("REQ-4", "rhymes_with", "REQ-1"),
    ] {
        let arguments = json!({ "source_requirement_id": source, "relationship_type_id": kind, "target_requirement_id": target });
        world.ok("create_relationship", arguments);
    }
    // One link becomes suspect, and the others do not.
    world.ok("update_requirement", json!({ "requirement_id": "REQ-2", "description": "In *pairs*" }));
    world.ok("update_requirement", json!({ "requirement_id": "REQ-1", "priority": 4 }));
    let quoted = json!({ "reference": "REQ-1", "content": "Why so slow?", "quote": "two seconds" });
    let comment = world.call_as(ursula.clone(), "add_comment", quoted).expect("a comment");
    world.ok(
        "add_comment",
        json!({ "reference": "REQ-1", "content": "---\nkind: epic\n", "parent": comment["id"] }),
    );
    world.ok("update_comment", json!({ "comment_id": comment["id"], "resolved": true }));
    let gone = world.ok("add_comment", json!({ "reference": "REQ-1", "content": "Never mind" }));
    world.ok("delete_comment", json!({ "comment_id": gone["id"] }));
    let lost = json!({ "reference": "REQ-2", "content": "Lost", "quote": "pairs" });
    world.ok("add_comment", lost);
    world.ok("update_requirement", json!({ "requirement_id": "REQ-2", "description": "In rows" }));
    world.ok("create_steering_document", json!({ "title": "Rules", "description": "Be brief." }));
    world.ok("link_steering_document", json!({ "epic_id": "EP-1", "steering_document_id": "STD-1" }));
    world.ok(
        "create_prompt",
        json!({ "name": "haiku", "title": "Haiku", "content": "Seventeen", "role": "assistant" }),
    );
    world.ok("activate_prompt", json!({ "prompt_id": "PROMPT-2" }));
    world.ok("update_prompt", json!({ "prompt_id": "PROMPT-1", "title": "How to" }));
}

#[track_caller]
pub fn export(world: &World, arguments: Value) -> String {
    world.ok("export", arguments)["content"].as_str().expect("content").to_owned()
}

#[track_caller]
fn import(world: &World, format: &str, content: &str) -> Value {
    world.ok("import", json!({ "format": format, "content": content }))
}
