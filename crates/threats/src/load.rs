//! Parses one pattern file into a [`Pattern`], or into a [`PatternProblem`] with place and cause.
//!
//! Files are untrusted, so size, nesting and aliases are limited before they are parsed.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;

use crate::pattern::Pattern;

/// The largest accepted file. The longest known pattern has 30 kB.
pub const FILE_SIZE_MAX_BYTES: usize = 1 << 20;
const DEPTH_MAX: usize = 32;
const NODES_MAX: usize = 20_000;
const ALIASES_MAX: usize = 1_000;
const REPLAYED_EVENTS_MAX: usize = 20_000;

/// Reads one file: a mapping with the key `threat_pattern`.
pub fn parse(file: &str, text: &str) -> Result<Pattern, PatternProblem> {
    let problem =
        |line, column, message: String| PatternProblem { file: file.to_owned(), line, column, message };

    if text.len() > FILE_SIZE_MAX_BYTES {
        let message = format!("expected at most {FILE_SIZE_MAX_BYTES} bytes, found {}", text.len());
        return Err(problem(None, None, message));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(problem(None, None, "expected the key `threat_pattern`, found an empty file".into()));
    }
    // A NUL ends the document for the YAML scanner: the rest would be lost silently.
    if let Some(offset) = text.find('\0') {
        let (line, column) = position(text, offset);
        return Err(problem(Some(line), Some(column), "expected text, found a NUL character".into()));
    }

    let document: PatternFile = serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let location = error.location();
        let place = location.and_then(|at| Place::new(text, at.line(), at.column()));
        problem(location.map(|at| at.line()), location.map(|at| at.column()), cause(&error, place))
    })?;
    let Some(pattern) = document.threat_pattern else {
        return Err(problem(Some(1), Some(1), "expected the key `threat_pattern`, found none".into()));
    };
    if pattern.id.trim().is_empty() {
        return Err(problem(None, None, "threat_pattern.id: expected an id, found none".into()));
    }
    Ok(pattern)
}

/// Why a file, or a part of it, could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternProblem {
    /// The name of the file, as passed in.
    pub file: String,
    /// The line, from 1, if known.
    pub line: Option<u64>,
    /// The column, from 1, if known.
    pub column: Option<u64>,
    /// The cause.
    pub message: String,
}

impl fmt::Display for PatternProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for PatternProblem {}

#[derive(Deserialize)]
struct PatternFile {
    #[serde(default)]
    threat_pattern: Option<Pattern>,
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_aliases: ALIASES_MAX,
            max_anchors: ALIASES_MAX,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: REPLAYED_EVENTS_MAX,
        },
        with_snippet: false,
    }
}

/// The parser's message in terms that authors of patterns know, and without the position, which a problem has
/// itself.
fn cause(error: &serde_saphyr::Error, place: Option<Place<'_>>) -> String {
    let message = error.to_string();
    let message = message.lines().next().unwrap_or_default();
    for (start, cause) in [
        ("budget breached: Documents", "expected one document, found several".to_owned()),
        ("budget breached: Depth", format!("expected at most {DEPTH_MAX} levels, found more")),
        ("budget breached: Nodes", format!("expected at most {NODES_MAX} values, found more")),
        ("budget breached: Aliases", format!("expected at most {ALIASES_MAX} aliases, found more")),
        ("budget breached: Anchors", format!("expected at most {ALIASES_MAX} anchors, found more")),
        (
            "alias replay limit",
            format!("expected aliases of at most {REPLAYED_EVENTS_MAX} values, found more"),
        ),
    ] {
        if message.starts_with(start) {
            return cause;
        }
    }
    let ends = [" at line ", ", set "].iter().filter_map(|end| message.find(end));
    let message = message[..ends.min().unwrap_or(message.len())].trim_end_matches(',');
    let key = place.and_then(|place| place.key).map(|key| format!(" for `{key}`")).unwrap_or_default();
    let found = place.map(|place| format!(", found {}", place.found())).unwrap_or_default();
    match message {
        "expected string scalar" => format!("expected text{key}{found}"),
        "expected sequence start" => format!("expected a list{key}{found}"),
        "expected mapping start" => format!("expected a mapping, `key: value`{key}{found}"),
        "invalid i64" => format!("expected a whole number{key}{found}"),
        "invalid indentation in multiline quoted scalar" => {
            "expected the closing quote of a text that began above".to_owned()
        }
        "while parsing a block mapping, did not find expected key" => {
            "expected a key that is indented like those above it".to_owned()
        }
        "block sequence entries are not allowed in this context" => {
            format!("expected a value{key}, found the item of a list; begin the list on a line of its own")
        }
        _ => match message.strip_prefix("duplicate mapping key: ") {
            Some(key) => format!("expected each key once, found `{key}` again"),
            None => message.to_owned(),
        },
    }
}

/// A place in a file, for messages.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The key before it on its line.
    key: Option<&'a str>,
    rest: &'a str,
}

impl<'a> Place<'a> {
    fn new(text: &'a str, line: u64, column: u64) -> Option<Place<'a>> {
        let line = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
        let column = usize::try_from(column).ok()?.checked_sub(1)?;
        let offset = line.char_indices().nth(column).map_or(line.len(), |(offset, _)| offset);
        let (before, rest) = line.split_at(offset);
        let key = before.trim_end().strip_suffix(':').and_then(|before| {
            let is_part = |character: char| character.is_alphanumeric() || character == '_';
            before.rsplit(|character| !is_part(character)).next().filter(|key| !key.is_empty())
        });
        Some(Place { key, rest: rest.trim() })
    }

    fn found(self) -> String {
        const SHOWN_MAX: usize = 20;
        match self.rest.chars().next() {
            None => "nothing".to_owned(),
            Some('[') => "a list".to_owned(),
            Some('-') if self.rest == "-" || self.rest.starts_with("- ") => "a list".to_owned(),
            Some('{') => "a mapping".to_owned(),
            Some(_) => {
                let end = self.rest.find([',', '}', ']']).unwrap_or(self.rest.len());
                let shown: String = self.rest[..end].chars().take(SHOWN_MAX).collect();
                format!("{shown:?}")
            }
        }
    }
}

/// Returns the lines, from 1, of the keys right below `threat_pattern`, as far as each is on a line of its own.
pub fn lines_of_keys(text: &str) -> HashMap<String, u64> {
    let mut indentation = None;
    let mut lines = HashMap::new();
    for (line, number) in text.lines().zip(1..) {
        let content = line.trim_start();
        let own = line.len() - content.len();
        let Some((key, _)) = content.split_once(':').filter(|_| own > 0 && !content.starts_with(['#', '-']))
        else {
            continue;
        };
        if own == *indentation.get_or_insert(own) {
            lines.entry(key.to_owned()).or_insert(number);
        }
    }
    lines
}

fn position(text: &str, offset: usize) -> (u64, u64) {
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line as u64, column as u64)
}
