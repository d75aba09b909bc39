//! `spexus check`, and the tool `check_change` of `spexus mcp`.

use std::io::Read as _;
use std::sync::Arc;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{ArgAction, ArgMatches, Command};
use mcp::{Failure, FailureKind, Tool, ToolOutput};
use ops::thread::Finding;
use serde_json::{Value, json};
use trace::project::Options;

use super::patch::DIFF_BYTES_MAX;
use super::{CannotTell, Findings, Question, Rule, check_change, json, junit, markdown, sarif, text};
use crate::managed::{self, Live, ProjectFile, Pulled, Source};
use crate::spexus::{Exit, has_store, print_raw, tell};

/// The tool.
pub const TOOL: &str = "check_change";

/// The formats of an answer.
const FORMATS: [&str; 5] = ["text", "json", "sarif", "junit", "markdown"];

/// The command line.
pub fn command() -> Command {
    Command::new("check")
        .about("Tell what a change makes worse: citations, and the evidence for what it touches")
        .long_about(
            "Tell what a change makes worse: citations that no longer hold, and evidence that no longer shows that they do. The files \
             on disk are compared with the commit that the base and HEAD have in common. Exits with 0 if nothing is worse, with 1 if \
             something is, and with 2 if that cannot be told.",
        )
        .arg(
            crate::spexus::text("base", "REF")
                .value_parser(NonEmptyStringValueParser::new())
                .help("What to compare with [default: the main branch; with --diff, HEAD]"),
        )
        .arg(
            crate::spexus::text("diff", "FILE")
                .value_parser(PossibleValuesParser::new(["-"]))
                .allow_hyphen_values(true)
                .help("Check a unified diff from standard input (-) in place of the files on disk"),
        )
        .arg(
            crate::spexus::text("lease", "LEASE")
                .value_parser(NonEmptyStringValueParser::new())
                .conflicts_with("diff")
                .help("The lease that the change is for, such as REQ-012.3: fail also for what its work has to show and does not"),
        )
        .arg(
            crate::spexus::text("format", "FORMAT")
                .value_parser(FORMATS)
                .default_value("text")
                .help("How to write what was found"),
        )
        .arg(
            crate::spexus::text("deny", "RULE")
                .value_parser(PossibleValuesParser::new(Rule::ALL.map(Rule::name)))
                .action(ArgAction::Append)
                .help("Fail for a rule that is for information otherwise; may be repeated"),
        )
}

/// Checks the change that the current folder has.
pub fn run(matches: &ArgMatches) -> Exit {
    match check(matches) {
        Ok(found) => {
            let format = matches.get_one::<String>("format").map_or("text", String::as_str);
            let written = match format {
                "json" => format!("{:#}\n", json::write(&found)),
                "sarif" => format!("{:#}\n", sarif::write(&found)),
                "junit" => junit::write(&found),
                "markdown" => markdown::write(&found),
                _ => text::write(&found),
            };
            print_raw(&written).and(if found.n_failing() > 0 { Exit::Refused } else { Exit::Done })
        }
        Err(CannotTell(problem)) => {
            tell(&crate::duvet::printable(&format!("cannot tell: {problem}")));
            Exit::Usage
        }
    }
}

fn check(matches: &ArgMatches) -> Result<Findings, CannotTell> {
    let diff = match matches.get_one::<String>("diff") {
        Some(_) => Some(standard_input()?),
        None => None,
    };
    let deny = matches.get_many::<String>("deny").into_iter().flatten();
    let question = Question {
        base: matches.get_one::<String>("base").cloned(),
        diff,
        lease: matches.get_one::<String>("lease").cloned(),
        deny: deny.filter_map(|name| Rule::named(name)).collect(),
    };
    let mut options = crate::duvet::nearest_project().ok_or_else(no_project)?;
    let file = managed::with_pulled(&mut options).map_err(unusable)?;
    let Some(file) = file else {
        let nowhere = |_: &'static ops::Entry, _: Value| Err("the project has no store".to_owned());
        return check_change(&options, None, &question, &nowhere);
    };
    let source = Arc::new(source(matches, &file));
    let asked = source.clone();
    let live = Live::new(
        Box::new(move |entry, arguments| asked(entry, arguments)),
        Box::new(|| 0),
        Pulled::new(&options.root, &file),
    );
    options.managed = Some(Arc::new(live));
    check_change(&options, Some(&file), &question, &*source)
}

