//! The `duvet` program: traces requirements on the command line, or serves the traces over MCP.

mod arguments;
mod diagnostics;
mod extract;
mod init;
mod query;
mod report;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use trace::Diagnostic;
use trace::project::Options;

use arguments::{Arguments, Command, ProjectArguments};

const DONE: u8 = 0;
const FAILED: u8 = 1;

/// Runs the program with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        Command::Init(arguments) => init::run(arguments),
        Command::Extract(arguments) => extract::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Query(arguments) => query::run(arguments),
    };
    ExitCode::from(done.unwrap_or_else(|failure| {
        show(&failure.problems);
        if !failure.message.is_empty() {
            let _ = writeln!(anstream::stderr(), "duvet: {}", failure.message);
        }
        FAILED
    }))
}

/// Why the program stops.
struct Failure {
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

/// The project that arguments mean, seen from the current folder.
fn options(arguments: &ProjectArguments) -> Result<Options, Failure> {
    let root = std::env::current_dir()
        .map_err(|error| Failure::new(format!("the current folder cannot be used: {error}")))?;
    Ok(Options {
        root,
        config_path: arguments.config_path.clone(),
        source_patterns: arguments.source_patterns.clone(),
        requirement_patterns: arguments.requirement_patterns.clone(),
        specification_path: arguments.specification_path.clone(),
    })
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Shows problems, and counts them.
fn show(problems: &[Diagnostic]) {
    let mut stderr = anstream::stderr().lock();
    for problem in problems {
        let _ = stderr.write_all(diagnostics::render(problem).as_bytes());
    }
    let n_errors = problems.iter().filter(|problem| problem.is_error()).count();
    if n_errors > 0 {
        let _ = writeln!(stderr, "{n_errors} error{}", if n_errors == 1 { "" } else { "s" });
    }
}

/// Says what was done.
fn progress(verb: &str, what: &str) {
    let style = anstyle::AnsiColor::Green.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{style}{verb:>12}{style:#} {what}");
}
