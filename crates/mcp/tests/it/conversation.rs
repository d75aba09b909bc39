//! Runs a conversation that is written down as text.
//!
//! ```text
//! ## What this conversation shows
//! server: full                      which server of `demo.rs`
//! > {"jsonrpc":"2.0",…}             a message to the server
//! < {"jsonrpc":"2.0",…}             a message from it (written by UPDATE_EXPECT=1)
//! ready 2025-06-18                  a handshake, not shown
//! hold / release                    calls wait / are run
//! change tools                      something changed on the server
//! wait 31s                          time passes
//! close                             the server ends
//! ```
//! In messages `{{meta}}` stands for the `_meta` member of a 2026-07-28 request.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use mcp::{Call, Change, Server, Session, Step};
use serde_json::{Value, value::RawValue};

use crate::demo;

/// One message from the server, and what its form depends on.
pub struct Sent {
    pub message: Value,
    /// The revision whose schema it must fit.
    pub revision: String,
    /// The method of the request it answers, if it answers one.
    pub method: Option<String>,
}

/// Splits a file into conversations: a title and its lines each.
pub fn split(file: &str) -> Vec<(&str, Vec<&str>)> {
    let mut conversations: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in file.lines() {
        match (line.strip_prefix("## "), conversations.last_mut()) {
            (Some(title), _) => conversations.push((title, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    conversations
}

/// Plays one conversation. Returns it as it should have been written, and everything the server sent.
pub fn play(lines: &[&str]) -> (String, Vec<Sent>) {
    let mut player = Player::new("full");
    for line in lines.iter().filter(|line| !line.starts_with("< ") && **line != "stop") {
        player.line(line);
    }
    (player.transcript, player.sent)
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

struct Player {
    session: Session,
    server: Arc<dyn Server>,
    now: Instant,
    held: Option<Vec<Call>>,
    revision: String,
    /// Method and revision of each request, by its id.
    requests: HashMap<String, (String, String)>,
    transcript: String,
    sent: Vec<Sent>,
}

impl Player {
    fn new(name: &str) -> Self {
        let (profile, server) = demo::server(name);
        Self {
            session: Session::stdio(Arc::new(profile), "r"),
            server,
            now: Instant::now(),
            held: None,
            revision: "2025-11-25".into(),
            requests: HashMap::new(),
            transcript: String::new(),
            sent: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("server: ") {
            *self = Self { transcript: std::mem::take(&mut self.transcript), ..Self::new(name) };
        }
        self.transcript += line;
        self.transcript.push('\n');
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            ">" => self.message(&rest.replace("{{meta}}", META)),
            "ready" => self.handshake(rest),
            "hold" => self.held = Some(Vec::new()),
            "release" => {
                for call in self.held.take().unwrap_or_default() {
                    self.run(call);
                }
            }
            "change" => {
                let change = match rest.split_once(' ') {
                    Some(("resource", uri)) => Change::Resource(uri.into()),
                    _ if rest == "tools" => Change::Tools,
                    _ if rest == "prompts" => Change::Prompts,
                    _ if rest == "resources" => Change::Resources,
                    _ => panic!("no change {rest:?}"),
                };
                let messages = self.session.notify(&change);
                messages.into_iter().for_each(|message| self.received(message));
            }
            "wait" => {
                self.now += Duration::from_secs(rest.trim_end_matches('s').parse().expect("seconds"));
                let expired = self.session.expire(self.now, Duration::from_secs(30));
                expired
                    .into_iter()
                    .filter_map(|(_, message)| message)
                    .for_each(|message| self.received(message));
            }
            "close" => {
                let messages = self.session.close();
                messages.into_iter().for_each(|message| self.received(message));
            }
            "server:" | "" => {}
            other => panic!("no step {other:?}"),
        }
    }

    fn handshake(&mut self, revision: &str) {
        let (transcript, n_sent) = (self.transcript.clone(), self.sent.len());
        self.message(&format!(
            r#"{{"jsonrpc":"2.0","id":"handshake","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}"#
        ));
        self.message(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self.transcript = transcript;
        self.sent.truncate(n_sent);
    }

    fn message(&mut self, text: &str) {
        self.remember(&serde_json::from_str(text).unwrap_or_default());
        for step in self.session.handle(text.as_bytes(), self.now) {
            match step {
                Step::Send(message) => self.received(message),
                Step::Stop => self.transcript += "stop\n",
                Step::Refused(..) => {}
                Step::Call(call) => match &mut self.held {
                    Some(held) => held.push(call),
                    None => self.run(call),
                },
            }
        }
    }

    fn run(&mut self, call: Call) {
        let progress = std::cell::RefCell::new(Vec::new());
        let answer = mcp::run(&*self.server, call, &|message| progress.borrow_mut().push(message));
        progress.into_inner().into_iter().for_each(|message| self.received(message));
        if let Some(message) = self.session.finish(answer) {
            self.received(message);
        }
    }

    /// Notes what answers to these requests will be measured by.
    fn remember(&mut self, request: &Value) {
        let params = &request["params"];
        if let Some(revision) = params["protocolVersion"].as_str()
            && mcp::Revision::HANDSHAKE.iter().any(|known| known.as_str() == revision)
        {
            self.revision = revision.into();
        }
        let meta = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let revision = if meta == "2026-07-28" { "2026-07-28".into() } else { self.revision.clone() };
        if let (Some(id), Some(method)) = (request.get("id"), request["method"].as_str()) {
            // A second request with an id in flight does not take the first one's place.
            self.requests.entry(id.to_string()).or_insert((method.into(), revision));
        }
        request.as_array().into_iter().flatten().for_each(|request| self.remember(request));
    }

    fn received(&mut self, message: Vec<u8>) {
        let text = String::from_utf8(message).expect("messages are UTF-8");
        assert!(!text.contains('\n'), "a message is one line: {text}");
        self.transcript += &format!("< {text}\n");
        serde_json::from_str::<&RawValue>(&text).expect("a message is JSON");
        // An echoed id may be a number that no value holds; then there is nothing to measure.
        let Ok(message) = serde_json::from_str::<Value>(&text) else { return };
        let parts = message.as_array().cloned().unwrap_or_else(|| vec![message]);
        for message in parts {
            let id = message["id"].to_string();
            let request = match message.to_string().contains("is still in flight") {
                true => self.requests.get(&id).cloned(),
                false => self.requests.remove(&id),
            };
            let (method, revision) = match request {
                Some((method, revision)) => (Some(method), revision),
                None if message.to_string().contains("subscriptionId") => (None, "2026-07-28".into()),
                None => (None, self.revision.clone()),
            };
            self.sent.push(Sent { message, revision, method });
        }
    }
}
