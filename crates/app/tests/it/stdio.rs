//! The transport: signals, shutdown, cancellation, time-outs, panics, progress, changes.

use std::{
    io::{BufRead, BufReader, PipeWriter, Write},
    sync::{
        Arc, Barrier, Mutex,
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use interop::Conversation;
use mcp::{
    Capabilities, Change, Changed, Contents, Context, Failure, ListCapability, Page, Profile, Resource,
    ResourceCapability, Server, Tool, ToolOutput,
};
use serde_json::{Value, json};
use spexus::stdio::{Options, serve_on};

use crate::process::{PATIENCE, Serving, check};

#[test]
fn shutdown_is_answered_and_ends_the_server() {
    let mut serving = Serving::ready("2025-11-25");
    assert_eq!(serving.request(1, "shutdown", json!({}))["result"], json!({}));
    let (status, lines, _) = serving.wait();
    assert!(status.success());
    assert_eq!(lines, Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn sigterm_ends_the_server_after_what_it_has_read() {
    let mut serving = Serving::ready("2025-11-25");
    let params = json!({"name": "tmkb_query", "arguments": {"context": "background job"}});
    for id in 0..50 {
        serving
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }
    // One answer shows that the requests, sent in one go before it, have been read.
    serving.receive();
    let pid = serving.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
    let (status, lines, log) = serving.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!lines.is_empty(), "what was in flight was answered");
    assert_eq!(lines.len() + 1, log.lines().count(), "each query that ran was answered: {log}");
}

#[test]
fn the_spelling_initialized_is_accepted() {
    let mut serving = Serving::start();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    serving.request(1, "initialize", params);
    serving.send(r#"{"jsonrpc":"2.0","method":"initialized"}"#);
    assert!(serving.request(2, "tools/list", json!({}))["error"].is_null());
}

#[test]
fn a_probe_that_closes_at_once_gets_its_answer() {
    let mut serving = Serving::start();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    serving.send(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}})
            .to_string(),
    );
    let (status, lines, _) = serving.end();
    assert!(status.success());
    let answer: Value = serde_json::from_str(&lines[0]).expect("JSON");
    assert_eq!(answer["result"]["supportedVersions"].as_array().map(Vec::len), Some(5));
}

#[test]
fn a_panic_is_an_internal_error_and_the_process_lives_on() {
    let mut client = Client::start();
    client.send(call(1, "panic"));
    let answer = client.receive();
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["message"], "Internal error");
    assert!(answer["error"]["data"]["request_id"].is_string());
    assert!(!answer.to_string().contains("secret detail"));
    client.send(call(2, "quick"));
    assert_eq!(client.receive()["id"], 2);
}

#[test]
fn calls_run_side_by_side_and_are_answered_as_they_end() {
    let mut client = Client::start();
    // Each of the four waits for the other three: one after the other they would wait forever.
    for id in 0..4 {
        client.send(call(id, "together"));
    }
    let mut ids: Vec<u64> = (0..4).map(|_| client.receive()["id"].as_u64().expect("our id")).collect();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3]);
    client.send(call("first", "until_cancelled"));
    client.send(call("second", "quick"));
    assert_eq!(client.receive()["id"], "second");
    client.send(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "first"}}),
    );
}

#[test]
fn a_cancelled_call_stops_and_nothing_is_sent_for_it() {
    let mut client = Client::start();
    client.send(call(1, "until_cancelled"));
    client.wait_for("until_cancelled began");
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    client.wait_for("until_cancelled stopped");
    client.send(call(2, "quick"));
    assert_eq!(client.receive()["id"], 2);
    assert_eq!(client.end(), (0, Vec::new()));
}

#[test]
fn a_call_that_takes_too_long_is_answered_and_told_to_stop() {
    let mut client =
        Client::start_with(Options { request_timeout: Duration::from_millis(200), ..Options::default() });
    client.send(call(1, "until_cancelled"));
    let answer = client.receive();
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], "Request timed out after 200ms");
    client.wait_for("until_cancelled stopped");
    assert_eq!(client.end(), (0, Vec::new()));
}

#[test]
fn more_requests_than_are_worked_on_at_once_are_all_answered_when_none_ends() {
    let mut client =
        Client::start_with(Options { request_timeout: Duration::from_millis(300), ..Options::default() });
    for id in 0..600 {
        client.send(call(id, "until_cancelled"));
    }
    client.send(call("last", "quick"));
    let mut ids: Vec<Value> = (0..601).map(|_| client.receive()["id"].clone()).collect();
    ids.sort_by_key(|id| id.as_u64());
    ids.dedup();
    assert_eq!(ids.len(), 601);
    assert_eq!(client.end(), (0, Vec::new()));
}

#[test]
fn progress_comes_before_the_answer() {
    let mut client = Client::start();
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "progress", "_meta": {"progressToken": "t"}}}));
    for step in 1..=3 {
        let notification = client.receive();
        assert_eq!(
            notification["params"],
            json!({"progressToken": "t", "progress": f64::from(step), "total": 3.0})
        );
    }
    assert_eq!(client.receive()["id"], 1);
}

#[test]
fn changes_reach_subscribers_of_both_eras() {
    let mut client = Client::start();
    client.send(
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "test://a"}}),
    );
    assert_eq!(client.receive()["result"], json!({}));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    client.send(json!({"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen",
        "params": {"_meta": meta, "notifications": {"resourceSubscriptions": ["test://a"]}}}));
    assert_eq!(client.receive()["method"], "notifications/subscriptions/acknowledged");

    client.send(call(2, "touch"));
    let messages: Vec<Value> = (0..4).map(|_| client.receive()).collect();
    let methods: Vec<&str> = messages.iter().filter_map(|message| message["method"].as_str()).collect();
    assert_eq!(
        methods,
        [
            "notifications/resources/updated",
            "notifications/resources/updated",
            "notifications/tools/list_changed"
        ]
    );
    assert_eq!(messages[1]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "listen");

    // At the end the subscription gets its result.
    let (code, rest) = client.end();
    assert_eq!(code, 0);
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["id"], "listen");
    assert_eq!(rest[0]["result"]["resultType"], "complete");
}

