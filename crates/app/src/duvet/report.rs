//! `duvet report`: matches the code with its specifications and writes reports.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use trace::model::Model;
use trace::project::{CONFIG_PATH, Phase, Project, read_inside};
use trace::report::gate::Gate;
use trace::report::html::Page;
use trace::report::{Report, json, json_v2, lcov, snapshot};
use trace::summary::TraceSummary;

use super::arguments::ReportArguments;
use super::output::{ChosenBy, Outputs};
use super::printable::printable;
use super::{DONE, FAILED, Failure, environment, fetch, options, progress, show};
use crate::difference;

/// How many specifications the summary names.
const SPECIFICATIONS_MAX: usize = 20;

type Writer = fn(&Report<'_>, &mut dyn Write) -> io::Result<()>;

/// Writes the reports that the configuration and the command line ask for.
pub fn run(arguments: &ReportArguments) -> Result<u8, Failure> {
    let project = Project::open(options(&arguments.project)?, &environment).map_err(Failure::problems)?;
    let outputs = Outputs::new(&project.options.root, &arguments.writing);
    let fetch = fetch::fetcher(&project, &arguments.fetching, &outputs);
    let mut start = Instant::now();
    let model = project.load(Some(fetch), &mut |phase, count| {
        let text = match phase {
            Phase::Extracted => format!("requirements from {count} specifications"),
            Phase::Found => format!("{count} sources"),
            Phase::Read => format!("{count} annotations"),
            Phase::Opened => format!("{count} specifications"),
            Phase::Matched => format!("{count} references"),
        };
        let verb = match phase {
            Phase::Extracted => "Extracted",
            Phase::Found => "Scanned",
            Phase::Read => "Parsed",
            Phase::Opened => "Loaded",
            Phase::Matched => "Matched",
        };
        progress(verb, &format!("{text} ({:.0?})", start.elapsed()));
        start = Instant::now();
    });
    tell_emptiness(&project, &model);
    // The page shows what is wrong beside all the rest; the other reports would be wrong.
    write_pages(arguments, &project, &model, &outputs)?;
    if model.has_errors() {
        show(&model.diagnostics());
        return Ok(FAILED);
    }
    let mut report = Report::of(&model);
    if arguments.blob_link.is_some() {
        report.blob_link = arguments.blob_link.clone();
    }
    if arguments.issue_link.is_some() {
        report.issue_link = arguments.issue_link.clone();
    }

    let configured = project.config.as_ref().map(|config| &config.report);
    let snapshot_path = configured.and_then(|report| report.snapshot.clone());
    let is_ci = match arguments.ci {
        Some(value) => value.unwrap_or(true),
        None => snapshot_path.is_some() && is_ci_environment(),
    };
    let internal = |name: &str| environment(name).map(PathBuf::from);
    let from_config = |path: Option<&String>| path.map(PathBuf::from);
    let snapshot_written = snapshot_path.as_ref().filter(|_| !is_ci);
    let reports: [(Option<PathBuf>, ChosenBy, Writer); 7] = [
        (arguments.json.clone(), ChosenBy::User, json::write),
        (arguments.json_v2.clone(), ChosenBy::User, json_v2::write),
        (from_config(configured.and_then(|report| report.json.as_ref())), ChosenBy::Project, json::write),
        (from_config(snapshot_written), ChosenBy::Project, snapshot::write),
        (internal("DUVET_INTERNAL_CI_JSON"), ChosenBy::User, json::write),
        (internal("DUVET_INTERNAL_CI_JSON_V2"), ChosenBy::User, json_v2::write),
        (internal("DUVET_INTERNAL_CI_SNAPSHOT"), ChosenBy::User, snapshot::write),
    ];
    for (path, by, writer) in reports {
        if let Some(path) = path {
            outputs.write(&path, by, |out| writer(&report, out))?;
        }
    }
    let gate = Gate {
        citations: arguments.require_citations.flatten().unwrap_or(true),
        tests: arguments.require_tests.flatten().unwrap_or(true),
    };
    if let Some(folder) = &arguments.lcov {
        write_lcov(folder, &project, &report, gate, &outputs)?;
    }
    summarize(&model);
    if let Some(path) = snapshot_path.filter(|_| is_ci) {
        return compare(&project, Path::new(&path), &report);
    }
    let checked = if is_ci { gate.check(&report) } else { Ok(()) };
    // The process ends: the system takes the memory back at once, piece by piece it would take a while.
    std::mem::forget(report);
    std::mem::forget(model);
    checked.map_err(Failure::new)?;
    Ok(DONE)
}

/// Says so where there is nothing to report on, and where there would be.
fn tell_emptiness(project: &Project, model: &Model) {
    if !model.setting.sources.is_empty() || project.config.is_some() {
        for pattern in &model.setting.unmatched {
            tell(&format!("matches {pattern}"));
        }
    }
    if model.paths().next().is_some() || !model.general.is_empty() {
        return;
    }
    let root = &project.options.root;
    let above = root.ancestors().skip(1).find(|folder| folder.join(CONFIG_PATH).is_file());
    let text = match (&project.config, above) {
        (Some(_), _) => {
            "no annotation and no requirement was found; do the patterns match your files?".to_owned()
        }
        (None, Some(folder)) => {
            format!("there is no {CONFIG_PATH} here, but one in {}; run it there", folder.display())
        }
        (None, None) => format!("there is no {CONFIG_PATH} here; `duvet init` writes one"),
    };
    tell(&text);
}

fn tell(text: &str) {
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{style}{:>12}{style:#} {text}", "Nothing");
}

/// Says how the project fares.
fn summarize(model: &Model) {
    let summary = TraceSummary::of(model);
    let [not_started, in_progress, needs_tests, done] = summary.counts();
    let total = not_started + in_progress + needs_tests + done;
    if total == 0 {
        return;
    }
    let mut text = String::new();
    let width = summary.specifications.iter().map(|one| one.id.len()).max().unwrap_or(0).clamp(5, 40);
    let bold = anstyle::Style::new().bold();
    let _ = writeln!(
        text,
        "\n{bold}{:width$} {:>6} {:>11} {:>11} {:>11}{bold:#}",
        "", "done", "needs tests", "in progress", "not started"
    );
    let mut row = |name: &str, [not_started, in_progress, needs_tests, done]: [usize; 4]| {
        let _ =
            writeln!(text, "{name:width$} {done:>6} {needs_tests:>11} {in_progress:>11} {not_started:>11}");
    };
    for specification in summary.specifications.iter().take(SPECIFICATIONS_MAX) {
        row(&printable(&specification.id), specification.counts);
    }
    if summary.specifications.len() > SPECIFICATIONS_MAX {
        row(
            "…",
            summary.specifications[SPECIFICATIONS_MAX..].iter().fold([0; 4], |mut sum, one| {
                sum.iter_mut().zip(one.counts).for_each(|(sum, count)| *sum += count);
                sum
            }),
        );
    }
    if summary.specifications.len() > 1 {
        row("all", summary.counts());
    }
    if !summary.next.is_empty() {
        let _ = writeln!(text, "\n{bold}Next{bold:#}");
    }
    for next in &summary.next {
        let cut: String = next.text.chars().take(100).collect();
        let dots = if cut.len() < next.text.len() { "…" } else { "" };
        let shown = printable(&cut);
        let _ = writeln!(
            text,
            "  {:6} {:11} {}  {shown}{dots}",
            next.level.name(),
            next.status.name(),
            printable(&next.place)
        );
    }
    let _ = anstream::stderr().write_all(text.as_bytes());
}

fn is_ci_environment() -> bool {
    environment("CI").is_some_and(|value| value != "false" && value != "0")
}

/// Writes the pages that the configuration, the command line and the environment ask for.
fn write_pages(
    arguments: &ReportArguments,
    project: &Project,
    model: &Model,
    outputs: &Outputs,
) -> Result<(), Failure> {
    let configured = project.config.as_ref().and_then(|config| config.report.html.as_ref());
    let internal = environment("DUVET_INTERNAL_CI_HTML").map(PathBuf::from);
    let mut paths: Vec<(PathBuf, ChosenBy)> = Vec::new();
    paths.extend(arguments.html.clone().map(|path| (path, ChosenBy::User)));
    paths.extend(configured.map(|path| (path.into(), ChosenBy::Project)));
    paths.extend(internal.map(|path| (path, ChosenBy::User)));
    let name = project.options.root.file_name().unwrap_or_default();
    let root = &project.options.root;
    let read = |path: &str| read_inside(root, Path::new(path)).ok();
    let mut page = Page::new(name.to_string_lossy().into_owned(), model);
    page.read = Some(&read);
    page.blob_link = arguments.blob_link.as_deref().or(page.blob_link);
    page.issue_link = arguments.issue_link.as_deref().or(page.issue_link);
    paths.iter().try_for_each(|(path, by)| outputs.write(path, *by, |out| page.write(out)))
}

/// Writes an lcov file for each specification.
fn write_lcov(
    folder: &Path,
    project: &Project,
    report: &Report<'_>,
    gate: Gate,
    outputs: &Outputs,
) -> Result<(), Failure> {
    // Tools know the copies in the folder of a configuration by their whole paths, and the others as they are named.
    let downloads = match project.config {
        Some(_) => project.options.root.join(&project.downloads),
        None => project.downloads.clone(),
    };
    for (index, target) in report.targets.iter().enumerate() {
        let path = folder.join(lcov::file_name(index));
        outputs.write(&path, ChosenBy::User, |out| lcov::write(target, &downloads, gate, out))?;
    }
    Ok(())
}

/// Compares the snapshot on disk with what it should be.
fn compare(project: &Project, path: &Path, report: &Report<'_>) -> Result<u8, Failure> {
    let shown = path.display();
    // Shown is what differs, so a file that is not the project's must not be compared.
    let old = read_inside(&project.options.root, path).map_err(|problem| {
        Failure::new(format!("{shown}: {problem}; run `duvet report` without --ci and commit it"))
    })?;
    let mut new = Vec::new();
    snapshot::write(report, &mut new).map_err(Failure::new)?;
    let new = String::from_utf8_lossy(&new);
    if old == new {
        progress("Checked", &shown.to_string());
        return Ok(DONE);
    }
    let text = difference::unified(("committed", &old), ("current", &new));
    let _ = anstream::stderr().write_all(printable(&text).as_bytes());
    Err(Failure::new(format!("{shown} is not current; run `duvet report` without --ci and commit it")))
}
