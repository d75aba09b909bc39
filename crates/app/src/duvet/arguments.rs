//! The command line of `duvet`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::color;

/// Requirements traceability: which code implements and tests what a specification requires
///
/// Comments in the code quote the specification (`//= rfc2324#section-2.1` and `//# The pot MUST …`);
/// duvet finds the requirements, matches the quotes, and says what is done, what lacks tests and what
/// is not even started.
#[derive(Debug, Parser)]
#[command(name = "duvet", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,

    /// Read before the arguments are parsed
    #[arg(long, global = true, value_name = "WHEN", value_parser = color::CHOICES, help = color::HELP)]
    pub color: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  duvet init --specification https://www.rfc-editor.org/rfc/rfc2324
  duvet report                     what is done, and a page to look at
  duvet check                      the same as a gate for CI; writes nothing
  duvet mcp                        an MCP server on stdin and stdout

Exit codes: 0 done, 1 something is wrong or missing, 2 wrong usage.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a project: write .duvet/config.toml
    Init(InitArguments),
    /// Write the requirements of a specification into files
    Extract(ExtractArguments),
    /// Match the code with its specifications and write reports
    Report(ReportArguments),
    /// Ask whether requirements are implemented, implementations tested, and tests run
    Query(QueryArguments),
    /// Make one report of several
    Merge(MergeArguments),
    /// Check citations, specifications and coverage; a gate for CI that writes nothing
    #[command(after_help = "\
Examples:
  duvet check --deny warnings
  duvet check --require-citations --require-tests --level MUST
  duvet check --format sarif > duvet.sarif")]
    Check(CheckArguments),
    /// Accept the specifications as they are now: write .duvet/lock.toml
    ///
    /// From then on `duvet check` tells when a specification changed, in which sections, and which
    /// citations to look at again.
    Lock(LockArguments),
    /// Serve the project to an AI agent over MCP, on stdin and stdout
    ///
    /// Settings come from the environment: LOG_LEVEL (off, error, warn, info, debug, trace), LOG_FORMAT
    /// (text, json), MCP_REQUEST_TIMEOUT (30s), MCP_VERSION_POLICY (negotiate, strict), MCP_SERVER_NAME,
    /// MCP_SERVER_TITLE, MCP_SERVER_VERSION. Logs go to stderr.
    Mcp(McpArguments),
    /// Print a script that completes commands in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
pub struct McpArguments {
    /// Describe answers too, which makes the list of tools several times longer
    #[arg(long)]
    pub output_schemas: bool,
    #[command(flatten)]
    pub project: ProjectArguments,
}

#[derive(Args, Debug)]
pub struct InitArguments {
    /// Include a specification, by path or URL
    #[arg(long, value_name = "SPEC")]
    pub specification: Vec<String>,
    #[command(flatten)]
    pub languages: Languages,
}

/// The languages of the source code. Without any they are guessed from the files that are there.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    /// Include rules for C
    #[arg(long = "lang-c")]
    pub c: bool,
    /// Include rules for CryptoVerif
    #[arg(long = "lang-cryptoverif")]
    pub cryptoverif: bool,
    /// Include rules for Go
    #[arg(long = "lang-go")]
    pub go: bool,
    /// Include rules for Java
    #[arg(long = "lang-java")]
    pub java: bool,
    /// Include rules for JavaScript
    #[arg(long = "lang-javascript")]
    pub javascript: bool,
    /// Include rules for ProVerif
    #[arg(long = "lang-proverif")]
    pub proverif: bool,
    /// Include rules for Python
    #[arg(long = "lang-python")]
    pub python: bool,
    /// Include rules for Ruby
    #[arg(long = "lang-ruby")]
    pub ruby: bool,
    /// Include rules for Rust
    #[arg(long = "lang-rust")]
    pub rust: bool,
    /// Include rules for TypeScript
    #[arg(long = "lang-typescript")]
    pub typescript: bool,
}

