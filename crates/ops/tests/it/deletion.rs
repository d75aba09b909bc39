//! Deleting with and without force, previews, restoring and what prevents it, and erasing for good.

use serde_json::{Value, json};
use store::Mode;

use crate::people::outcome;
use crate::stores::{World, on_every_store};

#[test]
fn a_preview_lists_what_would_be_deleted_and_deletes_nothing() {
    on_every_store(|world| {
        plan(world);
        comment(world, "REQ-001", "Why?");
        comment(world, "US-001", "Who?");
        relate(world, "REQ-001", "relates_to", "REQ-003").expect("a relationship");
        relate(world, "REQ-001", "depends_on", "REQ-002").expect("a relationship");
        let preview =
            world.ok("delete_entity", json!({ "reference": "EP-001", "dry_run": true, "force": true }));
        assert_eq!(preview["deleted"], false);
        assert_eq!(
            preview["with_it"],
            json!({ "user_stories": 1, "acceptance_criteria": 1, "requirements": 2, "relationships": 2, "comments": 2 })
        );
        assert_eq!(preview["references"], json!(["EP-001", "US-001", "AC-001", "REQ-001", "REQ-002"]));
        assert_eq!(world.ok("get_entity", json!({ "reference": "EP-001" }))["version"], 1);
        let deleted = world.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
        assert_eq!((&deleted["deleted"], &deleted["with_it"]), (&json!(true), &preview["with_it"]));
        for reference in ["EP-001", "US-001", "AC-001", "REQ-001", "REQ-002"] {
            let error =
                world.call("get_entity", json!({ "reference": reference })).expect_err("it is deleted");
            assert!(error.more.is_some_and(|more| more["deleted_at"].is_string()), "{reference} says when");
        }
        assert_eq!(world.ok("list_entities", json!({ "kind": "requirement" }))["total_count"], 1);
        let all = world.ok("list_entities", json!({ "kind": "requirement", "include_deleted": true }));
        assert_eq!(all["total_count"], 3);
        assert_eq!(world.ok("list_relationships", json!({ "requirement_id": "REQ-003" }))["total_count"], 0);
        assert_eq!(world.ok("list_comments", json!({}))["total_count"], 0);
    });
}

#[test]
fn dependents_require_force() {
    on_every_store(|world| {
        plan(world);
        relate(world, "REQ-001", "depends_on", "REQ-002").expect("a relationship");
        for (reference, why) in [
            ("EP-001", "EP-001 has 4 things that would go with it (US-001, AC-001, REQ-001, REQ-002)"),
            ("US-001", "US-001 has 3 things that would go with it (AC-001, REQ-001, REQ-002)"),
            ("REQ-002", "REQ-002 has one thing that would go with it (REQ-001 depends_on REQ-002)"),
        ] {
            let refused = world.refused("delete_entity", json!({ "reference": reference }));
            assert_eq!(refused, format!("CONFLICT: {why}; with force they go, too"));
        }
        let stale = json!({ "reference": "REQ-002", "force": true, "expected_version": 9 });
        assert!(world.refused("delete_entity", stale).starts_with("STALE_VERSION"));
        let other_kind = json!({ "reference": "REQ-002", "kind": "epic" });
        assert_eq!(
            world.refused("delete_entity", other_kind),
            "NOT_FOUND: REQ-002 is a requirement, not an epic"
        );
        world.ok("delete_entity", json!({ "reference": "EP-002" }));
        assert!(world.refused("delete_entity", json!({ "reference": "EP-002" })).starts_with("NOT_FOUND"));
    });
}

#[test]
fn deleting_a_criterion_keeps_its_requirements() {
    on_every_store(|world| {
        plan(world);
        let before = world.ok("get_entity", json!({ "reference": "REQ-001" }));
        assert_eq!(before["acceptance_criteria"], "AC-001");
        world.ok("delete_entity", json!({ "reference": "AC-001" }));
        let after = world.ok("get_entity", json!({ "reference": "REQ-001" }));
        assert_eq!((after.get("acceptance_criteria_id"), &after["version"]), (None, &json!(2)));
    });
}

