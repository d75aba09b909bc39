//! Search on both stores: what is found, in which order, and that both find the same.

use private_postgres::Server;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use store::Location;

use crate::stores::{World, on_every_store};

/// An epic, two stories, a criterion, three requirements, a steering document and a comment.
pub fn fill(world: &World) {
    world.ok(
        "create_epic",
        json!({ "title": "Brewing coffee", "priority": 1, "description": "Hot drinks for everybody." }),
    );
    world.ok("create_epic", json!({ "title": "Payments", "priority": 3 }));
    world.ok(
        "create_user_story",
        json!({ "epic_id": "EP-001", "title": "As a guest I choose a strength", "priority": 2 }),
    );
    world.ok("create_user_story", json!({ "epic_id": "EP-002", "title": "Cards", "priority": 2 }));
    world.ok(
        "create_acceptance_criteria",
        json!({ "user_story_id": "US-001", "description": "The pot shows the chosen strength" }),
    );
    let requirement = |story: &str, title: &str, kind: &str, priority: i64, description: &str| {
        world.ok(
            "create_requirement",
            json!({ "user_story_id": story, "title": title, "type_id": kind, "priority": priority, "description": description }),
        );
    };
    requirement(
        "US-001",
        "The pot heats water",
        "functional",
        1,
        "Within 90 s the water <boils> & is hot. See REQ-003.",
    );
    requirement("US-001", "Журнал изменений", "data", 2, "Система хранит историю каждого требования.");
    requirement(
        "US-002",
        "Cards are charged",
        "functional",
        2,
        "The terminal calls createPayment once; hot cards are refused.",
    );
    world.ok(
        "create_steering_document",
        json!({ "title": "Safety", "description": "No hot surfaces within reach." }),
    );
    world.ok(
        "add_comment",
        json!({ "reference": "REQ-001", "content": "Which pots? Those with a lid only." }),
    );
}

/// What was found: reference ids, and `comment on` before those of comments.
pub fn found(world: &World, arguments: Value) -> String {
    let answer = world.ok("search_global", arguments);
    assert_eq!(answer["total_count"], answer["data"].as_array().unwrap().len(), "{answer}");
    names(&answer)
}

pub fn names(answer: &Value) -> String {
    let name = |hit: &Value| {
        let reference = hit["reference_id"].as_str().unwrap();
        if hit["kind"] == "comment" { format!("comment on {reference}") } else { reference.to_owned() }
    };
    answer["data"].as_array().unwrap().iter().map(name).collect::<Vec<_>>().join(", ")
}

#[track_caller]
fn check(world: &World, cases: &[(Value, &str)]) {
    for (arguments, expected) in cases {
        assert_eq!(found(world, arguments.clone()), *expected, "{arguments}");
    }
}

#[test]
fn words_phrases_exclusions_and_ids_are_found_in_titles_texts_and_comments() {
    on_every_store(|world| {
        fill(world);
        check(
            world,
            &[
                (json!({ "query": "pot" }), "REQ-001, AC-001, comment on REQ-001"),
                (json!({ "query": "pots -lid " }), "REQ-001, AC-001"),
                (json!({ "query": "hot" }), "EP-001, STD-001, REQ-001, REQ-003"),
                (json!({ "query": "\"hot cards\"" }), "REQ-003"),
                (json!({ "query": "\"hot cards are refused\"" }), "REQ-003"),
                (json!({ "query": "\"cards hot\"" }), ""),
                (json!({ "query": "hot -\"hot cards are refused\"" }), "EP-001, STD-001, REQ-001"),
                (json!({ "query": "требований" }), "REQ-002"),
                (json!({ "query": "ИСТОРИЯ требование" }), "REQ-002"),
                (json!({ "query": "create_payment " }), "REQ-003"),
                (json!({ "query": "coff" }), "EP-001"),
                (json!({ "query": "req-3" }), "REQ-003, REQ-001"),
                (json!({ "query": "EP-002 hot" }), "EP-002"),
                (json!({ "query": "-hot -pot -требование" }), "US-002, US-001, EP-002"),
                (json!({ "query": "nowhere" }), ""),
            ],
        );
    });
}

