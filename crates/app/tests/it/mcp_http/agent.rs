//! An agent that talks to the endpoint in one revision, and the streams that it opens.

use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use interop::Conversation;
use reqwest::blocking::RequestBuilder;
use serde_json::{Value, json};

use crate::backend::{Answer, Backend, send};
use crate::process::{PATIENCE, check};

pub const STATELESS: &str = "2026-07-28";
pub const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// An agent.
pub struct Agent<'a> {
    pub backend: &'a Backend,
    pub revision: &'static str,
    pub token: String,
    /// The session that a handshake began.
    pub session: Option<String>,
    /// What `initialize` was answered with.
    pub greeting: Value,
    conversation: RefCell<Conversation>,
    n_requests: Cell<u64>,
}

impl<'a> Agent<'a> {
    /// An agent of the administrator that needs no handshake.
    pub fn stateless(backend: &'a Backend) -> Agent<'a> {
        Agent::new(backend, STATELESS, &backend.token)
    }

    /// An agent of the administrator, after the handshake.
    #[track_caller]
    pub fn handshake(backend: &'a Backend, revision: &'static str) -> Agent<'a> {
        Agent::new(backend, revision, &backend.token).shake_hands()
    }

    /// An agent that has said nothing yet.
    pub fn new(backend: &'a Backend, revision: &'static str, token: &str) -> Agent<'a> {
        Agent {
            backend,
            revision,
            token: token.to_owned(),
            session: None,
            greeting: Value::Null,
            conversation: RefCell::default(),
            n_requests: Cell::new(0),
        }
    }

    /// In any revision.
    #[track_caller]
    pub fn ready(backend: &'a Backend, revision: &'static str) -> Agent<'a> {
        let agent = Agent::new(backend, revision, &backend.token);
        if revision == STATELESS { agent } else { agent.shake_hands() }
    }

    #[track_caller]
    pub fn shake_hands(mut self) -> Agent<'a> {
        let answer = self.ask("initialize", initialize(self.revision));
        assert_eq!(answer.status, 200, "{}", answer.text);
        self.session = Some(answer.header("mcp-session-id").to_owned()).filter(|id| !id.is_empty());
        assert!(self.session.is_some(), "a handshake begins a session");
        self.greeting = answer.json["result"].clone();
        let noted = self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        assert_eq!((noted.status, noted.text.as_str()), (202, ""));
        self
    }

    pub fn is_stateless(&self) -> bool {
        self.revision == STATELESS
    }

    /// The message of a request, in the agent's revision.
    pub fn message(&self, method: &str, mut params: Value) -> Value {
        self.n_requests.set(self.n_requests.get() + 1);
        if self.is_stateless() {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        json!({"jsonrpc": "2.0", "id": self.n_requests.get(), "method": method, "params": params})
    }

    /// The HTTP request of a message, with all headers that belong to it.
    pub fn request(&self, message: &Value) -> RequestBuilder {
        self.headers(message).into_iter().fold(
            self.backend.anonymous("POST", "/mcp").body(message.to_string()),
            |request, (name, value)| request.header(name, value),
        )
    }

    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("authorization", format!("Bearer {}", self.token)),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        if self.is_stateless() {
            headers.push(("mcp-protocol-version", STATELESS.to_owned()));
            headers.push(("mcp-method", message["method"].as_str().unwrap_or_default().to_owned()));
            let params = &message["params"];
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                headers.push(("mcp-name", name.to_owned()));
            }
        } else if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session.clone()));
            headers.push(("mcp-protocol-version", self.revision.to_owned()));
        }
        headers
    }

    /// Sends a request and checks what comes back.
    #[track_caller]
    pub fn ask(&self, method: &str, params: Value) -> Answer {
        let message = self.message(method, params);
        let answer = self.exchange(&message, self.request(&message));
        if let Some(id) = answer.json.get("id") {
            assert_eq!(*id, message["id"], "{}", answer.text);
        }
        answer
    }

    /// Sends an HTTP request that carries a message, and checks what comes back.
    #[track_caller]
    pub fn exchange(&self, message: &Value, request: RequestBuilder) -> Answer {
        self.conversation.borrow_mut().sent(message.to_string().as_bytes());
        let answer = send(request);
        if answer.header("content-type") == "application/json" {
            self.check(&answer.text);
        }
        answer
    }

    /// Sends a body as it is, with the headers of a session.
    #[track_caller]
    pub fn post(&self, body: &str) -> Answer {
        let message = serde_json::from_str(body).unwrap_or_default();
        let request = self.request(&message).body(body.to_owned());
        self.conversation.borrow_mut().sent(body.as_bytes());
        let answer = send(request);
        if !answer.text.is_empty() {
            self.check(&answer.text);
        }
        answer
    }

    /// Sends a request and returns its result.
    #[track_caller]
    pub fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.json.get("result").is_some(), "{}", answer.text);
        answer.json["result"].clone()
    }

    /// Calls a tool and returns the value that it gives.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.result("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], false, "{result}");
        let text = result["content"][0]["text"].as_str().expect("a block of text");
        serde_json::from_str(text).expect("the text is JSON")
    }

    /// Holds a message of the server against the schema.
    #[track_caller]
    pub fn check(&self, message: &str) {
        check(&mut self.conversation.borrow_mut(), message);
    }

    /// Opens the stream of the session.
    #[track_caller]
    pub fn open_stream(&self) -> Stream {
        let mut headers = self.headers(&Value::Null);
        headers.retain(|(name, _)| *name != "content-type");
        Stream::open(self.backend, "GET", &headers, "")
    }

    /// Listens to what a filter names, and waits for the acknowledgement.
    #[track_caller]
    pub fn listen(&self, notifications: Value) -> Stream {
        self.listen_to(notifications).0
    }

    /// The same, with what was acknowledged.
    #[track_caller]
    pub fn listen_to(&self, notifications: Value) -> (Stream, Value) {
        let message = self.message("subscriptions/listen", json!({ "notifications": notifications }));
        self.conversation.borrow_mut().sent(message.to_string().as_bytes());
        let stream = Stream::open(self.backend, "POST", &self.headers(&message), &message.to_string());
        let first = self.hear(&stream);
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        (stream, first["params"]["notifications"].clone())
    }

    /// The same, and reads nothing of what comes.
    #[track_caller]
    pub fn listen_asleep(&self, notifications: Value) -> Asleep {
        let message = self.message("subscriptions/listen", json!({ "notifications": notifications }));
        self.conversation.borrow_mut().sent(message.to_string().as_bytes());
        Asleep(connect(self.backend, "POST", &self.headers(&message), &message.to_string()))
    }

    /// Calls a tool, and hears of its progress.
    #[track_caller]
    pub fn follow(&self, tool: &str, arguments: Value, token: Value) -> Stream {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
        let message = self.message("tools/call", params);
        self.conversation.borrow_mut().sent(message.to_string().as_bytes());
        Stream::open(self.backend, "POST", &self.headers(&message), &message.to_string())
    }

    /// Says that the last request is not wanted any more.
    #[track_caller]
    pub fn cancel_last(&self) {
        let params = json!({"requestId": self.n_requests.get()});
        let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        assert_eq!(self.post(&message.to_string()).status, 202);
    }

    /// The next message of a stream.
    #[track_caller]
    pub fn hear(&self, stream: &Stream) -> Value {
        let message = stream.next();
        self.check(&message);
        serde_json::from_str(&message).expect("a message is JSON")
    }

    /// The next message of a stream that is about this method.
    #[track_caller]
    pub fn hear_of(&self, stream: &Stream, method: &str) -> Value {
        self.hear_until(stream, |message| message["method"] == method)
    }

    /// The next message of a stream that fits. A stream that falls silent without it fails the test.
    #[track_caller]
    pub fn hear_until(&self, stream: &Stream, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.hear(stream);
            if fits(&message) {
                return message;
            }
        }
    }
}

