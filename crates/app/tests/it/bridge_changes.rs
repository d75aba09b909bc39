//! No change is missed while the bridge opens its stream to the server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    backend::{Backend, on_every_store, on_sqlite},
    bridge::{command, start, stateless},
    fault_proxy::FaultProxy,
    process::Serving,
    stand_in::StandIn,
};

const N_TRIES: usize = 8;

#[test]
fn a_change_right_after_the_handshake_is_heard_of() {
    on_every_store(|server| {
        for attempt in 0..N_TRIES {
            let mut bridge = Serving::spawn(command(&server.url, &[("MCP_PAT_TOKEN", &server.token)]));
            bridge.handshake("2025-06-18");
            change(&mut bridge, server, attempt, json!({}));
            wait_for(&mut bridge, "notifications/resources/list_changed");
        }
    });
}

/// A subscription to lists is acknowledged before the bridge's own stream is open.
#[test]
fn a_change_right_after_a_stateless_subscription_is_heard_of() {
    on_sqlite(&[], &[], |server, _| {
        for attempt in 0..N_TRIES {
            let mut bridge = Serving::spawn(command(&server.url, &[("MCP_PAT_TOKEN", &server.token)]));
            let params = stateless(json!({"notifications": {"resourcesListChanged": true}}));
            let listen =
                json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params});
            bridge.send(&listen.to_string());
            wait_for(&mut bridge, "notifications/subscriptions/acknowledged");
            change(&mut bridge, server, attempt, stateless(json!({})));
            wait_for(&mut bridge, "notifications/resources/list_changed");
        }
    });
}

/// A proxy may hold streams back. The host is greeted in time, and told to look again when the stream is open.
#[test]
fn a_stream_that_opens_late_begins_with_an_announcement() {
    let server = StandIn::start();
    let proxy = FaultProxy::start(&server.url);
    proxy.delay_streams(Duration::from_millis(1_200));
    let mut bridge = start(&proxy.url, &[]);
    let started = Instant::now();
    bridge.handshake("2025-06-18");
    assert!(started.elapsed() < Duration::from_millis(1_100), "{:?}", started.elapsed());
    let mut told: Vec<Value> = (0..3).map(|_| bridge.receive()["method"].clone()).collect();
    told.sort_by_key(Value::to_string);
    assert_eq!(
        told,
        ["prompts", "resources", "tools"].map(|list| format!("notifications/{list}/list_changed"))
    );
    assert_eq!(server.requests("subscriptions/listen").len(), 1);
    let (_, rest, _) = bridge.end();
    assert_eq!(rest, Vec::<String>::new(), "it is announced once");
}

/// Creates an epic: the host itself, and every other time somebody else.
fn change(bridge: &mut Serving, server: &Backend, attempt: usize, mut params: Value) {
    let epic = json!({"title": "Checkout", "priority": 1});
    if attempt % 2 == 1 {
        server.create("/epics", &epic);
        return;
    }
    params["name"] = json!("create_epic");
    params["arguments"] = epic;
    bridge.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string());
}

/// Reads until a notification comes, past the answer to a call.
#[track_caller]
fn wait_for(bridge: &mut Serving, method: &str) {
    while bridge.receive()["method"] != method {}
}
