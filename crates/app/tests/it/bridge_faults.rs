//! The bridge when its server or the way there fails: every request gets one answer in time, and nothing happens twice.

use std::{
    collections::BTreeMap,
    io::{BufReader, Write},
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    agent::json_of,
    bridge::{create_epic, ready, start},
    fault_proxy::{Fault, FaultProxy},
    process::Serving,
    stand_in::{Request, StandIn},
};

/// A bridge that is ready, a proxy that does as planned, and the server behind it. The tools are known already.
fn through_proxy(environment: &[(&str, &str)]) -> (Serving, FaultProxy, StandIn) {
    let server = StandIn::start();
    let proxy = FaultProxy::start(&server.url);
    let mut bridge = start(&proxy.url, environment);
    bridge.handshake("2025-06-18");
    server.wait_for("subscriptions/listen", 1);
    thread::sleep(Duration::from_millis(100));
    bridge.request("tools", "tools/list", json!({}));
    (bridge, proxy, server)
}

//@= spexus://REQ-142
//@= type=test
//@# 002 R13.4: a backend that is away is tried again, with growing pauses
#[test]
fn temporary_errors_are_retried_without_duplicates() {
    let (mut bridge, proxy, server) = through_proxy(&[]);
    let plans: [&[Fault]; 9] = [
        &[Fault::Refuse],
        &[Fault::Status(502, None)],
        &[Fault::Status(503, None)],
        &[Fault::Status(504, None)],
        &[Fault::Status(429, Some(1))],
        &[Fault::LoseAnswer],
        &[Fault::CutAnswer(40)],
        &[Fault::CutAnswer(300)],
        &[Fault::LoseAnswer, Fault::Status(503, None), Fault::Refuse],
    ];
    for (n_done, plan) in plans.iter().enumerate() {
        proxy.plan(plan.iter().copied());
        let n_before = proxy.n_requests();
        let started = Instant::now();
        let answer = create_epic(&mut bridge, n_done);
        let reference = format!("EP-{:03}", n_done + 1);
        assert_eq!(json_of(&answer["result"])["reference_id"], reference, "[002 R13.4] {plan:?}: {answer}");
        assert_eq!(proxy.n_requests() - n_before, plan.len() + 1, "{plan:?}");
        assert_eq!(server.n_written() as usize, n_done + 1, "written twice after {plan:?}");
        if let [Fault::Status(429, _)] = plan {
            assert!(started.elapsed() >= Duration::from_secs(1), "Retry-After was not waited for");
        }
    }
}

//@= spexus://REQ-063
//@= type=test
//@# 002 R4.9: a backend that is away is an error
//@= spexus://REQ-143
//@= type=test
//@# 002 R13.5: a backend that stays away is an error
//@= spexus://REQ-153
//@= type=test
//@# 002 R14.6: MCP_MAX_RETRIES is read, 3 by default
#[test]
fn retries_come_to_an_end() {
    let (mut bridge, proxy, server) = through_proxy(&[("MCP_MAX_RETRIES", "2")]);
    for (fault, code, name) in [
        (Fault::Refuse, -32007, "BACKEND_UNAVAILABLE"),
        (Fault::Status(503, None), -32007, "BACKEND_UNAVAILABLE"),
        (Fault::Status(429, None), -32005, "RATE_LIMITED"),
    ] {
        proxy.plan([fault; 3]);
        let n_before = proxy.n_requests();
        let answer = match fault {
            // A write that was sent may have happened: it is asked for longer.
            Fault::Refuse => bridge.request(1, "resources/read", json!({"uri": "epic://EP-001"})),
            _ => create_epic(&mut bridge, 1),
        };
        assert_eq!(answer["error"]["code"], code, "[002 R4.9] [002 R13.5] {fault:?}: {answer}");
        assert_eq!(answer["error"]["data"]["code"], name);
        assert_eq!(proxy.n_requests() - n_before, 3, "[002 R14.6] {fault:?}");
    }
    assert_eq!(server.n_written(), 0);
    let answer = create_epic(&mut bridge, 2);
    assert_eq!(json_of(&answer["result"])["reference_id"], "EP-001", "and then it goes on");
}

