//! One-time links to sign in with: who makes them, that each works once, and what ends them.

use ops::Credentials;
use serde_json::{Value, json};
use store::Mode;
use store::backup::{Choices, backup, restore};
use store::{Location, Options};

use crate::contention::at_once;
use crate::people::{PASSWORD, outcome, session, token, user};
use crate::stores::{World, on_every_store};

/// Makes a link, and returns its code.
fn link(world: &World, who: Credentials, arguments: Value) -> String {
    let made = world.call_as(who, "create_sign_in_link", arguments).expect("a link");
    let code = made["url"].as_str().and_then(|url| url.strip_prefix("/welcome?code=")).expect("a code");
    code.to_owned()
}

fn administrator() -> Credentials {
    Credentials::Local(None)
}

fn follow(world: &World, arguments: Value) -> Result<Value, ops::Error> {
    world.call_as(Credentials::None, "use_sign_in_link", arguments)
}

fn login(world: &World, password: &str) -> &'static str {
    let arguments = json!({ "username": "ann", "password": password });
    outcome(world.call_as(Credentials::None, "login", arguments))
}

#[test]
fn a_link_signs_in_once() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let made =
            world.call_as(administrator(), "create_sign_in_link", json!({ "user": "ann" })).expect("a link");
        assert_eq!((&made["user"], &made["sets_password"]), (&json!("ann"), &json!(true)));
        assert_eq!(made["expires_in"], "10 minutes");
        let code = made["url"].as_str().expect("a URL").strip_prefix("/welcome?code=").expect("a code");
        assert_eq!(code.len(), 43);
        for _ in 0..2 {
            let known = world.call_as(Credentials::None, "get_sign_in_link", json!({ "code": code }));
            assert_eq!(known.expect("a link")["user"], "ann", "looking does not use it up");
        }
        let begun = follow(world, json!({ "code": code })).expect("a session");
        let secret = Credentials::Bearer(begun["session"].as_str().expect("a secret").to_owned());
        let me = world.call_as(secret.clone(), "who_am_i", json!({})).expect("an answer");
        assert_eq!(me["username"], "ann");
        let sessions = world.call_as(secret, "list_sessions", json!({})).expect("a list");
        assert_eq!(sessions["data"][0]["begun_with"], "link");
        for name in ["use_sign_in_link", "get_sign_in_link"] {
            let error =
                world.call_as(Credentials::None, name, json!({ "code": code })).expect_err("it is used up");
            assert_eq!(error.kind.code(), "UNAUTHENTICATED");
            assert!(error.message.contains("spexus sign-in-link"), "{error}");
        }
        assert_eq!(login(world, PASSWORD), "ok", "the password stays");
        for event in ["create_sign_in_link", "link_used"] {
            let trail = world.ok("list_audit", json!({ "event": event }));
            assert_eq!(trail["total_count"], 1, "{event}");
            assert!(!trail.to_string().contains(code), "{trail}");
        }
    });
}

#[test]
fn of_many_who_follow_a_link_at_once_one_signs_in() {
    on_every_store(|world| {
        let code = link(world, administrator(), json!({}));
        let outcomes = at_once(8, |_| outcome(follow(world, json!({ "code": code }))));
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == "ok").count(), 1, "{outcomes:?}");
    });
}

#[test]
fn a_link_works_for_ten_minutes_and_until_the_next_one() {
    on_every_store(|world| {
        let first = link(world, administrator(), json!({}));
        let second = link(world, administrator(), json!({}));
        assert_eq!(outcome(follow(world, json!({ "code": first }))), "UNAUTHENTICATED");
        world.pass_seconds(599);
        assert_eq!(outcome(follow(world, json!({ "code": second }))), "ok");
        let third = link(world, administrator(), json!({}));
        world.pass_seconds(601);
        assert_eq!(outcome(follow(world, json!({ "code": third }))), "UNAUTHENTICATED");
    });
}

