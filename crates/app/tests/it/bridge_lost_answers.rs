//! The bridge when the answer to a write is lost: it finds out what happened, or says that it does not know.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    agent::json_of,
    backend::{Backend, on_every_store, on_sqlite},
    bridge::{command, create_epic},
    bridge_backend::ask,
    fault_proxy::{Fault, FaultProxy},
    process::Serving,
};

/// A bridge whose tools are known already, with little time and few retries.
fn through(proxy: &FaultProxy, server: &Backend, timeout: &str) -> Serving {
    let settings = [
        ("MCP_PAT_TOKEN", server.token.as_str()),
        ("MCP_REQUEST_TIMEOUT", timeout),
        ("MCP_MAX_RETRIES", "1"),
    ];
    let mut bridge = Serving::spawn(command(&proxy.url, &settings));
    bridge.handshake("2025-06-18");
    bridge.request("tools", "tools/list", json!({}));
    bridge
}

fn call(bridge: &mut Serving) -> Value {
    let arguments = json!({"title": "Checkout", "priority": 2});
    ask(bridge, "tools/call", json!({"name": "create_epic", "arguments": arguments}))
}

#[track_caller]
fn n_epics(server: &Backend) -> Value {
    server.get("/epics").json["total_count"].clone()
}

#[test]
fn a_lost_answer_is_asked_for_until_it_comes() {
    on_every_store(|server| {
        let proxy = FaultProxy::start(&server.url);
        let mut bridge = through(&proxy, server, "20s");
        let plans: [&[Fault]; 3] = [
            &[Fault::LoseAnswer; 4],
            &[Fault::CutAnswer(100), Fault::CutAnswer(300), Fault::LoseAnswer],
            // What never reached the server looks the same from here, and happens late.
            &[Fault::Refuse, Fault::Status(503, None), Fault::Status(502, None)],
        ];
        for (index, plan) in plans.iter().enumerate() {
            proxy.plan(plan.iter().copied());
            let answer = call(&mut bridge);
            let reference = format!("EP-{:03}", index + 1);
            assert_eq!(json_of(&answer["result"])["reference_id"], reference, "{plan:?}: {answer}");
            assert_eq!(n_epics(server), index + 1, "{plan:?}");
        }
    });
}

#[test]
fn a_server_that_vanishes_with_a_write_leaves_it_open_whether_it_happened() {
    on_sqlite(&[], &[], |server, _| {
        let proxy = FaultProxy::start(&server.url);
        let mut bridge = through(&proxy, server, "2s");
        proxy.plan([Fault::Vanish]);
        let started = Instant::now();
        let answer = call(&mut bridge);
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        assert_eq!(answer["error"]["code"], -32007, "{answer}");
        let look = named_call(&answer);
        assert_eq!(n_epics(server), 1);

        // What the message names finds it.
        let mut other = Serving::spawn(command(&server.url, &[("MCP_PAT_TOKEN", &server.token)]));
        other.handshake("2025-06-18");
        let found = ask(&mut other, "tools/call", look);
        assert!(found["result"].to_string().contains("EP-001"), "{found}");

        // Without a connection nothing was sent, and nothing can have happened.
        let answer = call(&mut bridge);
        assert_eq!(answer["error"]["code"], -32007, "{answer}");
        assert!(!answer.to_string().contains("may have"), "{answer}");
    });
}

#[test]
fn a_write_whose_answer_does_not_come_in_time_may_have_happened() {
    on_sqlite(&[], &[], |server, _| {
        let proxy = FaultProxy::start(&server.url);
        let mut bridge = through(&proxy, server, "1s");
        let plans: [(&[Fault], i64); 4] = [
            (&[Fault::Hang], -32006),
            (&[Fault::Dawdle(Duration::from_millis(50))], -32006),
            (&[Fault::LoseAnswer, Fault::Status(401, None)], -32001),
            (&[Fault::LoseAnswer, Fault::Status(429, Some(60))], -32005),
        ];
        for (plan, code) in plans {
            proxy.plan(plan.iter().copied());
            let answer = call(&mut bridge);
            assert_eq!(answer["error"]["code"], code, "{plan:?}: {answer}");
            named_call(&answer);
        }
        proxy.plan([Fault::Hang]);
        let params = json!({"name": "search_global", "arguments": {"query": "checkout"}});
        let answer = ask(&mut bridge, "tools/call", params);
        assert_eq!(answer["error"]["code"], -32006, "{answer}");
        assert!(!answer.to_string().contains("may have"), "a search changes nothing: {answer}");
        proxy.plan([Fault::Status(503, None); 2]);
        let answer = create_epic(&mut bridge, "busy");
        assert!(!answer.to_string().contains("may have"), "it was refused: {answer}");
    });
}

/// The call that an error names, for who wants to know whether the write happened.
#[track_caller]
fn named_call(answer: &Value) -> Value {
    assert_eq!(answer["error"]["data"]["may_have_happened"], true, "{answer}");
    let message = answer["error"]["message"].as_str().expect("a message");
    let advice = message.split_once("; the change may have been made all the same: call ");
    let (_, advice) = advice.unwrap_or_else(|| panic!("{message}"));
    let call = advice.strip_suffix(" before you repeat create_epic").expect("what not to do");
    let (name, arguments) = call.split_once(' ').expect("arguments");
    json!({"name": name, "arguments": serde_json::from_str::<Value>(arguments).expect("JSON")})
}
