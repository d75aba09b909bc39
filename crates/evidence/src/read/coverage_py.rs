//! JSON of coverage.py, with the test that executed each line if contexts were recorded.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::{Files, json};
use crate::path::{Found, Outsiders, Source};
use crate::refusal::{Read, Wrong};
use crate::report::{Form, Report, TestName, Tool};

#[derive(Deserialize)]
struct Document<'t> {
    #[serde(borrow)]
    files: BTreeMap<Cow<'t, str>, File<'t>>,
}

#[derive(Deserialize)]
struct File<'t> {
    executed_lines: Vec<u32>,
    #[serde(default)]
    missing_lines: Vec<u32>,
    #[serde(borrow)]
    contexts: Option<BTreeMap<Cow<'t, str>, Vec<Cow<'t, str>>>>,
}

pub fn read(source: &Source<'_>, text: &str, from: &str) -> Read<Report> {
    let document: Document<'_> = json::parse(text, from)?;
    let mut files = Files::default();
    let mut outsiders = Outsiders::default();
    let mut contexts: Vec<TestName> = Vec::new();
    let mut known: HashMap<&str, Option<u32>> = HashMap::new();
    for (name, file) in &document.files {
        let wrong = |reason: String| Wrong::where_found(text.as_bytes(), name, reason);
        let found = source.locate(name).map_err(wrong)?;
        let Some(path) = outsiders.keep(name, found) else { continue };
        let at = files.file(path, false);
        for (lines, was_hit) in [(&file.executed_lines, true), (&file.missing_lines, false)] {
            for line in lines {
                // An empty file has a line 0.
                if *line > 0 {
                    files.line(at, *line, was_hit).map_err(wrong)?;
                }
            }
        }
        for (line, names) in file.contexts.iter().flatten() {
            let line: u32 =
                line.parse().map_err(|_| wrong(format!("contexts: expected a line, found {line:.100}")))?;
            for name in names {
                let context = *known.entry(name).or_insert_with(|| {
                    let context = context(source, name)?;
                    contexts.push(context);
                    Some(contexts.len() as u32 - 1)
                });
                if let Some(context) = context {
                    files.context(at, line, context).map_err(wrong)?;
                }
            }
        }
    }
    outsiders.check(source, text.as_bytes())?;
    Ok(Report { tool: Tool::CoveragePy, coverage: files.done(), contexts, ..Report::default() })
}

/// pytest-cov writes `tests/test_a.py::TestA::test_b[1]|run`, coverage.py itself `test_a.TestA.test_b`. Code that runs when a
/// file is imported has an empty context.
fn context(source: &Source<'_>, name: &str) -> Option<TestName> {
    let name = name.rsplit_once('|').map_or(name, |(name, _)| name);
    if name.is_empty() {
        return None;
    }
    let (plain, parameters) = match name.find('[') {
        Some(at) if name.ends_with(']') => (&name[..at], Some(name[at + 1..name.len() - 1].to_owned())),
        _ => (name, None),
    };
    let (file, path) = match plain.split_once("::") {
        Some((file, path)) => match source.locate(file).ok()? {
            Found::Inside(file) => (Some(file), path.split("::").map(str::to_owned).collect()),
            Found::Outside => return None,
        },
        None => (None, plain.split('.').map(str::to_owned).collect()),
    };
    Some(TestName { file, path, form: Form::Dotted, parameters, ..TestName::default() })
}
