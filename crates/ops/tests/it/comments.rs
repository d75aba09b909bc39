//! Comments: threads, passages that they are about, and settling them.

use serde_json::{Value, json};

use crate::people::{token, user};
use crate::stores::{World, on_every_store};

#[test]
fn threads_stay_with_what_they_are_on() {
    on_every_store(|world| {
        epics(world, "Text");
        let question = add(world, json!({ "reference": "EP-001", "content": "Why?" }));
        let answer =
            add(world, json!({ "reference": "EP-001", "content": "Because", "parent": question["id"] }));
        let deeper =
            add(world, json!({ "reference": "EP-001", "content": "Really?", "parent": answer["id"] }));
        assert_eq!(deeper["parent_id"], answer["id"]);
        assert_eq!(
            world.refused(
                "add_comment",
                json!({ "reference": "EP-002", "content": "x", "parent": question["id"] })
            ),
            "VALIDATION_ERROR: parent: that comment is on EP-001, not on EP-002"
        );
        let n_live = || world.ok("list_comments", json!({ "reference": "EP-001" }))["total_count"].clone();
        assert_eq!(n_live(), 3);
        // An answer goes alone, a question with all answers.
        world.ok("delete_comment", json!({ "comment_id": deeper["id"] }));
        world.ok("delete_comment", json!({ "comment_id": question["id"] }));
        assert_eq!(n_live(), 0);
        assert_eq!(
            world
                .refused(
                    "add_comment",
                    json!({ "reference": "EP-001", "content": "x", "parent": answer["id"] })
                )
                .split(':')
                .next(),
            Some("NOT_FOUND")
        );
        assert_eq!(
            world.refused("restore_comment", json!({ "comment_id": deeper["id"] })),
            "CONFLICT: the comment that it answers is deleted; restore that first"
        );
        world.ok("restore_comment", json!({ "comment_id": answer["id"] }));
        assert_eq!(n_live(), 2);
        world.ok("restore_comment", json!({ "comment_id": deeper["id"] }));
        assert_eq!(n_live(), 3);
        world.ok("delete_comment", json!({ "comment_id": answer["id"] }));
        world.ok("delete_entity", json!({ "reference": "EP-001" }));
        assert_eq!(
            world.refused("restore_comment", json!({ "comment_id": answer["id"] })),
            "CONFLICT: EP-001 is deleted; restore it first"
        );
    });
}

#[test]
fn deleting_a_comment_is_previewed_and_every_change_is_a_version() {
    on_every_store(|world| {
        epics(world, "Text");
        let first = add(world, json!({ "reference": "EP-001", "content": "One" }));
        let answer = add(world, json!({ "reference": "EP-001", "content": "Two", "parent": first["id"] }));
        let id = json!({ "comment_id": first["id"] });
        let preview = world.ok("delete_comment", json!({ "comment_id": first["id"], "dry_run": true }));
        assert_eq!((&preview["deleted"], &preview["answers"]), (&json!(false), &json!(1)));
        let gone = world.ok("delete_comment", json!({ "comment_id": first["id"], "force": true }));
        assert_eq!(
            (&gone["deleted"], &gone["answers"], &gone["version"]),
            (&json!(true), &json!(1), &json!(2))
        );
        let stale = json!({ "comment_id": first["id"], "expected_version": 1 });
        assert!(world.refused("restore_comment", stale).starts_with("STALE_VERSION"));
        assert_eq!(world.ok("restore_comment", id)["version"], 3);
        let history = world.ok("get_history", json!({ "reference": answer["id"] }));
        let versions: Vec<&Value> =
            history["data"].as_array().expect("a list").iter().map(|one| &one["version"]).collect();
        assert_eq!(versions, [&json!(3), &json!(2), &json!(1)]);
        world.ok("delete_entity", json!({ "reference": "EP-001" }));
        world.ok("restore_entity", json!({ "reference": "EP-001" }));
        let history = world.ok("get_history", json!({ "reference": answer["id"], "limit": 2 }));
        let done = |index: usize| {
            let revision = &history["data"][index];
            (revision["version"].clone(), revision["operation"].clone())
        };
        assert_eq!(done(0), (json!(5), json!("restore_entity")));
        assert_eq!(done(1), (json!(4), json!("delete_entity")));
        let lone = json!({ "reference": "EP-001", "content": "Where?", "anchor_start": 3 });
        assert!(world.refused("add_comment", lone).contains("anchor_start"));
    });
}

#[test]
fn comments_are_settled_and_opened_again() {
    on_every_store(|world| {
        epics(world, "Text");
        let comment = add(world, json!({ "reference": "EP-001", "content": "Why?" }));
        assert_eq!(comment["resolved"], false);
        let settled = world.ok("update_comment", json!({ "comment_id": comment["id"], "resolved": true }));
        assert_eq!((&settled["resolved"], &settled["version"]), (&json!(true), &json!(2)));
        let count = |resolved: bool| {
            world.ok("list_comments", json!({ "resolved": resolved }))["total_count"].clone()
        };
        assert_eq!((count(true), count(false)), (json!(1), json!(0)));
        let stale = json!({ "comment_id": comment["id"], "resolved": false, "expected_version": 1 });
        assert!(world.refused("update_comment", stale).starts_with("STALE_VERSION"));
        world.ok(
            "update_comment",
            json!({ "comment_id": comment["id"], "resolved": false, "expected_version": 2 }),
        );
        assert_eq!((count(true), count(false)), (json!(0), json!(1)));
        assert_eq!(world.ok("get_history", json!({ "reference": comment["id"] }))["total_count"], 3);
        world.ok("create_steering_document", json!({ "title": "Rules" }));
        assert_eq!(
            world.refused("add_comment", json!({ "reference": "STD-001", "content": "x" })),
            "VALIDATION_ERROR: reference: steering documents take no comments"
        );
    });
}

