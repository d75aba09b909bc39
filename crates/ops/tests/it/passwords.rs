//! Hashing passwords: off the store's threads, bounded, and with the parameters of today.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};
use ops::{Call, Credentials, ErrorKind};
use serde_json::json;
use store::{Cancel, Mode, Tx, user};

use crate::contention::at_once;
use crate::people::{PASSWORD, outcome, session, user};
use crate::stores::{World, on_every_store};

/// A guess at the password of a user who may not exist.
fn guess(world: &World, name: &str) -> Call {
    let login = ops::find("login").expect("an operation");
    let arguments = json!({ "username": name, "password": "not it" });
    Call { credentials: Credentials::None, ..world.the_call(login, arguments, None) }
}

#[test]
fn reads_do_not_wait_for_passwords() {
    on_every_store(|world| {
        const GUESSES: usize = 24;
        user(world, "ann", "User");
        let n_answered = Arc::new(AtomicUsize::new(0));
        let (done, is_done) = mpsc::channel();
        for number in 0..GUESSES {
            let (n_answered, done) = (n_answered.clone(), done.clone());
            let call = guess(world, if number % 2 == 0 { "ann" } else { "nobody" });
            world.engine.call(call, move |reply| {
                n_answered.fetch_add(1, Ordering::SeqCst);
                done.send(outcome(reply.result.map(|_| json!({})))).expect("the test waits");
            });
        }
        world.ok("list_entities", json!({ "kind": "epic" }));
        let n_before = n_answered.load(Ordering::SeqCst);
        assert!(n_before < GUESSES / 2, "{n_before} guesses were answered before the read");
        for _ in 0..GUESSES {
            assert_eq!(is_done.recv(), Ok("UNAUTHENTICATED"));
        }
    });
}

#[test]
fn too_many_logins_at_once_get_retry_after() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let n_processors = thread::available_parallelism().map_or(1, usize::from);
        let n_guesses = 64 + n_processors + 20;
        let cancel = Cancel::default();
        let (done, is_done) = mpsc::channel();
        for _ in 0..n_guesses {
            let done = done.clone();
            let call = Call { cancel: Some(cancel.clone()), ..guess(world, "nobody") };
            world.engine.call(call, move |reply| {
                let error = reply.result.expect_err("a wrong password");
                done.send((error.kind, error.retry_after_s)).expect("the test waits");
            });
        }
        let mut replies = is_done.iter();
        let turned_away = replies.by_ref().find(|(kind, _)| *kind == ErrorKind::Unavailable);
        assert_eq!(turned_away, Some((ErrorKind::Unavailable, Some(2))));
        // What needs no password goes on.
        assert_eq!(world.ok("update_user", json!({ "user": "ann", "disabled": true }))["disabled"], true);
        cancel.cancel();
        world.ok("update_user", json!({ "user": "ann", "disabled": false }));
        drop((replies, done));
        for (kind, _) in is_done {
            assert!(
                [ErrorKind::Unavailable, ErrorKind::Timeout, ErrorKind::Unauthenticated].contains(&kind),
                "{kind:?}"
            );
        }
        assert_eq!(outcome(world.call_as(session(world, "ann"), "who_am_i", json!({}))), "ok");
    });
}

#[test]
fn a_hash_of_other_parameters_is_renewed_at_the_next_login() {
    on_every_store(|world| {
        let id = user(world, "ann", "User")["id"].as_str().expect("an id").to_owned();
        let before = session(world, "ann");
        let stored = || {
            let id = id.clone();
            let read = move |tx: &mut Tx<'_>| user::password_hash(tx, &id);
            world.engine.store().wait(Mode::Snapshot, read).expect("a user").expect("a hash")
        };
        let weak = weaken(world, &id);
        let wrong = json!({ "username": "ann", "password": "not it" });
        assert_eq!(outcome(world.call_as(Credentials::None, "login", wrong)), "UNAUTHENTICATED");
        assert_eq!(stored(), weak, "a wrong password renews nothing");
        session(world, "ann");
        let renewed = stored();
        assert!(renewed.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{renewed}");
        session(world, "ann");
        assert_eq!(stored(), renewed, "a current hash stays");
        assert_eq!(outcome(world.call_as(before, "who_am_i", json!({}))), "ok", "sessions stay");
    });
}

#[test]
fn a_hash_renewed_by_another_login_still_works() {
    on_every_store(|world| {
        let id = user(world, "ann", "User")["id"].as_str().expect("an id").to_owned();
        let own = session(world, "ann");
        weaken(world, &id);
        let outcomes = at_once(4, |_| {
            let arguments = json!({ "username": "ann", "password": PASSWORD });
            outcome(world.call_as(Credentials::None, "login", arguments))
        });
        assert_eq!(outcomes, ["ok"; 4]);
        weaken(world, &id);
        let outcomes = at_once(2, |number| {
            let (who, name, arguments) = match number {
                0 => (Credentials::None, "login", json!({ "username": "ann", "password": PASSWORD })),
                _ => {
                    let arguments =
                        json!({ "current_password": PASSWORD, "new_password": "another password" });
                    (own.clone(), "change_password", arguments)
                }
            };
            outcome(world.call_as(who, name, arguments))
        });
        // A login that is later than the change has the old password.
        assert!(["ok", "UNAUTHENTICATED"].contains(&outcomes[0]) && outcomes[1] == "ok", "{outcomes:?}");
    });
}

/// Stores the password of a user with weaker parameters, and returns its hash.
fn weaken(world: &World, user_id: &str) -> String {
    let params = Params::new(64, 1, 1, None).expect("parameters");
    let weak = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let weak = weak.hash_password(PASSWORD.as_bytes()).expect("a hash").to_string();
    let (id, hash) = (user_id.to_owned(), weak.clone());
    let set = move |tx: &mut Tx<'_>| user::set_password(tx, &id, &hash);
    world.engine.store().wait(Mode::Write, set).expect("a hash");
    weak
}
