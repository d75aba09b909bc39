//! Recognises the format of a report by its content and parses it, within limits.

mod cobertura;
mod coverage_py;
mod go;
mod jacoco;
mod jest;
pub(crate) mod json;
mod junit;
mod lcov;
mod libtest;
mod llvm_cov;
mod xml;

use std::collections::HashMap;

use crate::outcome;
use crate::path::Source;
use crate::refusal::{Read, Refusal, Wrong};
use crate::report::{Case, FileLines, Report, TestName};

/// The largest accepted report.
pub const REPORT_BYTES_MAX: usize = 512 << 20;
/// The maximal nesting of elements, objects and lists.
pub const DEPTH_MAX: usize = 100;
/// The maximal number of test cases in a report.
pub const CASES_MAX: usize = 1_000_000;
/// The maximal number of lines with coverage in a report, counted for each context.
pub const LINES_MAX: usize = 20_000_000;
/// The longest name of a test.
pub const NAME_BYTES_MAX: usize = 8_192;
/// Longer messages are cut.
pub const MESSAGE_CHARS_MAX: usize = 2_000;
/// Further attempts at one test are not listed individually.
const ATTEMPTS_MAX: usize = 100;
/// The maximal number of links of a case.
const VERIFIES_MAX: usize = 100;
/// The highest accepted line number.
const LINE_MAX: u32 = 10_000_000;

/// Parses a report, or returns why it is rejected as a whole, and where.
pub fn read(source: &Source<'_>, bytes: &[u8]) -> Result<Report, Refusal> {
    let report = recognised(source, bytes).and_then(|mut report| {
        check(&report)?;
        report.digest = blake3::hash(bytes).to_hex().to_string();
        Ok(report)
    });
    report.map_err(|wrong| wrong.into_refusal(source.name, bytes))
}

fn recognised(source: &Source<'_>, bytes: &[u8]) -> Read<Report> {
    if bytes.len() > REPORT_BYTES_MAX {
        return Err(Wrong::whole(format!(
            "expected at most {REPORT_BYTES_MAX} bytes, found {}",
            bytes.len()
        )));
    }
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(Wrong::at(error.valid_up_to(), "expected UTF-8")),
    };
    let start = without_blanks(text);
    match start.as_bytes() {
        [] => Err(Wrong::whole("the report is empty")),
        [b'<', ..] => match xml::root(text)?.as_str() {
            "testsuites" | "testsuite" => junit::read(source, text),
            "coverage" => cobertura::read(source, text),
            "report" => jacoco::read(source, text),
            other => Err(Wrong::whole(format!(
                "expected <testsuites>, <testsuite>, <coverage> or <report>, found <{other:.100}>"
            ))),
        },
        [b'{', ..] => json::read(source, text),
        _ if go::is_build_failure(start) => go::read(source, text),
        _ if lcov::is_lcov(start) => lcov::read(source, text),
        _ => Err(Wrong::at(
            text.len() - start.len(),
            "unknown format; expected JUnit, libtest JSON, go test -json, jest or vitest JSON, LCOV, llvm-cov JSON, \
             Cobertura, JaCoCo or coverage.py JSON",
        )),
    }
}

/// The text without leading white space, for detection. Parsers get all of it, so that offsets stay those of the bytes.
fn without_blanks(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}')
}

/// An empty report is not evidence: everything was filtered out, or it was never written.
fn check(report: &Report) -> Read<()> {
    if report.cases.is_empty() && report.coverage.is_empty() {
        return Err(Wrong::whole("the report has no test case and no executed file"));
    }
    Ok(())
}

/// Cases by identity, in order: a repeated identity is another attempt.
#[derive(Default)]
struct Cases {
    cases: Vec<Case>,
    by_name: HashMap<(u32, TestName), usize>,
}

impl Cases {
    fn known(&mut self, scope: u32, name: &TestName) -> Option<&mut Case> {
        let at = self.by_name.get(&(scope, name.clone()))?;
        self.cases.get_mut(*at)
    }

