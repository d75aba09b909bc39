//! The `tmkb` program: queries the threat library on the command line, or serves it over MCP.

mod arguments;
mod patterns;
mod server;
mod source;
mod tool;

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    process::ExitCode,
};

use clap::{CommandFactory, Parser};
use serde_json::{Value, json};
use threats::{
    FoundPatterns, Library, Query,
    answer::{self, Answer, Room},
    render::{self, Extras, Theme},
    validate::{self, Severity},
};

use crate::{logging, settings::Settings, stdio};
use arguments::{Command, Format, QueryArguments};

pub(crate) use arguments::Arguments;
pub use patterns::Patterns;
pub use server::ThreatServer;
pub use source::Source;
pub use tool::{TOOL, described};

pub use server::profile;

/// Exit codes, the same for every command.
const DONE: u8 = 0;
const REFUSED: u8 = 1;
const MISUSED: u8 = 2;

/// Runs the program with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    crate::color::choose(&std::env::args_os().collect::<Vec<_>>());
    let arguments = Arguments::parse();
    let code = run(&arguments).unwrap_or_else(|failure| {
        let _ = writeln!(io::stderr(), "tmkb: {}", failure.message);
        failure.code
    });
    logging::finish();
    ExitCode::from(code)
}

/// Why the program stops.
struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    fn misused(message: impl ToString) -> Self {
        Self { code: MISUSED, message: message.to_string() }
    }

    fn refused(message: impl ToString) -> Self {
        Self { code: REFUSED, message: message.to_string() }
    }
}

fn run(arguments: &Arguments) -> Result<u8, Failure> {
    match &arguments.command {
        Command::Version => print(&format!("tmkb version {}\n", env!("CARGO_PKG_VERSION"))),
        Command::Completions { shell } => print(&crate::completions(*shell, Arguments::command())),
        Command::Serve => serve(arguments),
        Command::Query(query) => {
            let library = load(arguments)?;
            print(&answer_query(&library, query, arguments)?)
        }
        Command::List => {
            let library = load(arguments)?;
            print(&list(&library, arguments))
        }
        Command::Get { id, code } => {
            let library = load(arguments)?;
            let pattern = library.get(id).map_err(Failure::refused)?;
            match arguments.format_or(default_format()) {
                Format::Json => print(&pretty(&json!(pattern))),
                Format::Text => {
                    let extras = Extras { code: *code, whole: arguments.verbose };
                    print(&render::pattern(pattern, extras, &theme()))
                }
            }
        }
        Command::Validate { target, .. } => validate(arguments, target.as_deref()),
    }
}

fn serve(arguments: &Arguments) -> Result<u8, Failure> {
    let mut settings = Settings::default();
    logging::start(&mut settings);
    let mut profile = profile();
    crate::override_profile(&mut profile, &mut settings);
    let mut options = stdio::Options::default();
    options.request_timeout = settings.value("MCP_REQUEST_TIMEOUT", options.request_timeout);
    settings.check().map_err(Failure::misused)?;
    let source = Source::from_arguments(arguments).map_err(Failure::misused)?;
    if source.has_folder() {
        // A folder may be repaired while the server runs.
        profile.cache = mcp::Cache { ttl_ms: 0, scope: mcp::CacheScope::Private };
    }
    stdio::greet(&profile, "`tmkb query` asks by hand");
    Ok(stdio::serve(profile, ThreatServer::start(source), options))
}

/// Loads the patterns. Unreadable or invalid files are reported on stderr; the rest is used.
fn load(arguments: &Arguments) -> Result<Library, Failure> {
    let source = Source::from_arguments(arguments).map_err(Failure::misused)?;
    let (library, problems) = source.load_valid().map_err(Failure::misused)?;
    for problem in problems {
        let _ = writeln!(io::stderr(), "tmkb: {problem}");
    }
    if library.patterns().is_empty() {
        let _ = writeln!(io::stderr(), "tmkb: no pattern could be loaded");
    }
    Ok(library)
}

fn answer_query(
    library: &Library,
    arguments: &QueryArguments,
    global: &Arguments,
) -> Result<String, Failure> {
    let context = arguments.context.clone().unwrap_or_else(|| arguments.words.join(" "));
    let query = Query {
        context: &context,
        language: arguments.language.as_deref(),
        framework: arguments.framework.as_deref(),
        category: arguments.category.as_deref(),
    };
    // An empty answer to a misspelt filter would look like safety.
    source::check_filters(library, &query).map_err(Failure::misused)?;
    let FoundPatterns { hits, note } = library.ask(&query);
    let limit = arguments.limit.filter(|limit| *limit > 0);
    let format = global.format_or(default_format());
    let patterns_default =
        if global.verbose { answer::HUMAN_PATTERNS_MAX } else { answer::AGENT_PATTERNS_MAX };
    let room = Room {
        patterns_max: limit.unwrap_or(patterns_default),
        // People have no token budget.
        tokens_max: (format == Format::Json).then_some(answer::AGENT_TOKENS_MAX),
        language: query.language,
        framework: query.framework,
        note: note.as_deref(),
    };
    let answer = if global.verbose { answer::human(&hits, &room) } else { answer::agent(&hits, &room) };
    Ok(match format {
        Format::Json => pretty(&with_reasons(&answer, &hits, global.verbose)),
        Format::Text => render::query(&answer, global.verbose.then_some(&hits), &theme()),
    })
}