#[test]
fn a_link_can_set_the_password_which_ends_other_sessions() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let before = session(world, "ann");
        let code = link(world, administrator(), json!({ "user": "ann" }));
        let short = follow(world, json!({ "code": code, "new_password": "short" }));
        assert_eq!(outcome(short), "VALIDATION_ERROR", "and the link is not used up");
        let begun =
            follow(world, json!({ "code": code, "new_password": "another long one" })).expect("a session");
        assert_eq!((login(world, PASSWORD), login(world, "another long one")), ("UNAUTHENTICATED", "ok"));
        assert_eq!(outcome(world.call_as(before, "who_am_i", json!({}))), "UNAUTHENTICATED");
        let own = Credentials::Bearer(begun["session"].as_str().expect("a secret").to_owned());
        assert_eq!(outcome(world.call_as(own, "who_am_i", json!({}))), "ok");
        assert_eq!(world.ok("list_audit", json!({ "event": "password_changed" }))["total_count"], 1);
    });
}

#[test]
fn links_of_others_and_links_that_set_a_password_are_for_administrators() {
    on_every_store(|world| {
        user(world, "ann", "User");
        user(world, "bob", "User");
        let ann = session(world, "ann");
        let make = |who: &Credentials, arguments: Value| {
            outcome(world.call_as(who.clone(), "create_sign_in_link", arguments))
        };
        assert_eq!(make(&ann, json!({ "user": "bob" })), "FORBIDDEN");
        assert_eq!(make(&token(world, "ann", &["admin"]), json!({})), "FORBIDDEN");
        assert_eq!(make(&administrator(), json!({ "user": "nobody" })), "VALIDATION_ERROR");
        // Otherwise a stolen session could take the account over without the present password.
        let own = link(world, ann, json!({}));
        let error =
            follow(world, json!({ "code": own, "new_password": "another long one" })).expect_err("a refusal");
        assert_eq!((error.kind.code(), error.fields[0].field.as_str()), ("VALIDATION_ERROR", "new_password"));
        assert_eq!(outcome(follow(world, json!({ "code": own }))), "ok");
        let only = link(world, administrator(), json!({ "user": "ann", "sign_in_only": true }));
        let arguments = json!({ "code": only, "new_password": "another long one" });
        assert_eq!(outcome(follow(world, arguments)), "VALIDATION_ERROR");
    });
}

#[test]
fn a_link_ends_with_what_ends_sessions() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let of_ann = || link(world, administrator(), json!({ "user": "ann" }));
        let changed = of_ann();
        let arguments = json!({ "current_password": PASSWORD, "new_password": "another long one" });
        world.call_as(session(world, "ann"), "change_password", arguments).expect("a change");
        assert_eq!(outcome(follow(world, json!({ "code": changed }))), "UNAUTHENTICATED");
        let disabled = of_ann();
        world.ok("update_user", json!({ "user": "ann", "disabled": true }));
        assert_eq!(outcome(follow(world, json!({ "code": disabled }))), "UNAUTHENTICATED");
        let made = world.call_as(administrator(), "create_sign_in_link", json!({ "user": "ann" }));
        assert_eq!(outcome(made), "CONFLICT");
        user(world, "bob", "User");
        let gone = link(world, administrator(), json!({ "user": "bob" }));
        world.ok("delete_user", json!({ "user": "bob" }));
        assert_eq!(outcome(follow(world, json!({ "code": gone }))), "UNAUTHENTICATED");
    });
}

#[test]
fn a_link_is_stored_as_a_hash_and_not_in_backups() {
    on_every_store(|world| {
        let code = link(world, administrator(), json!({}));
        let hashes: Vec<String> = world
            .engine
            .store()
            .wait(Mode::Snapshot, |tx| tx.rows("select hash from sign_in_link", &[], |row| row.get(0)))
            .expect("rows");
        assert_eq!(hashes.len(), 1);
        assert!(hashes[0].len() == 64 && !hashes[0].contains(&code), "{hashes:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("spexus.backup");
        backup(world.engine.store(), &file, world.now(), |_| {}).expect("a backup");
        let bytes = std::fs::read(&file).expect("a file");
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!has(&hashes[0]) && !has(&code), "a backup has a link");
        let restored = Location::Sqlite(folder.path().join("restored.db"));
        restore(&restored, &file, Choices::default(), Options::default(), world.now(), |_| {})
            .expect("a store");
        let copy = world.beside(&restored);
        assert_eq!(outcome(follow(&copy, json!({ "code": code }))), "UNAUTHENTICATED");
        assert_eq!(outcome(follow(world, json!({ "code": code }))), "ok");
    });
}
