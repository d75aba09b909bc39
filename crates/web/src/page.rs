//! What a page is.

use std::collections::BTreeMap;

use maud::Markup;
use ops::{Effect, Entry, known};
use serde_json::Value;
use store::model::Role;

/// A page of the application.
pub struct Page {
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// What it is called in the navigation of a project, and the key that opens it after `g`.
    pub nav: Option<(&'static str, char)>,
    /// What it asks, given what was answered so far. It is asked again until nothing new comes.
    pub ask: fn(&Asked, &Answers) -> Vec<Question>,
    /// What it shows.
    pub show: fn(&View<'_>) -> Shown,
}

/// What the address says.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The path as it was written.
    pub path: String,
    /// The parameters of the path.
    pub parameters: BTreeMap<String, String>,
    /// The query, in order.
    pub query: Vec<(String, String)>,
}

impl Asked {
    /// A parameter of the path.
    pub fn parameter(&self, name: &str) -> &str {
        self.parameters.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The first value of a name in the query, unless it is empty.
    pub fn first(&self, name: &str) -> Option<&str> {
        let named = self.query.iter().find(|(known, value)| known == name && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }

    /// All values of a name in the query but empty ones.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.query.iter().filter(move |(known, value)| known == name && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }

    /// The address itself.
    pub fn here(&self) -> String {
        self.with("", None)
    }

    /// The address with one value of the query changed, or taken away.
    pub fn with(&self, name: &str, value: Option<&str>) -> String {
        let kept = self.query.iter().filter(|(known, value)| known != name && !value.is_empty());
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let pairs: Vec<String> = kept
            .chain(value.map(|value| (name, value)))
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        if pairs.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, pairs.join("&")) }
    }
}

/// A path of our own: no other host, and nothing that a browser could take for one.
pub fn own_path(path: &str) -> Option<&str> {
    let is_own = path.starts_with('/') && !path.starts_with("//") && !path.contains(['\\', '\n', '\r', '\t']);
    is_own.then_some(path)
}

/// A text as part of an address.
pub fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte as char),
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

/// A question of a page.
pub struct Question {
    /// What the page calls the answer.
    pub name: &'static str,
    /// Who answers it.
    pub source: Source,
    /// The arguments.
    pub arguments: Value,
    /// Whether the page is nothing without it.
    pub is_needed: bool,
}

/// Who answers a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// An operation, through the one door.
    Operation(&'static Entry),
    /// The door itself: whether the user may run this operation, in some project. If not, the problem names the role.
    Permission(&'static Entry),
    /// The traces of a project: what a folder that the server follows says of its specifications.
    Traces,
    /// The threat patterns.
    Threats,
}

impl Question {
    /// A question without which the page is nothing.
    pub fn needed(name: &'static str, operation: &'static Entry, arguments: Value) -> Question {
        Question::of(name, Source::Operation(operation), arguments)
    }

    /// A question whose answer the page can do without.
    pub fn optional(name: &'static str, operation: &'static Entry, arguments: Value) -> Question {
        Question { is_needed: false, ..Question::needed(name, operation, arguments) }
    }

    /// A needed question to somebody else than an operation.
    pub fn of(name: &'static str, source: Source, arguments: Value) -> Question {
        Question { name, source, arguments, is_needed: true }
    }

    /// Shows the page only to those who may run an operation.
    pub fn permission(name: &'static str, operation: &'static Entry) -> Question {
        Question::of(name, Source::Permission(operation), Value::Null)
    }
}

/// What an operation refused.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The status of HTTP that says the same.
    pub status: u16,
    /// What is wrong, for people.
    pub message: String,
    /// What is wrong with which argument.
    pub fields: Vec<(String, String)>,
    /// After how many seconds it may be tried again.
    pub retry_after_s: Option<u64>,
}

/// What was answered, by the names of the questions.
#[derive(Default)]
pub struct Answers(Vec<(&'static str, Result<Value, Problem>)>);

impl Answers {
    /// Adds an answer.
    pub fn add(&mut self, name: &'static str, answer: Result<Value, Problem>) {
        self.0.push((name, answer));
    }

    /// Whether a question was asked.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    /// An answer, if there is one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, answer)| answer.as_ref().ok())
    }

    /// What was refused, if the question was.
    pub fn problem(&self, name: &str) -> Option<&Problem> {
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, answer)| answer.as_ref().err())
    }

    /// The answers to all questions of one name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |(known, _)| *known == name).filter_map(|(_, answer)| answer.as_ref().ok())
    }

    /// The items of a list that was answered.
    pub fn list(&self, name: &str) -> &[Value] {
        let list = self.get(name).and_then(|answer| answer.get("data")).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Who looks at a page.
pub struct Me {
    /// The user's name.
    pub username: String,
    /// The user's role.
    pub role: Role,
    /// What the user may do, in some project.
    pub may: Vec<Effect>,
    /// Whether the user wants pages light or dark, whatever the system prefers.
    pub theme: Option<&'static str>,
    /// Whether single keys do something. Some people's input devices press them by accident.
    pub has_keys: bool,
}

/// Where preferences are sent. They are kept in cookies, since they belong to a browser.
pub const PREFERENCES: &str = "/preferences";
/// The name of the preference for a theme.
pub const THEME: &str = "theme";
/// The name of the preference for single keys: `off`, or anything else.
pub const KEYS: &str = "keys";

/// The themes that can be chosen.
pub const THEMES: [&str; 2] = ["light", "dark"];

impl Me {
    /// Whether the user may run an operation. The door decides; this is only to show what can be used.
    pub fn may(&self, operation: &Entry) -> bool {
        self.may.contains(&operation.effect)
    }

    /// Whether the user may make something new of a kind.
    pub fn may_create(&self, kind: &str) -> bool {
        known::WRITES.iter().any(|(known, create, _)| known.name() == kind && self.may(create))
    }
}

/// What all pages of a server share.
pub struct Site {
    /// Where the server is reached.
    pub url: String,
    /// Its version.
    pub version: &'static str,
    /// The number of the newest change when the page was begun, where it can show later ones as they happen.
    pub newest_change: Option<i64>,
}

/// Everything that a page is made from.
pub struct View<'a> {
    /// What the address says.
    pub asked: &'a Asked,
    /// What was answered.
    pub answers: &'a Answers,
    /// Who looks.
    pub me: &'a Me,
    /// The server.
    pub site: &'a Site,
    /// Now, in microseconds since 1970.
    pub now: i64,
}

/// A page that was made.
pub struct Shown {
    /// The title of the tab.
    pub title: String,
    /// The key of the project that it belongs to.
    pub project: Option<String>,
    /// What is in it.
    pub body: Markup,
}