#[test]
fn an_anchor_follows_its_passage() {
    on_every_store(|world| {
        epics(world, "Тhe 🦀 pot brews. The pot rests.");
        let first = add(world, json!({ "reference": "EP-001", "content": "Which?", "quote": "pot" }));
        let second = add(
            world,
            json!({ "reference": "EP-001", "content": "Why?", "quote": "pot", "anchor_start": 21 }),
        );
        let third = add(world, json!({ "reference": "EP-001", "content": "How?", "quote": "brews" }));
        let gone = add(world, json!({ "reference": "EP-001", "content": "Gone", "quote": "rests" }));
        world.ok("delete_comment", json!({ "comment_id": gone["id"] }));
        let anchors = || [&first, &second, &third].map(|comment| anchor(world, comment));
        assert_eq!(anchors(), ["6..9", "21..24", "10..15"]);
        let write = |text: &str| world.ok("update_epic", json!({ "epic_id": "EP-001", "description": text }));
        write("Now: Тhe 🦀 pot brews. The pot rests.");
        assert_eq!(anchors(), ["11..14", "26..29", "15..20"]);
        write("Now: Тhe 🦀 pot boils. The pot rests.");
        assert_eq!(anchors(), ["11..14", "26..29", "detached"]);
        write("Nothing is here.");
        assert_eq!(anchors(), ["detached", "detached", "detached"]);
        write("A pot brews.");
        assert_eq!(anchors(), ["2..5", "2..5", "6..11"]);
        // What was deleted while the text changed is anchored to the text as it is.
        write("It rests.");
        world.ok("restore_comment", json!({ "comment_id": gone["id"] }));
        assert_eq!(anchor(world, &gone), "3..8");
        world.ok("update_epic", json!({ "epic_id": "EP-001", "description": null }));
        assert_eq!(anchors(), ["detached", "detached", "detached"]);
        assert_eq!(
            world.refused("add_comment", json!({ "reference": "EP-001", "content": "x", "quote": "pot" })),
            "VALIDATION_ERROR: quote: is not in the description of EP-001"
        );
    });
}

/// People quote what they see in a page, where the marks of Markdown are not.
#[test]
fn a_passage_is_found_without_its_markup() {
    on_every_store(|world| {
        epics(world, "The pot MUST be **very hot** before\nit [pours](https://x.org/ab).");
        for (quote, expected) in [
            ("MUST be very hot before it", "8..38"),
            ("it pours.", "36..65"),
            ("**very hot**", "16..28"),
            ("very   hot", "18..26"),
        ] {
            let comment = add(world, json!({ "reference": "EP-001", "content": "Why?", "quote": quote }));
            assert_eq!(anchor(world, &comment), expected, "{quote}");
        }
        for quote in ["hot pours", "** **", "_"] {
            let asked = json!({ "reference": "EP-001", "content": "Why?", "quote": quote });
            let refused = world.refused("add_comment", asked);
            assert_eq!(refused, "VALIDATION_ERROR: quote: is not in the description of EP-001", "{quote}");
        }
    });
}

fn anchor(world: &World, comment: &Value) -> String {
    let comment = world.ok("get_comment", json!({ "comment_id": comment["id"] }));
    match comment["detached"].as_bool() {
        Some(true) => {
            assert_eq!((comment.get("anchor_start"), comment.get("anchor_end")), (None, None));
            "detached".to_owned()
        }
        _ => format!("{}..{}", comment["anchor_start"], comment["anchor_end"]),
    }
}

fn add(world: &World, arguments: Value) -> Value {
    world.ok("add_comment", arguments)
}

fn epics(world: &World, text: &str) {
    for _ in 0..2 {
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1, "description": text }));
    }
}

#[test]
fn the_scope_comment_covers_the_owners_comments_only() {
    on_every_store(|world| {
        user(world, "ann", "Commenter");
        let ann = token(world, "ann", &["comment"]);
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        let add = json!({ "reference": "EP-001", "content": "Mine" });
        let id = world.call_as(ann.clone(), "add_comment", add).expect("a comment")["id"].clone();
        let edit = json!({ "comment_id": id, "content": "Yours" });
        for scope in ["comment", "write"] {
            let narrow = token(world, "admin", &[scope]);
            for (name, arguments) in
                [("update_comment", edit.clone()), ("delete_comment", json!({ "comment_id": id }))]
            {
                let refused = world.call_as(narrow.clone(), name, arguments).expect_err("another's comment");
                assert_eq!(refused.kind, ops::ErrorKind::Forbidden);
                assert!(refused.message.contains("this needs the scope admin"), "{}", refused.message);
            }
            // Whether something is settled is not its author's alone to say.
            let settle = json!({ "comment_id": id, "resolved": scope == "comment" });
            world.call_as(narrow, "update_comment", settle).expect("a change");
        }
        let wide = token(world, "admin", &["admin"]);
        assert_eq!(
            world.call_as(wide, "update_comment", edit.clone()).expect("a change")["content"],
            "Yours"
        );
        assert_eq!(world.call_as(ann, "update_comment", edit).expect("no change")["content"], "Yours");
    });
}
