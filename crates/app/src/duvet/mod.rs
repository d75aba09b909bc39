//! The `duvet` program: traces requirements on the command line, or serves the traces over MCP.

mod arguments;
mod check;
mod diagnostics;
mod extract;
mod fetch;
mod init;
mod junit;
mod lock;
mod merge;
mod output;
mod printable;
mod query;
mod report;
mod sarif;
pub mod server;
mod survey;
mod watch;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use trace::Diagnostic;
use trace::project::Options;

use crate::settings::Settings;
use crate::{logging, managed, stdio};
pub(crate) use arguments::Arguments;
use arguments::{Command, McpArguments, ProjectArguments};
pub(crate) use junit::escape as escape_xml;
pub(crate) use output::{ChosenBy, Outputs};
pub(crate) use printable::printable;
use printable::printable_problem;

const DONE: u8 = 0;
const FAILED: u8 = 1;

/// Runs the program with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    crate::color::choose(&std::env::args_os().collect::<Vec<_>>());
    let arguments = Arguments::parse();
    // The server loads projects on a thread of its own.
    if !matches!(arguments.command, Command::Mcp(_)) {
        trace::project::work_on_this_thread();
    }
    let done = match &arguments.command {
        Command::Init(arguments) => init::run(arguments),
        Command::Extract(arguments) => extract::run(arguments),
        Command::Report(arguments) if arguments.watch => watch::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Lock(arguments) => lock::run(arguments),
        Command::Mcp(arguments) => serve(arguments),
        Command::Merge(arguments) => merge::run(arguments),
        Command::Query(arguments) => query::run(arguments),
        Command::Completions { shell } => {
            print(&crate::completions(*shell, Arguments::command())).map(|()| DONE)
        }
    };
    ExitCode::from(done.unwrap_or_else(|failure| {
        show(&failure.problems);
        if !failure.message.is_empty() {
            let _ = writeln!(anstream::stderr(), "duvet: {}", printable(&failure.message));
        }
        FAILED
    }))
}

fn serve(arguments: &McpArguments) -> Result<u8, Failure> {
    let mut settings = Settings::default();
    logging::start(&mut settings);
    let mut profile = server::profile();
    crate::override_profile(&mut profile, &mut settings);
    let default = stdio::Options::default();
    let stdio_options = stdio::Options {
        request_timeout: settings.value("MCP_REQUEST_TIMEOUT", default.request_timeout),
        ..default
    };
    settings.check().map_err(Failure::new)?;
    stdio::greet(&profile, "`duvet report` asks by hand");
    let mut options = Options { is_confined: true, ..nearest_plain_options(&arguments.project)? };
    managed::with_pulled_or_problem(&mut options);
    let server = server::TraceServer::start(options, arguments.output_schemas);
    let code = stdio::serve(profile, server, stdio_options);
    logging::finish();
    Ok(code)
}

/// Why the program stops.
pub(crate) struct Failure {
    message: String,
    problems: Vec<Diagnostic>,
}

impl Failure {
    fn new(message: impl ToString) -> Failure {
        Failure { message: message.to_string(), problems: Vec::new() }
    }

    fn problems(problems: Vec<Diagnostic>) -> Failure {
        Failure { message: String::new(), problems }
    }
}

fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::new(format!("the current folder cannot be used: {error}")))
}

/// The project that arguments mean, seen from the current folder.
fn options(arguments: &ProjectArguments) -> Result<Options, Failure> {
    let mut options = plain_options(arguments)?;
    managed::with_pulled(&mut options).map_err(Failure::problems)?;
    Ok(options)
}

fn plain_options(arguments: &ProjectArguments) -> Result<Options, Failure> {
    Ok(Options {
        root: current_folder()?,
        config_path: arguments.config_path.clone(),
        source_patterns: arguments.source_patterns.clone(),
        requirement_patterns: arguments.requirement_patterns.clone(),
        excluded_patterns: Vec::new(),
        specification_path: arguments.specification_path.clone(),
        is_confined: false,
        managed: None,
    })
}

/// The same, but the configuration may be in a folder above.
fn nearest_options(arguments: &ProjectArguments) -> Result<Options, Failure> {
    let mut options = nearest_plain_options(arguments)?;
    managed::with_pulled(&mut options).map_err(Failure::problems)?;
    Ok(options)
}

fn nearest_plain_options(arguments: &ProjectArguments) -> Result<Options, Failure> {
    let mut options = plain_options(arguments)?;
    if options.config_path.is_none() {
        let above = options.root.ancestors().find(|folder| managed::is_root(folder));
        if let Some(folder) = above.map(Path::to_path_buf) {
            options.root = folder;
        }
    }
    Ok(options)
}

/// The project that the current folder is in, if it is in one.
pub fn nearest_project() -> Option<Options> {
    let folder = std::env::current_dir().ok()?;
    let root = folder.ancestors().find(|folder| managed::is_root(folder))?;
    Some(Options { root: root.to_path_buf(), is_confined: true, ..Options::default() })
}

/// Prints to stdout. Who closes the pipe early has seen enough.
fn print(text: &str) -> Result<(), Failure> {
    match anstream::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("writing to stdout failed: {error}")))
        }
        _ => Ok(()),
    }
}

pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Shows problems, and counts them.
fn show(problems: &[Diagnostic]) {
    let mut stderr = anstream::stderr().lock();
    for problem in problems {
        let _ = stderr.write_all(diagnostics::render(&printable_problem(problem)).as_bytes());
    }
    let n_errors = problems.iter().filter(|problem| problem.is_error()).count();
    if n_errors > 0 {
        let _ = writeln!(stderr, "{n_errors} error{}", if n_errors == 1 { "" } else { "s" });
    }
}

/// Says what was done.
fn progress(verb: &str, what: &str) {
    let style = anstyle::AnsiColor::Green.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{style}{verb:>12}{style:#} {}", printable(what));
}
