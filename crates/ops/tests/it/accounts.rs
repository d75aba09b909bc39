//! Credentials that no longer count, and what is one's own.

use ops::Credentials;
use serde_json::{Value, json};
use store::Mode;

use crate::people::{PASSWORD, outcome, session, token, user};
use crate::stores::{World, on_every_store};

#[test]
fn credentials_that_do_not_count_are_refused() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let who =
            |credentials: &Credentials| outcome(world.call_as(credentials.clone(), "who_am_i", json!({})));
        let bearer = |secret: &str| Credentials::Bearer(secret.to_owned());

        let good = token(world, "ann", &["read"]);
        assert_eq!(who(&good), "ok");
        let Credentials::Bearer(secret) = &good else { unreachable!("a token is a bearer's") };
        for malformed in [
            "",
            "mcp_pat_",
            "ann",
            &secret[1..],
            &secret[..secret.len() - 1],
            &format!("{secret} "),
            &format!("{secret}\0"),
            &secret.to_uppercase(),
            &format!("mcp_pat_{}", "A".repeat(43)),
            &format!("spexus_session_{}", &secret[8..]),
            "mcp_pat_' or '1' = '1",
        ] {
            assert_eq!(who(&bearer(malformed)), "UNAUTHENTICATED", "{malformed:?}");
        }
        assert_eq!(who(&Credentials::Local(Some("nobody".to_owned()))), "NOT_FOUND");

        let made = world.ok("create_token", json!({ "name": "short", "user": "ann", "expires_in": "1d" }));
        let short = bearer(made["token"].as_str().expect("a secret"));
        assert_eq!(who(&short), "ok");
        world.pass_seconds(86_400);
        assert_eq!(who(&short), "UNAUTHENTICATED");

        let list = world.ok("list_tokens", json!({ "user": "ann" }));
        let id = list["data"]
            .as_array()
            .and_then(|tokens| tokens.iter().find(|token| token["name"] == "for read"));
        let id = id.expect("the first token")["id"].clone();
        assert!(!list.to_string().contains(&secret[12..]), "a list shows no secrets");
        world.ok("revoke_token", json!({ "token_id": id }));
        assert_eq!(who(&good), "UNAUTHENTICATED");

        let long = session(world, "ann");
        assert_eq!(who(&long), "ok");
        world.pass_seconds(12 * 3_600);
        assert_eq!(who(&long), "UNAUTHENTICATED");
    });
}

#[test]
fn a_change_of_a_user_takes_effect_at_the_next_request() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let by_token = token(world, "ann", &["full_access"]);
        let by_session = session(world, "ann");
        let local = Credentials::Local(Some("ann".to_owned()));
        let everywhere = |name: &str, arguments: &Value| {
            [&by_token, &by_session, &local]
                .map(|credentials| outcome(world.call_as(credentials.clone(), name, arguments.clone())))
        };
        let epic = json!({ "title": "Epic", "priority": 1 });
        assert_eq!(everywhere("create_epic", &epic), ["ok"; 3]);
        world.ok("update_user", json!({ "user": "ann", "role": "Commenter" }));
        assert_eq!(everywhere("create_epic", &epic), ["FORBIDDEN"; 3]);
        assert_eq!(everywhere("list_users", &json!({})), ["FORBIDDEN"; 3]);
        world.ok("update_user", json!({ "user": "ann", "role": "Administrator" }));
        assert_eq!(everywhere("list_users", &json!({})), ["ok"; 3]);
        world.ok("update_user", json!({ "user": "ann", "disabled": true }));
        assert_eq!(everywhere("who_am_i", &json!({})), ["UNAUTHENTICATED"; 3]);
        let login = json!({ "username": "ann", "password": PASSWORD });
        assert_eq!(outcome(world.call_as(Credentials::None, "login", login)), "UNAUTHENTICATED");
        world.ok("update_user", json!({ "user": "ann", "disabled": false }));
        // Sessions have ended, whoever may hold them; tokens can be revoked.
        assert_eq!(everywhere("who_am_i", &json!({})), ["ok", "UNAUTHENTICATED", "ok"]);
    });
}