/// The answer as JSON; with the reasons for each pattern if details are requested.
fn with_reasons(answer: &Answer, hits: &[threats::Hit<'_>], is_verbose: bool) -> Value {
    let mut value = json!(answer);
    if is_verbose {
        value["matched"] = server::reasons(hits, answer.patterns_included);
    }
    value
}

fn list(library: &Library, arguments: &Arguments) -> String {
    let patterns = library.patterns();
    match (arguments.format_or(Format::Text), arguments.verbose) {
        (Format::Json, true) => pretty(&json!(patterns)),
        (Format::Json, false) => pretty(&patterns.iter().map(listed).collect()),
        (Format::Text, true) => render::list_verbose(patterns, &theme()),
        (Format::Text, false) => render::list(patterns, &theme()),
    }
}

fn listed(pattern: &threats::Pattern) -> Value {
    json!({
        "id": pattern.id,
        "name": pattern.name,
        "tier": pattern.tier,
        "severity": pattern.severity,
        "likelihood": pattern.likelihood,
        "category": pattern.category,
        "subcategory": pattern.subcategory,
        "language": pattern.language,
        "framework": pattern.framework,
    })
}

/// Validates one pattern, one file, or all patterns. A file that cannot be read is an error, too.
fn validate(arguments: &Arguments, target: Option<&str>) -> Result<u8, Failure> {
    let source = Source::from_arguments(arguments).map_err(Failure::misused)?;
    let file = target.map(Path::new).filter(|path| is_file_name(path));
    let (library, problems, id) = match file {
        Some(file) => source.load_file(file).map_err(Failure::misused)?,
        None => {
            let (library, problems) = source.load().map_err(Failure::misused)?;
            (library, problems, target.map(str::to_owned))
        }
    };
    let checked = match &id {
        Some(id) => {
            let pattern = library.get(id).map_err(Failure::refused)?;
            vec![(pattern, validate::one(pattern, &library))]
        }
        None => validate::all(&library),
    };
    let findings = checked.iter().flat_map(|(_, findings)| findings);
    let n_errors = findings.filter(|finding| finding.severity == Severity::Error).count() + problems.len();
    match arguments.format_or(Format::Text) {
        Format::Json => print(&pretty(&validation_report(&checked, &problems)))?,
        Format::Text => print(&render::validation(&checked, &problems, arguments.verbose, &theme()))?,
    };
    Ok(if n_errors == 0 { DONE } else { REFUSED })
}

/// Distinguishes a file from an id, which has neither an extension nor a folder.
fn is_file_name(path: &Path) -> bool {
    path.extension().is_some() || path.components().count() > 1 || path.is_file()
}

fn validation_report(
    checked: &[(&threats::Pattern, Vec<validate::Finding>)],
    problems: &[threats::PatternProblem],
) -> Value {
    let files = problems.iter().map(|problem| {
        json!({
            "severity": "error",
            "file": problem.file,
            "line": problem.line,
            "column": problem.column,
            "message": problem.message,
        })
    });
    let findings = checked.iter().flat_map(|(_, findings)| findings).map(|finding| {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        json!({
            "severity": severity,
            "pattern": finding.pattern,
            "field": finding.field,
            "message": finding.message,
        })
    });
    json!({"validated": checked.len(), "findings": files.chain(findings).collect::<Vec<_>>()})
}

/// Text on a terminal, JSON in a pipe.
fn default_format() -> Format {
    if io::stdout().is_terminal() { Format::Text } else { Format::Json }
}

/// Coloured, and on a terminal as wide as that. [`print`] removes colours if they are not wanted.
fn theme() -> Theme {
    const WIDTH_UNKNOWN: usize = 80;
    if !io::stdout().is_terminal() {
        return Theme::coloured();
    }
    let size = terminal_size::terminal_size();
    Theme::coloured().with_width(size.map_or(WIDTH_UNKNOWN, |(width, _)| usize::from(width.0)))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Prints to stdout, coloured on a terminal. A closed pipe is not an error.
fn print(text: &str) -> Result<u8, Failure> {
    match anstream::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("writing to stdout failed: {error}")))
        }
        _ => Ok(DONE),
    }
}
