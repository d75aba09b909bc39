//! Many at once: nothing is lost, nothing is given twice, and what must hold over several rows holds.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use ops::Credentials;
use serde_json::{Value, json};
use store::{Mode, Tx, values};

use crate::people::{outcome, token, user};
use crate::stores::{World, on_every_store, on_two_servers};

pub const THREADS: usize = 8;

#[test]
fn no_update_is_lost() {
    on_every_store(|world| {
        const EACH: usize = 25;
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1, "description": "0" }));
        at_once(THREADS, |_| {
            for _ in 0..EACH {
                while !add_one(world) {}
            }
        });
        let epic = world.ok("get_entity", json!({ "reference": "EP-001" }));
        assert_eq!(epic["description"], (THREADS * EACH).to_string());
        assert_eq!(epic["version"], THREADS * EACH + 1);
        let history = world.ok("get_history", json!({ "reference": "EP-001" }));
        assert_eq!(history["total_count"], THREADS * EACH + 1);
    });
}

/// Counts an epic's description up; false when somebody else was faster.
fn add_one(world: &World) -> bool {
    let epic = world.ok("get_entity", json!({ "reference": "EP-001" }));
    let number: i64 = epic["description"].as_str().and_then(|text| text.parse().ok()).expect("a number");
    let arguments = json!({
        "epic_id": "EP-001", "description": (number + 1).to_string(), "expected_version": epic["version"]
    });
    match outcome(world.call("update_epic", arguments)) {
        "ok" => true,
        other => {
            assert_eq!(other, "STALE_VERSION");
            false
        }
    }
}

#[test]
fn changes_without_an_expected_version_are_all_made() {
    on_two_servers(|one, other| {
        const CLIENTS: usize = 12;
        const EACH: usize = 10;
        one.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        at_once(CLIENTS, |number| {
            let world = if number % 2 == 0 { one } else { other };
            for round in 0..EACH {
                let title = format!("{round} by {number}");
                world.ok("update_epic", json!({ "epic_id": "EP-001", "title": title }));
            }
        });
        let epic = one.ok("get_entity", json!({ "reference": "EP-001" }));
        assert_eq!(epic["version"], CLIENTS * EACH + 1);
    });
}

#[test]
fn a_stale_version_is_told_with_the_current_state() {
    on_two_servers(|one, other| {
        const ROUNDS: usize = 20;
        one.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        for round in 1..=ROUNDS {
            let results = at_once(THREADS, |number| {
                let world = if number % 2 == 0 { one } else { other };
                let title = format!("{round} by {number}");
                let arguments = json!({ "epic_id": "EP-001", "title": title, "expected_version": round });
                world.call("update_epic", arguments)
            });
            let refused: Vec<_> = results.into_iter().filter_map(Result::err).collect();
            assert_eq!(refused.len(), THREADS - 1);
            for error in refused {
                assert_eq!(error.kind, ops::ErrorKind::StaleVersion, "{error}");
                let current = error.more.as_ref().map(|more| &more["current"]["version"]);
                assert_eq!(current, Some(&json!(round + 1)), "{error}");
            }
        }
    });
}

#[test]
fn reference_ids_stay_unique_on_one_server() {
    on_every_store(|world| check_references(world, world));
}

#[test]
fn reference_ids_stay_unique_on_two_servers() {
    on_two_servers(check_references);
}

fn check_references(one: &World, other: &World) {
    const EACH: usize = 200;
    let made = at_once(THREADS, |thread| {
        let world = if thread % 2 == 0 { one } else { other };
        (0..EACH).map(|_| create_epic(world)).collect::<Vec<_>>()
    });
    let distinct: BTreeSet<i64> = made.iter().flatten().copied().collect();
    assert_eq!(distinct.len(), THREADS * EACH);
    assert_eq!(one.ok("list_entities", json!({ "kind": "epic" }))["total_count"], THREADS * EACH);
    for numbers in made {
        assert!(numbers.is_sorted(), "one after the other is counted upwards");
    }

    for _ in 0..3 {
        let last = create_epic(one).max(create_epic(other));
        one.ok("delete_entity", json!({ "reference": format!("EP-{last}") }));
        one.ok("purge_entity", json!({ "reference": format!("EP-{last}") }));
        for number in [create_epic(one), create_epic(other)] {
            assert!(number != last && !distinct.contains(&number), "{number} was given twice");
        }
    }
}

fn create_epic(world: &World) -> i64 {
    let epic = world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
    let reference = epic["reference_id"].as_str().expect("a reference id");
    reference["EP-".len()..].parse().expect("a number")
}

/// Nobody touches what another one does, so nobody may fail.
#[test]
fn lists_of_creates_in_different_projects_do_not_conflict() {
    on_every_store(|world| {
        const CLIENTS: usize = 4;
        const LISTS: usize = 2;
        const REQUIREMENTS: usize = 120;
        let projects: Vec<String> = (1..=CLIENTS).map(|number| format!("BULK{number}")).collect();
        at_once(CLIENTS, |number| {
            let key = &projects[number];
            // The first list makes its project too.
            let project = json!({ "operation": "create_project", "arguments": { "key": key, "name": key } });
            for list in 0..LISTS {
                let first = (list == 0).then(|| project.clone());
                let done = world.call("bulk_update", creates(key, first, REQUIREMENTS));
                assert!(done.is_ok(), "{key}: {done:?}");
            }
        });
        for key in &projects {
            let listed = world.ok("list_entities", json!({ "kind": "requirement", "project": key }));
            assert_eq!(listed["total_count"], LISTS * REQUIREMENTS);
        }
    });
}

