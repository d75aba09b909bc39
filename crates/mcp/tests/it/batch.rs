//! A batch cannot exceed the limit of requests in flight.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use mcp::{Call, Session, Step};
use serde_json::{Value, json};

use crate::demo;

/// What ARCHITECTURE.md says.
const IN_FLIGHT_MAX: usize = 256;

#[test]
fn a_batch_is_answered_whole_and_obeys_the_limit_of_requests_in_flight() {
    let (profile, server) = demo::server("full");
    let mut session = ready(profile);
    let batch = batch_of(1_000);
    let mut calls: VecDeque<Call> = VecDeque::new();
    let (mut sent, mut n_in_flight_max) = (Vec::new(), 0);
    let mut pending = session.begin(mcp::read(batch.as_bytes()));
    while !pending.is_empty() || !calls.is_empty() {
        let is_waiting = pending.is_empty() || session.is_full();
        if is_waiting {
            let call = calls.pop_front().expect("something is in flight");
            sent.extend(session.finish(mcp::run(&*server, call, &|_| {})));
            continue;
        }
        for step in session.next(&mut pending, Instant::now()) {
            match step {
                Step::Call(call) => calls.push_back(call),
                Step::Send(message) => sent.push(message),
                other => panic!("{other:?}"),
            }
        }
        n_in_flight_max = n_in_flight_max.max(session.n_in_flight());
    }
    assert_eq!(n_in_flight_max, IN_FLIGHT_MAX);
    let [message] = sent.as_slice() else { panic!("{} messages", sent.len()) };
    let answers: Vec<Value> = serde_json::from_slice(message).expect("a batch");
    let ids: Vec<u64> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    assert_eq!(ids, Vec::from_iter(0..1_000));
    assert!(answers.iter().all(|answer| answer["result"]["content"][0]["text"] == "hello"));
}

#[test]
fn a_batch_is_not_answered_before_all_of_it_is_taken() {
    let (profile, server) = demo::server("full");
    let mut session = ready(profile);
    let batch = batch_of(2);
    let mut pending = session.begin(mcp::read(batch.as_bytes()));
    let mut answer_next = |session: &mut Session| {
        let steps = session.next(&mut pending, Instant::now());
        let [Step::Call(_)] = steps.as_slice() else { panic!("{steps:?}") };
        let Some(Step::Call(call)) = steps.into_iter().next() else { unreachable!("it was there") };
        session.finish(mcp::run(&*server, call, &|_| {}))
    };
    assert!(answer_next(&mut session).is_none());
    assert!(answer_next(&mut session).is_some());
}

fn ready(profile: mcp::Profile) -> Session {
    let mut session = Session::stdio(Arc::new(profile), "r");
    let hello = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let server = demo::server("full").1;
    for message in [hello, initialized] {
        for step in session.handle(message.to_string().as_bytes(), Instant::now()) {
            let Step::Call(call) = step else { continue };
            session.finish(mcp::run(&*server, call, &|_| {}));
        }
    }
    session
}

fn batch_of(n_messages: usize) -> String {
    let call = |id| {
        let params = json!({"name": "echo", "arguments": {"text": "hello"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    Value::Array((0..n_messages).map(call).collect()).to_string()
}