//@= spexus://REQ-145
//@= type=test
//@# 002 R13.7: errors say what to do
#[test]
fn permanent_errors_are_not_retried() {
    let (mut bridge, proxy, _server) = through_proxy(&[]);
    for (status, code) in [
        (400, -32007),
        (401, -32001),
        (403, -32003),
        (404, -32007),
        (413, -32602),
        (500, -32007),
        (302, -32007),
    ] {
        proxy.plan([Fault::Status(status, None)]);
        let n_before = proxy.n_requests();
        let answer = create_epic(&mut bridge, 1);
        assert_eq!(answer["error"]["code"], code, "{status}: {answer}");
        assert_eq!(proxy.n_requests() - n_before, 1, "{status} was tried again");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.len() > 20, "[002 R13.7]: {message}");
    }
}

//@= spexus://REQ-151
//@= type=test
//@# 002 R14.4: MCP_REQUEST_TIMEOUT is read, 30 s by default
//@= spexus://REQ-156
//@= type=test
//@# 002 R15.1: a request takes at most 30 seconds
//@= spexus://REQ-163
//@= type=test
//@# 002 R15.8: exhaustion is an error and not a crash
#[test]
fn nothing_takes_longer_than_the_timeout() {
    let (mut bridge, proxy, _server) = through_proxy(&[("MCP_REQUEST_TIMEOUT", "1s")]);
    for fault in [Fault::Hang, Fault::Dawdle(Duration::from_millis(50)), Fault::Status(429, Some(60))] {
        proxy.plan([fault; 4]);
        let started = Instant::now();
        let answer = create_epic(&mut bridge, 1);
        let code = answer["error"]["code"].as_i64().expect("an error");
        assert!([-32005, -32006].contains(&code), "{fault:?}: {answer}");
        assert!(started.elapsed() < Duration::from_secs(3), "[002 R14.4] [002 R15.1] {fault:?}");
    }
    proxy.plan([]);
    assert!(create_epic(&mut bridge, 2)["result"].is_object(), "[002 R15.8]");
}

#[test]
fn a_cancelled_request_makes_room_at_once() {
    let (mut bridge, proxy, _server) = through_proxy(&[]);
    proxy.plan([Fault::Hang; 64]);
    for id in 0..64 {
        let params = json!({"uri": "epic://EP-001"});
        bridge.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": "resources/read", "params": params}).to_string(),
        );
    }
    thread::sleep(Duration::from_millis(500));
    for id in 0..64 {
        let params = json!({"requestId": id});
        bridge.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string(),
        );
    }
    let started = Instant::now();
    assert!(create_epic(&mut bridge, "next")["result"].is_object());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

//@= spexus://REQ-063
//@= type=test
//@# 002 R4.9: a backend that is away is an error
#[test]
fn the_handshake_is_answered_without_a_server() {
    let url = format!(
        "http://{}",
        TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address")
    );
    let mut bridge = start(&url, &[("MCP_MAX_RETRIES", "1")]);
    bridge.request("started", "ping", json!({}));
    let started = Instant::now();
    let answer = bridge.handshake("2025-11-25");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    let instructions = answer["result"]["instructions"].as_str().expect("instructions");
    assert!(instructions.contains(&url) && instructions.contains("does not answer"), "{instructions}");
    assert_eq!(answer["result"]["capabilities"]["tools"], json!({"listChanged": true}));
    let answer = bridge.request(1, "resources/read", json!({"uri": "epic://EP-001"}));
    assert_eq!(answer["error"]["code"], -32007, "[002 R4.9]");
    let answer = create_epic(&mut bridge, 2);
    assert_eq!(answer["result"]["_meta"]["spexus/error"]["code"], "BACKEND_UNAVAILABLE", "{answer}");
    let (status, ..) = bridge.end();
    assert!(status.success());
}

#[test]
fn the_handshake_is_answered_while_the_server_hangs() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let mut bridge = start(&url, &[]);
    bridge.request("started", "ping", json!({}));
    let started = Instant::now();
    let answer = bridge.handshake("2025-11-25");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(answer["result"]["instructions"].as_str().expect("instructions").contains("did not answer"));
}

