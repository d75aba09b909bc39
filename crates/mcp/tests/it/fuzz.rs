//! Fuzz target: whole sessions of arbitrary lines.
//!
//! `cargo test` runs a bounded number of random inputs; `cargo bolero test fuzz::sessions_survive_any_lines
//! -p mcp` searches with a fuzzing engine until it is stopped.

use std::{sync::Arc, time::Instant};

use bolero::check;
use mcp::{Session, Step};

use crate::demo;

/// Pieces that random bytes would hardly ever form, by the byte that represents each.
const PIECES: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\n",
    "1",
    "null",
    "-1.5e3",
    "\"2.0\"",
    "\"jsonrpc\":\"2.0\",",
    "\"id\":1,",
    "\"id\":\"a\",",
    "\"method\":",
    "\"ping\"",
    "\"initialize\"",
    "\"tools/call\"",
    "\"server/discover\"",
    "\"subscriptions/listen\"",
    "\"notifications/cancelled\"",
    ",\"params\":{",
    "\"name\":\"echo\"",
    "\"arguments\":{\"text\":\"x\"}",
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}",
    "\"protocolVersion\":\"2025-03-26\"",
    "\"requestId\":1",
    "\"notifications\":{\"toolsListChanged\":true}",
    "\"\\ud800\"",
    "\"cursor\":\"p1\"",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
];

#[test]
fn sessions_survive_any_lines() {
    check!().with_iterations(5_000).with_max_len(200).for_each(|input: &[u8]| {
        let (profile, server) = demo::server("full");
        let mut session = Session::stdio(Arc::new(profile), "r");
        let now = Instant::now();
        for line in expand(input).split(|byte| *byte == b'\n') {
            for step in session.handle(line, now) {
                let answer = match step {
                    Step::Send(bytes) => Some(bytes),
                    Step::Call(call) => session.finish(mcp::run(&*server, call, &|_| {})),
                    Step::Stop | Step::Cancel(_) | Step::Refused(..) => None,
                };
                if let Some(bytes) = answer {
                    serde_json::from_slice::<&serde_json::value::RawValue>(&bytes)
                        .expect("what leaves is JSON");
                }
            }
        }
        assert_eq!((session.n_in_flight(), session.in_flight_bytes()), (0, 0), "everything was answered");
    });
}

/// Bytes below 128 represent pieces of messages, the others themselves.
fn expand(input: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    for byte in input {
        match PIECES.get(usize::from(*byte % 128)) {
            Some(piece) if *byte < 128 => lines.extend(piece.bytes()),
            _ => lines.push(*byte),
        }
    }
    lines
}