/// What a criterion has lost comes back with it, unless it has found another meanwhile.
#[test]
fn a_criterion_that_is_restored_has_its_requirements_again() {
    on_every_store(|world| {
        plan(world);
        for id in ["REQ-002", "REQ-004"] {
            if id == "REQ-004" {
                let new =
                    json!({ "user_story_id": "US-001", "title": "R", "type_id": "Data", "priority": 1 });
                world.ok("create_requirement", new);
            }
            let change = json!({ "requirement_id": id, "acceptance_criteria_id": "AC-001" });
            world.ok("update_requirement", change);
        }
        world.ok("create_acceptance_criteria", json!({ "user_story_id": "US-001", "description": "Other" }));
        let linked = relate(world, "REQ-002", "depends_on", "REQ-001").expect("a relationship");
        assert_eq!(linked["suspect"], false);
        let preview = world.ok("delete_entity", json!({ "reference": "AC-001", "dry_run": true }));
        assert_eq!(preview["released"], json!(["REQ-001", "REQ-002", "REQ-004"]));
        world.ok("delete_entity", json!({ "reference": "AC-001" }));
        // One finds another criterion, one is deleted itself.
        let other = json!({ "requirement_id": "REQ-004", "acceptance_criteria_id": "AC-002" });
        world.ok("update_requirement", other);
        world.ok("delete_entity", json!({ "reference": "REQ-002", "force": true }));
        world.pass_seconds(1);
        world.ok("restore_entity", json!({ "reference": "AC-001" }));
        world.ok("restore_entity", json!({ "reference": "REQ-002" }));
        let criterion =
            |id: &str| world.ok("get_entity", json!({ "reference": id }))["acceptance_criteria"].take();
        assert_eq!(["REQ-001", "REQ-002", "REQ-004"].map(criterion), ["AC-001", "AC-001", "AC-002"]);
        // To lose and find a criterion changes no text, so nobody has to look at the links again.
        assert_eq!(world.ok("list_suspect_links", json!({}))["total_count"], 0);
    });
}

#[test]
fn one_delete_is_one_batch() {
    on_every_store(|world| {
        plan(world);
        relate(world, "REQ-001", "relates_to", "REQ-003").expect("a relationship");
        let said = comment(world, "REQ-002", "Why?");
        // REQ-002 goes alone, then the rest: two batches.
        world.ok("delete_entity", json!({ "reference": "REQ-002" }));
        world.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
        assert_eq!(
            world.refused("restore_entity", json!({ "reference": "REQ-002" })),
            "CONFLICT: REQ-002 belongs to US-001, and that is deleted; restore US-001 first"
        );
        // What was deleted can be looked through before.
        let below = json!({ "kind": "user_story", "epic_id": "EP-001", "include_deleted": true });
        assert_eq!(world.ok("list_entities", below)["data"][0]["reference_id"], "US-001");
        let on_it = json!({ "reference": "REQ-002", "include_deleted": true });
        assert_eq!(world.ok("list_comments", on_it)["data"][0]["id"], said);
        // Whichever member is named, the whole batch comes back.
        world.ok("restore_entity", json!({ "reference": "REQ-001" }));
        for reference in ["EP-001", "US-001", "AC-001", "REQ-001"] {
            assert_eq!(
                outcome(world.call("get_entity", json!({ "reference": reference }))),
                "ok",
                "{reference}"
            );
        }
        assert_eq!(world.ok("list_relationships", json!({ "requirement_id": "REQ-003" }))["total_count"], 1);
        assert!(world.refused("get_entity", json!({ "reference": "REQ-002" })).starts_with("NOT_FOUND"));
        assert!(world.refused("get_comment", json!({ "comment_id": said })).starts_with("NOT_FOUND"));
        world.ok("restore_entity", json!({ "reference": "REQ-002" }));
        world.ok("get_comment", json!({ "comment_id": said }));
        assert_eq!(
            world.refused("restore_entity", json!({ "reference": "REQ-002" })),
            "CONFLICT: REQ-002 is not deleted"
        );
    });
}

#[test]
fn a_restore_names_what_prevents_it() {
    on_every_store(|world| {
        plan(world);
        relate(world, "REQ-001", "relates_to", "REQ-003").expect("a relationship");
        world.ok("delete_entity", json!({ "reference": "REQ-001", "force": true }));
        world.ok("delete_entity", json!({ "reference": "REQ-003" }));
        assert_eq!(
            world.refused("restore_entity", json!({ "reference": "REQ-001" })),
            "CONFLICT: REQ-003, to which a relationship leads, is deleted; restore it first"
        );
        world.ok("restore_entity", json!({ "reference": "REQ-003" }));
        world.ok("restore_entity", json!({ "reference": "REQ-001" }));
    });
}