#[derive(Args, Debug)]
pub struct ExtractArguments {
    /// How the specification is written: auto (found out from the file), ietf, markdown
    #[arg(short, long, default_value = "auto", value_parser = format)]
    pub format: trace::Format,
    /// What to write: toml, or rs for Rust comments
    #[arg(short, long, default_value = "toml")]
    pub extension: String,
    /// The folder to write into
    #[arg(short, long, default_value = ".")]
    pub out: PathBuf,
    #[command(flatten)]
    pub fetching: FetchArguments,
    #[command(flatten)]
    pub writing: WriteArguments,
    #[command(flatten)]
    pub project: ProjectArguments,
    /// The specification, by path or URL
    pub target_path: String,
}

fn format(text: &str) -> Result<trace::Format, String> {
    text.parse().map_err(|unknown: trace::annotation::Unknown| {
        format!("expected one of {}", unknown.allowed.join(", "))
    })
}

fn level(text: &str) -> Result<trace::Level, String> {
    let level = text.to_uppercase().parse().ok().filter(|level| *level != trace::Level::Auto);
    level.ok_or_else(|| "expected one of MUST, SHOULD, MAY".to_owned())
}

#[derive(Args, Debug)]
pub struct ReportArguments {
    #[command(flatten)]
    pub project: ProjectArguments,
    /// Write coverage of the specifications as lcov files into a folder
    #[arg(long, value_name = "DIR")]
    pub lcov: Option<PathBuf>,
    /// Write the JSON report
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the JSON report of the second form, which `merge` takes
    #[arg(long, value_name = "FILE")]
    pub json_v2: Option<PathBuf>,
    /// Write the page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// With --ci: every line that a requirement touches must be cited [default: true]
    #[arg(long, value_name = "BOOL")]
    pub require_citations: Option<Option<bool>>,
    /// With --ci: every cited line must be tested [default: true]
    #[arg(long, value_name = "BOOL")]
    pub require_tests: Option<Option<bool>>,
    /// Fail if the snapshot is not current, or without one if anything is missing
    #[arg(long, value_name = "BOOL")]
    pub ci: Option<Option<bool>>,
    /// Keep running, and print what each edit changes
    #[arg(long, conflicts_with = "ci")]
    pub watch: bool,
    /// Where the files of the project can be looked at
    #[arg(long, value_name = "URL")]
    pub blob_link: Option<String>,
    /// Where issues can be looked at
    #[arg(long, value_name = "URL")]
    pub issue_link: Option<String>,
    #[command(flatten)]
    pub fetching: FetchArguments,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// What a project may not decide by itself: where its specifications are fetched from.
#[derive(Args, Clone, Debug, Default)]
pub struct FetchArguments {
    /// Fetch specifications from HOST though its address is private, also by http; can be repeated
    #[arg(long = "allow-private-host", value_name = "HOST")]
    pub private_hosts: Vec<String>,
}

/// What a project may not decide by itself: where files are written.
#[derive(Args, Clone, Debug, Default)]
pub struct WriteArguments {
    /// Follow links and paths that lead out of the project when files are written
    #[arg(long)]
    pub write_outside: bool,
}

#[derive(Args, Debug)]
pub struct LockArguments {
    #[command(flatten)]
    pub writing: WriteArguments,
    #[command(flatten)]
    pub project: ProjectArguments,
}

/// Exits with 0 if every check passes, with 1 if not. Without a check nothing is asked, and this is shown.
#[derive(Args, Debug)]
pub struct QueryArguments {
    /// What to check, one or several with commas between
    #[arg(long, short, value_delimiter = ',', value_name = "CHECK")]
    pub check: Vec<CheckArgument>,
    /// Look at these sections alone, written as in annotations: PATH#SECTION, or PATH for all of them
    #[arg(long, short, value_delimiter = ',', value_name = "SECTION")]
    pub section: Vec<String>,
    /// Look alone at what has this text in it, in upper or lower case; may be there several times
    #[arg(long, short, value_name = "TEXT")]
    pub quote: Vec<String>,
    /// Coverage reports, as globs; the checks `coverage` and `executed-coverage` need them
    #[arg(long, short = 'r', value_name = "GLOB", required_if_eq_any(COVERAGE_CHECKS))]
    pub coverage_report: Vec<String>,
    /// How coverage reports are written
    #[arg(long, short = 'f', value_name = "FORMAT", required_if_eq_any(COVERAGE_CHECKS))]
    pub coverage_format: Option<CoverageFormat>,
    /// List what passed, too
    #[arg(long, short)]
    pub verbose: bool,
    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: AnswerFormat,
    #[command(flatten)]
    pub project: ProjectArguments,
}

const COVERAGE_CHECKS: [(&str, &str); 2] = [("check", "coverage"), ("check", "executed-coverage")];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckArgument {
    /// Every requirement is quoted in full by implementations, implications and exceptions, and no todo is left
    #[value(alias = "implementations")]
    Implementation,
    /// Every implementation is quoted in full by tests
    #[value(alias = "tests")]
    Test,
    /// Every test ran, and every implementation of what it quotes ran in the same coverage report
    Coverage,
    /// The same, but tests that did not run are left out
    ExecutedCoverage,
    /// No annotation quotes what others of its type quote already
    Duplicates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CoverageFormat {
    /// JaCoCo's XML
    JacocoXml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Args, Debug)]
pub struct CheckArguments {
    #[command(flatten)]
    pub project: ProjectArguments,
    /// What shall fail beside errors
    #[arg(long, value_name = "WHAT", value_parser = ["warnings"])]
    pub deny: Vec<String>,
    /// Fail if a requirement is not implemented in full
    #[arg(long)]
    pub require_citations: bool,
    /// Fail if a requirement is implemented but not tested in full
    #[arg(long)]
    pub require_tests: bool,
    /// Demand it of requirements of this level and above: MUST, SHOULD, MAY [default: all]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub level: Option<trace::Level>,
    /// Pass although there was nothing to check: no configuration, source file, citation or requirement
    #[arg(long)]
    pub allow_empty: bool,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub format: CheckFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// For code hosts
    Sarif,
    /// For CI systems
    Junit,
}

#[derive(Args, Debug)]
pub struct MergeArguments {
    /// A report of `duvet report --json-v2` or of `duvet merge`; once for each
    #[arg(long, value_name = "FILE", required = true)]
    pub input: Vec<PathBuf>,
    /// Where to write the merged report
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Which project, and what older versions took.
#[derive(Args, Debug, Default)]
pub struct ProjectArguments {
    /// The configuration [default: .duvet/config.toml]
    #[arg(long, value_name = "FILE")]
    pub config_path: Option<PathBuf>,
    /// Source code: a glob, maybe with marks, `(META,CONTENT)GLOB`
    #[arg(long = "source-pattern", hide = true)]
    pub source_patterns: Vec<String>,
    /// Requirement files: a glob
    #[arg(long = "spec-pattern", hide = true)]
    pub requirement_patterns: Vec<String>,
    /// Where specifications are kept
    #[arg(long = "spec-path", hide = true)]
    pub specification_path: Option<PathBuf>,
    #[command(flatten)]
    pub ignored: IgnoredArguments,
}

/// Flags that do nothing, and that scripts still pass.
#[derive(Args, Debug, Default)]
pub struct IgnoredArguments {
    #[arg(long, short = 'p', hide = true)]
    package: Option<String>,
    #[arg(long, hide = true)]
    features: Vec<String>,
    #[arg(long, hide = true)]
    workspace: bool,
    #[arg(long, hide = true)]
    exclude: Vec<String>,
    #[arg(long, hide = true)]
    all_features: bool,
    #[arg(long, hide = true)]
    no_default_features: bool,
    #[arg(long, hide = true)]
    no_cargo: bool,
    #[arg(long, hide = true)]
    target: Option<String>,
    #[arg(long, hide = true)]
    target_dir: Option<String>,
    #[arg(long, hide = true)]
    manifest_path: Option<String>,
}
