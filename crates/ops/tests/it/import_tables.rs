//! Tables and texts of others: they come in as they are, and a second time they change nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::exchange::export;
use crate::stores::{World, on_every_pair, on_every_store};

const LIST: &str =
    "Summary;Details;Prio;Owner\nLinks expire;After an hour.;High;admin\nLinks work once;;Low;Jane Doe\n";
const JIRA: &str = "Summary,Issue key,Issue id,Issue Type,Status,Priority,Assignee,Labels,Parent\n\
    Sign in,SHOP-1,1,Epic,Done,High,,,\n\
    Reset a password,SHOP-2,2,Story,In Progress,Medium,,auth,SHOP-1\n\
    Links expire,SHOP-3,3,Task,To Do,Highest,,auth,SHOP-2\n\
    Links are short,SHOP-4,4,Bug,Invented,,,,SHOP-2\n";

#[test]
fn a_list_of_excel_comes_in_and_again_changes_nothing() {
    on_every_store(|world| {
        let dry = import(world, json!({ "format": "csv", "content": LIST, "dry_run": true }));
        assert_eq!((&dry["created"], &dry["wrong"]), (&json!(4), &json!(0)), "{dry}");
        let made = import(world, json!({ "format": "csv", "content": LIST }));
        assert_eq!(made["created"], 4, "{made}");
        let first = world.ok("get_entity", json!({ "reference": "REQ-001" }));
        assert_eq!((&first["title"], &first["priority"]), (&json!("Links expire"), &json!(2)), "{first}");
        assert_eq!(first["aliases"], json!([{ "scheme": "sheet", "external_id": "Links expire" }]));
        assert!(made["notes"].to_string().contains("is not a user here"), "{made}");
        let again = import(world, json!({ "format": "csv", "content": LIST }));
        assert_eq!(
            (&again["created"], &again["updated"], &again["unchanged"]),
            (&json!(0), &json!(0), &json!(2)),
            "{again}"
        );
        assert_eq!(again["import_id"], Value::Null);
    });
}