#[test]
fn filters_narrow_what_is_found() {
    on_every_store(|world| {
        fill(world);
        let user = world.ok(
            "create_user",
            json!({ "username": "barista", "email": "b@example.com", "role": "User", "password": "long enough 123" }),
        );
        world.ok(
            "update_requirement",
            json!({ "requirement_id": "REQ-003", "assignee_id": "barista", "status": "active" }),
        );
        assert_eq!(user["username"], "barista");
        check(
            world,
            &[
                (json!({ "query": "hot", "entity_types": ["requirement"] }), "REQ-001, REQ-003"),
                (
                    json!({ "query": "hot", "entity_types": ["epic", "steering_documents"] }),
                    "EP-001, STD-001",
                ),
                (json!({ "query": "pot", "entity_types": ["comment"] }), "comment on REQ-001"),
                (json!({ "query": "hot", "status": ["Active"] }), "REQ-003"),
                (json!({ "query": "hot", "status": ["draft", "backlog"] }), "EP-001, REQ-001"),
                (json!({ "query": "hot", "priority": [1] }), "EP-001, REQ-001"),
                (json!({ "query": "hot", "type": "functional" }), "REQ-001, REQ-003"),
                (json!({ "query": "pot", "epic": "EP-001" }), "REQ-001, AC-001, comment on REQ-001"),
                (json!({ "query": "hot", "epic": "EP-001" }), "EP-001, REQ-001"),
                (json!({ "query": "hot", "user_story": "US-002" }), "REQ-003"),
                (json!({ "query": "hot", "assignee": "barista" }), "REQ-003"),
                (json!({ "query": "hot", "creator": "barista" }), ""),
                (json!({ "query": "hot", "creator": "admin" }), "EP-001, STD-001, REQ-001, REQ-003"),
                (
                    json!({ "query": "hot", "created_from": "2026-11-15" }),
                    "EP-001, STD-001, REQ-001, REQ-003",
                ),
                (json!({ "query": "hot", "created_from": "2026-11-16" }), ""),
                (json!({ "query": "hot", "created_to": "2026-11-14" }), ""),
                (
                    json!({ "query": "hot", "created_from": "2025-12-31", "created_to": "2027-02-01" }),
                    "EP-001, STD-001, REQ-001, REQ-003",
                ),
                (json!({ "query": "hot", "project": "DEFAULT" }), "EP-001, STD-001, REQ-001, REQ-003"),
                (json!({ "query": "hot", "sort": "created" }), "STD-001, REQ-003, REQ-001, EP-001"),
                (json!({ "query": "hot", "sort": "updated" }), "REQ-003, STD-001, REQ-001, EP-001"),
                (json!({ "query": "hot", "sort": "priority" }), "REQ-001, EP-001, REQ-003, STD-001"),
                (json!({ "query": "REQ-003", "status": ["draft"] }), "REQ-001"),
            ],
        );
        let requirements = world
            .ok("search_requirements", json!({ "query": "hot", "epic_id": "EP-002", "status": ["active"] }));
        assert_eq!(names(&requirements), "REQ-003");
        for (arguments, expected) in [
            (json!({ "query": " " }), "query: expected words to search for, found only blanks"),
            (json!({ "query": "a\u{0}" }), "query: expected text, found a NUL character"),
            (json!({ "query": "x".repeat(1_001) }), "query: expected at most 1000 characters, found 1001"),
            (
                json!({ "query": "x", "status": ["Ready"], "entity_types": ["requirement"] }),
                "status: expected one of Draft, Active, Obsolete, found \"Ready\"",
            ),
            (
                json!({ "query": "x", "entity_types": ["prompt"] }),
                "entity_types: expected one of epic, user_story, acceptance_criteria, requirement, steering_document, comment, found \"prompt\"",
            ),
            (json!({ "query": "x", "colour": "red" }), "colour: is not known here"),
        ] {
            assert_eq!(world.refused("search_global", arguments), format!("VALIDATION_ERROR: {expected}"));
        }
    });
}

