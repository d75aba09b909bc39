//! JSON: detects the tool, limits the nesting, and locates mistakes.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{DEPTH_MAX, coverage_py, go, jest, libtest, llvm_cov, without_blanks};
use crate::path::Source;
use crate::refusal::{Read, Wrong};
use crate::report::Report;

/// The keys that distinguish formats.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    test_results: Option<IgnoredAny>,
    data: Option<IgnoredAny>,
    files: Option<IgnoredAny>,
    meta: Option<IgnoredAny>,
}

/// The keys that distinguish formats with a value on each line.
#[derive(Deserialize)]
struct LineProbe {
    #[serde(rename = "Action")]
    action: Option<IgnoredAny>,
    #[serde(rename = "type")]
    kind: Option<IgnoredAny>,
    event: Option<IgnoredAny>,
}

pub fn read(source: &Source<'_>, text: &str) -> Read<Report> {
    let text_from = without_blanks(text);
    let start = text.len() - text_from.len();
    let first = text_from.lines().next().unwrap_or_default();
    if let Ok(probe) = serde_json::from_str::<LineProbe>(first) {
        if probe.action.is_some() {
            return go::read(source, text);
        }
        if probe.kind.is_some() && probe.event.is_some() {
            return libtest::read(text);
        }
    }
    check_depth(text.as_bytes())?;
    let probe: Probe = parse(text, text_from)?;
    if probe.test_results.is_some() {
        jest::read(source, text, text_from)
    } else if probe.data.is_some() {
        llvm_cov::read(source, text, text_from)
    } else if probe.files.is_some() && probe.meta.is_some() {
        coverage_py::read(source, text, text_from)
    } else {
        Err(Wrong::at(
            start,
            "unknown JSON; expected testResults (jest, vitest), data (llvm-cov) or files (coverage.py)",
        ))
    }
}

/// Parses a whole document. Offsets in errors are relative to the whole text.
pub fn parse<'t, T: Deserialize<'t>>(text: &str, from: &'t str) -> Read<T> {
    serde_json::from_str(from).map_err(|error| {
        let mut wrong = wrong(from.as_bytes(), &error);
        wrong.offset = wrong.offset.map(|offset| offset + text.len() - from.len());
        wrong
    })
}

/// Parses one line of many.
pub fn parse_line<'t, T: Deserialize<'t>>(line: &'t str, offset: usize, is_last: bool) -> Read<T> {
    if let Err(mut wrong) = check_depth(line.as_bytes()) {
        wrong.offset = Some(offset);
        return Err(wrong);
    }
    serde_json::from_str(line).map_err(|error| {
        let reason = reason(&error);
        Wrong::at(
            offset,
            if is_last && !error.is_data() { format!("the report is truncated: {reason}") } else { reason },
        )
    })
}

pub fn wrong(bytes: &[u8], error: &serde_json::Error) -> Wrong {
    if error.is_eof() {
        return Wrong::at(bytes.len(), format!("the report is truncated: {}", reason(error)));
    }
    let before = error.line().saturating_sub(1);
    let line = match before {
        0 => 0,
        before => memchr::memchr_iter(b'\n', bytes).nth(before - 1).map_or(bytes.len(), |at| at + 1),
    };
    Wrong::at(line + error.column().saturating_sub(1), reason(error))
}

/// The message without the place, which is reported separately.
fn reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

/// The parser skips values without counting how deep they are.
fn check_depth(bytes: &[u8]) -> Read<()> {
    let (mut depth, mut at) = (0usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(Wrong::at(at, format!("values are nested deeper than {DEPTH_MAX}")));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                at += 1;
                while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
                    at += found;
                    if bytes[at] == b'"' {
                        break;
                    }
                    at += 2;
                }
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}
