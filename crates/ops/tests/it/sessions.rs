//! Sessions: what begins one, who sees and revokes it, and that none outlives what ended it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ops::Credentials;
use serde_json::{Value, json};
use store::{Mode, Tx, user};

use crate::contention::at_once;
use crate::people::{PASSWORD, outcome, session, token, user};
use crate::stores::{World, on_every_store};

fn begin(world: &World, arguments: Value) -> (String, Credentials) {
    let begun = world.call_as(Credentials::None, "login", arguments).expect("a session");
    let id = begun["id"].as_str().expect("an id").to_owned();
    (id, Credentials::Bearer(begun["session"].as_str().expect("a secret").to_owned()))
}

fn who(world: &World, credentials: &Credentials) -> &'static str {
    outcome(world.call_as(credentials.clone(), "who_am_i", json!({})))
}

fn secret(credentials: &Credentials) -> &str {
    match credentials {
        Credentials::Bearer(secret) => secret,
        _ => panic!("not a secret"),
    }
}

#[test]
fn a_session_does_not_begin_another_one() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let own = session(world, "ann");
        let again = |expected: &str| {
            let arguments = json!({ "token": secret(&own) });
            let error = world.call_as(Credentials::None, "login", arguments).expect_err("a refusal");
            assert_eq!((error.kind.code(), error.message.as_str()), ("VALIDATION_ERROR", expected));
        };
        let expected = "token: expected a personal access token (mcp_pat_…), found the secret of a session";
        again(expected);
        assert_eq!(outcome(world.call_as(own.clone(), "logout", json!({}))), "ok");
        again(expected);
        let by_token = token(world, "ann", &["read"]);
        assert_eq!(who(world, &begin(world, json!({ "token": secret(&by_token) })).1), "ok");
    });
}

#[test]
fn users_list_and_revoke_their_sessions() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let password = json!({ "username": "ann", "password": PASSWORD });
        let (first_id, first) = begin(world, password.clone());
        let (own_id, own) = begin(world, password);
        let by_token = token(world, "ann", &["full_access"]);
        let (token_session_id, by_token_session) = begin(world, json!({ "token": secret(&by_token) }));
        let list = |who: &Credentials| {
            world.call_as(who.clone(), "list_sessions", json!({})).expect("a list")["data"].take()
        };
        let listed = list(&own);
        let ids = [&listed[0], &listed[1], &listed[2]].map(|session| session["id"].as_str().expect("an id"));
        assert_eq!(ids, [&token_session_id, &own_id, &first_id], "the newest first");
        let is_current = |listed: &Value| [0, 1, 2].map(|index| listed[index]["current"] == true);
        assert_eq!(is_current(&listed), [false, true, false]);
        assert_eq!(is_current(&list(&by_token)), [false; 3], "a token is not a session");
        let newest = &listed[0];
        assert_eq!((&newest["begun_with"], &newest["token"]), (&json!("token"), &json!("for full_access")));
        let own_row = &listed[1];
        assert_eq!((&own_row["begun_with"], &own_row["token"]), (&json!("password"), &Value::Null));
        assert_eq!((&own_row["user"], &own_row["address"]), (&json!("ann"), &json!("192.0.2.7")));
        assert_eq!(own_row["user_agent"], "test");
        let all = listed.to_string();
        for credentials in [&first, &own, &by_token_session] {
            assert!(!all.contains(&secret(credentials)["spexus_session_".len()..]), "a secret is listed");
        }
        let of_other_bytes =
            |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(!all.split('"').any(of_other_bytes), "a hash is listed: {all}");

        let revoke = |who: &Credentials, id: &str| {
            outcome(world.call_as(who.clone(), "revoke_session", json!({ "session_id": id })))
        };
        assert_eq!(revoke(&own, &first_id), "ok");
        assert_eq!((who(world, &first), revoke(&own, &first_id)), ("UNAUTHENTICATED", "NOT_FOUND"));
        let audit = world.ok("list_audit", json!({ "event": "revoke_session" }));
        assert_eq!((&audit["data"][0]["actor"], &audit["total_count"]), (&json!("ann"), &json!(1)));
        let revoked = world.call_as(own.clone(), "revoke_other_sessions", json!({})).expect("an answer");
        assert_eq!(revoked, json!({ "revoked": 1 }));
        assert_eq!((who(world, &own), who(world, &by_token_session)), ("ok", "UNAUTHENTICATED"));
        assert_eq!(revoke(&own, &own_id), "ok");
        assert_eq!(who(world, &own), "UNAUTHENTICATED");
    });
}

