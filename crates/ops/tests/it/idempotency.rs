//! The same request sent twice happens once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ops::{Credentials, Engine, Error, ErrorKind, Reply};
use serde_json::{Value, json};
use store::Mode;

use crate::people::{token, user};
use crate::stores::{World, on_every_store, on_two_servers};

#[test]
fn a_repeated_request_gets_the_first_answer() {
    on_every_store(|world| {
        let first = send(world, "key", epic("Checkout"));
        let again = send(world, "key", epic("Checkout"));
        assert_eq!((first.replayed, again.replayed), (false, true));
        assert_eq!(first.result, again.result);
        assert_eq!(n_epics(world), 1);

        // The order of fields means nothing in JSON.
        let turned = json!({ "priority": 1, "title": "Checkout" });
        assert_eq!(send(world, "key", turned).result, first.result);
        let other = send(world, "key", epic("Something else"));
        assert_eq!(kind(&other), Some(ErrorKind::IdempotencyKeyReused));
        assert_eq!(n_epics(world), 1);

        // What changes in between does not change the answer.
        world.ok("update_epic", json!({ "epic_id": "EP-001", "title": "New" }));
        assert_eq!(send(world, "key", epic("Checkout")).result, first.result);
    });
}

#[test]
fn a_key_belongs_to_one_user_and_one_operation() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let ann = token(world, "ann", &["write"]);
        let first = send(world, "key", epic("Checkout"));
        let of_ann = world.reply(ann, "create_epic", epic("Checkout"), Some("key"));
        let document = world.reply(
            admin(world),
            "create_steering_document",
            json!({ "title": "Checkout" }),
            Some("key"),
        );
        assert!(!first.replayed && !of_ann.replayed && !document.replayed);
        assert_eq!((kind(&of_ann), kind(&document), n_epics(world)), (None, None, 2));
        // The same user with another token is the same user.
        let other_token = token(world, "admin", &["write"]);
        assert!(world.reply(other_token, "create_epic", epic("Checkout"), Some("key")).replayed);
    });
}

#[test]
fn a_refusal_is_given_again() {
    on_every_store(|world| {
        world.ok("create_epic", epic("Checkout"));
        world.ok("create_user_story", json!({ "epic_id": "EP-001", "title": "Pay", "priority": 1 }));
        let delete =
            || world.reply(admin(world), "delete_entity", json!({ "reference": "EP-001" }), Some("key"));
        let first = delete();
        assert_eq!(kind(&first), Some(ErrorKind::Conflict));
        world.ok("delete_entity", json!({ "reference": "US-001" }));
        let again = delete();
        assert!(again.replayed);
        assert_eq!(again.result, first.result);
        assert_eq!(world.ok("get_entity", json!({ "reference": "EP-001" }))["version"], 1);
    });
}

#[test]
fn invalid_arguments_are_a_stored_answer_too() {
    on_every_store(|world| {
        let wrong = json!({ "title": "", "priority": 9 });
        let first = send(world, "key", wrong.clone());
        assert_eq!(kind(&first), Some(ErrorKind::ValidationError));
        let again = send(world, "key", wrong);
        assert!(again.replayed && !first.replayed);
        assert_eq!(again.result, first.result);
        assert_eq!(kind(&send(world, "key", epic("Checkout"))), Some(ErrorKind::IdempotencyKeyReused));
        // Who may not ask is told that, and nothing is kept for them.
        let stranger = Credentials::Bearer("mcp_pat_unknown".to_owned());
        let refused = world.reply(stranger, "create_epic", json!({}), Some("key"));
        assert_eq!(kind(&refused), Some(ErrorKind::Unauthenticated));
        assert_eq!(n_epics(world), 0);
    });
}

#[test]
fn a_mistake_of_ours_is_not_kept() {
    on_every_store(|world| {
        run(world, "alter table revision rename to elsewhere");
        let failed = send(world, "key", epic("Checkout"));
        assert_eq!(kind(&failed), Some(ErrorKind::InternalError));
        run(world, "alter table elsewhere rename to revision");
        assert_eq!(n_epics(world), 0);
        let mended = send(world, "key", epic("Checkout"));
        assert_eq!((kind(&mended), mended.replayed, n_epics(world)), (None, false, 1));
    });
}

