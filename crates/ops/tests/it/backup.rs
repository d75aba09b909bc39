//! Backups of what operations have made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ops::Credentials;
use private_postgres::Server;
use serde_json::json;
use store::backup::{Choices, backup, restore};
use store::{Location, Options};

use crate::exchange::{export, fill};
use crate::people::{outcome, session, token, user};
use crate::stores::{World, on_every_store};

#[test]
fn a_store_moves_from_one_engine_to_the_other_and_back() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two] = ["one.db", "two.db"].map(|name| Location::Sqlite(folder.path().join(name)));
    let postgres = Location::parse(database.url()).expect("a URL");
    let world = World::open(&one);
    fill(&world);
    let expected = export(&world, json!({ "format": "json", "include_deleted": true }));
    let trail = world.ok("list_audit", json!({ "limit": 100 }));
    let mut from = &world;
    let mut moved = Vec::new();
    for (index, location) in [&postgres, &two].into_iter().enumerate() {
        let file = folder.path().join(format!("{index}.backup"));
        backup(from.engine.store(), &file, from.now(), |_| {}).expect("a backup");
        restore(location, &file, Choices::default(), Options::default(), from.now(), |_| {})
            .expect("a restored store");
        // The same token is good there, and what comes next has the next numbers.
        moved.push(world.beside(location));
        from = &moved[index];
        assert_eq!(export(from, json!({ "format": "json", "include_deleted": true })), expected);
        // The trail is the same, with one more entry for each restore.
        let mut found = from.ok("list_audit", json!({ "limit": 100 }));
        let entries = found["data"].as_array_mut().expect("a list");
        let n_before = entries.len();
        entries.retain(|entry| entry["event"] != "restore_backup");
        assert_eq!(n_before - entries.len(), index + 1);
        assert_eq!(found["data"], trail["data"]);
    }
    for world in &moved {
        let epic = world.ok("create_epic", json!({ "title": "Next", "priority": 1 }));
        assert_eq!(epic["reference_id"], "EP-003");
        world.ok("restore_entity", json!({ "reference": "REQ-003" }));
    }
}

#[test]
fn a_restore_keeps_revocations() {
    on_every_store(|world| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("spexus.backup");
        for name in ["ann", "bob"] {
            user(world, name, "User");
        }
        let revoked = token(world, "admin", &["write"]);
        let of_gone_user = token(world, "bob", &["write"]);
        let kept = token(world, "ann", &["write"]);
        let ended = session(world, "ann");
        backup(world.engine.store(), &file, world.now(), |_| {}).expect("a backup");
        world.ok("revoke_token", json!({ "token_id": "for write" }));
        world.ok("delete_user", json!({ "user": "bob" }));
        let later = token(world, "admin", &["read"]);
        let whoami =
            |credentials: &Credentials| outcome(world.call_as(credentials.clone(), "who_am_i", json!({})));
        // The second restore replaces a history that knows of the revocations only from the first.
        for round in 0..2 {
            let choices = Choices { replace: true, revoke_tokens: false };
            let tokens = restore(world.location(), &file, choices, Options::default(), world.now(), |_| {})
                .expect("a restored store");
            assert_eq!((tokens.restored, tokens.revoked), (2, 2), "round {round}");
            assert!(!tokens.revocations_lost);
            for gone in [&revoked, &of_gone_user, &ended, &later] {
                assert_eq!(whoami(gone), "UNAUTHENTICATED", "round {round}");
            }
            assert_eq!(whoami(&kept), "ok");
        }
        // Elsewhere nobody knows of them, and the backup has no sessions.
        let elsewhere = Location::Sqlite(folder.path().join("elsewhere.db"));
        let tokens = restore(&elsewhere, &file, Choices::default(), Options::default(), world.now(), |_| {});
        assert_eq!(tokens.map(|tokens| (tokens.restored, tokens.revoked)), Ok((4, 0)));
        let elsewhere = world.beside(&elsewhere);
        assert_eq!(outcome(elsewhere.call_as(revoked.clone(), "who_am_i", json!({}))), "ok");
        assert_eq!(outcome(elsewhere.call_as(ended.clone(), "who_am_i", json!({}))), "UNAUTHENTICATED");
        // Unless they are told.
        let third = Location::Sqlite(folder.path().join("third.db"));
        let choices = Choices { replace: false, revoke_tokens: true };
        let tokens = restore(&third, &file, choices, Options::default(), world.now(), |_| {});
        assert_eq!(tokens.map(|tokens| (tokens.restored, tokens.revoked)), Ok((0, 4)));
        assert_eq!(
            outcome(world.beside(&third).call_as(kept.clone(), "who_am_i", json!({}))),
            "UNAUTHENTICATED"
        );
    });
}

#[test]
fn a_backup_holds_every_write_that_was_acknowledged_before() {
    on_every_store(|world| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("spexus.backup");
        let (n_made, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let n_before = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::SeqCst) {
                        world.ok("create_epic", json!({ "title": "x".repeat(400), "priority": 1 }));
                        n_made.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            while n_made.load(Ordering::SeqCst) < 50 {
                std::thread::yield_now();
            }
            let n_before = n_made.load(Ordering::SeqCst);
            let made = backup(world.engine.store(), &file, world.now(), |_| {});
            is_over.store(true, Ordering::SeqCst);
            made.expect("a backup");
            n_before
        });
        let restored = Location::Sqlite(folder.path().join("restored.db"));
        restore(&restored, &file, Choices::default(), Options::default(), world.now(), |_| {})
            .expect("a restored store");
        let restored = world.beside(&restored);
        let n_restored = restored.ok("list_entities", json!({ "kind": "epic" }))["total_count"].as_u64();
        let n_made = n_made.load(Ordering::SeqCst);
        assert!(
            n_restored >= Some(n_before) && n_restored <= Some(n_made),
            "{n_before} {n_restored:?} {n_made}"
        );
        assert!(n_before < n_made, "nothing was written meanwhile");
    });
}
