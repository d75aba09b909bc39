//! The document pushed to a server: results and digests, never line coverage.

use serde::{Deserialize, Serialize};

use crate::matching::TestPlace;
use crate::outcome::Outcome;
use crate::refusal::{Refusal, Wrong};
use crate::report::{Report, Tool};
use crate::results::Results;

/// The largest accepted document.
pub const DOCUMENT_BYTES_MAX: usize = 64 << 20;
const TEXT_CHARS_MAX: usize = 2_000;
const REPORTS_MAX: usize = 10_000;
const TESTS_MAX: usize = 1_000_000;
const VERIFIES_MAX: usize = 100;

/// The evidence of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceDocument {
    /// The reports that it was made from.
    pub reports: Vec<ReportDigest>,
    /// The exit status of the run, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// When the run began, in RFC 3339, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Why the run is incomplete, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The reported tests.
    pub tests: Vec<TestRecord>,
    /// Checks that people recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manual: Vec<ManualEvidence>,
}

/// A report, by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportDigest {
    /// The tool that wrote it.
    pub tool: Tool,
    /// The BLAKE3 digest of its bytes, in hexadecimal.
    pub digest: String,
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRecord {
    /// The file, relative to the repository.
    pub file: String,
    /// The name of the test in it, as `Symbol` displays it.
    pub symbol: String,
    /// The result.
    pub outcome: Outcome,
    /// The number of attempts.
    pub attempts: u32,
    /// Their duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether the report would show retries.
    pub shows_retries: bool,
    /// The requirements to which the report itself links the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verifies: Vec<String>,
}

/// A check recorded by a person, for what no program can test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManualEvidence {
    /// The person.
    pub who: String,
    /// The observation.
    pub what: String,
    /// When, in RFC 3339.
    pub when: String,
    /// The BLAKE3 digest of an attachment, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl EvidenceDocument {
    /// Collects the results of tests that have run or were skipped.
    pub fn new(
        reports: &[Report],
        places: &[TestPlace],
        results: &Results,
        exit_status: Option<i32>,
    ) -> Self {
        let ran = places.iter().zip(&results.tests).filter(|(_, result)| result.outcome != Outcome::NotRun);
        EvidenceDocument {
            reports: reports
                .iter()
                .map(|report| ReportDigest { tool: report.tool, digest: report.digest.clone() })
                .collect(),
            exit_status,
            incomplete: results.incomplete.clone(),
            tests: ran
                .map(|(place, result)| TestRecord {
                    file: place.file.clone(),
                    symbol: place.symbol.to_string(),
                    outcome: result.outcome,
                    attempts: result.n_attempts,
                    duration_ms: result.duration_ms,
                    shows_retries: result.shows_retries,
                    verifies: result.verifies.iter().cloned().collect(),
                })
                .collect(),
            ..EvidenceDocument::default()
        }
    }

    /// Parses an untrusted document.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, Refusal> {
        let refuse = |wrong: Wrong| wrong.into_refusal(name, bytes);
        if bytes.len() > DOCUMENT_BYTES_MAX {
            return Err(refuse(Wrong::whole(format!("expected at most {DOCUMENT_BYTES_MAX} bytes"))));
        }
        let document: EvidenceDocument =
            serde_json::from_slice(bytes).map_err(|error| refuse(crate::read::json::wrong(bytes, &error)))?;
        document.check().map_err(|reason| refuse(Wrong::whole(reason)))?;
        Ok(document)
    }

    fn check(&self) -> Result<(), String> {
        at_most("reports", self.reports.len(), REPORTS_MAX)?;
        at_most("tests", self.tests.len(), TESTS_MAX)?;
        at_most("manual", self.manual.len(), REPORTS_MAX)?;
        for report in &self.reports {
            is_digest("reports.digest", &report.digest)?;
        }
        for text in [&self.started, &self.ended, &self.incomplete].into_iter().flatten() {
            is_short("started, ended and incomplete", text)?;
        }
        for test in &self.tests {
            is_short("tests.file", &test.file)?;
            is_short("tests.symbol", &test.symbol)?;
            let is_inside = !test.file.starts_with('/')
                && !test.file.split('/').any(|part| matches!(part, "" | "." | ".."));
            if !is_inside {
                return Err(format!("tests.file: the path {} leads out of the repository", test.file));
            }
            at_most("tests.verifies", test.verifies.len(), VERIFIES_MAX)?;
            for link in &test.verifies {
                is_short("tests.verifies", link)?;
            }
        }
        for seen in &self.manual {
            is_short("manual.who", &seen.who)?;
            is_short("manual.what", &seen.what)?;
            is_short("manual.when", &seen.when)?;
            if let Some(digest) = &seen.digest {
                is_digest("manual.digest", digest)?;
            }
        }
        Ok(())
    }
}

fn at_most(field: &str, found: usize, most: usize) -> Result<(), String> {
    if found > most { Err(format!("{field}: expected at most {most}, found {found}")) } else { Ok(()) }
}

fn is_short(field: &str, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err(format!("{field}: expected a text, found none"));
    }
    if text.chars().count() > TEXT_CHARS_MAX {
        return Err(format!("{field}: expected at most {TEXT_CHARS_MAX} characters"));
    }
    Ok(())
}

fn is_digest(field: &str, text: &str) -> Result<(), String> {
    let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if text.len() == 64 && is_hexadecimal {
        return Ok(());
    }
    Err(format!("{field}: expected 64 hexadecimal digits of BLAKE3, found {text:.70}"))
}