#[test]
fn sessions_of_others_are_for_administrators() {
    on_every_store(|world| {
        user(world, "ann", "User");
        user(world, "bob", "User");
        let (id, ann) = begin(world, json!({ "username": "ann", "password": PASSWORD }));
        let bob = session(world, "bob");
        let call = |name: &str, arguments: &Value| {
            [bob.clone(), Credentials::Local(None)]
                .map(|who| outcome(world.call_as(who, name, arguments.clone())))
        };
        let theirs = json!({ "user": "ann" });
        assert_eq!(call("list_sessions", &theirs), ["FORBIDDEN", "ok"]);
        assert_eq!(call("revoke_session", &json!({ "session_id": id })), ["NOT_FOUND", "ok"]);
        assert_eq!(who(world, &ann), "UNAUTHENTICATED");
        let again = session(world, "ann");
        assert_eq!(call("revoke_other_sessions", &theirs), ["FORBIDDEN", "ok"]);
        assert_eq!((who(world, &again), who(world, &bob)), ("UNAUTHENTICATED", "ok"));
        assert_eq!(call("revoke_session", &json!({ "session_id": "nonsense" })), ["NOT_FOUND"; 2]);
    });
}

#[test]
fn a_session_says_when_it_was_used_and_is_not_listed_after_its_end() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let own = session(world, "ann");
        let list = || world.ok("list_sessions", json!({ "user": "ann" }));
        world.pass_seconds(120);
        assert_eq!(who(world, &own), "ok");
        let used = (0..100).find_map(|_| {
            // The use is noted after the answer.
            thread::sleep(Duration::from_millis(20));
            list()["data"][0]["last_used_at"].as_str().map(str::to_owned)
        });
        assert!(used.is_some_and(|used| used.starts_with("2026-11-15T08:02")), "{}", list());
        let made = world.ok("create_token", json!({ "name": "short", "user": "ann", "expires_in": "1h" }));
        begin(world, json!({ "token": made["token"] }));
        assert_eq!(list()["total_count"], 2);
        world.pass_seconds(3_601);
        assert_eq!(list()["total_count"], 1, "the session ended with its token");
        world.pass_seconds(12 * 3_600);
        assert_eq!(list()["total_count"], 0);
    });
}

/// Logs in while a change that was not committed yet waits, commits the change, and returns what came of the login.
fn log_in_during(
    world: &World,
    login: Value,
    mut change: impl FnMut(&mut Tx<'_>) -> store::Result<()> + Send + 'static,
) -> &'static str {
    /// Long enough for the login to have read what the change is about to replace.
    const PAUSE: Duration = Duration::from_millis(200);
    let (changed, has_changed) = mpsc::channel();
    thread::scope(|scope| {
        let store = world.engine.store().clone();
        let writer = scope.spawn(move || {
            store.wait(Mode::Write, move |tx| -> store::Result<()> {
                change(tx)?;
                let _ = changed.send(());
                thread::sleep(PAUSE);
                Ok(())
            })
        });
        has_changed.recv().expect("a change");
        let outcome = outcome(world.call_as(Credentials::None, "login", login));
        writer.join().expect("no panic").expect("a change");
        outcome
    })
}

#[test]
fn no_session_outlives_what_ended_it_while_it_began() {
    on_every_store(|world| {
        let id = user(world, "ann", "User")["id"].as_str().expect("an id").to_owned();
        let by_token = token(world, "ann", &["read"]);
        let password = json!({ "username": "ann", "password": PASSWORD });
        let with_token = json!({ "token": secret(&by_token) });
        let disable = |id: &str| {
            let id = id.to_owned();
            move |tx: &mut Tx<'_>| {
                let mut user = user::find(tx, &id)?.expect("a user");
                (user.disabled, user.version) = (true, user.version + 1);
                user::update(tx, &user)?;
                store::session::end_others(tx, &id, None)
            }
        };
        let enable = || world.ok("update_user", json!({ "user": "ann", "disabled": false }));
        let n_sessions = || world.ok("list_sessions", json!({ "user": "ann" }))["total_count"].clone();
        assert_eq!(log_in_during(world, password.clone(), disable(&id)), "UNAUTHENTICATED");
        enable();
        assert_eq!(log_in_during(world, with_token.clone(), disable(&id)), "UNAUTHENTICATED");
        enable();
        assert_eq!(n_sessions(), 0);

        let list = world.ok("list_tokens", json!({ "user": "ann" }));
        let token_id = list["data"][0]["id"].as_str().expect("an id").to_owned();
        let revoke = move |tx: &mut Tx<'_>| {
            let token = store::token::find(tx, &token_id)?.expect("a token");
            store::token::delete(tx, &token).map(drop)
        };
        // Where the token was still there when it was looked for, its end is a conflict.
        let refused = log_in_during(world, with_token, revoke);
        assert!(["UNAUTHENTICATED", "CONFLICT"].contains(&refused), "{refused}");

        let change = move |tx: &mut Tx<'_>| {
            user::set_password(tx, &id, "another hash")?;
            store::session::end_others(tx, &id, None)
        };
        assert_eq!(log_in_during(world, password, change), "UNAUTHENTICATED");
        assert_eq!(n_sessions(), 0);
    });
}

