//! The results of a coverage report for the annotations of a project.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::execution::{LineExecution, LineRuns, SourceCode};
use super::jacoco::JacocoCoverage;
use crate::diagnostic::{self, Diagnostic, Place};
use crate::report::Report;

/// The execution of each annotation in a file of a coverage report.
#[derive(Debug, Default)]
pub struct Measurement {
    executions: HashMap<u32, LineExecution>,
}

impl Measurement {
    /// Determines the execution of the code below an annotation.
    pub fn execution(&self, number: u32) -> LineExecution {
        // Files without a report did not run.
        self.executions.get(&number).copied().unwrap_or(LineExecution::NotExecuted)
    }
}

/// The source files of a project, and how to read them.
pub struct Sources<'a> {
    /// Relative to the project.
    pub paths: &'a [Arc<str>],
    /// Reads one.
    pub read: &'a (dyn Fn(&Arc<str>) -> Result<String, Diagnostic> + Sync),
}

/// Looks up the annotations of a project in coverage reports, each with its path. Also returns warnings.
pub fn measure(
    report: &Report<'_>,
    sources: &Sources<'_>,
    coverages: &[(Arc<str>, JacocoCoverage)],
) -> Result<(Vec<Measurement>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut matched = Vec::with_capacity(coverages.len());
    let mut problems = Vec::new();
    let mut warnings = Vec::new();
    for (path, coverage) in coverages {
        match pairs(path, &report.model.setting.root, sources.paths, coverage) {
            Ok(pairs) => {
                if pairs.is_empty() {
                    let message = format!("{path} knows none of the source files");
                    warnings.push(Diagnostic::warning(diagnostic::Code::Coverage, message));
                }
                matched.push(pairs);
            }
            Err(problem) => problems.push(problem),
        }
    }
    let mut used: Vec<&Arc<str>> = matched.iter().flatten().map(|(source, _)| *source).collect();
    used.sort_unstable();
    used.dedup();
    let annotations = by_path(report);
    let read: Vec<_> =
        used.into_par_iter().map(|path| (path, read(report, sources, path, &annotations))).collect();
    let mut files = HashMap::new();
    for (path, file) in read {
        match file {
            Ok(file) => {
                warnings.extend(warning(path, &file));
                files.insert(path, file);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let measurement = |pairs: Vec<(&Arc<str>, &LineRuns)>| {
        let mut measurement = Measurement::default();
        for (source, runs) in pairs {
            let file = &files[source];
            let executions =
                file.annotations.iter().map(|(number, lines)| (*number, file.code.execution(*lines, runs)));
            measurement.executions.extend(executions);
        }
        measurement
    };
    Ok((matched.into_iter().map(measurement).collect(), warnings))
}

/// A file, and the first and last lines of its annotations.
struct File {
    code: SourceCode,
    annotations: Vec<(u32, (u32, u32))>,
}

fn by_path<'a>(report: &Report<'a>) -> HashMap<&'a str, Vec<u32>> {
    let mut by_path: HashMap<&str, Vec<u32>> = HashMap::new();
    for (number, numbered) in report.annotations.iter().enumerate() {
        by_path.entry(&report.files[numbered.file as usize].path).or_default().push(number as u32);
    }
    by_path
}

fn read(
    report: &Report<'_>,
    sources: &Sources<'_>,
    path: &Arc<str>,
    by_path: &HashMap<&str, Vec<u32>>,
) -> Result<File, Diagnostic> {
    let Some(numbers) = by_path.get(&**path) else {
        return Ok(File { code: SourceCode::Plain(Vec::new()), annotations: Vec::new() });
    };
    let text = (sources.read)(path)?;
    let lines = |number: &u32| {
        let annotation = &report.annotations[*number as usize].annotation;
        // Without a quote only the first meta line counts, as in Duvet.
        let n_lines = text.get(annotation.places.text.range()).map_or(1, |text| text.lines().count()) as u32;
        (*number, (annotation.line, annotation.line + n_lines - 1))
    };
    let annotations: Vec<_> = numbers.iter().map(lines).collect();
    let code = SourceCode::read(path, &text, annotations.iter().map(|(_, lines)| *lines));
    Ok(File { code, annotations })
}

fn warning(path: &Arc<str>, file: &File) -> Option<Diagnostic> {
    let SourceCode::Broken(lines) = &file.code else {
        return None;
    };
    let message = format!("{path} cannot be understood, so nobody knows what of it ran");
    let place = Place { line: lines[0], column: 1, ..Place::file(path.clone(), "") };
    Some(Diagnostic::warning(diagnostic::Code::Coverage, message).at(place))
}

/// Pairs source files with the entries of a coverage report: an entry names the end of a file's absolute path.
fn pairs<'a>(
    report_path: &Arc<str>,
    root: &Path,
    sources: &'a [Arc<str>],
    coverage: &'a JacocoCoverage,
) -> Result<Vec<(&'a Arc<str>, &'a LineRuns)>, Diagnostic> {
    let wrong = |message: String| {
        Diagnostic::error(diagnostic::Code::Coverage, message).at(Place::file(report_path.clone(), ""))
    };
    let mut by_name: HashMap<&str, Vec<(&str, String)>> = HashMap::new();
    for entry in coverage.keys() {
        let name = entry.rsplit(['/', '\\']).next().unwrap_or_default();
        by_name.entry(name).or_default().push((entry, entry.replace('\\', "/")));
    }
    let mut pairs = Vec::new();
    let mut owners: HashMap<&str, &Arc<str>> = HashMap::new();
    for source in sources {
        let absolute: PathBuf = root.join(&**source).components().collect();
        let absolute = absolute.to_string_lossy().replace('\\', "/");
        let name = absolute.rsplit('/').next().unwrap_or_default();
        let is_end = |entry: &str| {
            let before = absolute.strip_suffix(entry);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let entries = by_name.get(name).into_iter().flatten().filter(|(_, entry)| is_end(entry));
        let mut entries: Vec<&str> = entries.map(|(entry, _)| *entry).collect();
        entries.sort_unstable();
        let [entry] = entries[..] else {
            if entries.is_empty() {
                continue;
            }
            let entries = entries.join(", ");
            return Err(wrong(format!("{report_path} has several entries that may be {source}: {entries}")));
        };
        if let Some(owner) = owners.insert(entry, source) {
            if owner == source {
                continue;
            }
            return Err(wrong(format!("{report_path}: `{entry}` may be {owner} or {source}")));
        }
        pairs.push((source, &coverage[entry]));
    }
    Ok(pairs)
}
