//! LCOV: lines of text, a record for each file.

use std::collections::HashMap;

use super::{Files, libtest};
use crate::path::{Outsiders, Source};
use crate::refusal::{Read, Wrong};
use crate::report::{Report, TestName, Tool};

pub fn is_lcov(text: &str) -> bool {
    text.starts_with("TN:") || text.starts_with("SF:")
}

pub fn read(source: &Source<'_>, text: &str) -> Read<Report> {
    let mut files = Files::default();
    let mut outsiders = Outsiders::default();
    let mut contexts: Vec<TestName> = Vec::new();
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut context: Option<u32> = None;
    // None outside of records, and a record without a file is one of a file that is not ours.
    let mut record: Option<Option<usize>> = None;
    for (line, offset, _) in libtest::lines(text) {
        let wrong = |reason: String| Wrong::at(offset, reason);
        if let Some(data) = line.strip_prefix("DA:") {
            let Some(file) = record else {
                return Err(wrong("expected SF: before DA:".to_owned()));
            };
            let (number, hits) =
                data.split_once(',').ok_or_else(|| wrong("expected DA:line,hits".to_owned()))?;
            let hits = hits.split(',').next().unwrap_or_default();
            let parsed = number.parse::<u32>().ok().zip(hits.parse::<f64>().ok());
            let Some((number, hits)) = parsed else {
                return Err(wrong(format!("expected DA:line,hits, found {line:.100}")));
            };
            if let Some(file) = file {
                files.line(file, number, hits > 0.0).map_err(wrong)?;
                if let Some(context) = context.filter(|_| hits > 0.0) {
                    files.context(file, number, context).map_err(wrong)?;
                }
            }
        } else if let Some(path) = line.strip_prefix("SF:") {
            if record.is_some() {
                return Err(wrong("expected end_of_record before SF:".to_owned()));
            }
            let found = source.locate(path).map_err(wrong)?;
            record = Some(outsiders.keep(path, found).map(|path| files.file(path, false)));
        } else if line == "end_of_record" {
            record = None;
        } else if let Some(name) = line.strip_prefix("TN:") {
            context = (!name.is_empty()).then(|| {
                *known.entry(name).or_insert_with(|| {
                    contexts.push(TestName { path: vec![name.to_owned()], ..TestName::default() });
                    contexts.len() as u32 - 1
                })
            });
        }
    }
    if record.is_some() {
        return Err(Wrong::at(text.len(), "the report is truncated: expected end_of_record"));
    }
    outsiders.check(source, text.as_bytes())?;
    Ok(Report { tool: Tool::Lcov, coverage: files.done(), contexts, ..Report::default() })
}