#[test]
fn what_jira_calls_something_is_kept_shown_found_and_exported() {
    on_every_store(|world| {
        check(
            world,
            json!({ "format": "csv", "content": JIRA }),
            expect![[r#"
            row 2 (line 2) | epic | created | Sign in | EP-001 |  []
            row 3 (line 3) | user_story | created | Reset a password | US-001 |  []
            row 4 (line 4) | requirement | created | Links expire | REQ-001 |  []
            row 5 (line 5) | requirement | created | Links are short | REQ-002 |  []
            note: row 4 (line 4): Status: was mapped to the nearest one here: "To Do" is Draft
            note: row 5 (line 5): Status: was not understood and is left out: "Invented"
            4 created, 0 updated, 0 unchanged, 0 wrong, 0 left_out
        "#]],
        );
        check(
            world,
            json!({ "format": "csv", "content": JIRA }),
            expect![[r#"
            note: row 4 (line 4): Status: was mapped to the nearest one here: "To Do" is Draft
            note: row 5 (line 5): Status: was not understood and is left out: "Invented"
            0 created, 0 updated, 4 unchanged, 0 wrong, 0 left_out
        "#]],
        );
        let changed = JIRA.replace("Links expire", "Links expire soon").replace("Highest", "Low");
        check(
            world,
            json!({ "format": "csv", "content": changed, "dry_run": true }),
            expect![[r#"
            row 4 (line 4) | requirement | updated | Links expire soon | REQ-001 |  [title, priority]
            note: row 4 (line 4): Status: was mapped to the nearest one here: "To Do" is Draft
            note: row 5 (line 5): Status: was not understood and is left out: "Invented"
            0 created, 1 updated, 3 unchanged, 0 wrong, 0 left_out
        "#]],
        );
        let more = format!("{JIRA}Links are safe,SHOP-5,5,Task,Done,,,,SHOP-2\n");
        check(
            world,
            json!({ "format": "csv", "content": more }),
            expect![[r#"
            row 6 (line 6) | requirement | created | Links are safe | REQ-003 |  []
            note: row 4 (line 4): Status: was mapped to the nearest one here: "To Do" is Draft (and one more row)
            note: row 5 (line 5): Status: was not understood and is left out: "Invented"
            1 created, 0 updated, 4 unchanged, 0 wrong, 0 left_out
        "#]],
        );
        for query in ["SHOP-3", "shop-3", "jira:SHOP-3"] {
            let found = world.ok("search_global", json!({ "query": query }));
            assert_eq!(found["data"][0]["reference_id"], "REQ-001", "{query} {found}");
        }
        let file = export(world, json!({ "format": "json" }));
        assert!(file.contains("\"aliases\": \"jira:SHOP-3\""), "{file}");
    });
}

#[test]
fn an_import_is_taken_back_with_its_names() {
    on_every_store(|world| {
        let made = import(world, json!({ "format": "csv", "content": JIRA }));
        let undone = world.ok("undo_import", json!({ "import_id": made["import_id"] }));
        assert_eq!((&undone["deleted"], &undone["kept"]), (&json!(4), &json!([])), "{undone}");
        let deleted = world.ok("get_entity", json!({ "reference": "REQ-001", "include_deleted": true }));
        assert_eq!(deleted["aliases"], Value::Null, "{deleted}");
        assert_eq!(world.ok("search_global", json!({ "query": "SHOP-3" }))["total_count"], 0);
        let again = import(world, json!({ "format": "csv", "content": JIRA }));
        assert_eq!(again["created"], 4, "{again}");
    });
}

#[test]
fn what_was_deleted_here_does_not_come_back() {
    on_every_store(|world| {
        import(world, json!({ "format": "csv", "content": JIRA }));
        world.ok("delete_entity", json!({ "reference": "REQ-001" }));
        let again = import(world, json!({ "format": "csv", "content": JIRA }));
        assert_eq!((&again["created"], &again["left_out"]), (&json!(0), &json!(1)), "{again}");
        assert!(again["notes"].to_string().contains("was deleted here"), "{again}");
    });
}

#[test]
fn mistakes_name_the_row_and_the_column_of_the_table() {
    on_every_store(|world| {
        let table = "Key,Summary,Details\nA-1,One,\nA-1,Two,\nA-2,,x\n";
        check(
            world,
            json!({ "format": "csv", "content": table, "dry_run": true }),
            expect![[r#"
                epic of row 2 (line 2) | epic | created | Imported from sheet |  |  []
                user story of row 2 (line 2) | user_story | created | Imported from sheet |  |  []
                row 2 (line 2) | requirement | created | One |  |  []
                row 3 (line 3) | requirement | wrong | Two |  | Key: is in the file twice: also at row 2 (line 2) []
                row 4 (line 4) | requirement | wrong | x |  | Summary: expected text, found nothing: requirement needs it []
                3 created, 0 updated, 0 unchanged, 2 wrong, 0 left_out
            "#]],
        );
        let error = world.call("import", json!({ "format": "csv", "content": table })).expect_err("mistakes");
        assert!(error.message.starts_with("nothing was imported"), "{}", error.message);
        for (arguments, expected) in [
            (json!({ "map": "Summary=titel" }), "did you mean `title`?"),
            (json!({ "scheme": "My Jira" }), "small letters"),
            (json!({ "map": "Nowhere=title" }), "there is no column"),
        ] {
            let mut all = json!({ "format": "csv", "content": table });
            all.as_object_mut().expect("an object").extend(arguments.as_object().expect("an object").clone());
            let error = world.call("import", all).expect_err("a mistake");
            assert!(
                format!("{} {:?}", error.message, error.fields).contains(expected),
                "{expected}: {}",
                error.message
            );
        }
    });
}

#[test]
fn a_mapping_and_a_scheme_decide() {
    on_every_store(|world| {
        let table = "Was;Wichtig\nLinks verfallen;1\n";
        let arguments = json!({ "format": "csv", "content": table, "map": "Was=title,Wichtig=priority", "scheme": "plan" });
        assert_eq!(import(world, arguments)["created"], 3);
        let first = world.ok("get_entity", json!({ "reference": "REQ-001" }));
        assert_eq!(
            (&first["priority"], &first["aliases"][0]["scheme"]),
            (&json!(1), &json!("plan")),
            "{first}"
        );
    });
}

#[test]
fn plain_markdown_and_a_reqif_of_others_come_in_once() {
    on_every_store(|world| {
        let text = "# Sign in\n\n## Reset a password\n\n- SYS-7: A link works once.\n- Links expire\n\nIt MUST be quick.\n";
        for (format, content, n_rows) in
            [("markdown", text, 5), ("reqif", include_str!("../../../exchange/tests/it/brakes.reqif"), 9)]
        {
            let made =
                import(world, json!({ "format": format, "content": content.replace("Active", "Draft") }));
            assert_eq!(made["created"], n_rows, "{format} {made}");
            let again =
                import(world, json!({ "format": format, "content": content.replace("Active", "Draft") }));
            assert_eq!((&again["created"], &again["updated"]), (&json!(0), &json!(0)), "{format} {again}");
        }
        assert_eq!(
            world.ok("search_global", json!({ "query": "SYS-7" }))["data"][0]["title"],
            "A link works once."
        );
    });
}

#[test]
fn aliases_survive_an_export_into_another_store() {
    on_every_pair(|world, other| {
        import(world, json!({ "format": "csv", "content": JIRA }));
        let file = export(world, json!({ "format": "csv", "columns": "all" }));
        assert!(import(other, json!({ "format": "csv", "content": file }))["created"].as_u64() >= Some(4));
        let again = import(other, json!({ "format": "csv", "content": JIRA }));
        assert_eq!((&again["created"], &again["updated"]), (&json!(0), &json!(0)), "{again}");
        // Names of other tools are added to what is there, and taken back with the import that did.
        let added = import(
            other,
            json!({ "format": "csv", "content": "kind,reference_id,title,aliases\nepic,EP-1,Sign in,linear:ENG-1\n" , "dry_run": false }),
        );
        assert_eq!(added["updated"], 1, "{added}");
        other.ok("undo_import", json!({ "import_id": added["import_id"] }));
        let epic = other.ok("get_entity", json!({ "reference": "EP-1" }));
        assert_eq!(epic["aliases"], json!([{ "scheme": "jira", "external_id": "SHOP-1" }]), "{epic}");
    });
}

#[test]
fn exports_for_people() {
    on_every_store(|world| {
        import(world, json!({ "format": "csv", "content": JIRA }));
        world.ok(
            "create_acceptance_criteria",
            json!({ "user_story_id": "US-1", "description": "A link\nworks once." }),
        );
        expect![[r#"
            ﻿kind,reference_id,epic,user_story,title,description,type,status,priority,assignee,labels
            epic,EP-001,,,Sign in,,,Done,2,,
            user_story,US-001,EP-001,,Reset a password,,,In Progress,3,,auth
            acceptance_criteria,AC-001,,US-001,,"A link
            works once.",,,,,
            requirement,REQ-001,,US-001,Links expire,,Functional,Draft,1,,auth
            requirement,REQ-002,,US-001,Links are short,,Functional,Draft,3,,
        "#]]
        .assert_eq(&export(world, json!({ "format": "csv" })));
        expect![[r#"
            ﻿kind,title,status
            epic,Sign in,Done
            user_story,Reset a password,In Progress
            acceptance_criteria,,
            requirement,Links expire,Draft
            requirement,Links are short,Draft
        "#]]
        .assert_eq(&export(world, json!({ "format": "csv", "columns": "Title, status" })));
        expect![[r#"
            # Default project

            ## EP-001 Sign in

            *Done · priority high*

            ### US-001 Reset a password

            *In Progress · priority medium · auth*

            Acceptance criteria:

            - **AC-001** A link
              works once.

            #### REQ-001 Links expire

            *Functional · Draft · priority critical · auth*

            #### REQ-002 Links are short

            *Functional · Draft · priority medium*
        "#]]
        .assert_eq(&export(world, json!({ "format": "markdown", "for_reading": true })));
        for (arguments, expected) in [
            (json!({ "format": "csv", "columns": "titel" }), "title"),
            (json!({ "format": "json", "columns": "title" }), "are for csv"),
            (json!({ "format": "csv", "for_reading": true }), "is for Markdown"),
        ] {
            let error = world.call("export", arguments).expect_err("a mistake");
            assert!(format!("{} {:?}", error.message, error.fields).contains(expected), "{}", error.message);
        }
    });
}

#[test]
fn a_preview_changes_nothing() {
    on_every_store(|world| {
        let preview = world.ok("preview_import", json!({ "format": "csv", "content": LIST }));
        let fields: Vec<&str> = preview["columns"]
            .as_array()
            .expect("columns")
            .iter()
            .filter_map(|column| column["field"].as_str())
            .collect();
        assert_eq!(fields, ["title", "description", "priority", "assignee"]);
        assert_eq!((&preview["rows"], &preview["is_table"]), (&json!(2), &json!(true)), "{preview}");
        let own = export(world, json!({ "format": "csv" }));
        assert_eq!(world.ok("preview_import", json!({ "format": "csv", "content": own }))["is_table"], false);
        let broken = STANDARD.encode(b"PK\x03\x04");
        let preview = world.ok("preview_import", json!({ "format": "xlsx", "content": broken }));
        assert!(
            preview["problems"][0].as_str().is_some_and(|problem| problem.contains("no archive")),
            "{preview}"
        );
    });
}

fn import(world: &World, arguments: Value) -> Value {
    world.ok("import", arguments)
}

#[track_caller]
fn check(world: &World, arguments: Value, expected: Expect) {
    let report = import(world, arguments);
    let mut lines = Vec::new();
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    for row in list("rows") {
        let changes: Vec<&str> =
            row["changes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let parts = ["row", "kind", "outcome", "title", "reference_id", "why"].map(|name| text(&row, name));
        lines.push(format!("{} [{}]\n", parts.join(" | "), changes.join(", ")));
    }
    for note in list("notes") {
        lines.push(format!(
            "note: {}: {}: {}\n",
            text(&note, "row"),
            text(&note, "field"),
            text(&note, "message")
        ));
    }
    let counts = ["created", "updated", "unchanged", "wrong", "left_out"]
        .map(|name| format!("{} {name}", report[name]));
    lines.push(counts.join(", ") + "\n");
    expected.assert_eq(&lines.concat());
}
