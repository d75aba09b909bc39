//! What an import says: every mistake of a row at once, and whatever it leaves as it is.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use store::Location;

use crate::exchange::{export, fill};
use crate::stores::{World, on_every_store};

#[test]
fn a_row_may_be_called_by_its_id() {
    on_every_store(|world| {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let content = format!("kind,reference_id,id,title,priority\nepic,{id},{id},One,2\n");
        let made = world.ok("import", json!({ "format": "csv", "content": content }));
        assert_eq!(made["created"], 1, "{made}");
    });
}

#[test]
fn all_mistakes_of_a_row_are_told() {
    on_every_store(|world| {
        fill(world);
        check(
            world,
            "csv",
            "kind,reference_id,id,user_story,epic,acceptance_criteria,title,type,status,priority,assignee,created_at,entity,parent,content,quote,author,source,target,target_version,creator\n\
             requirement,,,US-99,,AC-99,x,Sonnet,Nowhere,9,nobody,soon,,,,,,,,,\n\
             requirement,US-9,x,US-1,,AC-1,x,Sonnet,Nowhere,9,nobody,,,,,,,,,,\n\
             user_story,US-1,,,SHOP-EP-1,,x,,Nowhere,9,nobody,soon,,,,,,,,,\n\
             comment,,x,,,,,,,,,soon,REQ-99,y,',',nobody,,,,\n\
             relationship,,x,,,,,Sonnet,,,,soon,,,,,,REQ-98,REQ-99,0,nobody\n",
            expect![[r#"
                problem: row 4 (line 4): created_at: expected a time such as 2026-11-15T08:00:00Z, found "soon"
                problem: row 4 (line 4): priority: expected 1 to 4, found 9
                problem: row 4 (line 4): status: expected one of Backlog, Waiting, Draft, In Progress, Done, Cancelled, found "Nowhere"
                problem: row 4 (line 4): assignee: there is no user "nobody"
                problem: row 4 (line 4): epic: SHOP-EP-001 is in another project than US-001
                problem: row 2 (line 2): user_story: there is no user story "US-99", neither in the file nor here
                problem: row 2 (line 2): priority: expected 1 to 4, found 9
                problem: row 2 (line 2): status: expected one of Draft, Active, Obsolete, found "Nowhere"
                problem: row 2 (line 2): type: expected one of Functional, Non-Functional, Business Rule, Interface, Data, Poem, Anthem, found "Sonnet"
                problem: row 2 (line 2): created_at: expected a time such as 2026-11-15T08:00:00Z, found "soon"
                problem: row 2 (line 2): assignee: there is no user "nobody"
                problem: row 2 (line 2): acceptance_criteria: there is no acceptance criterion "AC-99", neither in the file nor here
                problem: row 3 (line 3): id: expected a UUID, found "x"
                problem: row 3 (line 3): reference_id: US-009 names a user story, and this is a requirement
                problem: row 3 (line 3): priority: expected 1 to 4, found 9
                problem: row 3 (line 3): status: expected one of Draft, Active, Obsolete, found "Nowhere"
                problem: row 3 (line 3): type: expected one of Functional, Non-Functional, Business Rule, Interface, Data, Poem, Anthem, found "Sonnet"
                problem: row 3 (line 3): assignee: there is no user "nobody"
                problem: row 6 (line 6): source: there is no requirement "REQ-98", neither in the file nor here
                problem: row 6 (line 6): target: there is no requirement "REQ-99", neither in the file nor here
                problem: row 6 (line 6): type: expected one of depends_on, blocks, relates_to, conflicts_with, derives_from, rhymes_with, found "Sonnet"
                problem: row 6 (line 6): id: expected a UUID, found "x"
                problem: row 6 (line 6): target_version: expected at least 1, found 0
                problem: row 6 (line 6): creator: there is no user "nobody"
                problem: row 6 (line 6): created_at: expected a time such as 2026-11-15T08:00:00Z, found "soon"
                problem: row 5 (line 5): entity: there is no such thing "REQ-99", neither in the file nor here
                problem: row 5 (line 5): content: expected 1 to 50000 characters, found only blanks
                problem: row 5 (line 5): id: expected a UUID, found "x"
                problem: row 5 (line 5): parent: expected the id of a comment, found "y"
                problem: row 5 (line 5): quote: expected 1 to 5000 characters, found only blanks
                problem: row 5 (line 5): author: there is no user "nobody"
                problem: row 5 (line 5): created_at: expected a time such as 2026-11-15T08:00:00Z, found "soon"
                0 created, 0 updated, 0 unchanged
            "#]],
        );
        check(
            world,
            "csv",
            "kind,reference_id,key,name,description,content,role,inverse_name,created_at,creator\n\
             project,,x,',,,,,,\n\
             prompt,EP-1,,',,',poet,,soon,nobody\n\
             relationship_type,,,',,,,',,\n",
            expect![[r#"
                problem: row 2 (line 2): name: expected 1 to 200 characters, found only blanks
                problem: row 2 (line 2): key: expected 2 to 10 letters and digits, a letter first, found "X"
                problem: row 4 (line 4): name: expected 1 to 100 characters, found only blanks
                problem: row 4 (line 4): inverse_name: expected 1 to 100 characters, found only blanks
                problem: row 3 (line 3): name: expected 1 to 100 characters, found only blanks
                problem: row 3 (line 3): content: expected 1 to 50000 characters, found only blanks
                problem: row 3 (line 3): reference_id: expected a reference id such as PROMPT-001
                problem: row 3 (line 3): creator: there is no user "nobody"
                problem: row 3 (line 3): created_at: expected a time such as 2026-11-15T08:00:00Z, found "soon"
                problem: row 3 (line 3): role: expected user or assistant, found "poet"
                0 created, 0 updated, 0 unchanged
            "#]],
        );
    });
}

#[test]
fn a_row_that_cannot_be_read_is_checked_all_the_same() {
    on_every_store(|world| {
        fill(world);
        check(
            world,
            "json",
            r#"[{"kind": "requirement", "titel": "x", "user_story": "US-99", "type": "Sonnet", "priority": 9},
                {"kind": "requirement", "title": "x", "user_story": 7, "status": "Nowhere"},
                {"kind": "comment", "entity": "REQ-99"},
                {"kind": "status", "entity_kind": "epic", "colour": 7},
                {"kind": "prompt", "name": 7},
                {"kind": "project", "name": "x"}]"#,
            expect![[r#"
                problem: records[0] (line 1): titel: unknown field of requirement; did you mean `title`?
                problem: records[0] (line 1): title: expected text, found nothing: requirement needs it
                problem: records[1] (line 2): user_story: expected text, found 7
                problem: records[2] (line 3): content: expected text, found nothing: comment needs it
                problem: records[3] (line 4): colour: expected text, found 7
                problem: records[3] (line 4): name: expected text, found nothing: status needs it
                problem: records[4] (line 5): name: expected text, found 7
                problem: records[4] (line 5): content: expected text, found nothing: prompt needs it
                problem: records[5] (line 6): key: expected text, found nothing: project needs it
                problem: records[0] (line 1): user_story: there is no user story "US-99", neither in the file nor here
                problem: records[0] (line 1): priority: expected 1 to 4, found 9
                problem: records[0] (line 1): type: expected one of Functional, Non-Functional, Business Rule, Interface, Data, Poem, Anthem, found "Sonnet"
                problem: records[1] (line 2): status: expected one of Draft, Active, Obsolete, found "Nowhere"
                problem: records[2] (line 3): entity: there is no such thing "REQ-99", neither in the file nor here
                0 created, 0 updated, 0 unchanged
            "#]],
        );
        // Nobody is blamed for what another row could have been called.
        check(
            world,
            "json",
            r#"[{"kind": "epic", "referenceid": "EP-70", "title": "x"},
                {"kind": "user_story", "epic": "EP-70", "title": "x"},
                {"kind": "epik", "reference_id": "EP-71", "title": "x"},
                {"kind": "user_story", "epic": "EP-71", "title": "x"},
                {"kind": "user_story", "epic": "EP-72", "title": "x"}]"#,
            expect![[r#"
                problem: records[0] (line 1): referenceid: unknown field of epic; did you mean `reference_id`?
                problem: records[2] (line 3): kind: unknown kind "epik"; did you mean `epic`?
                problem: records[4] (line 5): epic: there is no epic "EP-72", neither in the file nor here
                0 created, 0 updated, 0 unchanged
            "#]],
        );
    });
}

#[test]
fn an_id_must_be_that_of_the_reference() {
    on_every_store(|world| {
        fill(world);
        let id = |reference: &str| {
            let entity = world.ok("get_entity", json!({ "reference": reference }));
            entity["id"].as_str().expect("an id").to_owned()
        };
        let unknown = "0193b5b2-6f0c-7a3e-8000-0123456789ab";
        let file = format!(
            "kind,reference_id,id,title\nepic,EP-1,{},Checkout\nepic,EP-2,{unknown},Second\nepic,EP-50,{},New\n",
            id("EP-2"),
            id("SHOP-EP-1"),
        );
        let told = told(world, "csv", &file).replace(&id("EP-2"), "…");
        expect![[r#"
            problem: row 2 (line 2): id: this is the id of EP-002, and the row is about EP-001
            note: row 3 (line 3): id: is not changed by an import: EP-002 has …, and the file says 0193b5b2-6f0c-7a3e-8000-0123456789ab
            note: row 4 (line 4): id: is taken, so another one is given: SHOP-EP-001 has it
            1 created, 0 updated, 1 unchanged
        "#]].assert_eq(&told);
    });
}

#[test]
fn what_an_import_does_not_change_is_noted() {
    on_every_store(|world| {
        fill(world);
        let file = "kind,reference_id,title,creator,created_at,version\n\
            epic,EP-1,Checkout,ursula,2020-01-01T00:00:00Z,7\n\
            epic,EP-2,Second,URSULA,2020-01-01T00:00:00Z,\n\
            epic,SHOP-EP-1,Shelves,Admin,,1\n";
        check(
            world,
            "csv",
            file,
            expect![[r#"
                note: row 2 (line 2): creator: is not changed by an import: EP-001 has admin, and the file says ursula (and one more row)
                note: row 2 (line 2): created_at: is not changed by an import: EP-001 has 2026-11-15T08:00:00.008000Z, and the file says 2020-01-01T00:00:00.000000Z (and one more row)
                note: row 2 (line 2): version: is not changed by an import: EP-001 has 1, and the file says 7
                0 created, 0 updated, 3 unchanged
            "#]],
        );
        // Older, and nothing is changed: nothing is lost either.
        let older = "kind,reference_id,user_story,title,version\nrequirement,REQ-2,US-1,Receipts rhyme,1\n";
        check(
            world,
            "csv",
            older,
            expect![[r#"
                note: row 2 (line 2): version: is not changed by an import: REQ-002 has 3, and the file says 1
                0 created, 0 updated, 1 unchanged
            "#]],
        );
        // A relationship and a comment.
        let exported: Value =
            serde_json::from_str(&export(world, json!({ "format": "json" }))).expect("JSON");
        let mut records = exported["records"].as_array().expect("records").clone();
        records.retain(|record| record["kind"] == "relationship" || record["kind"] == "comment");
        for record in &mut records {
            if record["kind"] == "relationship" {
                record["creator"] = json!("ursula");
                record["target_version"] = json!(99);
            } else {
                record["author"] = json!("nobody");
                record["quote"] = json!("another");
            }
            record["created_at"] = json!("2020-01-01T00:00:00Z");
        }
        check(
            world,
            "json",
            &Value::from(records).to_string(),
            expect![[r#"
                note: records[0] (line 1): creator: is not changed by an import: REQ-001 depends_on REQ-002 has admin, and the file says ursula (and 2 more rows)
                note: records[0] (line 1): created_at: is not changed by an import: REQ-001 depends_on REQ-002 has 2026-11-15T08:00:00.022000Z, and the file says 2020-01-01T00:00:00.000000Z (and 5 more rows)
                note: records[0] (line 1): target_version: is taken for the version that the target has: REQ-002 has 3, and the file says 99 (and 2 more rows)
                note: records[3] (line 1): author: is not changed by an import: the comment has ursula, and the file says nobody (and 2 more rows)
                note: records[3] (line 1): quote: is not changed by an import: the comment has another one (and 2 more rows)
                0 created, 1 updated, 5 unchanged
            "#]],
        );
        // What comes from here says just what is here.
        for format in ["json", "csv", "markdown", "reqif"] {
            let file = export(world, json!({ "format": format }));
            let report = world.ok("import", json!({ "format": format, "content": file }));
            assert_eq!(report["notes"], json!([]), "{format}");
        }
    });
}

#[test]
fn a_relationship_that_was_made_anew_may_be_imported_as_it_was() {
    on_every_store(|world| {
        fill(world);
        let file = export(world, json!({ "format": "json" }));
        let records: Value = serde_json::from_str(&file).expect("JSON");
        let records = records["records"].as_array().expect("records").iter();
        let known: Vec<&Value> = records.filter(|record| record["kind"] == "relationship").collect();
        world.ok("delete_relationship", json!({ "id": known[0]["id"] }));
        let again = json!({
            "source_requirement_id": known[0]["source"],
            "relationship_type_id": known[0]["type"],
            "target_requirement_id": known[0]["target"],
        });
        world.ok("create_relationship", again);
        let report = world.ok("import", json!({ "format": "json", "content": file }));
        assert_eq!(report["created"], 0, "{report}");
        assert_eq!(report["notes"][0]["field"], "id", "{report}");
        // Those that are there are told from each other by their ids, too.
        let row = json!([{
            "kind": "relationship",
            "id": known[1]["id"],
            "source": known[0]["source"],
            "target": known[0]["target"],
            "type": known[0]["type"],
        }]);
        check(
            world,
            "json",
            &row.to_string(),
            expect![[r#"
            problem: records[0] (line 1): id: this is the id of REQ-002 relates_to REQ-001, and the row is about REQ-001 depends_on REQ-002
            0 created, 0 updated, 0 unchanged
        "#]],
        );
    });
}

#[test]
fn a_member_may_import_relationships_of_others_that_are_there() {
    on_every_store(|world| {
        fill(world);
        let ursula = world.member("ursula2", "User");
        let file = "kind,source,target,type,creator\nrelationship,REQ-1,REQ-2,depends_on,admin\n";
        let arguments = json!({ "format": "csv", "content": file });
        let report = world.call_as(ursula, "import", arguments).expect("nothing changes");
        assert_eq!(report["unchanged"], 1);
    });
}

#[test]
fn whatever_number_is_given_can_be_imported() {
    // On PostgreSQL a block of lower numbers may have been leased before.
    let folder = tempfile::tempdir().expect("a folder");
    let store = |name: &str| World::open(&Location::Sqlite(folder.path().join(name)));
    let (from, to) = (&store("one.db"), &store("two.db"));
    let file = |number: &str| format!("kind,reference_id,title\nepic,EP-{number},x\n");
    let ursula = from.member("ursula", "User");
    let import = |number: &str| {
        from.call_as(ursula.clone(), "import", json!({ "format": "csv", "content": file(number) }))
    };
    import("999999999").expect("a number for everyone");
    let next = from.ok("create_epic", json!({ "title": "Next", "priority": 1 }));
    assert_eq!(next["reference_id"], "EP-1000000000");
    // It is there already.
    import("1000000000").expect("a change");
    let refused = import("2000000000").expect_err("a number for administrators");
    assert!(refused.message.contains("this needs the role Administrator"), "{}", refused.message);
    from.ok("import", json!({ "format": "csv", "content": file("999999999998") }));
    check(
        from,
        "csv",
        &file("1000000000000"),
        expect![[r#"
            problem: row 2 (line 2): reference_id: expected a number up to 999999999999, found 1000000000000
            0 created, 0 updated, 0 unchanged
        "#]],
    );
    check(
        from,
        "csv",
        "kind,reference_id,name,content\nprompt,PROMPT-1000000000000,x,x\n",
        expect![[r#"
            problem: row 2 (line 2): reference_id: expected a number up to 999999999999, found 1000000000000
            0 created, 0 updated, 0 unchanged
        "#]],
    );
    from.ok("create_epic", json!({ "title": "Last", "priority": 1 }));
    // What is made can be imported again, so nothing is made beyond the last number.
    let refused = from.refused("create_epic", json!({ "title": "Beyond", "priority": 1 }));
    assert!(refused.starts_with("CONFLICT: no number is left for a new epic"), "{refused}");
    to.member("ursula", "User");
    let exported = export(from, json!({ "format": "json" }));
    assert!(exported.contains("EP-999999999999"));
    to.ok("import", json!({ "format": "json", "content": exported }));
    for format in ["json", "csv", "markdown", "reqif"] {
        let arguments = json!({ "format": format });
        assert_eq!(export(to, arguments.clone()), export(from, arguments), "{format}");
    }
    let found = to.ok("get_entity", json!({ "reference": "EP-999999999999" }));
    assert_eq!(found["title"], "Last");
    let found = to.ok("search_global", json!({ "query": "EP-999999999999" }));
    assert_eq!(found["data"][0]["reference_id"], "EP-999999999999", "{found}");
}

#[test]
fn what_is_deleted_can_be_restored_first_unless_it_was_purged() {
    on_every_store(|world| {
        fill(world);
        world.ok("create_epic", json!({ "title": "Third", "priority": 4 }));
        world.ok("create_epic", json!({ "title": "Fourth", "priority": 4 }));
        world.ok("delete_entity", json!({ "reference": "EP-003" }));
        world.ok("delete_entity", json!({ "reference": "EP-004" }));
        world.ok("purge_entity", json!({ "reference": "EP-004" }));
        let file = "kind,reference_id,epic,title\n\
            epic,EP-3,,x\nepic,EP-4,,x\nuser_story,,EP-3,x\nuser_story,US-1,REQ-1,x\nuser_story,EP-9,EP-1,x\n";
        check(
            world,
            "csv",
            file,
            expect![[r#"
                problem: row 2 (line 2): reference_id: EP-003 was deleted at 2026-11-15T08:00:00.041000Z; restore it first
                problem: row 3 (line 3): reference_id: EP-004 was deleted at 2026-11-15T08:00:00.042000Z and purged, so it cannot be restored
                problem: row 5 (line 5): epic: expected an epic, and REQ-1 is a requirement
                problem: row 6 (line 6): reference_id: EP-009 names an epic, and this is a user story
                0 created, 0 updated, 0 unchanged
            "#]],
        );
    });
}

#[test]
fn a_circle_is_shown() {
    on_every_store(|world| {
        fill(world);
        check(
            world,
            "csv",
            "kind,reference_id,user_story,title,source,target,type\n\
             requirement,n,US-1,New,,,\n\
             relationship,,,,REQ-2,n,depends_on\n\
             relationship,,,,n,REQ-4,depends_on\n",
            expect![[r#"
                problem: row 4 (line 4): target: n depends_on REQ-004 would close a cycle: REQ-004 → REQ-001 → REQ-002 → n
                2 created, 0 updated, 0 unchanged
            "#]],
        );
    });
}

#[track_caller]
fn check(world: &World, format: &str, file: &str, expected: Expect) {
    expected.assert_eq(&told(world, format, file));
}

/// What a trial says, a line each.
#[track_caller]
fn told(world: &World, format: &str, file: &str) -> String {
    let report = world.ok("import", json!({ "format": format, "content": file, "dry_run": true }));
    let mut lines = Vec::new();
    for (word, list) in [("problem", "problems"), ("note", "notes")] {
        for problem in report[list].as_array().expect("a list") {
            let text = |field: &str| problem[field].as_str().unwrap_or_default().to_owned();
            lines.push(format!("{word}: {}: {}: {}\n", text("row"), text("field"), text("message")));
        }
    }
    let count = |field: &str| report[field].as_u64().unwrap_or_default();
    lines.push(format!(
        "{} created, {} updated, {} unchanged\n",
        count("created"),
        count("updated"),
        count("unchanged")
    ));
    lines.concat()
}