#[test]
fn what_is_written_is_found_at_once_and_what_is_gone_is_not() {
    on_every_store(|world| {
        fill(world);
        world.ok(
            "update_requirement",
            json!({ "requirement_id": "REQ-001", "title": "The kettle heats water", "description": null }),
        );
        assert_eq!(found(world, json!({ "query": "kettle" })), "REQ-001");
        assert_eq!(found(world, json!({ "query": "boils" })), "");
        let comment = world.ok("list_comments", json!({ "reference": "REQ-001" }))["data"][0]["id"].clone();
        world.ok("update_comment", json!({ "comment_id": comment, "content": "A kettle has no lid" }));
        assert_eq!(found(world, json!({ "query": "kettle" })), "REQ-001, comment on REQ-001");
        world.ok("delete_comment", json!({ "comment_id": comment }));
        assert_eq!(found(world, json!({ "query": "kettle" })), "REQ-001");
        world.ok("restore_comment", json!({ "comment_id": comment }));
        assert_eq!(found(world, json!({ "query": "kettle" })), "REQ-001, comment on REQ-001");

        world.ok("update_user_story", json!({ "user_story_id": "US-001", "epic_id": "EP-002" }));
        assert_eq!(found(world, json!({ "query": "kettle", "epic": "EP-001" })), "");
        assert_eq!(
            found(world, json!({ "query": "kettle", "epic": "EP-002" })),
            "REQ-001, comment on REQ-001"
        );
        world.ok("update_requirement", json!({ "requirement_id": "REQ-001", "user_story_id": "US-002" }));
        assert_eq!(
            found(world, json!({ "query": "kettle", "user_story": "US-002" })),
            "REQ-001, comment on REQ-001"
        );

        world.ok("delete_entity", json!({ "reference": "EP-002", "force": true }));
        assert_eq!(found(world, json!({ "query": "kettle" })), "");
        assert_eq!(found(world, json!({ "query": "REQ-001" })), "");
        assert_eq!(
            found(world, json!({ "query": "kettle", "include_deleted": true })),
            "REQ-001, comment on REQ-001"
        );
        assert_eq!(found(world, json!({ "query": "REQ-001", "include_deleted": true })), "REQ-001");
        world.ok("restore_entity", json!({ "reference": "EP-002" }));
        assert_eq!(found(world, json!({ "query": "kettle" })), "REQ-001, comment on REQ-001");

        world.ok("delete_entity", json!({ "reference": "REQ-001", "force": true }));
        world.ok("purge_entity", json!({ "reference": "REQ-001" }));
        assert_eq!(found(world, json!({ "query": "kettle", "include_deleted": true })), "");
        assert_eq!(found(world, json!({ "query": "purged", "include_deleted": true })), "");
    });
}

#[test]
fn a_renamed_status_still_filters() {
    on_every_store(|world| {
        fill(world);
        let model = world.ok("get_status_model", json!({ "kind": "requirement" }));
        let mut statuses = model["statuses"].clone();
        statuses[0]["name"] = json!("Planned");
        statuses
            .as_array_mut()
            .unwrap()
            .push(json!({ "name": "Draft", "colour": "#000000", "initial": false, "final": false }));
        world.ok(
            "update_status_model",
            json!({ "kind": "requirement", "statuses": statuses, "transitions": [], "renamed": [{ "from": "Draft", "to": "Planned" }] }),
        );
        world.ok("update_requirement", json!({ "requirement_id": "REQ-003", "status": "draft" }));
        let requirements =
            |status: &str| json!({ "query": "hot", "status": [status], "entity_types": ["requirement"] });
        assert_eq!(found(world, requirements("planned")), "REQ-001");
        assert_eq!(found(world, requirements("draft")), "REQ-003");
    });
}

#[test]
fn snippets_show_what_was_found_and_are_safe_in_html() {
    on_every_store(|world| {
        fill(world);
        let answer = world.ok("search_global", json!({ "query": "boils water" }));
        let hit = &answer["data"][0];
        assert_eq!(
            hit["snippet"],
            "Within 90 s the <mark>water</mark> &lt;<mark>boils</mark>&gt; &amp; is hot. See REQ-003."
        );
        assert_eq!(
            (&hit["title"], &hit["status"], &hit["type"]),
            (&json!("The pot heats water"), &json!("Draft"), &json!("Functional"))
        );
        assert_eq!(
            (&hit["priority"], &hit["kind"], &hit["project"]),
            (&json!(1), &json!("requirement"), &json!("DEFAULT"))
        );
        assert_eq!(answer.get("message"), None);
        let answer = world.ok("search_global", json!({ "query": "lid" }));
        let hit = &answer["data"][0];
        assert_eq!(hit["snippet"], "Which pots? Those with a <mark>lid</mark> only.");
        assert_eq!(
            (&hit["entity"]["reference_id"], &hit["entity"]["kind"]),
            (&json!("REQ-001"), &json!("requirement"))
        );
        assert_eq!(
            world.ok("search_global", json!({ "query": "cards", "entity_types": ["user_story"] }))["data"][0]
                ["snippet"],
            "<mark>Cards</mark>"
        );
        // Found in the title alone.
        let hit = &world.ok("search_global", json!({ "query": "heats" }))["data"][0];
        assert_eq!(
            hit["snippet"],
            "The pot <mark>heats</mark> water — Within 90 s the water &lt;boils&gt; &amp; is hot. See REQ-003."
        );
        let nothing = world.ok("search_global", json!({ "query": "tea time" }));
        assert_eq!(nothing["message"], "nothing has all of these words; try fewer words or filters");
        assert_eq!(
            world.ok("search_global", json!({ "query": "???" }))["message"],
            "expected a letter or digit to search for"
        );
        let long: String =
            ('a'..='z').chain('а'..='р').map(|letter| format!("hot {letter}{letter} ")).collect();
        assert_eq!(
            world.ok("search_global", json!({ "query": long }))["message"],
            "the query has 54 words too many, and the last ones were left out"
        );
    });
}

