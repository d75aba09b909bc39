//! Many requests at once, and clients that do not read: every request is answered once, memory is bounded.

use std::{
    collections::HashMap,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use interop::Conversation;
use serde_json::{Value, json};

use crate::{
    bad_input::peak_memory_kib,
    process::{PATIENCE, Serving, check, command},
};

/// A server that answers queries holds its patterns and a tokenizer; the rest is room for messages.
const MEMORY_KIB_MAX: u64 = 200 * 1024;

#[test]
fn ten_thousand_requests_in_one_go_are_each_answered_once() {
    const N_REQUESTS: u64 = 10_000;
    let mut serving = Serving::ready("2025-11-25");
    let mut all = Vec::new();
    for id in 0..N_REQUESTS {
        let request = match id % 4 {
            0 => json!({"jsonrpc": "2.0", "id": id, "method": "ping"}),
            1 => json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}),
            2 => json!({"jsonrpc": "2.0", "id": id.to_string(), "method": "nonsense"}),
            _ => json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "tmkb_query", "arguments": {"context": format!("celery task {id}")}}}),
        };
        writeln!(all, "{request}").expect("memory can be written");
    }
    serving.announce(&all);
    let mut input = serving.input.take().expect("stdin is open");
    let writing = thread::spawn(move || {
        input.write_all(&all).expect("the server reads");
        input
    });
    let mut n_answers: HashMap<String, u32> = HashMap::new();
    for _ in 0..N_REQUESTS {
        let answer = serving.receive();
        *n_answers.entry(answer["id"].to_string()).or_default() += 1;
        let id = answer["id"].as_u64().or_else(|| answer["id"].as_str()?.parse().ok()).expect("our id");
        match id % 4 {
            0 => assert_eq!(answer["result"], json!({})),
            1 => assert_eq!(answer["result"]["tools"][0]["name"], "tmkb_query"),
            2 => assert_eq!(answer["error"]["code"], -32601),
            _ => assert_eq!(answer["result"]["isError"], false),
        }
    }
    assert_eq!(n_answers.len() as u64, N_REQUESTS);
    let peak = peak_memory_kib(serving.child.id());
    assert!(peak < MEMORY_KIB_MAX, "{peak} KiB");
    drop(writing.join().expect("all was written"));
    let (status, rest, _) = serving.end();
    assert!(status.success());
    assert_eq!(rest, Vec::<String>::new());
}

#[test]
fn requests_that_were_read_are_answered_after_the_end_of_input() {
    let mut serving = Serving::ready("2025-11-25");
    for id in 0..200 {
        let params = json!({"name": "tmkb_query", "arguments": {"context": "background job"}});
        serving
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }
    let (status, lines, _) = serving.end();
    assert!(status.success());
    let mut ids: Vec<u64> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].as_u64().expect("our id"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
}

#[test]
fn a_client_that_reads_late_gets_every_answer() {
    let mut child = command(&[("LOG_LEVEL", "off")]).arg("serve").spawn().expect("tmkb starts");
    let mut input = child.stdin.take().expect("stdin is piped");
    let mut conversation = Conversation::default();
    let mut send = |message: Value| {
        conversation.sent(message.to_string().as_bytes());
        writeln!(input, "{message}").expect("the server reads");
    };
    let handshake = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    send(json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": handshake}));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for id in 0..150 {
        let params =
            json!({"name": "tmkb_query", "arguments": {"context": "background job", "verbosity": "human"}});
        send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    drop(input);
    thread::sleep(Duration::from_secs(2));
    let output = child.wait_with_output().expect("the server ends");
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).expect("messages are UTF-8");
    lines.lines().for_each(|line| check(&mut conversation, line));
    assert_eq!(lines.lines().count(), 151);
}

#[test]
fn a_client_that_never_reads_does_not_make_memory_grow() {
    let mut child = command(&[("LOG_LEVEL", "off")]).arg("serve").spawn().expect("tmkb starts");
    let mut input = child.stdin.take().expect("stdin is piped");
    let pid = child.id();
    let n_sent = Arc::new(AtomicU64::new(0));
    let counting = n_sent.clone();
    let writing = thread::spawn(move || {
        let handshake = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let mut send = |message: Value| {
            counting.fetch_add(1, Ordering::Relaxed);
            writeln!(input, "{message}").is_ok()
        };
        send(json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": handshake}));
        send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        // The server stops reading long before the last one, and this thread waits with it.
        (0..1_000_000u64).all(|id| send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})));
    });
    wait_until_still(&n_sent);
    let peak = peak_memory_kib(pid);
    let n_read = n_sent.load(Ordering::Relaxed);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(
        (peak_memory_kib(pid), n_sent.load(Ordering::Relaxed)),
        (peak, n_read),
        "it still reads or grows"
    );
    child.kill().expect("the server is still there");
    child.wait().expect("it ends");
    writing.join().expect("writing ends with the pipe");
    assert!(n_read < 1_000_000, "the server read everything although nobody took its answers");
    assert!(peak < MEMORY_KIB_MAX, "{peak} KiB");
}

/// Waits until the number has not changed for a second.
fn wait_until_still(number: &AtomicU64) {
    let started = Instant::now();
    loop {
        let before = number.load(Ordering::Relaxed);
        thread::sleep(Duration::from_secs(1));
        if number.load(Ordering::Relaxed) == before {
            return;
        }
        assert!(started.elapsed() < 3 * PATIENCE, "it goes on and on");
    }
}