    /// Adds a case. Equal names in different scopes, such as two binaries, are different tests.
    fn add(&mut self, scope: u32, case: Case) -> Result<usize, String> {
        if let Some(at) = self.by_name.get(&(scope, case.name.clone())) {
            let known = &mut self.cases[*at];
            known.outcome = outcome::of_attempts(&[known.outcome, case.outcome]);
            let n_more = ATTEMPTS_MAX.saturating_sub(known.attempts.len());
            known.attempts.extend(case.attempts.into_iter().take(n_more));
            if known.message.is_none() {
                known.message = case.message;
            }
            known.duration_ms = match (known.duration_ms, case.duration_ms) {
                (Some(before), Some(more)) => Some(before.saturating_add(more)),
                (before, more) => before.or(more),
            };
            return Ok(*at);
        }
        if self.cases.len() == CASES_MAX {
            return Err(format!("expected at most {CASES_MAX} test cases"));
        }
        check_name(&case)?;
        self.by_name.insert((scope, case.name.clone()), self.cases.len());
        self.cases.push(case);
        Ok(self.cases.len() - 1)
    }
}

fn check_name(case: &Case) -> Result<(), String> {
    let name = &case.name;
    let n_bytes =
        name.path.iter().map(String::len).sum::<usize>() + name.parameters.as_ref().map_or(0, String::len);
    if n_bytes > NAME_BYTES_MAX {
        return Err(format!("the name of a test is longer than {NAME_BYTES_MAX} bytes"));
    }
    if name.path.len() > DEPTH_MAX {
        return Err(format!("the name of a test has more than {DEPTH_MAX} parts"));
    }
    if case.verifies.len() > VERIFIES_MAX {
        return Err(format!("a test case verifies more than {VERIFIES_MAX} things"));
    }
    Ok(())
}

/// Cuts a message to a readable length.
fn message(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.chars().take(MESSAGE_CHARS_MAX).collect())
}

/// Parses seconds, as milliseconds; none for an invalid time.
fn seconds(text: &str) -> Option<u64> {
    milliseconds(text.trim().replace(',', "").parse::<f64>().ok()? * 1_000.0)
}

fn milliseconds(value: f64) -> Option<u64> {
    (value.is_finite() && value >= 0.0).then_some(value as u64)
}

/// Splits the value of a property `verifies`.
fn links(value: &str) -> impl Iterator<Item = String> + '_ {
    value.split([',', ' ', ';']).map(str::trim).filter(|link| !link.is_empty()).map(str::to_owned)
}

/// Collects the lines of files, in any order and with duplicates.
#[derive(Default)]
struct Files {
    files: Vec<FileLines>,
    by_path: HashMap<String, usize>,
    n_lines: usize,
}

impl Files {
    fn file(&mut self, path: String, is_suffix: bool) -> usize {
        let next = self.files.len();
        let at = *self.by_path.entry(path.clone()).or_insert(next);
        if at == next {
            self.files.push(FileLines { file: path, is_suffix, ..FileLines::default() });
        }
        at
    }

    fn line(&mut self, file: usize, line: u32, was_hit: bool) -> Result<(), String> {
        if line == 0 || line > LINE_MAX {
            return Err(format!("expected a line from 1 to {LINE_MAX}, found {line}"));
        }
        self.n_lines += 1;
        if self.n_lines > LINES_MAX {
            return Err(format!("expected at most {LINES_MAX} lines"));
        }
        self.files[file].lines.push((line, was_hit));
        Ok(())
    }

    fn context(&mut self, file: usize, line: u32, context: u32) -> Result<(), String> {
        self.n_lines += 1;
        if self.n_lines > LINES_MAX {
            return Err(format!("expected at most {LINES_MAX} lines"));
        }
        self.files[file].by_context.push((line, context));
        Ok(())
    }

    /// Each line once, in order; a line that was executed anywhere counts as executed.
    fn done(mut self) -> Vec<FileLines> {
        for file in &mut self.files {
            file.lines.sort_unstable_by_key(|(line, was_hit)| (*line, !was_hit));
            file.lines.dedup_by_key(|(line, _)| *line);
            file.by_context.sort_unstable();
            file.by_context.dedup();
        }
        self.files
    }
}