#[test]
fn other_projects_have_their_own_ids() {
    on_every_store(|world| {
        fill(world);
        world.ok("create_project", json!({ "key": "TEA", "name": "Tea" }));
        world.ok("create_epic", json!({ "title": "Hot leaves", "priority": 1, "project": "TEA" }));
        check(
            world,
            &[
                (json!({ "query": "hot", "project": "tea" }), "TEA-EP-001"),
                (json!({ "query": "tea-ep-1" }), "TEA-EP-001"),
                (json!({ "query": "EP-001", "project": "TEA" }), "TEA-EP-001"),
                (json!({ "query": "EP-001" }), "EP-001"),
            ],
        );
    });
}

#[test]
fn what_is_typed_is_completed() {
    on_every_store(|world| {
        fill(world);
        for number in 4..=12 {
            world.ok(
                "create_requirement",
                json!({ "user_story_id": "US-001", "title": format!("Cup {number}"), "type_id": "data", "priority": 3 }),
            );
        }
        let suggested_of = |arguments: Value| {
            let answer = world.ok("search_suggestions", arguments);
            let texts = answer["data"].as_array().unwrap().iter();
            texts
                .map(|one| format!("{}: {}", one["of"].as_str().unwrap(), one["text"].as_str().unwrap()))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let suggested = |query: &str| suggested_of(json!({ "query": query }));
        assert_eq!(
            suggested("req-01"),
            "reference: REQ-001, reference: REQ-010, reference: REQ-011, reference: REQ-012"
        );
        assert_eq!(suggested("REQ-1"), "reference: REQ-001");
        assert_eq!(suggested("ep-"), "reference: EP-001, reference: EP-002");
        assert_eq!(suggested("coff"), "title: Brewing coffee");
        assert_eq!(suggested("журнал"), "title: Журнал изменений");
        assert_eq!(suggested("d"), "status: Done, status: Draft, type: Data");
        assert_eq!(suggested("adm"), "user: admin");
        assert_eq!(suggested("nowhere"), "");
        world.ok("create_project", json!({ "key": "TEA", "name": "Tea" }));
        world.ok("create_epic", json!({ "project": "TEA", "title": "Brewing tea", "priority": 2 }));
        let in_tea = |query: &str| suggested_of(json!({ "query": query, "project": "tea" }));
        assert_eq!(suggested("brewing"), "title: Brewing coffee, title: Brewing tea");
        assert_eq!(in_tea("brewing"), "title: Brewing tea");
        assert_eq!((in_tea("ep-"), in_tea("tea-ep-1")), ("reference: TEA-EP-001".into(), in_tea("ep-1")));
        assert_eq!((in_tea("default-ep-1"), in_tea("nowhere-ep-1")), (String::new(), String::new()));
        assert_eq!(suggested("tea-ep-"), "reference: TEA-EP-001");
        assert!(
            world
                .refused("search_suggestions", json!({ "query": "" }))
                .starts_with("VALIDATION_ERROR: query:")
        );
    });
}

/// Few words, so that they meet, and what databases read something into.
const WORDS: &str = "run running Runs epic epics create create_epic createEpic OAuth2 oauth 2 e-mail email REQ-1 REQ-002 EP-1
    требование требований Ёлка елка 要件 要 AND OR NOT NEAR \" ' ; -- % _ * ( ) : & | ! <-> \\ {title} ^ null";

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>())
}

fn text(n_words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    vec(word(), n_words).prop_map(|words| words.join(" "))
}

fn query() -> impl Strategy<Value = String> {
    let item = prop_oneof![
        4 => word().prop_map(str::to_owned),
        1 => word().prop_map(|word| format!("-{word}")),
        2 => vec(word(), 2..5).prop_map(|words| format!("\"{}\"", words.join(" "))),
        1 => vec(word(), 2..5).prop_map(|words| format!("-\"{}\"", words.join(" "))),
        2 => (word(), 1..4_usize).prop_map(|(word, n_chars)| word.chars().take(n_chars).collect()),
        1 => "\\PC{1,8}",
    ];
    (vec(item, 1..4), any::<bool>())
        .prop_map(|(items, is_complete)| items.join(" ") + if is_complete { " " } else { "" })
}

