//! Whoever reads, reads what was written last, on whichever server; and tokens end when they are revoked.

use std::thread;

use ops::Credentials;
use serde_json::{Value, json};

use crate::people::{outcome, token, user};
use crate::stores::{World, on_every_store, on_two_servers};

fn title(world: &World) -> Value {
    world.ok("get_entity", json!({ "reference": "EP-001" }))["title"].take()
}

#[test]
fn the_use_of_a_token_is_written_down_every_minute() {
    on_every_store(|world| {
        world.ok("create_epic", json!({ "title": "One", "priority": 1 }));
        let last_used = || {
            // On SQLite a write is done before any that comes after it.
            world.ok("create_epic", json!({ "title": "Later", "priority": 1 }));
            let tokens = world.ok("list_tokens", json!({}));
            tokens["data"][0]["last_used_at"].as_str().unwrap_or_default().to_owned()
        };
        let before = last_used();
        for _ in 0..10 {
            world.pass_seconds(61);
            (0..5).for_each(|_| assert_eq!(title(world), "One"));
        }
        if !world.engine.store().is_remote() {
            assert_eq!(&before[..16], "2026-11-15T08:00");
            assert_eq!(&last_used()[..16], "2026-11-15T08:10");
        }
    });
}

#[test]
fn a_token_ends_in_time_and_is_revoked_at_once_on_every_server() {
    on_two_servers(|one, other| {
        user(one, "ann", "User");
        let made = one.ok("create_token", json!({ "name": "short", "user": "ann", "expires_in": "1d" }));
        let short = Credentials::Bearer(made["token"].as_str().expect("a secret").to_owned());
        let long = token(one, "ann", &["read"]);
        let who = |world: &World, credentials: &Credentials| {
            outcome(world.call_as(credentials.clone(), "who_am_i", json!({})))
        };
        for _ in 0..20 {
            assert_eq!([who(one, &short), who(other, &short), who(one, &long), who(other, &long)], ["ok"; 4]);
        }
        // Nothing is written in between: only the time passes.
        one.pass_seconds(86_400);
        assert_eq!([who(one, &short), who(one, &long)], ["UNAUTHENTICATED", "ok"]);
        let list = one.ok("list_tokens", json!({ "user": "ann" }));
        let tokens = list["data"].as_array().expect("a list");
        let id = &tokens.iter().find(|token| token["name"] == "for read").expect("the token")["id"];
        other.ok("revoke_token", json!({ "token_id": id }));
        assert_eq!([who(one, &long), who(other, &long)], ["UNAUTHENTICATED"; 2]);
    });
}

#[test]
fn writes_are_visible_on_every_server() {
    const WRITERS: usize = 4;
    const WRITES: usize = 60;
    on_two_servers(|one, other| {
        for number in 0..WRITERS {
            one.ok("create_epic", json!({ "title": format!("Epic {number}"), "priority": 1 }));
        }
        thread::scope(|scope| {
            for number in 1..=WRITERS {
                let (writes, reads) = if number % 2 == 0 { (one, other) } else { (other, one) };
                scope.spawn(move || {
                    let id = format!("EP-{number:03}");
                    for round in 0..WRITES {
                        let text = format!("round {round}");
                        writes.ok("update_epic", json!({ "epic_id": id, "description": text }));
                        for world in [reads, writes, reads] {
                            let epic = world.ok("get_entity", json!({ "reference": id }));
                            assert_eq!(epic["description"], text);
                        }
                    }
                });
            }
        });
    });
}
