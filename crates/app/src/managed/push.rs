//! `spexus push`: tells the store which code and tests of a checkout cite its requirements, and what test runs have shown.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use evidence::{Results, Unmatched};
use ops::{Upload, known};
use serde::Serialize;
use serde_json::{Value, json};
use trace::project::{Index, Options};

use super::checkout::Checkout;
use super::commit::{CheckedOut, checked_out, differs};
use super::file::{PROJECT_FILE, ProjectFile};
use super::live::Live;
use super::pull::{project, source};
use super::pulled::Pulled;
use super::reports::{self, Reports};
use crate::settings::Settings;
use crate::spexus::{CommandProblem, Exit, Place, check_server, config, place_of, tell, told};

/// At most this many problems of each kind are printed.
const PROBLEMS_TOLD: usize = 20;

/// Pushes, or says what would be pushed.
pub fn run(matches: &ArgMatches) -> Exit {
    match push(matches) {
        Ok(exit) => exit,
        Err(problem) => told(problem),
    }
}

fn push(matches: &ArgMatches) -> Result<Exit, CommandProblem> {
    let (options, file) = project()?;
    let root = options.root.clone();
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let Some(repository) = text("repository").or_else(|| file.repository.clone()) else {
        let message = format!(
            "which repository is this? say `repository = \"example.org/name\"` in {PROJECT_FILE}, or pass --repository"
        );
        return Err(CommandProblem::Usage(message));
    };
    check_server(matches, file.server.as_deref())?;
    let live = Arc::new(Live::new(source(matches, &file)?, Box::new(|| 0), Pulled::new(&root, &file)));
    let named: Vec<PathBuf> = matches.get_many::<PathBuf>("reports").into_iter().flatten().cloned().collect();
    let mut options = Options { managed: Some(live.clone()), ..options };
    options.excluded_patterns.extend(named.iter().filter_map(|path| reports::excluding(&root, path)));
    let model = Index::open(options, Box::new(crate::duvet::environment)).model();
    // Citations are judged by the present texts, so that a copy of them will not do.
    live.look_up_now(&[]).map_err(CommandProblem::Usage)?;
    let mut checkout = Checkout::read(&root, &model, &file);
    for problem in &checkout.unreadable {
        tell(problem);
    }
    let paths = if named.is_empty() { named_by_file(&root, &file)? } else { named };
    // Citations are true whatever is wrong with a report.
    let (reports, unreadable) = match Reports::read(&root, &paths, &checkout.paths()) {
        Ok(reports) => (reports, None),
        Err(problem) => (Reports::default(), Some(problem)),
    };
    let exit_status = matches.get_one::<i32>("exit-status").copied();
    let results = Results::new(&reports.found, &checkout.tests, &checkout.paths(), exit_status);
    let unlinked = checkout.link(&results, &file.project);
    let about = Circumstances::find(matches, &root, &checkout);
    if let (Some(said), Some(found), true) = (&about.commit, &about.other_commit, about.is_dirty) {
        tell(&format!(
            "the checkout is of commit {found}, and its files differ from {said}, which is pushed as changed"
        ));
    }
    let place = place_of(matches, file.server.as_deref())?;
    let is_dry_run = matches.get_flag("dry-run");
    let mut is_bad = false;
    if is_dry_run {
        // A repository that is not known is refused as by the push itself.
        place.call_with(known::GET_REPOSITORY, json!({ "repository": repository }), None)?;
        let n_files = checkout.paths().len();
        let (n_citations, n_files) = (checkout.n_citations() as i64, n_files as i64);
        let (citations, files) = (counted(n_citations, "citation"), counted(n_files, "file"));
        tell(&format!("would push {citations} in {files} to {repository}"));
    } else {
        let arguments = json!({ "repository": repository, "ref": about.ref_name, "commit": about.commit, "dirty": about.is_dirty });
        let pushed = send(&place, known::PUSH_TRACE, arguments, &checkout.pushed_files())?;
        is_bad |= told_trace(&pushed);
    }
    if let Some(problem) = unreadable {
        return Err(CommandProblem::Usage(problem));
    }
    if reports.found.is_empty() {
        return Ok(if is_bad { Exit::Refused } else { Exit::Done });
    }
    for path in checkout.changed_since(&reports).iter().take(PROBLEMS_TOLD) {
        tell(&format!(
            "{path} has changed since its tests were reported: what they have shown is old; run them again"
        ));
    }
    for problem in reports.foreign.iter().chain(&unlinked).take(PROBLEMS_TOLD) {
        tell(problem);
    }
    for problem in results.problems.iter().take(PROBLEMS_TOLD) {
        tell(&format!("{}: {}", problem.name, problem.reason));
    }
    // What nobody can tell apart is an error, and not like a test that the project does not have.
    is_bad |= results.problems.iter().any(|problem| !matches!(problem.reason, Unmatched::NoMatch(_)));
    if let Some(reason) = &results.incomplete {
        tell(&format!("the run is incomplete and closes nothing: {reason}"));
    }
    let tests = checkout.pushed_tests(&results, &reports);
    if tests.is_empty() {
        tell("no test that cites a requirement has run, so that no evidence is pushed");
        return Ok(Exit::Refused);
    }
    if is_dry_run {
        tell(&format!("would push {}", counted(tests.len() as i64, "test")));
        return Ok(if is_bad { Exit::Refused } else { Exit::Done });
    }
    let mut arguments = json!({
        "repository": repository, "ref": about.ref_name, "commit": about.commit, "tool": reports.tools(),
        "incomplete": results.incomplete.is_some(),
    });
    if let Some(exit_status) = exit_status {
        arguments["exit_status"] = json!(exit_status);
    }
    let pushed = send(&place, known::PUSH_EVIDENCE, arguments, &tests)?;
    told_evidence(&pushed);
    Ok(if is_bad { Exit::Refused } else { Exit::Done })
}