/// The parameters of `initialize`.
pub fn initialize(revision: &str) -> Value {
    json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// Changes an epic through REST.
#[track_caller]
pub fn rename(backend: &Backend, reference: &str) {
    static N_NAMES: AtomicU64 = AtomicU64::new(0);
    let title = format!("Name {}", N_NAMES.fetch_add(1, Ordering::Relaxed));
    let changed = backend.send("PATCH", &format!("/epics/{reference}"), &json!({ "title": title }));
    assert_eq!(changed.status, 200, "{}", changed.text);
}

/// A stream whose events nobody reads.
pub struct Asleep(TcpStream);

impl Asleep {
    /// Begins to read.
    #[track_caller]
    pub fn wake(self) -> Stream {
        Stream::read(self.0)
    }
}

fn connect(backend: &Backend, method: &str, headers: &[(&'static str, String)], body: &str) -> TcpStream {
    let address = backend.url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).expect("the server listens");
    let mut head = format!("{method} /api/v1/mcp HTTP/1.1\r\nhost: {address}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    connection.write_all(head.as_bytes()).expect("the server reads");
    connection.write_all(body.as_bytes()).expect("the server reads");
    connection
}

/// An open stream of events. When it is dropped the connection is cut.
pub struct Stream {
    connection: TcpStream,
    messages: Receiver<String>,
}

impl Stream {
    #[track_caller]
    fn open(backend: &Backend, method: &str, headers: &[(&'static str, String)], body: &str) -> Stream {
        Stream::read(connect(backend, method, headers, body))
    }

    #[track_caller]
    fn read(connection: TcpStream) -> Stream {
        let mut lines =
            BufReader::new(connection.try_clone().expect("a socket")).lines().map_while(Result::ok);
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let is_open =
            head[0] == "HTTP/1.1 200 OK" && head.iter().any(|line| line == "content-type: text/event-stream");
        assert!(is_open, "{head:#?}\n{:?}", lines.nth(1));
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            // The stream may end before the connection does.
            for line in lines.take_while(|line| line != "0") {
                // An event is a piece of its own, so its one line of data is whole.
                if let Some(message) = line.strip_prefix("data: ")
                    && sender.send(message.to_owned()).is_err()
                {
                    break;
                }
            }
        });
        Stream { connection, messages }
    }

    #[track_caller]
    fn next(&self) -> String {
        self.messages.recv_timeout(PATIENCE).expect("the stream says something")
    }

    /// Makes sure that nothing is said for a while.
    #[track_caller]
    pub fn assert_quiet(&self) {
        let said = self.messages.recv_timeout(Duration::from_millis(700));
        assert_eq!(said, Err(RecvTimeoutError::Timeout), "a quiet, open stream");
    }

    /// Whether something was said that nobody has heard yet. It is lost.
    pub fn has_said_something(&self) -> bool {
        self.messages.try_iter().count() > 0
    }

    /// Waits until the server has ended the stream, and returns what it said before.
    #[track_caller]
    pub fn end(&self) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            match self.messages.recv_timeout(PATIENCE) {
                Ok(message) => said.push(message),
                Err(RecvTimeoutError::Disconnected) => return said,
                Err(RecvTimeoutError::Timeout) => panic!("the stream goes on: {said:?}"),
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.connection.shutdown(Shutdown::Both);
    }
}
