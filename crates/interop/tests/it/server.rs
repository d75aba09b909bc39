//! The servers under test: built when needed, and once asked without any client in between.
//!
//! Every client reaches it through `checked`, so that each message it sends is held against the official schema.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

/// What every client asks.
pub const CONTEXT: &str = "background job processing";

/// Passes on what fits, and ends where something does not.
pub const CHECKED: &str = env!("CARGO_BIN_EXE_checked");

/// What starts `tmkb serve`.
pub fn command() -> [&'static OsStr; 3] {
    [CHECKED.as_ref(), built("tmkb").as_os_str(), "serve".as_ref()]
}

/// What starts `duvet mcp` in the current folder.
pub fn duvet() -> [&'static OsStr; 3] {
    [CHECKED.as_ref(), built("duvet").as_os_str(), "mcp".as_ref()]
}

/// What starts `requirements-mcp-server`.
pub fn bridge() -> [&'static OsStr; 2] {
    [CHECKED.as_ref(), built("requirements-mcp-server").as_os_str()]
}

/// The program `spexus`.
pub fn spexus() -> &'static Path {
    built("spexus")
}

/// Returns a freshly built program. Cargo builds no binary of another package for a test, so we ask it to.
fn built(name: &str) -> &'static Path {
    static PROGRAMS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let mut cargo = Command::new(env!("CARGO"));
        // What `./test` builds: with other targets, features would be unified otherwise, and half of the dependencies
        // built twice.
        cargo.args(["test", "--no-run", "--message-format=json"]);
        cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        // What cargo says of this crate to its tests is for no other crate: some build scripts look at it, and would run
        // again.
        let of_this_crate = |name: &OsString| {
            let name = name.to_string_lossy();
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_"].iter().any(|prefix| name.starts_with(prefix))
        };
        for (name, _) in std::env::vars_os().filter(|(name, _)| of_this_crate(name)) {
            cargo.env_remove(name);
        }
        // Some look at this as well, with which `scripts/report-tests` starts tests.
        cargo.env_remove("RUSTC_BOOTSTRAP");
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        let output = cargo.stderr(Stdio::inherit()).output().expect("cargo can be started");
        let lines = String::from_utf8(output.stdout).expect("cargo writes JSON");
        let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?))).collect()
    });
    let is_wanted = |path: &&PathBuf| path.file_stem() == Some(OsStr::new(name));
    PROGRAMS.iter().find(is_wanted).expect("cargo built the server")
}

/// Starts the server with pipes to talk over.
pub fn spawn() -> Child {
    let [program, arguments @ ..] = command();
    Command::new(program)
        .args(arguments)
        .env("LOG_LEVEL", "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server can be started")
}

/// Returns the text that the server answers to a query, taken from a bare conversation.
pub fn answer() -> &'static str {
    static ANSWER: LazyLock<String> = LazyLock::new(|| {
        let mut server = spawn();
        let query = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "tmkb_query", "arguments": {"context": CONTEXT},
        }});
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "interop", "version": "1"},
        }});
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let mut stdin = server.stdin.take().expect("stdin is piped");
        write!(stdin, "{initialize}\n{initialized}\n{query}\n").expect("the server reads");
        let stdout = server.stdout.take().expect("stdout is piped");
        // Requests run concurrently, so the answers may come in any order.
        let answers = BufReader::new(stdout).lines().take(2).map(|line| line.expect("the server answers"));
        let answers = answers.map(|line| serde_json::from_str::<Value>(&line).expect("an answer is JSON"));
        let answer = answers.into_iter().find(|answer| answer["id"] == 2).expect("the query is answered");
        drop(stdin);
        assert!(server.wait().expect("the server ends").success(), "the server ends well");

        let text = answer["result"]["content"][0]["text"].as_str().expect("the answer has a text").to_owned();
        let patterns: Value = serde_json::from_str(&text).expect("the text is JSON");
        assert!(patterns["pattern_count"].as_u64() > Some(0), "expected patterns, found {patterns}");
        text
    });
    &ANSWER
}