#[test]
fn rate_limited_replies_are_not_stored() {
    on_every_store(|world| {
        let open = Arc::new(AtomicBool::new(false));
        let gate = open.clone();
        let engine: Engine = world.engine.clone().behind(Arc::new(move |_: &ops::Caller| {
            if gate.load(Ordering::Relaxed) {
                Ok(())
            } else {
                Err(Error::new(ErrorKind::RateLimited, "too often"))
            }
        }));
        let send = || {
            let entry = ops::find("create_epic").expect("an operation");
            engine.wait(world.the_call(entry, epic("Checkout"), Some("key")))
        };
        assert_eq!(kind(&send()), Some(ErrorKind::RateLimited));
        open.store(true, Ordering::Relaxed);
        let admitted = send();
        assert_eq!((kind(&admitted), admitted.replayed), (None, false));
        assert!(send().replayed);
    });
}

#[test]
fn concurrent_repeats_are_executed_once() {
    on_two_servers(|one, other| {
        for round in 0..10 {
            let key = format!("key {round}").replace(' ', "-");
            let replies = crate::contention::at_once(8, |number| {
                send(if number % 2 == 0 { one } else { other }, &key, epic("Checkout"))
            });
            let mut answers: Vec<String> = Vec::new();
            for reply in &replies {
                match &reply.result {
                    Ok(answer) => answers.push(answer.json.clone()),
                    Err(error) => {
                        assert_eq!(error.kind, ErrorKind::StillRunning, "{error}");
                        assert_eq!(error.retry_after_s, Some(1));
                    }
                }
            }
            answers.dedup();
            assert_eq!(answers.len(), 1);
            assert_eq!(replies.iter().filter(|reply| reply.result.is_ok() && !reply.replayed).count(), 1);
            assert_eq!(n_epics(one), round + 1);
            assert!(send(other, &key, epic("Checkout")).replayed);
        }
    });
}

#[test]
fn a_lost_race_is_not_kept() {
    on_two_servers(|one, other| {
        const CLIENTS: usize = 12;
        const EACH: usize = 5;
        one.ok("create_epic", epic("Checkout"));
        crate::contention::at_once(CLIENTS, |number| {
            let world = if number % 2 == 0 { one } else { other };
            for round in 0..EACH {
                let title = format!("{round} by {number}");
                let update = || {
                    let arguments = json!({ "epic_id": "EP-001", "title": title });
                    world.reply(admin(world), "update_epic", arguments, Some(&title.replace(' ', "-")))
                };
                let (first, again) = (update(), update());
                assert_eq!(kind(&first), None, "{:?}", first.result);
                assert!(again.replayed && !first.replayed);
                assert_eq!(again.result, first.result);
            }
        });
        let epic = one.ok("get_entity", json!({ "reference": "EP-001" }));
        assert_eq!(epic["version"], CLIENTS * EACH + 1);
    });
}

#[test]
fn secrets_are_not_kept() {
    on_every_store(|world| {
        let create = || world.reply(admin(world), "create_token", json!({ "name": "ci" }), Some("key"));
        assert_eq!(kind(&create()), None);
        assert_eq!(kind(&create()), Some(ErrorKind::Conflict));
        let sql = "select count(*) from idempotency";
        let n_kept: Option<i64> = world
            .engine
            .store()
            .wait(Mode::Snapshot, move |tx| tx.row(sql, &[], |row| row.get(0)))
            .expect("a number");
        assert_eq!(n_kept, Some(0));
    });
}

#[test]
fn a_key_is_visible_ascii() {
    on_every_store(|world| {
        for wrong in ["", "with blank", "ключ", "a\nb", &"x".repeat(256)] {
            assert_eq!(kind(&send(world, wrong, epic("x"))), Some(ErrorKind::ValidationError), "{wrong:?}");
        }
        assert_eq!(kind(&send(world, &"x".repeat(255), epic("x"))), None);
    });
}

fn send(world: &World, key: &str, arguments: Value) -> Reply {
    world.reply(admin(world), "create_epic", arguments, Some(key))
}

fn epic(title: &str) -> Value {
    json!({ "title": title, "priority": 1 })
}

fn n_epics(world: &World) -> i64 {
    world.ok("list_entities", json!({ "kind": "epic" }))["total_count"].as_i64().expect("a number")
}

fn kind(reply: &Reply) -> Option<ErrorKind> {
    reply.result.as_ref().err().map(|error| error.kind)
}

fn admin(world: &World) -> Credentials {
    Credentials::Bearer(world.first.token.clone())
}

fn run(world: &World, sql: &'static str) {
    world.engine.store().wait(Mode::Write, move |tx| tx.execute(sql, &[])).expect("a statement that runs");
}
