//! Changes are heard of, here and on other servers, and calls that nobody waits for are given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::json;
use store::{Cancel, ErrorKind, Mode, Result};

use crate::stores::{World, on_every_store, on_two_servers};

/// Long beyond what a notification takes, and short of what a test may.
const SOON: Duration = Duration::from_secs(5);

fn counted(world: &World) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let listening = world.engine.store().on_change(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    listening.expect("a listener");
    count
}

fn wait_for_more(count: &AtomicUsize, than: usize) -> bool {
    let until = Instant::now() + SOON;
    while Instant::now() < until {
        if count.load(Ordering::SeqCst) > than {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_change_is_heard_of() {
    on_every_store(|world| {
        let count = counted(world);
        // On PostgreSQL the first signal says that listening has begun.
        std::thread::sleep(Duration::from_millis(300));
        let before = count.load(Ordering::SeqCst);
        world.ok("list_entities", json!({ "kind": "epic" }));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(count.load(Ordering::SeqCst), before, "reading changes nothing");
        world.ok("create_epic", json!({ "title": "Heard", "priority": 1 }));
        assert!(wait_for_more(&count, before));
    });
}

#[test]
fn a_change_on_one_server_is_heard_of_on_another() {
    on_two_servers(|one, other| {
        if !one.engine.store().is_remote() {
            return;
        }
        let count = counted(other);
        std::thread::sleep(Duration::from_millis(300));
        for round in 0..3 {
            let before = count.load(Ordering::SeqCst);
            one.ok("create_epic", json!({ "title": format!("Heard {round}"), "priority": 1 }));
            assert!(wait_for_more(&count, before), "round {round}");
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}

/// A query that would take minutes.
const ENDLESS: &str = "with recursive numbers (n) as (select cast(1 as bigint) union all select n + 1 from numbers where n < 100000000000)
                       select count(*) from numbers";

#[test]
fn a_call_that_nobody_waits_for_is_given_up() {
    on_every_store(|world| {
        let store = world.engine.store();
        let cancel = Cancel::default();
        let (sender, receiver) = mpsc::channel();
        let started = Instant::now();
        let body = |tx: &mut store::Tx<'_>| tx.row(ENDLESS, &[], |row| row.get::<i64>(0));
        store.run_unless(Some(cancel.clone()), Mode::Snapshot, body, move |result: Result<Option<i64>>| {
            let _ = sender.send(result);
        });
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
        let result = receiver.recv_timeout(SOON).expect("it ends soon");
        assert_eq!(result.expect_err("it did not finish").kind, ErrorKind::Timeout);
        assert!(started.elapsed() < SOON);
        // Nobody else is disturbed.
        for _ in 0..20 {
            world.ok("list_entities", json!({ "kind": "epic" }));
        }
    });
}

#[test]
fn a_write_that_nobody_waits_for_any_more_does_not_begin() {
    on_every_store(|world| {
        let cancel = Cancel::default();
        cancel.cancel();
        let entry = ops::find("create_epic").expect("an operation");
        let mut call = world.the_call(entry, json!({ "title": "Never", "priority": 1 }), None);
        call.cancel = Some(cancel);
        assert!(world.engine.wait(call).result.is_err());
        assert_eq!(world.ok("list_entities", json!({ "kind": "epic" }))["total_count"], 0);
    });
}