#[test]
fn a_restore_must_not_close_a_cycle() {
    on_every_store(|world| {
        plan(world);
        relate(world, "REQ-001", "depends_on", "REQ-002").expect("a relationship");
        relate(world, "REQ-002", "depends_on", "REQ-003").expect("a relationship");
        world.ok("delete_entity", json!({ "reference": "REQ-002", "force": true }));
        let closing = relate(world, "REQ-003", "blocks", "REQ-001").expect("the cycle is open");
        let refused = world.refused("restore_entity", json!({ "reference": "REQ-002" }));
        assert!(
            refused.starts_with("CONFLICT: the relationship REQ-00")
                && refused.contains("would close a cycle"),
            "{refused}"
        );
        assert!(world.refused("get_entity", json!({ "reference": "REQ-002" })).starts_with("NOT_FOUND"));
        world.ok("delete_relationship", json!({ "id": closing["id"] }));
        world.ok("restore_entity", json!({ "reference": "REQ-002" }));
        assert_eq!(world.ok("list_relationships", json!({ "requirement_id": "REQ-002" }))["total_count"], 2);
    });
}

#[test]
fn what_was_purged_is_not_restored() {
    on_every_store(|world| {
        plan(world);
        assert_eq!(
            world.refused("purge_entity", json!({ "reference": "REQ-002" })),
            "CONFLICT: REQ-002 is not deleted; delete it first"
        );
        relate(world, "REQ-001", "relates_to", "REQ-002").expect("a relationship");
        comment(world, "REQ-002", "Why?");
        world.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
        let purged = world.ok("purge_entity", json!({ "reference": "REQ-002" }));
        assert_eq!((&purged["title"], purged["purged_at"].is_string()), (&json!("(purged)"), true));
        assert_eq!(
            world.refused("restore_entity", json!({ "reference": "REQ-002" })),
            "CONFLICT: REQ-002 was purged: its text was erased permanently"
        );
        // The others come back; what was erased stays away.
        world.ok("restore_entity", json!({ "reference": "EP-001" }));
        assert_eq!(outcome(world.call("get_entity", json!({ "reference": "REQ-001" }))), "ok");
        assert!(world.refused("get_entity", json!({ "reference": "REQ-002" })).starts_with("NOT_FOUND"));
        assert_eq!(world.ok("list_relationships", json!({ "requirement_id": "REQ-001" }))["total_count"], 0);
        assert_eq!(world.ok("list_comments", json!({}))["total_count"], 0);

        world.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
        world.ok("purge_entity", json!({ "reference": "AC-001" }));
        world.ok("restore_entity", json!({ "reference": "EP-001" }));
        assert_eq!(
            world.ok("get_entity", json!({ "reference": "REQ-001" })).get("acceptance_criteria"),
            None
        );

        world.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
        world.ok("purge_entity", json!({ "reference": "US-001" }));
        assert_eq!(
            world.refused("restore_entity", json!({ "reference": "EP-001" })),
            "CONFLICT: REQ-001 belongs to US-001, which was purged: its text was erased permanently"
        );
    });
}

/// [spec web] Deleting shows its dry run first, and so does erasing for good, whatever it is.
#[test]
fn a_purge_is_tried_before_it_is_done() {
    on_every_store(|world| {
        plan(world);
        let comment = world.ok("add_comment", json!({ "reference": "REQ-001", "content": "Why?" }));
        let prompt = json!({ "name": "helper", "title": "Helper", "content": "Help." });
        world.ok("create_prompt", prompt);
        let comment = json!({ "comment_id": comment["id"] });
        let prompt = json!({ "prompt_id": "PROMPT-001" });
        for (kind, about) in [("comment", &comment), ("prompt", &prompt)] {
            let purge = format!("purge_{kind}");
            let mut tried = about.clone();
            tried["dry_run"] = json!(true);
            assert!(world.refused(&purge, tried.clone()).contains("is not deleted"), "{kind}");
            world.ok(&format!("delete_{kind}"), about.clone());
            let would = world.ok(&purge, tried.clone());
            assert_eq!(would["would_erase"], json!({ "comments": 0, "versions": 2 }), "{would}");
            assert!(would["content"] != "(purged)" && would.get("purged_at").is_none(), "{would}");
            tried["expected_version"] = json!(1);
            assert!(world.refused(&purge, tried).starts_with("STALE_VERSION"), "{kind}");
            let done = world.ok(&purge, about.clone());
            assert_eq!((&done["content"], done.get("would_erase")), (&json!("(purged)"), None), "{done}");
        }
    });
}

