//! The command line of `requirements-mcp-server`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Requirements for an AI host: an MCP server on stdin and stdout that forwards requests to a Spexus server
///
/// The host starts it without arguments. It needs the address of the server and a token, from the environment or from
/// ~/.requirements-mcp/config.json, which `requirements-mcp-server init` writes.
#[derive(Debug, Parser)]
#[command(name = "requirements-mcp-server", version, propagate_version = true, after_help = HELP)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// The configuration file, instead of ~/.requirements-mcp/config.json
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
}

const HELP: &str = "\
Settings, from the environment or, in lower case and without MCP_, from the file:
  BACKEND_API_URL       the server, such as https://spexus.example.org
  MCP_PAT_TOKEN         the token, mcp_pat_...
  MCP_REQUEST_TIMEOUT   how long a request may take, retries included [30s]
  MCP_MAX_RETRIES       how often a request is tried again [3]
  MCP_TOOLSETS          daily, requirements, comments, steering, prompts, bulk, views, thread, all [what the server shows]
  MCP_OUTPUT_SCHEMAS    whether answers are described by schemas, and come as structured content, too [false]
  MCP_VERSION_POLICY    strict or negotiate [strict]
  LOG_LEVEL             off, error, warn, info, debug, trace [info]

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a token and write the configuration
    Init(Init),
    /// Print a script that completes commands in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
pub struct Init {
    /// The server [env: BACKEND_API_URL]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// The user of the token [env: REQUIREMENTS_MCP_USER]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// Read the password from stdin instead of asking [env: REQUIREMENTS_MCP_PASSWORD]
    #[arg(long)]
    pub password_stdin: bool,

    /// The name of the token on the server [default: this program's name and a number]
    #[arg(long, value_name = "NAME")]
    pub token_name: Option<String>,

    /// The scope of the token: read, comment, write, admin, full_access
    #[arg(long = "scope", value_name = "SCOPE", default_value = "write")]
    pub scopes: Vec<String>,

    /// How long the token is valid, such as 90d [default: forever]
    #[arg(long, value_name = "TIME")]
    pub expires_in: Option<String>,

    /// Ask nothing: everything comes from flags, the environment and stdin
    #[arg(long)]
    pub non_interactive: bool,
}
