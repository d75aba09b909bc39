//! `duvet check`: the gate for CI. It writes nothing.

use std::path::Path;

use serde_json::{Value, json};
use trace::lock::{LOCK_PATH, Lock};
use trace::model::{Model, TraceStatus};
use trace::project::{Index, Project, read_if_there};
use trace::report::{Report, snapshot};
use trace::{Code, Diagnostic, Severity};

use super::arguments::{CheckArguments, CheckFormat};
use super::{DONE, FAILED, Failure, environment, junit, nearest_options, print, sarif, show};

/// Checks a project.
pub fn run(arguments: &CheckArguments) -> Result<u8, Failure> {
    let options = nearest_options(&arguments.project)?;
    let root = options.root.clone();
    let index = Index::open(options, Box::new(environment));
    let model = index.model();
    let mut problems: Vec<Diagnostic> = model.general.to_vec();
    problems.extend(model.problems().cloned());
    problems.extend(model.warnings());
    problems.extend(lock(&root, &model));
    if let Some(project) = index.project()
        && !problems.iter().any(Diagnostic::is_error)
    {
        problems.extend(stale_snapshot(project, &model)?);
    }
    problems.extend(missing(&model, arguments));

    let is_denied = arguments.deny.iter().any(|what| what == "warnings");
    let is_bad = |problem: &Diagnostic| problem.is_error() || is_denied;
    let code = if problems.iter().any(is_bad) { FAILED } else { DONE };
    match arguments.format {
        CheckFormat::Text => {
            show(&problems);
            print(&(line(&model, &problems) + "\n"))?;
        }
        CheckFormat::Json => print(&format!("{:#}\n", report(&model, &problems)))?,
        CheckFormat::Sarif => print(&format!("{:#}\n", sarif::write(&problems)))?,
        CheckFormat::Junit => print(&junit::write(&model, &problems, is_denied))?,
    }
    Ok(code)
}

/// What the lock file has to say, if there is one.
fn lock(root: &Path, model: &Model) -> Vec<Diagnostic> {
    match read_if_there(root, LOCK_PATH.as_ref()) {
        Ok(Some(text)) => match Lock::parse(&text) {
            Ok(lock) => lock.compare(model),
            Err(problem) => vec![problem],
        },
        Ok(None) => Vec::new(),
        Err(problem) => vec![Diagnostic::error(Code::Configuration, format!("{LOCK_PATH}: {problem}"))],
    }
}

/// A snapshot that is kept must be current. Where citations are wrong there is nothing to compare it with.
fn stale_snapshot(project: &Project, model: &Model) -> Result<Option<Diagnostic>, Failure> {
    let path = project.config.as_ref().and_then(|config| config.report.snapshot.clone());
    let Some(path) = path else {
        return Ok(None);
    };
    let old = match read_if_there(&project.options.root, path.as_ref()) {
        Ok(Some(old)) => old,
        Ok(None) => {
            let message = format!("{path} is not there");
            return Ok(Some(Diagnostic::warning(Code::Snapshot, message).help("`duvet report` writes it")));
        }
        Err(problem) => return Ok(Some(Diagnostic::error(Code::Snapshot, format!("{path}: {problem}")))),
    };
    let mut new = Vec::new();
    snapshot::write(&Report::of(model), &mut new).map_err(Failure::new)?;
    let is_current = old.as_bytes() == new;
    let stale = || {
        Diagnostic::error(Code::Snapshot, format!("{path} is not current"))
            .help("`duvet report` writes it; `duvet report --ci` shows the difference")
    };
    Ok((!is_current).then(stale))
}

/// Requirements that are not as far as the arguments demand.
fn missing(model: &Model, arguments: &CheckArguments) -> Vec<Diagnostic> {
    let numbers = 0..model.catalogue.requirements.len() as u32;
    numbers
        .filter_map(|number| {
            let state = model.state(number);
            let what = match state.status {
                TraceStatus::Done => return None,
                TraceStatus::NeedsTests if arguments.require_tests => "is not tested",
                TraceStatus::NotStarted | TraceStatus::InProgress if arguments.require_citations => {
                    "is not implemented"
                }
                _ => return None,
            };
            let requirement = model.requirement(number);
            let (specification, section) = model.catalogue.document(requirement.section);
            let message =
                format!("{}#{} {what}: {}", specification.id, section.id, model.catalogue.text(number));
            let error = Diagnostic::error(Code::Incomplete, message);
            Some(error.help(format!("cite it: {}#{}", specification.url, section.id)))
        })
        .collect()
}

/// How the project fares, in a line.
pub fn line(model: &Model, problems: &[Diagnostic]) -> String {
    let [not_started, in_progress, needs_tests, done] = model.counts();
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    format!(
        "{} requirements: {done} done, {needs_tests} need tests, {in_progress} in progress, {not_started} not started; \
         {} errors, {} warnings",
        model.catalogue.requirements.len(),
        count(Severity::Error),
        count(Severity::Warning),
    )
}

fn report(model: &Model, problems: &[Diagnostic]) -> Value {
    let [not_started, in_progress, needs_tests, done] = model.counts();
    let problem = |problem: &Diagnostic| {
        let place = |place: &trace::diagnostic::Place| json!({"file": &*place.path, "line": place.line, "column": place.column, "label": place.label});
        json!({
            "severity": severity(problem),
            "code": problem.code.name(),
            "message": problem.message,
            "places": problem.places.iter().map(place).collect::<Vec<_>>(),
            "help": problem.help,
        })
    };
    json!({
        "requirements": {
            "total": model.catalogue.requirements.len(),
            "done": done,
            "needs_tests": needs_tests,
            "in_progress": in_progress,
            "not_started": not_started,
        },
        "problems": problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

/// What a severity is called.
pub fn severity(problem: &Diagnostic) -> &'static str {
    match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}
