//! `duvet report --watch`: writes the reports again after each edit, and prints what it changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use notify::{RecursiveMode, Watcher as _};
use trace::Diagnostic;
use trace::model::{Model, TraceStatus};
use trace::project::{Changes, Index};

use super::arguments::ReportArguments;
use super::{Failure, diagnostics, environment, options, report};

/// This long must be quiet: an editor writes, renames and touches.
const QUIET_TIME: Duration = Duration::from_millis(50);
/// Where the system does not tell of a change, it is found after this time.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Reports, then follows the project until the process ends.
pub fn run(arguments: &ReportArguments) -> Result<u8, Failure> {
    report::run(arguments)?;
    let mut index = Index::open(options(&arguments.project)?, Box::new(environment));
    let root = index.root().to_path_buf();
    let (sender, events) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if let Ok(event) = event
            && !event.kind.is_access()
        {
            let _ = sender.send(event.paths);
        }
    })
    .map_err(|error| Failure::new(format!("changes cannot be watched: {error}")))?;
    let mut watched: BTreeSet<PathBuf> = BTreeSet::new();
    print("watching; Ctrl-C ends\n");
    loop {
        let wanted: BTreeSet<PathBuf> = index.folders().iter().map(|folder| root.join(folder)).collect();
        for folder in wanted.difference(&watched) {
            let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
        }
        watched = wanted;
        let before = index.model();
        let Some(changes) = follow(&mut index, &root, &events) else {
            return Ok(super::DONE);
        };
        if changes != Changes::default() {
            print(&describe(&before, &index.model()));
            write_again();
        }
    }
}

/// Writes the reports again, in a process of its own: one that reports leaves its memory to the system at its end.
fn write_again() {
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--watch");
    if let Ok(program) = std::env::current_exe() {
        let _ = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Waits for changes. Nothing is left to wait for once nobody can tell of any.
fn follow(index: &mut Index, root: &Path, events: &Receiver<Vec<PathBuf>>) -> Option<Changes> {
    let mut paths = match events.recv_timeout(POLL_INTERVAL) {
        Ok(paths) => paths,
        Err(RecvTimeoutError::Timeout) => return Some(index.refresh()),
        Err(RecvTimeoutError::Disconnected) => return None,
    };
    while let Ok(more) = events.recv_timeout(QUIET_TIME) {
        paths.extend(more);
    }
    let inside = paths.iter().filter_map(|path| path.strip_prefix(root).ok()).map(Path::to_path_buf);
    Some(index.follow(&inside.collect::<Vec<_>>()))
}

/// Says what an edit changed: requirements that are further or less far, and problems that came or went.
fn describe(before: &Model, after: &Model) -> String {
    let mut text = String::new();
    let (old, new) = (statuses(before), statuses(after));
    for (name, status) in &new {
        match old.get(name) {
            Some(known) if known == status => {}
            Some(known) => text += &format!("{} → {}: {}\n", known.name(), status.name(), name.1),
            None => text += &format!("new, {}: {}\n", status.name(), name.1),
        }
    }
    for (name, _) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
        text += &format!("gone: {}\n", name.1);
    }
    // A problem that moved with its line is the same.
    let has = |problems: &[Diagnostic], problem: &Diagnostic| {
        problems.iter().any(|other| (other.code, &other.message) == (problem.code, &problem.message))
    };
    let (old, new) = (before.diagnostics(), after.diagnostics());
    for problem in new.iter().filter(|problem| !has(&old, problem)) {
        text += &diagnostics::render(problem);
    }
    let n_solved = old.iter().filter(|problem| !has(&new, problem)).count();
    if n_solved > 0 {
        text += &format!("{n_solved} problem{} solved\n", if n_solved == 1 { "" } else { "s" });
    }
    let [not_started, in_progress, needs_tests, done] = after.counts();
    text + &format!(
        "{done} done, {needs_tests} need tests, {in_progress} in progress, {not_started} not started; {} problems\n",
        new.len()
    )
}

/// The status of each requirement, by its section with its number there, and how it is shown.
fn statuses(model: &Model) -> BTreeMap<(String, String), TraceStatus> {
    let of = |number: u32| {
        let (specification, section) = model.catalogue.document(model.requirement(number).section);
        let shown = format!("{}#{}  {}", specification.id, section.id, model.catalogue.text(number));
        ((model.catalogue.requirement_path(number), shown), model.state(number).status)
    };
    (0..model.catalogue.requirements.len() as u32).map(of).collect()
}

fn print(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}