#[test]
fn a_new_password_ends_sessions_and_leaves_tokens() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let by_token = token(world, "ann", &["read"]);
        let (own, other) = (session(world, "ann"), session(world, "ann"));
        let who =
            |credentials: &Credentials| outcome(world.call_as(credentials.clone(), "who_am_i", json!({})));
        let login = |password: &str| {
            let arguments = json!({ "username": "ANN", "password": password });
            outcome(world.call_as(Credentials::None, "login", arguments))
        };
        let change = |from: &str, to: &str| {
            let arguments = json!({ "current_password": from, "new_password": to });
            outcome(world.call_as(own.clone(), "change_password", arguments))
        };
        assert_eq!(change("wrong horse", "another password"), "VALIDATION_ERROR");
        assert_eq!((who(&other), login(PASSWORD)), ("ok", "ok"));
        assert_eq!(change(PASSWORD, "another password"), "ok");
        assert_eq!((who(&own), who(&other), who(&by_token)), ("ok", "UNAUTHENTICATED", "ok"));
        assert_eq!((login(PASSWORD), login("another password")), ("UNAUTHENTICATED", "ok"));

        world.ok("update_user", json!({ "user": "ann", "password": "set by an administrator" }));
        assert_eq!((who(&own), who(&by_token)), ("UNAUTHENTICATED", "ok"));
        assert_eq!(login("set by an administrator"), "ok");

        let last = session_with(world, "set by an administrator");
        assert_eq!(outcome(world.call_as(last.clone(), "logout", json!({}))), "ok");
        assert_eq!(who(&last), "UNAUTHENTICATED");
    });
}

fn session_with(world: &World, password: &str) -> Credentials {
    let arguments = json!({ "username": "ann", "password": password });
    let begun = world.call_as(Credentials::None, "login", arguments).expect("a session");
    Credentials::Bearer(begun["session"].as_str().expect("a secret").to_owned())
}

#[test]
fn comments_are_edited_by_their_authors_and_administrators() {
    on_every_store(|world| {
        for (name, role) in [("ann", "Commenter"), ("bob", "User")] {
            user(world, name, role);
        }
        let (ann, bob) = (token(world, "ann", &["comment"]), token(world, "bob", &["write"]));
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1 }));
        let comment = json!({ "reference": "EP-001", "content": "Why?" });
        let made = world.call_as(ann.clone(), "add_comment", comment).expect("a comment");
        let id = &made["id"];
        let edit = |who: &Credentials| {
            outcome(world.call_as(
                who.clone(),
                "update_comment",
                json!({ "comment_id": id, "content": "What for?" }),
            ))
        };
        let resolve = |who: &Credentials, resolved: bool| {
            outcome(world.call_as(
                who.clone(),
                "update_comment",
                json!({ "comment_id": id, "resolved": resolved }),
            ))
        };
        let call = |who: &Credentials, name: &str| {
            outcome(world.call_as(who.clone(), name, json!({ "comment_id": id })))
        };
        let administrator = Credentials::Local(None);
        assert_eq!((edit(&ann), edit(&bob), edit(&administrator)), ("ok", "FORBIDDEN", "ok"));
        assert_eq!((resolve(&bob, true), resolve(&ann, false)), ("ok", "ok"));
        assert_eq!(call(&bob, "delete_comment"), "FORBIDDEN");
        assert_eq!(call(&ann, "delete_comment"), "ok");
        assert_eq!((call(&bob, "restore_comment"), call(&ann, "restore_comment")), ("FORBIDDEN", "ok"));
        assert_eq!(call(&administrator, "delete_comment"), "ok");
        assert_eq!(call(&ann, "get_comment"), "NOT_FOUND");
    });
}