/// Trying them one by one would take many seconds, and end with a conflict that nobody has caused.
#[test]
fn many_numbers_in_a_row_may_be_taken() {
    on_every_store(|world| {
        const TAKEN: i64 = 12_000;
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        let taken = world.engine.store().wait(Mode::Write, |tx: &mut Tx<'_>| {
            let sql = "with recursive taken (number) as (
                           select cast(2 as bigint) union all select number + 1 from taken where number < ?1)
                       insert into entity (project_id, id, kind, number, title, priority, status, creator_id, version,
                           content_version, created_at, updated_at)
                       select e.project_id, 'taken ' || taken.number, e.kind, taken.number, e.title, e.priority, e.status,
                              e.creator_id, 1, 1, 0, 0
                       from taken cross join entity e where e.number = 1";
            tx.execute(sql, values![TAKEN])
        });
        assert_eq!(taken, Ok(TAKEN as u64 - 1));
        for next in 1..=3 {
            assert_eq!(create_epic(world), TAKEN + next);
        }
    });
}

/// A list that creates an epic, four stories and many requirements, after something else.
fn creates(project: &str, first: Option<Value>, n_requirements: usize) -> Value {
    const STORIES: usize = 4;
    let step = |operation: &str, arguments: Value| json!({ "operation": operation, "arguments": arguments });
    let epic = usize::from(first.is_some());
    let mut operations: Vec<Value> = first.into_iter().collect();
    operations.push(step("create_epic", json!({ "project": project, "title": "Shop", "priority": 1 })));
    for number in 1..=STORIES {
        let title = format!("Story {number}");
        let epic_id = format!("${epic}.id");
        operations
            .push(step("create_user_story", json!({ "epic_id": epic_id, "title": title, "priority": 2 })));
    }
    for number in 1..=n_requirements {
        let arguments = json!({
            "user_story_id": format!("${}.id", epic + 1 + number % STORIES), "title": format!("Requirement {number}"),
            "type_id": "Functional", "priority": number % 4 + 1,
            "description": format!("The shop must answer within {number} ms while order {project} is being packed."),
        });
        operations.push(step("create_requirement", arguments));
    }
    json!({ "operations": operations })
}

#[test]
fn a_circle_closed_from_both_sides_stays_open() {
    on_two_servers(|one, other| {
        const ROUNDS: usize = 12;
        story(one);
        for round in 0..ROUNDS {
            let [a, b, c, d] = [(); 4].map(|()| requirement(one));
            relate(one, &a, "depends_on", &b).expect("the first half");
            relate(one, &c, "derives_from", &d).expect("the second half");
            let outcomes = at_once(2, |side| match (side, round % 2) {
                (0, _) => outcome(relate(one, &b, "blocks", &c)),
                (_, 0) => outcome(relate(one, &d, "depends_on", &a)),
                _ => outcome(relate(other, &d, "depends_on", &a)),
            });
            let n_made = outcomes.iter().filter(|outcome| **outcome == "ok").count();
            assert_eq!((n_made, outcomes.contains(&"CONFLICT")), (1, true), "{outcomes:?}");
        }
    });
}

#[test]
fn the_same_relationship_is_made_once() {
    on_two_servers(|one, other| {
        story(one);
        let (a, b) = (requirement(one), requirement(one));
        let outcomes = at_once(THREADS, |number| {
            outcome(relate(if number % 2 == 0 { one } else { other }, &a, "relates_to", &b))
        });
        assert_eq!(count(&outcomes, "ok"), 1, "{outcomes:?}");
        assert_eq!(count(&outcomes, "CONFLICT"), THREADS - 1, "{outcomes:?}");
    });
}

#[test]
fn nothing_is_added_below_an_entity_that_is_being_deleted() {
    on_two_servers(|one, other| {
        const ROUNDS: usize = 25;
        for round in 0..ROUNDS {
            let epic = one.ok("create_epic", json!({ "title": "Epic", "priority": 1 }))["id"].clone();
            let other = if round % 2 == 0 { one } else { other };
            let results = at_once(4, |thread| match thread {
                0 => one.call("delete_entity", json!({ "reference": epic, "force": round % 3 == 0 })),
                3 => other.call("add_comment", json!({ "reference": epic, "content": "Why?" })),
                _ => other
                    .call("create_user_story", json!({ "epic_id": epic, "title": "Story", "priority": 1 })),
            });
            let is_deleted =
                one.ok("get_entity", json!({ "reference": epic, "include_deleted": true }))["deleted_at"]
                    .is_string();
            assert_eq!(is_deleted, results[0].is_ok());
            for made in results[1..3].iter().flatten() {
                let story = one.ok("get_entity", json!({ "reference": made["id"], "include_deleted": true }));
                assert_eq!(
                    story["deleted_at"].is_string(),
                    is_deleted,
                    "a story and its epic live and die together"
                );
            }
            if let Ok(comment) = &results[3] {
                let found = outcome(one.call("get_comment", json!({ "comment_id": comment["id"] })));
                assert_eq!(found == "NOT_FOUND", is_deleted, "a comment and its epic live and die together");
            }
            for result in results {
                assert!(["ok", "NOT_FOUND", "CONFLICT"].contains(&outcome(result)));
            }
        }
    });
}

