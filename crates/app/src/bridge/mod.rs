//! The program `requirements-mcp-server`: the bridge that an AI host starts to reach the requirements on a Spexus server.
//!
//! To the host it is a [`crate::stdio`] server like the others, but it has no store: a request is
//! validated here, forwarded (`upstream.rs`), and answered in the host's revision.

mod arguments;
mod body;
mod cached;
mod config;
mod events;
mod failure;
mod init;
mod listed;
mod listen;
mod look;
mod overlap;
mod question;
mod retry;
mod server;
mod upstream;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::{CommandFactory as _, Parser};

use crate::{logging, stdio};
use arguments::Command;
use upstream::Upstream;

pub(crate) use arguments::Arguments;
pub use server::profile;

/// The name of the program, also for the server.
const NAME: &str = "requirements-mcp-server";

/// Requests wait for the server, not for each other.
const THREADS_MAX: usize = 64;

/// How often the log reports connection statistics, at level debug.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Exit codes.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const MISUSED: u8 = 2;

/// Runs the program with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let code = match &arguments.command {
        None => serve(&arguments),
        Some(Command::Completions { shell }) => {
            let script = crate::completions(*shell, Arguments::command());
            // Who closes the pipe early has seen enough.
            let _ = io::stdout().write_all(script.as_bytes());
            Ok(DONE)
        }
        Some(Command::Init(options)) => init::run(options, arguments.config.as_deref()),
    };
    let code = code.unwrap_or_else(|ending| {
        for line in ending.message.lines() {
            let _ = writeln!(io::stderr(), "{NAME}: {}", logging::without_secrets(line));
        }
        ending.code
    });
    logging::finish();
    ExitCode::from(code)
}

/// Why the program stops.
struct Ending {
    code: u8,
    message: String,
}

impl Ending {
    fn misused(message: impl ToString) -> Self {
        Self { code: MISUSED, message: message.to_string() }
    }

    fn failed(message: impl ToString) -> Self {
        Self { code: FAILED, message: message.to_string() }
    }
}

fn serve(arguments: &Arguments) -> Result<u8, Ending> {
    let config = config::read(arguments.config.as_deref(), profile()).map_err(Ending::misused)?;
    let upstream = Arc::new(Upstream::new(&config).map_err(Ending::failed)?);
    stdio::greet(&config.profile, &format!("`{NAME} init` makes a token and the configuration"));
    if tracing::enabled!(tracing::Level::DEBUG) {
        upstream.spawn(report(upstream.clone()));
    }
    let server = server::Bridge::new(upstream);
    let options = stdio::Options { request_timeout: config.timeout, threads_max: THREADS_MAX };
    Ok(stdio::serve(config.profile, server, options))
}

/// Adds the number of retries to the report on requests and memory.
async fn report(upstream: Arc<Upstream>) {
    loop {
        tokio::time::sleep(REPORT_INTERVAL).await;
        let (requests, retries) = upstream.counts();
        tracing::debug!(requests, retries, "asked the server");
    }
}
