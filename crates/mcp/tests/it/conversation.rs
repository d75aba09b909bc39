//! Plays a conversation that is written as text.
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
    sync::Arc,
    time::{Duration, Instant},
};

use interop::Conversation;
use mcp::{Call, Change, Server, Session, Step};

use crate::demo;

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

/// Plays one conversation and returns its transcript. Each message of the server is validated
/// against the official schema.
pub fn play(lines: &[&str]) -> String {
    let mut player = Player::new("full");
    for line in lines.iter().filter(|line| !line.starts_with("< ") && **line != "stop") {
        player.line(line);
    }
    player.transcript
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

struct Player {
    session: Session,
    server: Arc<dyn Server>,
    now: Instant,
    held: Option<Vec<Call>>,
    conversation: Conversation,
    transcript: String,
}

impl Player {
    fn new(name: &str) -> Self {
        let (profile, server) = demo::server(name);
        Self {
            session: Session::stdio(Arc::new(profile), "r"),
            server,
            now: Instant::now(),
            held: None,
            conversation: Conversation::default(),
            transcript: String::new(),
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
        let transcript = self.transcript.clone();
        self.message(&format!(
            r#"{{"jsonrpc":"2.0","id":"handshake","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}"#
        ));
        self.message(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self.transcript = transcript;
    }

    fn message(&mut self, text: &str) {
        self.conversation.sent(text.as_bytes());
        for step in self.session.handle(text.as_bytes(), self.now) {
            match step {
                Step::Send(message) => self.received(message),
                Step::Stop => self.transcript += "stop\n",
                Step::Cancel(_) | Step::Refused(..) => {}
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

    fn received(&mut self, message: Vec<u8>) {
        self.conversation.received(&message).unwrap_or_else(|problem| panic!("{problem}"));
        self.transcript += &format!("< {}\n", String::from_utf8(message).expect("messages are UTF-8"));
    }
}