#[test]
fn no_requirement_is_related_to_what_is_being_deleted() {
    on_two_servers(|one, other| {
        const ROUNDS: usize = 15;
        story(one);
        for round in 0..ROUNDS {
            let (a, b) = (requirement(one), requirement(one));
            let other = if round % 2 == 0 { one } else { other };
            let results = at_once(2, |thread| match thread {
                0 => one.call("delete_entity", json!({ "reference": b, "force": round % 3 == 0 })),
                _ => relate(other, &a, "relates_to", &b),
            });
            let relations =
                one.ok("list_relationships", json!({ "requirement_id": a }))["total_count"].clone();
            assert_eq!(relations == 1, results[0].is_err(), "{results:?}");
        }
    });
}

#[test]
fn two_administrators_cannot_demote_each_other() {
    on_two_servers(|one, other| {
        for round in 0..8 {
            let names = [format!("ann{round}"), format!("bob{round}")];
            let tokens = names.each_ref().map(|name| {
                user(one, name, "Administrator");
                token(one, name, &["admin"])
            });
            // The one from the first start must not be the one who stays.
            one.call_as(
                Credentials::Local(None),
                "update_user",
                json!({ "user": "admin", "disabled": true }),
            )
            .expect("there are others");
            let outcomes = at_once(2, |number| {
                let world = if number == 0 { one } else { other };
                let arguments = json!({ "user": names[1 - number], "disabled": true });
                outcome(world.call_as(tokens[number].clone(), "update_user", arguments))
            });
            assert_eq!(count(&outcomes, "ok"), 1, "{outcomes:?}");
            one.call_as(
                Credentials::Local(None),
                "update_user",
                json!({ "user": "admin", "disabled": false }),
            )
            .expect("an administrator is left");
            for name in &names {
                one.ok("update_user", json!({ "user": name, "disabled": true }));
            }
        }
    });
}

#[test]
fn one_name_is_given_once_and_one_prompt_is_active() {
    on_two_servers(|one, other| {
        for (name, arguments) in [
            ("create_project", json!({ "key": "ABC", "name": "Project" })),
            ("create_requirement_type", json!({ "name": "Security" })),
            ("create_user", json!({ "username": "ann", "email": "ann@example.org", "role": "User" })),
            ("create_prompt", json!({ "name": "review", "title": "Review", "content": "Review it." })),
        ] {
            let outcomes = at_once(THREADS, |number| {
                outcome(if number % 2 == 0 { one } else { other }.call(name, arguments.clone()))
            });
            assert_eq!(count(&outcomes, "ok"), 1, "{name}: {outcomes:?}");
            assert_eq!(count(&outcomes, "CONFLICT"), THREADS - 1, "{name}: {outcomes:?}");
        }
        let prompts: Vec<Value> = (0..THREADS)
            .map(|number| {
                one.ok("create_prompt", json!({ "name": format!("p{number}"), "title": "P", "content": "P" }))
            })
            .collect();
        let outcomes = at_once(THREADS, |number| {
            let world = if number % 2 == 0 { one } else { other };
            outcome(world.call("activate_prompt", json!({ "prompt_id": prompts[number]["id"] })))
        });
        assert_eq!(count(&outcomes, "ok"), THREADS, "{outcomes:?}");
        let list = one.ok("list_prompts", json!({}));
        let n_active =
            list["data"].as_array().expect("a list").iter().filter(|prompt| prompt["active"] == true).count();
        assert_eq!(n_active, 1);
    });
}

pub fn story(world: &World) {
    world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
    world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Story", "priority": 1 }));
}

/// Makes a requirement and returns its id.
pub fn requirement(world: &World) -> Value {
    let arguments =
        json!({ "user_story_id": "US-001", "title": "Requirement", "type_id": "Data", "priority": 1 });
    world.ok("create_requirement", arguments)["id"].clone()
}

pub fn relate(world: &World, source: &Value, kind: &str, target: &Value) -> Result<Value, ops::Error> {
    world.call(
        "create_relationship",
        json!({ "source_requirement_id": source, "relationship_type_id": kind, "target_requirement_id": target }),
    )
}

pub fn count(outcomes: &[&str], wanted: &str) -> usize {
    outcomes.iter().filter(|outcome| **outcome == wanted).count()
}

/// Runs `body` on so many threads that all begin at the same moment.
pub fn at_once<T: Send>(n_threads: usize, body: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(n_threads);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads)
            .map(|number| {
                let (barrier, body) = (&barrier, &body);
                scope.spawn(move || {
                    barrier.wait();
                    body(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
    })
}
