//! The command line of `tmkb`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::color;

/// Threat Model Knowledge Base: the threats to what you are about to build
///
/// Ask before you write the feature: tmkb answers with the authorization threats that fit, what to
/// check and how to fix it. Use the command line, or serve agents over MCP (`tmkb serve`).
#[derive(Debug, Parser)]
#[command(name = "tmkb", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,

    /// A folder of pattern files, instead of the built-in patterns, or with --packs in addition to
    /// them [env: TMKB_PATTERNS]
    #[arg(short, long, global = true, value_name = "DIR")]
    pub patterns: Option<PathBuf>,

    /// Built-in packs to use: names, or "all"
    #[arg(long, global = true, value_name = "NAME", value_delimiter = ',')]
    pub packs: Vec<String>,

    /// The output format [default: text on a terminal, json in a pipe; list and validate always text]
    #[arg(short, long, global = true, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Print every detail, for people
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// Read before the arguments are parsed
    #[arg(long, global = true, value_name = "WHEN", value_parser = color::CHOICES, help = color::HELP)]
    pub color: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  tmkb query -c \"background job that resizes uploads\"
  tmkb query -c \"POST /orgs/<id>/invites\" -l python --framework flask
  tmkb get TMKB-AUTHZ-004 --code
  tmkb query bulk delete -p ./our-patterns --packs all
  tmkb validate our-patterns/links.yaml
  tmkb serve                       an MCP server on stdin and stdout

Exit codes: 0 done, 1 not found or findings, 2 wrong usage or configuration.";

impl Arguments {
    /// The requested format, or a default.
    pub fn format_or(&self, default: Format) -> Format {
        self.format.unwrap_or(if self.verbose { Format::Text } else { default })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For programs
    Json,
    /// For people
    Text,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the threats to what you are about to build
    ///
    /// Without a context every pattern is listed, most severe first.
    #[command(after_help = "\
Examples:
  tmkb query -c \"multi-tenant API endpoint\"
  tmkb query -c \"celery task exporting invoices\" -v
  tmkb query bulk delete endpoint --limit 1 -f json")]
    Query(QueryArguments),
    /// List all patterns
    List,
    /// Show one pattern
    #[command(after_help = "Example:\n  tmkb get TMKB-AUTHZ-001 -f text --code")]
    Get {
        /// The pattern's id, in upper or lower case
        id: String,
        /// Show the code of the first mitigation too (as text)
        #[arg(long)]
        code: bool,
    },
    /// Validate patterns: required fields, known values, related ids
    ///
    /// Errors make the exit code 1; warnings do not.
    Validate {
        /// Only the pattern with this id, or in this file
        #[arg(value_name = "ID|FILE")]
        target: Option<String>,
        /// All patterns, which is also the default
        #[arg(long, conflicts_with = "target")]
        all: bool,
    },
    /// Serve the patterns to an AI agent over MCP, on stdin and stdout
    ///
    /// Settings come from the environment: LOG_LEVEL (off, error, warn, info, debug, trace), LOG_FORMAT
    /// (text, json), MCP_REQUEST_TIMEOUT (30s), MCP_VERSION_POLICY (negotiate, strict), MCP_SERVER_NAME,
    /// MCP_SERVER_TITLE, MCP_SERVER_VERSION. Logs go to stderr.
    Serve,
    /// Print the version
    Version,
    /// Print a script that completes commands in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
pub struct QueryArguments {
    /// What you are implementing: a task, a requirement, a route, an identifier
    #[arg(short, long, value_name = "TEXT")]
    pub context: Option<String>,
    /// The same without a flag
    #[arg(value_name = "TEXT", conflicts_with = "context")]
    pub words: Vec<String>,
    /// Only patterns for this programming language; if there are none, those that generalize
    #[arg(short, long, value_name = "LANG")]
    pub language: Option<String>,
    /// Only patterns for this framework ("any" for all); if there are none, those that generalize
    #[arg(long, value_name = "NAME")]
    pub framework: Option<String>,
    /// Only patterns of this category
    #[arg(long, value_name = "NAME")]
    pub category: Option<String>,
    /// The maximal number of patterns; 0 means the default [default: 3, with -v 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit: Option<usize>,
}