#[test]
fn a_purge_erases_the_text_everywhere() {
    on_every_store(|world| {
        plan(world);
        let words = ["Kryptonite", "Chartreuse", "Umbrella", "Zeppelin"];
        let requirement = || {
            json!({
                "user_story_id": "US-001", "title": "Kryptonite", "description": "Chartreuse and more",
                "type_id": "Data", "priority": 1
            })
        };
        let first_token = ops::Credentials::Bearer(world.first.token.clone());
        let made = world.reply(first_token.clone(), "create_requirement", requirement(), Some("key"));
        let reference = made.result.expect("a requirement").reference.expect("a reference id");
        world.ok("update_requirement", json!({ "requirement_id": reference, "title": "Kryptonite, twice" }));
        let said = json!({ "reference": reference, "content": "Umbrella", "quote": "Chartreuse" });
        let said =
            world.reply(first_token.clone(), "add_comment", said, Some("key")).result.expect("a comment");
        let said = said.reference.expect("an id");
        world.ok("update_comment", json!({ "comment_id": said, "content": "Umbrella and Zeppelin" }));
        world.ok("delete_comment", json!({ "comment_id": said }));
        let stale = json!({ "requirement_id": reference, "priority": 2, "expected_version": 1 });
        let stale = world.reply(first_token, "update_requirement", stale, Some("stale")).result;
        assert_eq!(stale.map_err(|error| error.kind), Err(ops::ErrorKind::StaleVersion));
        world.ok("delete_entity", json!({ "reference": reference, "force": true }));
        for word in words {
            assert_ne!(tables_with(world, word), Vec::<String>::new(), "{word} was written somewhere");
        }
        world.ok("purge_entity", json!({ "reference": reference }));
        for word in words {
            assert_eq!(tables_with(world, word), Vec::<String>::new(), "{word} is still there");
        }
        let tombstone = world.ok("get_entity", json!({ "reference": reference, "include_deleted": true }));
        assert_eq!((&tombstone["title"], tombstone.get("description")), (&json!("(purged)"), None));
        let history = world.ok("get_history", json!({ "reference": reference }));
        assert_eq!(history["data"][0]["operation"], "purge_entity");
        assert_eq!(history["total_count"], 4);
        world.ok("purge_entity", json!({ "reference": reference }));
        let admin = ops::Credentials::Bearer(world.first.token.clone());
        let again = world.reply(admin, "create_requirement", requirement(), Some("key"));
        assert!(again.replayed && again.result.is_err_and(|error| error.kind == ops::ErrorKind::NotFound));
    });
}