fn filter() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({ "entity_types": ["epic", "comment"] }),
        json!({ "priority": [1, 3] }),
        json!({ "status": ["draft"] }),
        json!({ "status": ["backlog"], "priority": [2] }),
        json!({ "type": "data" }),
        json!({ "epic": "EP-001" }),
        json!({ "user_story": "US-001", "include_deleted": true }),
        json!({ "include_deleted": true, "sort": "updated" }),
        json!({ "sort": "priority" }),
        json!({ "sort": "created", "limit": 3, "offset": 1 }),
        json!({ "created_to": "2026-11-15T08:00:00.030Z" }),
    ])
}

/// Something that is written in both stores.
fn write() -> impl Strategy<Value = (&'static str, Value)> {
    let number = 1..6_i64;
    let title = text(1..5);
    let description = text(0..14);
    (0..12_usize, number, title, description).prop_map(|(what, number, title, description)| {
        let priority = 1 + number % 4;
        match what {
            0 => ("create_epic", json!({ "title": title, "priority": priority, "description": description })),
            1 => ("create_user_story", json!({ "epic_id": format!("EP-{number:03}"), "title": title, "priority": priority })),
            2 => ("create_acceptance_criteria", json!({ "user_story_id": "US-001", "description": format!("{title} {description}") })),
            3 => ("update_requirement", json!({ "requirement_id": format!("REQ-{number:03}"), "title": title, "status": "active" })),
            4 => ("add_comment", json!({ "reference": format!("REQ-{number:03}"), "content": title })),
            5 => ("delete_entity", json!({ "reference": format!("REQ-{number:03}"), "force": true })),
            6 => ("restore_entity", json!({ "reference": format!("REQ-{number:03}") })),
            7 => ("create_steering_document", json!({ "title": title, "description": description })),
            8 => ("update_user_story", json!({ "user_story_id": "US-001", "epic_id": format!("EP-{number:03}") })),
            kind => (
                "create_requirement",
                json!({ "user_story_id": "US-001", "title": title, "description": description, "priority": priority,
                        "type_id": (["functional", "data", "interface"][kind - 9]) }),
            ),
        }
    })
}

#[test]
fn both_stores_find_the_same_in_the_same_order() {
    let Some(server) = Server::shared() else { return };
    let strategy = (vec(write(), 5..40), vec((query(), filter()), 20..40));
    let config = ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() };
    // A comparison of empty answers would prove nothing.
    let n_found = std::cell::Cell::new(0);
    proptest::test_runner::TestRunner::new(config)
        .run(&strategy, |(writes, searches)| {
            let folder = tempfile::tempdir().unwrap();
            let database = server.database();
            let sqlite = World::open(&Location::Sqlite(folder.path().join("spexus.db")));
            let postgres = World::open(&Location::parse(database.url()).unwrap());
            for world in [&sqlite, &postgres] {
                world.ok("create_epic", json!({ "title": "epic", "priority": 1 }));
                world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "run", "priority": 1 }));
            }
            for (name, arguments) in writes {
                let outcomes = [&sqlite, &postgres]
                    .map(|world| world.call(name, arguments.clone()).map_err(|error| error.kind));
                prop_assert_eq!(outcomes[0].is_ok(), outcomes[1].is_ok(), "{} {}", name, arguments);
            }
            for (query, mut arguments) in searches {
                arguments["query"] = json!(query);
                let [one, other] =
                    [&sqlite, &postgres].map(|world| seen(world.call("search_global", arguments.clone())));
                n_found.set(n_found.get() + usize::from(one.contains("\"score\"")));
                prop_assert_eq!(one, other, "{}", arguments);
                let [one, other] = [&sqlite, &postgres]
                    .map(|world| seen(world.call("search_suggestions", json!({ "query": query }))));
                prop_assert_eq!(one, other, "{}", query);
            }
            Ok(())
        })
        .unwrap();
    assert!(n_found.get() > 50, "{} searches found something", n_found.get());
}

/// An answer without the UUIDs, which differ.
fn seen(answer: Result<Value, ops::Error>) -> String {
    match answer {
        Err(error) => format!("{}: {error}", error.kind.code()),
        Ok(mut answer) => {
            for hit in answer["data"].as_array_mut().unwrap() {
                let hit = hit.as_object_mut().unwrap();
                hit.remove("id");
                hit.remove("deleted_at");
                if let Some(entity) = hit.get_mut("entity") {
                    entity.as_object_mut().unwrap().remove("id");
                }
            }
            answer.to_string()
        }
    }
}
