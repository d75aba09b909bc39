//! Fields that people fill in, from their arguments to history, search and erasure.

use serde_json::{Value, json};

use super::stores::{World, on_every_store};

fn fill(world: &World) {
    let epic =
        json!({ "title": "Checkout", "priority": 1, "labels": ["Payments", "Q3"], "rationale": "Revenue" });
    world.ok("create_epic", epic);
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Pay", "priority": 2 }));
    for title in ["Card", "Cash"] {
        let requirement = json!({
            "user_story_id": "US-001", "title": title, "type_id": "Functional", "priority": 2,
            "rationale": "The regulator insists on receipts", "labels": [" security ", "Security", "legal"]
        });
        world.ok("create_requirement", requirement);
    }
    let criterion = json!({ "user_story_id": "US-001", "description": "It prints", "labels": ["legal"] });
    world.ok("create_acceptance_criteria", criterion);
    world.ok("create_steering_document", json!({ "title": "Tone", "labels": ["style"] }));
}

fn get(world: &World, reference: &str) -> Value {
    world.ok("get_entity", json!({ "reference": reference }))
}

fn labelled(world: &World, kind: &str, labels: &[&str]) -> (i64, Vec<String>) {
    let page = world.ok("list_entities", json!({ "kind": kind, "label": labels }));
    let names = page["data"].as_array().expect("a list").iter();
    let names = names.map(|item| item["reference_id"].as_str().expect("a name").to_owned()).collect();
    (page["total_count"].as_i64().expect("a number"), names)
}

#[test]
fn labels_are_kept_once_and_found_in_any_case() {
    on_every_store(|world| {
        fill(world);
        assert_eq!(get(world, "REQ-001")["labels"], json!(["security", "legal"]));
        assert_eq!(get(world, "US-001").get("labels"), None);
        let both = vec!["REQ-001".to_owned(), "REQ-002".to_owned()];
        assert_eq!(labelled(world, "requirement", &["SECURITY"]), (2, both.clone()));
        assert_eq!(labelled(world, "requirement", &["legal", "security"]), (2, both));
        assert_eq!(labelled(world, "requirement", &["payments"]), (0, vec![]));
        assert_eq!(labelled(world, "epic", &["q3"]), (1, vec!["EP-001".to_owned()]));
        assert_eq!(labelled(world, "acceptance_criteria", &["legal"]).0, 1);
        assert_eq!(labelled(world, "steering_document", &["style"]).0, 1);
        world.ok("update_requirement", json!({ "requirement_id": "REQ-002", "labels": ["cash"] }));
        assert_eq!(labelled(world, "requirement", &["legal"]), (1, vec!["REQ-001".to_owned()]));
        assert_eq!(labelled(world, "requirement", &["cash"]), (1, vec!["REQ-002".to_owned()]));
        world.ok("update_requirement", json!({ "requirement_id": "REQ-002", "labels": null }));
        assert_eq!(labelled(world, "requirement", &["cash"]).0, 0);
        assert_eq!(get(world, "REQ-002").get("labels"), None);
    });
}

#[test]
fn labels_that_would_be_ambiguous_are_refused() {
    on_every_store(|world| {
        for (labels, problem) in [
            (json!(["a, b"]), "without commas"),
            (json!(["  "]), "only blanks"),
            (json!(["x".repeat(51)]), "1 to 50 characters"),
            (json!((0..51).map(|index| index.to_string()).collect::<Vec<_>>()), "at most 50 labels"),
        ] {
            let refused =
                world.refused("create_epic", json!({ "title": "E", "priority": 1, "labels": labels }));
            assert!(refused.contains(problem), "{refused}");
        }
    });
}

#[test]
fn a_rationale_is_searched_and_makes_no_link_suspect() {
    on_every_store(|world| {
        fill(world);
        let found = world.ok("search_requirements", json!({ "query": "regulator receipts" }));
        assert_eq!(found["total_count"], 2);
        let found = world.ok("search_global", json!({ "query": "security" }));
        assert_eq!(found["total_count"], 2);
        let link = json!({
            "source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "depends_on"
        });
        world.ok("create_relationship", link);
        let change = json!({ "requirement_id": "REQ-002", "rationale": "Auditors ask", "labels": ["x"] });
        world.ok("update_requirement", change);
        assert_eq!(world.ok("list_suspect_links", json!({}))["total_count"], 0);
        world.ok("update_requirement", json!({ "requirement_id": "REQ-002", "description": "Other" }));
        assert_eq!(world.ok("list_suspect_links", json!({}))["total_count"], 1);
    });
}

#[test]
fn fields_are_in_the_history_taken_back_and_erased() {
    on_every_store(|world| {
        fill(world);
        let change =
            json!({ "requirement_id": "REQ-001", "rationale": null, "labels": ["new"], "priority": 4 });
        world.ok("update_requirement", change);
        let history = world.ok("get_history", json!({ "reference": "REQ-001" }));
        let changes = &history["data"][0]["changes"];
        assert_eq!(changes["labels"], json!([["security", "legal"], ["new"]]));
        assert_eq!(changes["rationale"], json!(["The regulator insists on receipts", null]));
        let back = world.ok("restore_entity", json!({ "reference": "REQ-001", "version": 1 }));
        assert_eq!(back["labels"], json!(["security", "legal"]));
        assert_eq!(back["rationale"], "The regulator insists on receipts");
        assert_eq!(back["priority"], 2);
        world.ok("delete_entity", json!({ "reference": "REQ-001" }));
        let purged = world.ok("purge_entity", json!({ "reference": "REQ-001" }));
        assert_eq!((purged.get("rationale"), purged.get("labels")), (None, None));
        assert_eq!(purged["title"], "(purged)");
        world.ok("delete_entity", json!({ "reference": "AC-001" }));
        let purged = world.ok("purge_entity", json!({ "reference": "AC-001" }));
        assert_eq!((purged["description"].as_str(), purged.get("title")), (Some("(purged)"), None));
    });
}