/// The address of something else: what is there is told, and which setting to look at.
//@= spexus://REQ-145
//@= type=test
//@# 002 R13.7: errors say what to do
#[test]
fn an_answer_from_another_program_is_reported() {
    let page = "<!doctype html><title>Welcome</title>";
    for (content_type, body, found) in [
        ("text/html; charset=utf-8", page, "a web page (text/html)"),
        ("text/plain", "It works!", "text/plain"),
        ("application/json", r#"{"status":"up"}"#, "JSON that is not an answer"),
        ("application/json", "[1]", "JSON that is not an answer"),
        ("", "", "something without a type"),
    ] {
        let url = answer_always(content_type, body);
        let mut bridge = start(&url, &[]);
        let greeting = bridge.handshake("2025-06-18");
        let expected = format!("{url}/api/v1/mcp is no Spexus server: found {found}: check BACKEND_API_URL");
        let instructions = greeting["result"]["instructions"].as_str().expect("instructions");
        assert!(instructions.contains(&expected), "{instructions}");
        let answer = bridge.request(1, "resources/read", json!({"uri": "epic://EP-001"}));
        assert_eq!(answer["error"]["code"], -32007, "{answer}");
        assert_eq!(answer["error"]["data"]["code"], "BACKEND_UNAVAILABLE", "{answer}");
        assert_eq!(answer["error"]["message"], expected, "[002 R13.7]");
    }
}

/// A server that has one answer to everything.
fn answer_always(content_type: &str, body: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let kind = if content_type.is_empty() { "" } else { &format!("content-type: {content_type}\r\n") };
    let answer =
        format!("HTTP/1.1 200 OK\r\n{kind}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = Request::read(&mut BufReader::new(&stream));
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    url
}

//@= spexus://REQ-142
//@= type=test
//@# 002 R13.4: a backend that is away is tried again, with growing pauses
#[test]
fn a_server_that_comes_back_is_used_again() {
    let address = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let mut bridge = ready(&format!("http://{address}"), "2025-06-18");
    bridge.send(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"epic://EP-001"}}"#);
    let server = StandIn::start_at(&address.to_string());
    let mut answer = bridge.receive();
    while answer.get("id").is_none() {
        answer = bridge.receive();
    }
    assert_eq!(answer["result"]["contents"][0]["uri"], "epic://EP-001", "[002 R13.4]: {answer}");
    server.wait_for("subscriptions/listen", 1);
}

//@= spexus://REQ-136
//@= type=test
//@# 002 R12.6: an expired token is rejected
//@= spexus://REQ-145
//@= type=test
//@# 002 R13.7: errors say what to do
#[test]
fn a_rejected_token_is_reported_with_advice() {
    let server = StandIn::start();
    let mut bridge = start(&server.url, &[("MCP_PAT_TOKEN", "mcp_pat_old")]);
    let answer = bridge.handshake("2025-06-18");
    assert!(
        answer["result"]["instructions"].as_str().expect("instructions").contains("the token has expired")
    );
    let answer = bridge.request(1, "resources/read", json!({"uri": "epic://EP-001"}));
    assert_eq!(answer["error"]["code"], -32001, "[002 R12.6]");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("the token has expired") && message.contains("init"), "[002 R13.7]: {message}");
    assert_eq!(server.requests("resources/read").len(), 1, "a refusal is not tried again");
}

/// A server counts refusals, and locks out who is refused again and again: whatever the host does not ask for is
/// asked once.
//@= spexus://REQ-136
//@= type=test
//@# 002 R12.6: an expired token is rejected
#[test]
fn a_rejected_token_is_not_sent_repeatedly() {
    let server = StandIn::start();
    let mut bridge = start(&server.url, &[("MCP_PAT_TOKEN", "mcp_pat_old")]);
    bridge.handshake("2025-06-18");
    server.wait_for("subscriptions/listen", 1);
    for id in 0..3 {
        let answer = bridge.request(id, "tools/list", json!({}));
        assert_eq!(answer["error"]["code"], -32001, "{answer}");
        let answer = bridge.request(id, "resources/subscribe", json!({"uri": "epic://EP-001"}));
        assert_eq!(answer["error"]["code"], -32001, "{answer}");
    }
    // What may pass would have been tried four times by now.
    thread::sleep(Duration::from_secs(3));
    let n_requests = |method| server.requests(method).len();
    assert_eq!(n_requests("server/discover"), 1, "the greeting");
    assert_eq!(n_requests("tools/list"), 3, "one for each time that the host asked");
    assert_eq!(n_requests("resources/read"), 3, "one for each time that the host asked");
    assert_eq!(n_requests("subscriptions/listen"), 1, "whatever the host wants to hear of");
    assert_eq!(server.n_requests(), 8);
    let (status, _, log) = bridge.end();
    assert!(status.success());
    assert!(log.contains("the token has expired") && !log.contains("mcp_pat_old"), "{log}");
}

