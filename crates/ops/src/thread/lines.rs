//! The lines of JSON in a push, one for each file or test. Programs that push write these types, operations read them.

use std::io::{BufRead, BufReader, Read};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The longest line.
const LINE_BYTES_MAX: usize = 8 << 20;
/// The most lines of a push.
const LINES_MAX: usize = 2_000_000;
/// The longest path, symbol and reference.
const NAME_CHARS_MAX: usize = 1_000;

/// The format of a push.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PushFormat {
    /// A JSON object on each line.
    #[default]
    Jsonl,
}

/// A file of a checkout, with its citations of requirements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PushedFile {
    /// Its path from the root of the repository, with `/`.
    pub path: String,
    /// The hash of its content.
    pub blob: String,
    /// Its citations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<PushedCitation>,
}

/// A citation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PushedCitation {
    /// Its first line, from 1 on.
    pub line: u32,
    /// Its last line.
    pub last_line: u32,
    /// `code`, `test`, `exception`, `todo`, `implication`, or `verifies` if only the report of a test links it.
    pub kind: String,
    /// The cited entity, with its project: `SHOP-REQ-027`.
    pub reference: String,
    /// The hashes of the quoted units; none if it cites all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// The version that it pins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<u32>,
    /// The function or test that contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The first and last line of that function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<(u32, u32)>,
}

/// A test of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PushedTest {
    /// The file that contains it.
    pub path: String,
    /// The hash of that file's content.
    pub blob: String,
    /// Its name.
    pub symbol: String,
    /// `passed`, `failed`, `flaky`, `skipped` or `not_run`.
    pub outcome: evidence::Outcome,
    /// The number of attempts.
    pub attempts: u32,
    /// Its duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it executed of the code that cites the same units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executes: Vec<PushedExecution>,
}

/// What a test executed of the code that cites a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PushedExecution {
    /// The entity that both cite, with its project: `SHOP-REQ-027`.
    pub reference: String,
    /// The hash of the unit; empty if all of them are cited.
    pub unit: String,
    /// The file of the code.
    pub path: String,
    /// The hash of its content.
    pub blob: String,
    /// `proven`, `witnessed` or `none`.
    pub how: String,
}

/// The id of a test case, derived from its place, so that repeated pushes agree.
pub fn case_id(repository_id: &str, path: &str, symbol: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [repository_id, path, symbol] {
        hasher.update(part.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Reads lines of JSON.
pub(super) fn read<T: DeserializeOwned + Check>(reader: impl Read) -> Result<Vec<T>> {
    let mut reader = BufReader::new(reader);
    let mut read = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let wrong = |message: String| Error::field("content", format!("line {number}: {message}"));
        let taken = reader.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line);
        if taken.map_err(|error| Error::new(ErrorKind::InternalError, error.to_string()))? == 0 {
            break;
        }
        if line.len() > LINE_BYTES_MAX {
            return Err(wrong(format!("expected at most {LINE_BYTES_MAX} bytes")));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if read.len() == LINES_MAX {
            return Err(wrong(format!("expected at most {LINES_MAX} lines")));
        }
        let item: T = serde_json::from_slice(&line).map_err(|error| wrong(error.to_string()))?;
        item.check().map_err(wrong)?;
        read.push(item);
    }
    Ok(read)
}

/// Validates a line by itself.
pub(super) trait Check {
    /// Reports what is wrong with it.
    fn check(&self) -> Result<(), String>;
}

impl Check for PushedFile {
    fn check(&self) -> Result<(), String> {
        is_path("path", &self.path)?;
        is_hash("blob", &self.blob)?;
        for citation in &self.citations {
            if store::thread::snapshot::CitationKind::from_name(&citation.kind).is_none() {
                let found = &citation.kind;
                return Err(format!(
                    "kind: expected code, test, exception, todo, implication or verifies, found {found:?}"
                ));
            }
            if citation.line == 0 || citation.last_line < citation.line {
                let (line, last) = (citation.line, citation.last_line);
                return Err(format!(
                    "line: expected 1 or more and not above last_line, found {line} and {last}"
                ));
            }
            is_name("reference", &citation.reference)?;
            citation.units.iter().try_for_each(|unit| is_hash("units", unit))?;
            citation.symbol.iter().try_for_each(|symbol| is_name("symbol", symbol))?;
        }
        Ok(())
    }
}

impl Check for PushedTest {
    fn check(&self) -> Result<(), String> {
        is_path("path", &self.path)?;
        is_hash("blob", &self.blob)?;
        is_name("symbol", &self.symbol)?;
        for executed in &self.executes {
            is_path("executes.path", &executed.path)?;
            is_hash("executes.blob", &executed.blob)?;
            is_name("executes.reference", &executed.reference)?;
            if !executed.unit.is_empty() {
                is_hash("executes.unit", &executed.unit)?;
            }
            if !["proven", "witnessed", "none"].contains(&executed.how.as_str()) {
                let found = &executed.how;
                return Err(format!("executes.how: expected proven, witnessed or none, found {found:?}"));
            }
        }
        Ok(())
    }
}

fn is_name(field: &str, text: &str) -> Result<(), String> {
    match text.chars().count() {
        1..=NAME_CHARS_MAX if !text.contains(char::is_control) => Ok(()),
        _ => Err(format!("{field}: expected 1 to {NAME_CHARS_MAX} characters in one line")),
    }
}

fn is_path(field: &str, path: &str) -> Result<(), String> {
    is_name(field, path)?;
    let leads_out = path.starts_with('/') || path.contains('\\');
    if leads_out || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(format!("{field}: expected a path inside the repository, found {path:?}"));
    }
    Ok(())
}

fn is_hash(field: &str, text: &str) -> Result<(), String> {
    let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if (8..=128).contains(&text.len()) && is_hexadecimal {
        return Ok(());
    }
    Err(format!("{field}: expected 8 to 128 hexadecimal digits, found {text:.140?}"))
}