/// Where requirements are asked for. Where that is nowhere, what was pulled takes their place: no store is made for a check.
fn source(matches: &ArgMatches, file: &ProjectFile) -> Source {
    let problem = match has_store(matches, file.server.is_some()) {
        Ok(()) => match managed::source(matches, file) {
            Ok(source) => return source,
            Err(problem) => problem.to_string(),
        },
        Err(problem) => problem,
    };
    Box::new(move |_, _| Err(problem.clone()))
}

fn standard_input() -> Result<String, CannotTell> {
    let mut bytes = Vec::new();
    let most = DIFF_BYTES_MAX as u64;
    std::io::stdin()
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CannotTell(format!("standard input: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(CannotTell(format!("the diff has more than {most} bytes")));
    }
    // Lines of files that are not UTF-8 are in diffs of other files than those that are read.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn no_project() -> CannotTell {
    let (config, file) = (trace::project::CONFIG_PATH, managed::PROJECT_FILE);
    CannotTell(format!("neither this folder nor one above it has a {file} or a {config}"))
}

fn unusable(problems: Vec<trace::Diagnostic>) -> CannotTell {
    CannotTell(problems.iter().map(crate::duvet::server::line).collect::<Vec<_>>().join("\n"))
}

/// Checks a change of a project, whose file is read anew.
fn check_project(
    options: &Options,
    question: &Question,
    ask: &super::Ask<'_>,
) -> Result<Findings, CannotTell> {
    let file = ProjectFile::read(&options.root).map_err(unusable)?;
    check_change(options, file.as_ref(), question, ask)
}

/// What keeps work from being finished: what the change of its checkout has made worse.
pub fn failing(options: &Options, base: Option<&str>, ask: &super::Ask<'_>) -> Result<Vec<Finding>, String> {
    let question = Question { base: base.map(str::to_owned), ..Question::default() };
    let found = check_project(options, &question, ask).map_err(|CannotTell(problem)| problem)?;
    let failing = found.findings.iter().filter(|finding| found.fails(finding));
    let told = failing.map(|finding| Finding {
        rule: finding.rule.name().to_owned(),
        place: text::place(finding),
        path: finding.path.clone(),
        message: std::iter::once(&finding.message)
            .chain(&finding.help)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n"),
    });
    Ok(told.collect())
}

/// The tool, as agents see it.
pub fn described() -> Tool {
    Tool::new(
        TOOL,
        "Tell what your change makes worse: citations that no longer hold, evidence that is missing, old or failing. Compares the files \
         with the commit that the base and HEAD have in common.",
        json!({
            "type": "object",
            "properties": {
                "base": {"type": "string", "minLength": 1, "description": "ref or commit; the main branch when absent"},
                "diff": {"type": "string", "description": "a unified diff to check in place of the files"},
                "lease": {"type": "string", "minLength": 1, "description": "your lease, to be told what its work has to show and does not"},
            },
            "additionalProperties": false,
        }),
    )
}

/// Calls the tool, in a project whose texts come from a store that `ask` asks.
pub fn called(options: &Options, arguments: &Value, ask: &super::Ask<'_>) -> Result<ToolOutput, Failure> {
    let text = |name: &str| arguments[name].as_str().map(str::to_owned);
    let question =
        Question { base: text("base"), diff: text("diff"), lease: text("lease"), deny: Vec::new() };
    if question.lease.is_some() && question.diff.is_some() {
        let problem = "expected the files on disk, with which the tests have run, and not a diff";
        return Err(Failure::invalid_argument("lease", problem));
    }
    match check_project(options, &question, ask) {
        Ok(found) => Ok(ToolOutput::text(text::write(&found))),
        Err(CannotTell(problem)) => {
            Err(Failure::new(FailureKind::InvalidArguments, format!("cannot tell: {problem}")))
        }
    }
}
