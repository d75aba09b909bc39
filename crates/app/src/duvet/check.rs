//! `duvet check`: the gate for CI. It writes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use trace::diagnostic::Place;
use trace::lock::{LOCK_PATH, Lock};
use trace::model::{IMPLEMENTED, Model, SpecificationEntry, TESTED, TraceStatus};
use trace::project::{CONFIG_PATH, Index, Project, read_if_there, strays};
use trace::report::{Report, snapshot};
use trace::{Code, Diagnostic, Severity, Span};

use super::arguments::{CheckArguments, CheckFormat};
use super::{DONE, FAILED, Failure, environment, junit, nearest_options, print, sarif, show};
use crate::managed::PROJECT_FILE;

/// Checks a project.
pub fn run(arguments: &CheckArguments) -> Result<u8, Failure> {
    let options = nearest_options(&arguments.project)?;
    let root = options.root.clone();
    let index = Index::open(options, Box::new(environment));
    let model = index.model();
    // What is empty is said below, as an error.
    let is_about_emptiness =
        |problem: &&Diagnostic| matches!(problem.code, Code::Empty | Code::Pattern) && !problem.is_error();
    let mut problems: Vec<Diagnostic> =
        model.general.iter().filter(|problem| !is_about_emptiness(problem)).cloned().collect();
    problems.extend(model.problems().cloned());
    if !arguments.allow_empty && !problems.iter().any(Diagnostic::is_error) {
        problems.extend(emptiness(index.project(), &model));
    }
    problems.extend(unmatched(index.project(), &model));
    problems.extend(model.warnings());
    problems.extend(strays(&model));
    problems.extend(lock(&root, &model));
    if let Some(project) = index.project()
        && !problems.iter().any(Diagnostic::is_error)
    {
        problems.extend(stale_snapshot(project, &model)?);
    }
    let missing = missing(&model, arguments);
    let others = problems.clone();
    problems.extend(missing.values().cloned());

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
        CheckFormat::Junit => print(&junit::write(&model, &missing, &others, is_denied))?,
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
            let message = format!("snapshot not found: {path}");
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

/// Says so where there was nothing to check: a gate that passes then proves nothing.
fn emptiness(project: Option<&Project>, model: &Model) -> Option<Diagnostic> {
    let project = project?;
    // Without a configuration of its own, only the other file names source code.
    let config_path = if project.config.is_some() { CONFIG_PATH } else { PROJECT_FILE };
    let is_named = project.config.is_some() || !project.options.source_patterns.is_empty();
    let (message, help) = if !is_named {
        (format!("there is no {CONFIG_PATH}"), "`duvet init` writes one".to_owned())
    } else if model.setting.sources.is_empty() {
        let patterns = model.setting.unmatched.join(", ");
        let message = match patterns.is_empty() {
            true => "the configuration names no source code".to_owned(),
            false => format!("no file matches {patterns}"),
        };
        (message, format!("`[[source]]` in {config_path} says where source code is"))
    } else if model.all_citations().next().is_none() {
        let marks = model.styles().into_iter().next().map_or("//=", |style| &style.meta).to_owned();
        let message = format!("no citation was found in {} files", model.setting.sources.len());
        (message, format!("a citation starts with `{marks} TARGET#SECTION`"))
    } else if model.catalogue.requirements.is_empty() {
        let message = "no specification has a requirement".to_owned();
        (
            message,
            format!("`[[specification]]` in {CONFIG_PATH} names specifications with MUST, SHOULD or MAY"),
        )
    } else {
        return None;
    };
    let problem = Diagnostic::error(Code::Empty, format!("nothing was checked: {message}"));
    let config_path = if is_named { config_path } else { CONFIG_PATH };
    Some(problem.at(Place::file(config_path, "")).help(help).help("`--allow-empty` lets this pass"))
}

/// Names patterns that match nothing, and the file that has them.
fn unmatched<'a>(
    project: Option<&'a Project>,
    model: &'a Model,
) -> impl Iterator<Item = Diagnostic> + use<'a> {
    let config = project.and_then(|project| project.config.as_ref());
    let patterns = model.setting.unmatched.iter().filter(|_| !model.setting.sources.is_empty());
    patterns.map(move |pattern| {
        let is_in_config =
            config.is_some_and(|config| config.sources.iter().any(|source| source.pattern == *pattern));
        let path = if is_in_config { CONFIG_PATH } else { PROJECT_FILE };
        let message = format!("no file matches {pattern}");
        Diagnostic::warning(Code::Pattern, message).at(Place::file(path, ""))
    })
}

/// Requirements that are not as far as the arguments demand, by number.
fn missing(model: &Model, arguments: &CheckArguments) -> BTreeMap<u32, Diagnostic> {
    let mut missing = BTreeMap::new();
    let level_min = arguments.level.unwrap_or_default();
    let numbers = 0..model.catalogue.requirements.len() as u32;
    for number in numbers.filter(|number| model.requirement(*number).level >= level_min) {
        let state = model.state(number);
        let percent = |count: usize| count * 100 / state.size.max(1);
        let (code, what, kinds) = match state.status {
            TraceStatus::NeedsTests if arguments.require_tests => match state.n_tested {
                0 => (Code::Incomplete, "is not tested".to_owned(), TESTED),
                n => (Code::Partial, format!("is tested in part ({} %)", percent(n)), TESTED),
            },
            TraceStatus::NotStarted if arguments.require_citations => {
                (Code::Incomplete, "is not implemented".to_owned(), IMPLEMENTED)
            }
            TraceStatus::InProgress if arguments.require_citations => match state.n_implemented {
                0 => (Code::Incomplete, "is tested, but not implemented".to_owned(), IMPLEMENTED),
                n => (Code::Partial, format!("is implemented in part ({} %)", percent(n)), IMPLEMENTED),
            },
            _ => continue,
        };
        let requirement = model.requirement(number);
        let (specification, section) = model.catalogue.document(requirement.section);
        let text = model.catalogue.text(number);
        let mut problem =
            Diagnostic::error(code, format!("{}#{} {what}: {text}", specification.id, section.id))
                .at(required(specification, requirement.spans.first().copied().unwrap_or_default()));
        if code == Code::Partial {
            problem = problem.help(format!("what is left: {}", model.rest(number, kinds)));
        }
        missing.insert(number, problem.help(format!("cite it: {}#{}", specification.target, section.id)));
    }
    missing
}

/// The file and lines of a requirement in its specification.
fn required(specification: &SpecificationEntry, span: Span) -> Place {
    let document = &specification.document;
    let path = specification.path.to_string_lossy().into();
    let line = document.lines.line(span.start).max(1);
    let start = document.lines.span(line, &document.text).map_or(0, |line| line.start);
    Place::near(&path, &document.text, span, "required here", &mut (start as usize, line))
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
        let place = |place: &Place| json!({"file": &*place.path, "line": place.line, "column": place.column, "label": place.label});
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
