//! `duvet query`: checks whether requirements are implemented, implementations tested, and tests run.

use std::io::Write as _;

use clap::CommandFactory as _;
use nearest::nearest;
use trace::diagnostic::Code;
use trace::project::Project;
use trace::query::filter::AnnotationFilter;
use trace::query::{self, QueryAnswer, QueryCheck, json, measure, text};
use trace::report::Report;
use trace::{Annotation, Diagnostic};

use super::arguments::{AnswerFormat, Arguments, CheckArgument, QueryArguments};
use super::printable::printable;
use super::{DONE, FAILED, Failure, environment, options, print, show};

/// Answers on standard output.
pub fn run(arguments: &QueryArguments) -> Result<u8, Failure> {
    if arguments.check.is_empty() {
        return help();
    }
    let project = Project::open(options(&arguments.project)?, &environment).map_err(Failure::problems)?;
    let model = project.load(None, &mut |_, _| {});
    if model.has_errors() {
        return Err(Failure::problems(model.diagnostics()));
    }
    let report = Report::of(&model);
    let checks: Vec<QueryCheck> = arguments.check.iter().map(check).collect();
    let filter = AnnotationFilter::new(&arguments.section, &arguments.quote);
    let mut warnings = idle(&report, &filter);
    let mut measurements = Vec::new();
    if checks.iter().any(|check| check.needs_coverage()) {
        let more;
        (measurements, more) = measure(&report, &arguments.coverage_report).map_err(Failure::problems)?;
        warnings.extend(more);
    }
    show(&warnings);
    let answers = query::answer(&report, &checks, &filter, &measurements);
    let mut out = Vec::new();
    let written = match arguments.format {
        AnswerFormat::Text => text::write(&report, &answers, arguments.verbose, &mut out),
        AnswerFormat::Json => json::write(&report, &answers, &mut out),
    };
    written.map_err(Failure::new)?;
    let out = String::from_utf8_lossy(&out);
    match arguments.format {
        AnswerFormat::Text => print(&printable(&out))?,
        AnswerFormat::Json => print(&out)?,
    }
    Ok(if answers.iter().all(QueryAnswer::is_passed) { DONE } else { FAILED })
}

fn check(argument: &CheckArgument) -> QueryCheck {
    match argument {
        CheckArgument::Implementation => QueryCheck::Implementation,
        CheckArgument::Test => QueryCheck::Test,
        CheckArgument::Coverage => QueryCheck::Coverage,
        CheckArgument::ExecutedCoverage => QueryCheck::ExecutedCoverage,
        CheckArgument::Duplicates => QueryCheck::Duplicates,
    }
}

/// Prints the usage.
fn help() -> Result<u8, Failure> {
    let mut command = Arguments::command();
    command.build();
    let query = command.find_subcommand_mut("query").expect("query is a command");
    write!(anstream::stdout(), "{}", query.render_help().ansi()).map_err(Failure::new)?;
    Ok(DONE)
}

/// Without annotations every check passes, which is seldom intended.
fn idle(report: &Report<'_>, filter: &AnnotationFilter) -> Vec<Diagnostic> {
    if report.annotations.is_empty() {
        let warning =
            Diagnostic::warning(Code::Empty, "there are no annotations here, so every check passes");
        return vec![warning.help("run it in the folder that has `.duvet/config.toml`")];
    }
    let annotations = || report.annotations.iter().map(|numbered| numbered.annotation);
    let describe = |part: String| {
        let warning = Diagnostic::warning(Code::Empty, format!("no annotation is about `{part}`"));
        match nearest(&part, annotations().map(|annotation: &Annotation| &*annotation.target)) {
            Some(target) => warning.help(format!("there is `{target}`")),
            None => warning,
        }
    };
    filter.idle(annotations()).into_iter().map(describe).collect()
}