#[test]
fn tokens_belong_to_their_users() {
    on_every_store(|world| {
        user(world, "ann", "User");
        user(world, "bob", "User");
        let (ann, bob) = (token(world, "ann", &["full_access"]), token(world, "bob", &["full_access"]));
        let made = world.call_as(ann.clone(), "create_token", json!({ "name": "mine" })).expect("a token");
        let id = made["id"].clone();
        assert_eq!(made["scopes"], json!(["write"]));
        for (name, more) in
            [("get_token", json!({})), ("update_token", json!({ "name": "x" })), ("revoke_token", json!({}))]
        {
            let mut arguments = more;
            arguments["token_id"] = id.clone();
            assert_eq!(outcome(world.call_as(bob.clone(), name, arguments)), "NOT_FOUND", "{name}");
        }
        for (name, more) in [("list_tokens", json!({})), ("create_token", json!({ "name": "theirs" }))] {
            let mut arguments = more;
            arguments["user"] = json!("ann");
            assert_eq!(outcome(world.call_as(bob.clone(), name, arguments.clone())), "FORBIDDEN", "{name}");
            arguments["user"] = json!("nobody");
            assert_eq!(outcome(world.call_as(bob.clone(), name, arguments)), "FORBIDDEN", "{name}");
        }
        let names = |who: &Credentials| {
            let list = world.call_as(who.clone(), "list_tokens", json!({})).expect("a list");
            list["data"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|token| token["name"].to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&ann), [r#""mine""#, r#""for full_access""#]);
        assert_eq!(names(&bob), [r#""for full_access""#]);
        assert_eq!(
            outcome(world.call_as(ann.clone(), "create_token", json!({ "name": "mine" }))),
            "CONFLICT"
        );
    });
}

/// What lets somebody log in as an administrator would make any token of an administrator one for everything.
#[test]
fn the_scope_admin_cannot_create_administrators() {
    on_every_store(|world| {
        user(world, "ann", "Administrator");
        user(world, "bob", "User");
        let (lesser, whole) = (token(world, "ann", &["admin"]), token(world, "ann", &["full_access"]));
        let call = |who: &Credentials, name: &str, arguments: Value| {
            outcome(world.call_as(who.clone(), name, arguments))
        };
        let new = |name: &str, role: &str| json!({ "username": name, "email": format!("{name}@example.org"), "role": role, "password": PASSWORD });
        assert_eq!(call(&lesser, "create_user", new("carl", "User")), "ok");
        assert_eq!(call(&lesser, "update_user", json!({ "user": "bob", "password": PASSWORD })), "ok");
        let refused = [
            ("create_user", new("dora", "Administrator")),
            ("update_user", json!({ "user": "bob", "role": "Administrator" })),
            ("update_user", json!({ "user": "ann", "password": "another password" })),
            ("update_user", json!({ "user": "admin", "password": "another password" })),
        ];
        for (name, arguments) in refused {
            assert_eq!(call(&lesser, name, arguments.clone()), "FORBIDDEN", "{arguments}");
            assert_eq!(call(&whole, name, arguments.clone()), "ok", "{arguments}");
        }
        let changes = world.ok("list_audit", json!({ "event": "update_user", "limit": 1 }));
        assert_eq!(changes["data"][0]["changes"], json!({ "password": [null, "changed"] }));
    });
}

/// A session that is begun with a token may what the token may, and ends with it.
#[test]
fn a_session_has_the_rights_of_its_token() {
    on_every_store(|world| {
        user(world, "ann", "User");
        let begin = |arguments: Value| {
            let made = world.ok("create_token", arguments);
            let login = json!({ "token": made["token"] });
            let begun = world.call_as(Credentials::None, "login", login).expect("a session");
            (made["id"].clone(), Credentials::Bearer(begun["session"].as_str().expect("a secret").to_owned()))
        };
        let call = |who: &Credentials, name: &str, arguments: Value| {
            outcome(world.call_as(who.clone(), name, arguments))
        };
        let epic = json!({ "title": "x", "priority": 1 });
        let (id, weak) = begin(json!({ "name": "weak", "scopes": ["read"], "user": "ann" }));
        assert_eq!(call(&weak, "who_am_i", json!({})), "ok");
        assert_eq!(call(&weak, "create_epic", epic.clone()), "FORBIDDEN");
        assert_eq!(call(&weak, "create_token", json!({ "name": "more" })), "FORBIDDEN");
        world.ok("update_token", json!({ "token_id": id, "scopes": ["write"], "expected_version": 1 }));
        assert_eq!(call(&weak, "create_epic", epic), "ok");
        let stale = json!({ "token_id": id, "name": "other", "expected_version": 1 });
        assert!(world.refused("update_token", stale).starts_with("STALE_VERSION"));
        world.ok("revoke_token", json!({ "token_id": id }));
        assert_eq!(call(&weak, "who_am_i", json!({})), "UNAUTHENTICATED");

        let (_, short) = begin(json!({ "name": "short", "expires_in": "1h", "user": "ann" }));
        assert_eq!(call(&short, "who_am_i", json!({})), "ok");
        world.pass_seconds(3_601);
        assert_eq!(call(&short, "who_am_i", json!({})), "UNAUTHENTICATED");
        let both = json!({ "name": "both", "expires_in": "1h", "expires_at": "2030-01-01" });
        assert!(world.refused("create_token", both).contains("expires_in"));
    });
}

/// A store of an earlier version: names only in lower case, tokens without a version, sessions without a token and an id.
#[test]
fn accounts_of_an_older_store_are_brought_up_to_date() {
    const OLDER: &str = "
        update user_account set username_folded = 'straße', email_folded = 'straße@example.org'
            where username = 'Straße';
        drop table session;
        create table session (hash text primary key, user_id text not null references user_account (id),
            created_at bigint not null, expires_at bigint not null);
        alter table token drop column version;
        alter table token drop column updated_at;
        drop table sign_in_link;
        alter table status drop column outcome;
        drop index revision_project;
        drop index revision_agents;
        delete from migration where name in ('0007_tokens', '0009_sessions', '0018_links')";
    on_every_store(|world| {
        user(world, "Straße", "User");
        let ann = token(world, "strasse", &["read"]);
        for statement in OLDER.split(';') {
            let change = move |tx: &mut store::Tx<'_>| tx.execute(statement, &[]);
            world.engine.store().wait(Mode::Write, change).expect("an older store");
        }
        let newer = world.open_again();
        assert_eq!(outcome(newer.call_as(ann, "who_am_i", json!({}))), "ok");
        let found = newer.ok("get_user", json!({ "user": "STRASSE@example.org" }));
        assert_eq!(found["username"], "Straße");
        let token = newer.ok("list_tokens", json!({ "user": "strasse" }))["data"][0].take();
        assert_eq!((&token["version"], &token["updated_at"]), (&json!(1), &token["created_at"]));
        assert_eq!(outcome(newer.call_as(session(&newer, "straße"), "who_am_i", json!({}))), "ok");
    });
}

#[test]
fn one_administrator_always_stays() {
    on_every_store(|world| {
        let alone = "CONFLICT: admin is the only administrator who can log in";
        for change in [json!({ "role": "User" }), json!({ "disabled": true })] {
            let mut arguments = change;
            arguments["user"] = json!("admin");
            assert_eq!(world.refused("update_user", arguments), alone);
        }
        assert_eq!(world.refused("delete_user", json!({ "user": "admin" })), alone);
        user(world, "ann", "Administrator");
        world.ok("update_user", json!({ "user": "ann", "disabled": true }));
        assert_eq!(world.refused("update_user", json!({ "user": "admin", "role": "Commenter" })), alone);
        world.ok("update_user", json!({ "user": "ann", "disabled": false }));
        world.ok("update_user", json!({ "user": "admin", "role": "Commenter" }));
        assert!(world.refused("list_users", json!({})).starts_with("FORBIDDEN"));
    });
}

#[test]
fn users_are_unique_whatever_the_case_and_deleted_only_when_nothing_is_theirs() {
    on_every_store(|world| {
        user(world, "Анна", "User");
        let create = |name: &str, email: &str| {
            outcome(world.call("create_user", json!({ "username": name, "email": email, "role": "user" })))
        };
        assert_eq!(create("АННА", "other@example.org"), "CONFLICT");
        assert_eq!(create("other", "АННА@EXAMPLE.ORG"), "CONFLICT");
        user(world, "straße", "User");
        assert_eq!(create("STRASSE", "street@example.org"), "CONFLICT");
        user(world, "σας", "User");
        assert_eq!(create("ΣΑΣ", "greek@example.org"), "CONFLICT");
        assert_eq!(create("ab", "ab@example.org"), "VALIDATION_ERROR");
        assert_eq!(create(&"a".repeat(51), "long@example.org"), "VALIDATION_ERROR");
        assert_eq!(create("with blank", "blank@example.org"), "VALIDATION_ERROR");
        assert_eq!(create("other", "no address"), "VALIDATION_ERROR");
        assert_eq!(create("other", "other@example.org"), "ok");
        token(world, "other", &["read"]);
        world.ok("delete_user", json!({ "user": "other" }));
        assert_eq!(create("other", "other@example.org"), "ok");
        world.ok("create_epic", json!({ "title": "Epic", "priority": 1, "assignee_id": "анна" }));
        assert!(world.refused("delete_user", json!({ "user": "Анна" })).starts_with("CONFLICT"));
        world.ok("update_user", json!({ "user": "Анна", "disabled": true }));
        assert_eq!(
            world.refused("create_epic", json!({ "title": "Epic", "priority": 1, "assignee_id": "Анна" })),
            "VALIDATION_ERROR: assignee_id: the user Анна is disabled"
        );
        let stored = world.ok("list_users", json!({})).to_string();
        assert!(!stored.contains("argon2") && !stored.contains("password"));
    });
}

#[test]
fn an_unknown_token_is_reported() {
    on_every_store(|world| {
        for malformed in ["0199-not-a-uuid", "REQ-001", "a b"] {
            let refused = world.refused("get_token", json!({ "token_id": malformed }));
            let expected = format!(
                "NOT_FOUND: admin has no token {malformed:?}; expected the id of a token or the name of one"
            );
            assert_eq!(refused, expected);
        }
    });
}