/// The reports that the project file names.
fn named_by_file(root: &Path, file: &ProjectFile) -> Result<Vec<PathBuf>, CommandProblem> {
    let mut paths = Vec::new();
    for pattern in &file.reports {
        let found = reports::matching(root, pattern).map_err(CommandProblem::Usage)?;
        if found.is_empty() {
            tell(&format!("{PROJECT_FILE}: no report matches {pattern}"));
        }
        paths.extend(found);
    }
    Ok(paths)
}

/// Says what came of pushing citations. Returns whether something was left out.
fn told_trace(pushed: &Value) -> bool {
    let number = |name: &str| pushed[name].as_i64().unwrap_or_default();
    let text = |name: &str| pushed[name].as_str().unwrap_or_default().to_owned();
    let verb = if pushed["unchanged"] == true { "unchanged" } else { "pushed" };
    tell(&format!(
        "{verb}: {} of {} in {}, {} {}",
        counted(number("n_citations"), "citation"),
        counted(number("n_cited"), "requirement"),
        counted(number("n_files"), "file"),
        text("repository"),
        text("ref"),
    ));
    let unknown = pushed["unknown"].as_array().cloned().unwrap_or_default();
    for reference in &unknown {
        let reference = reference.as_str().unwrap_or_default();
        tell(&format!(
            "{reference} does not exist in a project of this repository, or is not visible; left out"
        ));
    }
    !unknown.is_empty()
}

fn told_evidence(pushed: &Value) {
    let outcomes = pushed["outcomes"].as_object().cloned().unwrap_or_default();
    let outcomes: Vec<String> =
        outcomes.iter().map(|(name, n)| format!("{n} {}", name.replace('_', " "))).collect();
    let verb = if pushed["unchanged"] == true { "unchanged" } else { "pushed" };
    let tests = counted(pushed["n_tests"].as_i64().unwrap_or_default(), "test");
    tell(&format!("{verb}: {tests} with citations, {}", outcomes.join(", ")));
    if let Some(reason) = pushed["why_not"].as_str() {
        tell(&format!("this run closes nothing: {reason}"));
    }
}

/// A number of things: `1 file`, `2 files`.
fn counted(n: i64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Sends lines to an operation that takes a file.
fn send<T: Serialize>(
    place: &Place,
    entry: &'static ops::Entry,
    mut arguments: Value,
    items: &[T],
) -> Result<Value, CommandProblem> {
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.retain(|_, value| !value.is_null());
        arguments.insert("content".to_owned(), json!(""));
        arguments.insert("format".to_owned(), json!("jsonl"));
    }
    let mut upload = Upload::new();
    for item in items {
        let line = serde_json::to_string(item).unwrap_or_default();
        writeln!(upload, "{line}").map_err(|error| CommandProblem::Usage(error.to_string()))?;
    }
    place.call_with(entry, arguments, Some(upload))
}

/// A ref that was named without `refs/heads/` is a branch.
fn whole_ref(name: String) -> String {
    if name.starts_with("refs/") { name } else { format!("refs/heads/{name}") }
}

/// The commit and the ref of a push.
struct Circumstances {
    commit: Option<String>,
    ref_name: Option<String>,
    is_dirty: bool,
    /// The commit that is checked out, if that is another one.
    other_commit: Option<String>,
}

impl Circumstances {
    /// What the command line says, then what the CI says, then what the checkout says.
    fn find(matches: &ArgMatches, root: &Path, checkout: &Checkout) -> Circumstances {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let mut settings: Settings = config::settings(matches);
        let CheckedOut { commit: checked_out, ref_name } = checked_out(root);
        let gitlab_ref =
            settings.optional::<String>("CI_COMMIT_BRANCH").map(|name| format!("refs/heads/{name}"));
        let said = |settings: &mut Settings, name: &'static str| settings.optional::<String>(name);
        let commit = text("commit")
            .or_else(|| said(&mut settings, "GITHUB_SHA"))
            .or_else(|| said(&mut settings, "CI_COMMIT_SHA"))
            .or_else(|| checked_out.clone());
        let said_commit = commit.as_deref().unwrap_or_default().to_ascii_lowercase();
        let other_commit = checked_out.filter(|found| !found.starts_with(&said_commit));
        let differs = || differs(root, commit.as_deref()?, checkout.paths().into_iter());
        Circumstances {
            // Files of another commit are not believed to be the same where that cannot be seen.
            is_dirty: matches.get_flag("dirty") || differs().unwrap_or(other_commit.is_some()),
            other_commit,
            commit,
            ref_name: text("ref")
                .map(whole_ref)
                .or_else(|| said(&mut settings, "GITHUB_REF"))
                .or(gitlab_ref)
                .or(ref_name),
        }
    }
}