#[test]
fn comments_and_prompts_are_purged_too() {
    on_every_store(|world| {
        plan(world);
        let first = comment(world, "EP-001", "A zyxwvut in public");
        let answer = json!({ "reference": "EP-001", "content": "An answer", "parent": first });
        let answer = world.ok("add_comment", answer)["id"].clone();
        let purge = json!({ "comment_id": first });
        assert!(world.refused("purge_comment", purge.clone()).contains("is not deleted; delete it first"));
        world.ok("delete_comment", purge.clone());
        assert!(!tables_with(world, "zyxwvut").is_empty());
        let purged = world.ok("purge_comment", purge.clone());
        assert_eq!((&purged["content"], &purged["version"]), (&json!("(purged)"), &json!(3)));
        assert_eq!(tables_with(world, "zyxwvut"), Vec::<String>::new());
        assert_eq!(world.ok("purge_comment", purge.clone()), purged, "once is enough");
        let gone = world.refused("get_comment", purge.clone());
        assert!(gone.starts_with("NOT_FOUND") && !gone.contains("restored"), "{gone}");
        assert!(world.refused("restore_comment", purge).contains("erased permanently"));
        let left = json!({ "comment_id": answer });
        let refused = world.refused("restore_comment", left.clone());
        assert_eq!(
            refused,
            "CONFLICT: the comment that it answers was purged: its text was erased permanently"
        );
        // The same when it would come back with the epic.
        let second = comment(world, "EP-001", "Another");
        let under = json!({ "reference": "EP-001", "content": "Below it", "parent": second });
        let under = world.ok("add_comment", under)["id"].clone();
        let other = comment(world, "EP-001", "On its own");
        world.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
        world.ok("purge_comment", json!({ "comment_id": second }));
        world.ok("restore_entity", json!({ "reference": "EP-001" }));
        let live = world.ok("list_comments", json!({ "reference": "EP-001" }));
        let live: Vec<&Value> = live["data"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(live, [&other]);
        assert!(
            world.ok("get_comment", json!({ "comment_id": under, "include_deleted": true }))["deleted_at"]
                .is_string()
        );
        let exported = world.ok("export", json!({ "format": "json" }));
        assert!(!exported["content"].as_str().unwrap().contains("Below it"));

        let text = json!({ "name": "zyxwvut", "title": "zyxwvut", "content": "zyxwvut", "role": "user" });
        let prompt = world.ok("create_prompt", text)["reference_id"].clone();
        let named = json!({ "prompt_id": prompt });
        assert!(world.refused("purge_prompt", named.clone()).contains("delete it first"));
        world.ok("delete_prompt", named.clone());
        world.ok("purge_prompt", named.clone());
        assert_eq!(tables_with(world, "zyxwvut"), Vec::<String>::new());
        assert!(world.refused("restore_prompt", named).contains("erased permanently"));
        let shown = json!({ "prompt_id": prompt, "include_deleted": true });
        assert_eq!(world.ok("get_prompt", shown)["content"], "(purged)");
        let wrong = world.refused("purge_entity", json!({ "reference": prompt }));
        assert!(wrong.contains("is a prompt"), "{wrong}");
    });
}

/// The tables in which a word occurs in any text.
fn tables_with(world: &World, word: &'static str) -> Vec<String> {
    const TEXTS: &[(&str, &str)] = &[
        ("entity", "select coalesce(title, '') || coalesce(description, '') from entity"),
        ("revision", "select changes from revision"),
        ("comment", "select content || coalesce(quote, '') from comment"),
        ("idempotency", "select answer || key || body_hash from idempotency"),
        ("change", "select entity_kind || coalesce(reference_id, '') from change"),
        ("prompt", "select name || title || content from prompt"),
        ("project", "select name || coalesce(description, '') from project"),
        ("search_text", "select title || body from search_text"),
    ];
    let find = move |tx: &mut store::Tx<'_>| -> store::Result<Vec<String>> {
        let mut found = Vec::new();
        for &(table, sql) in TEXTS {
            let texts: Vec<String> = tx.rows(sql, &[], |row| row.get(0))?;
            if texts.iter().any(|text| text.contains(word)) {
                found.push(table.to_owned());
            }
        }
        Ok(found)
    };
    world.engine.store().wait(Mode::Snapshot, find).expect("all texts")
}

/// EP-001 with US-001, AC-001, REQ-001 that serves it, and REQ-002; EP-002 with nothing; EP-003 with US-002 and REQ-003.
fn plan(world: &World) {
    for title in ["First", "Second", "Third"] {
        world.ok("create_epic", json!({ "title": title, "priority": 1 }));
    }
    for epic in ["EP-001", "EP-003"] {
        world.ok("create_user_story", json!({ "epic_id": epic, "title": "Story", "priority": 1 }));
    }
    world.ok("create_acceptance_criteria", json!({ "user_story_id": "US-001", "description": "It works" }));
    for (story, criterion) in [("US-001", json!("AC-001")), ("US-001", Value::Null), ("US-002", Value::Null)]
    {
        let requirement = json!({
            "user_story_id": story, "title": "Requirement", "type_id": "Data", "priority": 1,
            "acceptance_criteria_id": criterion
        });
        world.ok("create_requirement", requirement);
    }
}

fn comment(world: &World, reference: &str, content: &str) -> Value {
    world.ok("add_comment", json!({ "reference": reference, "content": content }))["id"].clone()
}

fn relate(world: &World, source: &str, kind: &str, target: &str) -> Result<Value, ops::Error> {
    world.call(
        "create_relationship",
        json!({ "source_requirement_id": source, "relationship_type_id": kind, "target_requirement_id": target }),
    )
}
