//! Deletes, restores, bulks and imports beside each other: each happens once, and nobody is refused for having been slower.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use private_postgres::{Options, Server};
use serde_json::{Value, json};
use store::Location;

use crate::contention::{THREADS, at_once, count, relate, requirement, story};
use crate::people::outcome;
use crate::stores::{World, on_two_servers};

#[test]
fn of_two_concurrent_deletes_one_gets_404() {
    on_two_servers(|one, other| {
        const ROUNDS: usize = 8;
        story(one);
        let hold = |delete: &str, arguments: &Value| {
            let outcomes = at_once(4, |number| {
                let world = if number % 2 == 0 { one } else { other };
                outcome(world.call(delete, arguments.clone()))
            });
            assert_eq!(count(&outcomes, "ok"), 1, "{delete}: {outcomes:?}");
            assert_eq!(count(&outcomes, "NOT_FOUND"), 3, "{delete}: {outcomes:?}");
        };
        for round in 0..ROUNDS {
            let comment = one.ok("add_comment", json!({ "reference": "EP-001", "content": "Why?" }));
            one.ok("add_comment", json!({ "reference": "EP-001", "content": "So", "parent": comment["id"] }));
            hold("delete_comment", &json!({ "comment_id": comment["id"] }));
            let (a, b) = (requirement(one), requirement(one));
            let relation = relate(one, &a, "relates_to", &b).expect("a relationship");
            hold("delete_relationship", &json!({ "id": relation["id"] }));
            hold("delete_entity", &json!({ "reference": a }));
            let key = format!("P{round}");
            one.ok("create_project", json!({ "key": key, "name": "Project" }));
            hold("delete_project", &json!({ "project": key }));
            one.ok("create_requirement_type", json!({ "name": key }));
            hold("delete_requirement_type", &json!({ "requirement_type": key }));
            one.ok("create_relationship_type", json!({ "name": key, "inverse_name": "x" }));
            hold("delete_relationship_type", &json!({ "relationship_type": key }));
            one.ok("create_prompt", json!({ "name": key, "title": "P", "content": "P" }));
            let prompt = one.ok("list_prompts", json!({}))["data"][0].clone();
            hold("delete_prompt", &json!({ "prompt_id": prompt["id"] }));
            one.member("ann", "User");
            one.ok("create_token", json!({ "name": "ci", "user": "ann" }));
            hold("revoke_token", &json!({ "token_id": "ci", "user": "ann" }));
            hold("delete_user", &json!({ "user": "ann" }));
            let history = one.ok("get_history", json!({ "reference": a }));
            assert_eq!(history["total_count"], 2, "created and deleted once");
        }
    });
}

#[test]
fn of_two_concurrent_restores_one_succeeds() {
    on_two_servers(|one, other| {
        story(one);
        for round in 1..=8 {
            one.ok("delete_entity", json!({ "reference": "EP-001", "force": true }));
            let outcomes = at_once(4, |number| {
                let world = if number % 2 == 0 { one } else { other };
                outcome(world.call("restore_entity", json!({ "reference": "EP-001" })))
            });
            assert_eq!(count(&outcomes, "ok"), 1, "{outcomes:?}");
            assert_eq!(count(&outcomes, "CONFLICT"), 3, "{outcomes:?}");
            let story = one.ok("get_entity", json!({ "reference": "US-001" }));
            assert_eq!(story["version"], 1 + 2 * round, "deleted and restored once");
        }
    });
}

#[test]
fn concurrent_dependents_require_force() {
    on_two_servers(|one, other| {
        const ROUNDS: usize = 25;
        for _ in 0..ROUNDS {
            let epic = one.ok("create_epic", json!({ "title": "Epic", "priority": 1 }))["id"].clone();
            let results = at_once(3, |thread| match thread {
                0 => one.call("delete_entity", json!({ "reference": epic })),
                _ => other
                    .call("create_user_story", json!({ "epic_id": epic, "title": "Story", "priority": 1 })),
            });
            let n_stories = results[1..].iter().filter(|result| result.is_ok()).count();
            let expected = if results[0].is_ok() { 0 } else { 2 };
            assert_eq!(n_stories, expected, "{results:?}");
        }
    });
}

#[test]
fn concurrent_bulks_and_imports_all_succeed() {
    on_two_servers(|one, other| {
        const EACH: usize = 6;
        story(one);
        let csv = |number: usize| {
            let rows: String = (0..30).map(|row| format!("epic,EP-{},By {number},2\n", 500 + row)).collect();
            format!("kind,reference_id,title,priority\n{rows}epic,,New by {number},1\n")
        };
        let creates: Vec<Value> = (0..40)
            .map(|number| {
                let arguments = json!({
                    "user_story_id": "US-001", "title": format!("R{number}"), "type_id": "Data", "priority": 1
                });
                json!({ "operation": "create_requirement", "arguments": arguments })
            })
            .chain([
                json!({ "operation": "update_epic", "arguments": { "epic_id": "EP-001", "priority": 2 } }),
            ])
            .collect();
        at_once(THREADS, |number| {
            let world = if number % 2 == 0 { one } else { other };
            for _ in 0..EACH {
                match number % 4 {
                    0 | 1 => world.ok("import", json!({ "format": "csv", "content": csv(number) })),
                    _ => world.ok("bulk_update", json!({ "operations": creates })),
                };
            }
        });
        let n_requirements = one.ok("list_entities", json!({ "kind": "requirement" }))["total_count"].clone();
        assert_eq!(n_requirements, THREADS / 2 * EACH * 40);
        let n_epics = one.ok("list_entities", json!({ "kind": "epic" }))["total_count"].clone();
        assert_eq!(n_epics, 1 + 30 + THREADS / 2 * EACH);
    });
}

#[test]
fn after_an_outage_nobody_is_refused_for_having_been_slower() {
    let Some(mut postgres) = Server::own(Options::default()) else { return };
    let database = postgres.database();
    let world = World::open(&Location::parse(database.url()).expect("a URL"));
    story(&world);
    let operations: Vec<Value> = (0..5)
        .map(|_| json!({ "operation": "create_epic", "arguments": { "title": "E", "priority": 1 } }))
        .chain([json!({ "operation": "update_epic", "arguments": { "epic_id": "EP-001", "priority": 2 } })])
        .collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (world, operations, is_over) = (&world, &operations, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let result = match number % 2 {
                        0 => world.call("bulk_update", json!({ "operations": operations })),
                        _ => world
                            .call("create_epic", json!({ "title": "E", "priority": 1 }))
                            .and_then(|epic| world.call("delete_entity", json!({ "reference": epic["id"] }))),
                    };
                    let outcome = outcome(result);
                    assert!(["ok", "UNAVAILABLE"].contains(&outcome), "{outcome}");
                }
            });
        }
        thread::sleep(Duration::from_millis(300));
        postgres.stop();
        thread::sleep(Duration::from_secs(3));
        postgres.start();
        thread::sleep(Duration::from_secs(1));
        is_over.store(true, Ordering::Relaxed);
    });
}