/// A token may be taken again, as when its owner is let in once more: then changes are heard of.
#[test]
fn a_token_that_becomes_valid_is_used_again() {
    let server = StandIn::start();
    server.refuse_tokens(true);
    let mut bridge = start(&server.url, &[]);
    bridge.handshake("2025-06-18");
    server.wait_for("subscriptions/listen", 1);
    let uri = json!({"uri": "epic://EP-001"});
    assert_eq!(bridge.request(1, "resources/subscribe", uri.clone())["error"]["code"], -32001);
    server.refuse_tokens(false);
    assert_eq!(bridge.request(2, "resources/read", uri.clone())["result"]["contents"][0]["uri"], uri["uri"]);
    bridge.send(
        &json!({"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe", "params": uri}).to_string(),
    );
    let mut answer = bridge.receive();
    while answer["id"] != 3 {
        answer = bridge.receive();
    }
    assert_eq!(answer["result"], json!({}), "{answer}");
}

#[test]
fn under_faults_every_request_is_answered_once_and_no_write_is_duplicated() {
    const N_REQUESTS: usize = 400;
    let (mut bridge, proxy, server) = through_proxy(&[("MCP_REQUEST_TIMEOUT", "4s"), ("LOG_LEVEL", "off")]);
    let faults = [
        Fault::Pass,
        Fault::Refuse,
        Fault::Pass,
        Fault::LoseAnswer,
        Fault::Status(502, None),
        Fault::Pass,
        Fault::CutAnswer(60),
        Fault::Status(503, Some(1)),
        Fault::Pass,
        Fault::Dawdle(Duration::from_millis(1)),
        Fault::Status(429, None),
        Fault::Pass,
        Fault::CutAnswer(250),
    ];
    // Spread so that retries of one request meet different ones.
    proxy.plan((0..4 * N_REQUESTS).map(|n| faults[n * 7 % faults.len()]));
    let started = Instant::now();
    for id in 0..N_REQUESTS {
        let arguments = json!({"title": format!("Epic {id}"), "priority": 2});
        let params = json!({"name": "create_epic", "arguments": arguments});
        bridge
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }
    let mut titles: BTreeMap<String, String> = BTreeMap::new();
    let mut is_answered = [false; N_REQUESTS];
    let mut n_failed = 0;
    while is_answered.contains(&false) {
        let answer = bridge.receive();
        let Some(id) = answer["id"].as_u64() else { continue };
        assert!(!std::mem::replace(&mut is_answered[id as usize], true), "{id} was answered twice");
        match answer.get("result") {
            Some(result) => {
                let epic = json_of(result);
                let text = |name: &str| epic[name].as_str().expect("text").to_owned();
                assert_eq!(epic["title"], format!("Epic {id}"), "another request's answer");
                assert_eq!(titles.insert(text("reference_id"), text("title")), None, "one epic, two answers");
            }
            None => n_failed += 1,
        }
    }
    assert!(started.elapsed() < Duration::from_secs(40), "{:?}", started.elapsed());
    // What failed may have been written once, and its answer lost.
    let n_written = server.n_written() as usize;
    assert!(
        (titles.len()..=N_REQUESTS).contains(&n_written),
        "{n_written} written for {N_REQUESTS} requests"
    );
    assert!(
        n_written <= titles.len() + n_failed,
        "{n_written} written, {} answered, {n_failed} failed",
        titles.len()
    );
    assert!(n_failed < N_REQUESTS / 4, "{n_failed} of {N_REQUESTS} failed");
    let (status, rest, _) = bridge.end();
    assert!(status.success());
    assert_eq!(
        rest.iter()
            .filter(
                |line| serde_json::from_str::<Value>(line).is_ok_and(|message| message.get("id").is_some())
            )
            .count(),
        0
    );
}