/// The other order: the session is not committed yet when what ends it begins.
#[test]
fn a_session_that_has_just_begun_ends_with_the_others() {
    on_every_store(|world| {
        let id = user(world, "ann", "User")["id"].as_str().expect("an id").to_owned();
        let disable = json!({ "user": "ann", "disabled": true });
        let set_password = json!({ "user": "ann", "password": "another password" });
        for (number, change) in [disable, set_password].into_iter().enumerate() {
            let (begun, has_begun) = mpsc::channel();
            let (user_id, now) = (id.clone(), world.now());
            let begin = move |tx: &mut Tx<'_>| -> store::Result<()> {
                assert!(user::hold(tx, &user_id)?);
                let (session_id, hash) = (format!("session {number}"), format!("hash {number}"));
                let new = store::session::BeginSession {
                    id: &session_id,
                    hash: &hash,
                    user_id: &user_id,
                    token_id: None,
                    with_link: false,
                    address: None,
                    user_agent: None,
                    expires_at: now.plus_seconds(3_600),
                };
                store::session::begin(tx, &new, now)?;
                let _ = begun.send(());
                thread::sleep(Duration::from_millis(200));
                Ok(())
            };
            let store = world.engine.store().clone();
            let writer = thread::spawn(move || store.wait(Mode::Write, begin));
            has_begun.recv().expect("a session");
            world.ok("update_user", change);
            writer.join().expect("no panic").expect("a session");
            assert_eq!(world.ok("list_sessions", json!({ "user": "ann" }))["total_count"], 0, "{number}");
            world.ok("update_user", json!({ "user": "ann", "disabled": false }));
        }
    });
}

#[test]
fn of_two_changes_of_a_password_at_once_one_wins() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let sessions = [session(world, "ann"), session(world, "ann")];
        let outcomes = at_once(2, |number| {
            let arguments =
                json!({ "current_password": PASSWORD, "new_password": format!("password {number}") });
            outcome(world.call_as(sessions[number].clone(), "change_password", arguments))
        });
        let winner = outcomes.iter().position(|outcome| *outcome == "ok").expect("one that wins");
        assert!(["VALIDATION_ERROR", "UNAUTHENTICATED"].contains(&outcomes[1 - winner]), "{outcomes:?}");
        let login = |number: usize| {
            let arguments = json!({ "username": "ann", "password": format!("password {number}") });
            outcome(world.call_as(Credentials::None, "login", arguments))
        };
        assert_eq!((login(winner), login(1 - winner)), ("ok", "UNAUTHENTICATED"));
        assert_eq!(who(world, &sessions[winner]), "ok");
        assert_eq!(who(world, &sessions[1 - winner]), "UNAUTHENTICATED");
    });
}

#[test]
fn the_oldest_of_too_many_sessions_ends() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let by_token = token(world, "ann", &["read"]);
        let (_, first) = begin(world, json!({ "token": secret(&by_token) }));
        let (_, second) = begin(world, json!({ "token": secret(&by_token) }));
        let now = world.now();
        let id = world.ok("get_user", json!({ "user": "ann" }))["id"].as_str().expect("an id").to_owned();
        let fill = move |tx: &mut Tx<'_>| -> store::Result<()> {
            for number in 2..store::session::SESSIONS_MAX {
                let (session_id, hash) = (format!("session {number}"), format!("hash {number}"));
                let new = store::session::BeginSession {
                    id: &session_id,
                    hash: &hash,
                    user_id: &id,
                    token_id: None,
                    with_link: false,
                    address: None,
                    user_agent: None,
                    expires_at: now.plus_seconds(3_600),
                };
                store::session::begin(tx, &new, now)?;
            }
            Ok(())
        };
        world.engine.store().wait(Mode::Write, fill).expect("sessions");
        assert_eq!((who(world, &first), who(world, &second)), ("ok", "ok"));
        begin(world, json!({ "token": secret(&by_token) }));
        assert_eq!((who(world, &first), who(world, &second)), ("UNAUTHENTICATED", "ok"));
    });
}