fn call(id: impl Into<Value>, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": {"name": tool}})
}

/// A client in this process, at the other end of two pipes.
struct Client {
    input: Option<PipeWriter>,
    lines: Receiver<String>,
    conversation: Conversation,
    events: Arc<Mutex<Vec<String>>>,
    serving: Option<thread::JoinHandle<u8>>,
}

impl Client {
    fn start() -> Self {
        Self::start_with(Options::default())
    }

    fn start_with(options: Options) -> Self {
        let (server_input, input) = std::io::pipe().expect("a pipe");
        let (output, server_output) = std::io::pipe().expect("a pipe");
        let server = Arc::new(TestServer {
            together: Barrier::new(4),
            events: Arc::default(),
            changed: Mutex::default(),
        });
        let events = server.events.clone();
        let serving =
            thread::spawn(move || serve_on(profile(), server, server_input, server_output, options));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        let conversation = Conversation::default();
        let mut client = Self { input: Some(input), lines, conversation, events, serving: Some(serving) };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        client.send(json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params}));
        client.receive();
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: Value) {
        self.conversation.sent(message.to_string().as_bytes());
        writeln!(self.input.as_mut().expect("open"), "{message}").expect("the server reads");
    }

    #[track_caller]
    fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server answers");
        self.read(&line)
    }

    #[track_caller]
    fn wait_for(&self, event: &str) {
        let started = Instant::now();
        while !self.events.lock().expect("not poisoned").iter().any(|seen| seen == event) {
            assert!(started.elapsed() < Duration::from_secs(10), "{event} did not happen");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Closes stdin; returns the exit code and what was still sent.
    fn end(mut self) -> (u8, Vec<Value>) {
        drop(self.input.take());
        let code = self.serving.take().expect("serving").join().expect("serving does not panic");
        let lines: Vec<String> = self.lines.iter().collect();
        (code, lines.iter().map(|line| self.read(line)).collect())
    }

    #[track_caller]
    fn read(&mut self, line: &str) -> Value {
        check(&mut self.conversation, line);
        serde_json::from_str(line).expect("what fits is JSON")
    }
}

fn profile() -> Profile {
    let mut profile = Profile::new("test", "1");
    profile.capabilities = Capabilities {
        tools: Some(ListCapability { list_changed: true }),
        resources: Some(ResourceCapability { list_changed: true, subscribe: true, by_path: false }),
        ..Capabilities::default()
    };
    profile
}

struct TestServer {
    together: Barrier,
    events: Arc<Mutex<Vec<String>>>,
    changed: Mutex<Option<Changed>>,
}

impl TestServer {
    fn note(&self, event: &str) {
        self.events.lock().expect("not poisoned").push(event.into());
    }
}

impl Server for TestServer {
    fn tools(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        let names = ["quick", "together", "panic", "until_cancelled", "progress", "touch"];
        let tools: Vec<_> =
            names.iter().map(|name| Arc::new(Tool::new(*name, "", json!({"type": "object"})))).collect();
        mcp::page_of(&tools, cursor, 10)
    }

    fn call_tool(
        &self,
        context: &Context<'_>,
        tool: &Tool,
        _arguments: Value,
    ) -> Result<ToolOutput, Failure> {
        match tool.name.as_str() {
            "together" => drop(self.together.wait()),
            "panic" => panic!("a secret detail"),
            "until_cancelled" => {
                self.note("until_cancelled began");
                while !context.is_cancelled() {
                    thread::sleep(Duration::from_millis(1));
                }
                self.note("until_cancelled stopped");
            }
            "progress" => (1..=3).for_each(|step| context.progress.report(f64::from(step), Some(3.0), None)),
            "touch" => {
                let changed = self.changed.lock().expect("not poisoned");
                let changed = changed.as_ref().expect("the transport watches");
                changed(Change::Resource("test://a".into()));
                changed(Change::Tools);
            }
            _ => {}
        }
        Ok(ToolOutput::text("done"))
    }

    fn resources(&self, _context: &Context<'_>, _cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        Ok(Page::whole(Vec::new()))
    }

    fn read(&self, _context: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        Ok(json!({"uri": uri, "text": "a"}).into())
    }

    fn watch(&self, changed: Changed) {
        *self.changed.lock().expect("not poisoned") = Some(changed);
    }
}

/// The same on every server: an unsupported version is one warning, a missing one is malformed.
//@= spexus://REQ-011
//@= type=test
//@# 000 versions: protocol versions are counted, and unsupported ones stand out in the log
//@= spexus://REQ-001
//@= type=test
//@# 000 request: an initialize request is checked, and the error for a malformed one names what is wrong
#[test]
fn an_unsupported_version_is_one_warning() {
    let mut serving = Serving::start_with(&[], &[("MCP_VERSION_POLICY", "strict")]);
    let missing = serving.request(1, "initialize", json!({}));
    assert_eq!(missing["error"]["data"]["code"], "MALFORMED_REQUEST", "{missing}");
    let refused = serving.request(2, "initialize", json!({"protocolVersion": "1999-01-01"}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let (_, _, log) = serving.end();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("received_version=1999-01-01")).collect();
    assert!(matches!(lines[..], [line] if line.contains("[WARN]")), "{log}");
}
