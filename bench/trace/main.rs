//! Compares our `duvet` with Duvet 0.4.3 on generated projects: processor time, wall time and peak memory of
//! `report --json`, and whether both reports are equal.
//!
//! ```text
//! cargo build --release --workspace
//! target/release/bench-trace [--json] [--runs N] [--project NAME]... [--peer PATH] [--ours PATH] [--folder PATH]
//! target/release/bench-trace --mcp [--json] [--ours PATH] [--folder PATH]
//! ```
//!
//! Runs go over all programs in turn, so that a slow minute of the machine hits everyone.

#[path = "../mcp/child.rs"]
mod child;
mod project;
mod report;
mod run;
mod sentence;
mod server;
mod specification;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;

use crate::project::Project;
use crate::report::{Facts, Measured, Row};
use crate::run::Usage;

const PEER_VERSION: &str = "0.4.3";
const RUNS_MAX: usize = 100;
/// No round starts later than that: the whole takes minutes even on a busy machine.
const TIME_PER_PROJECT: Duration = Duration::from_secs(45);
/// The project that the MCP server is measured on.
const SERVED: &str = "cited";

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == run::MEASURED => {
            let Err(error) = run::measured(arguments) else { return Ok(()) };
            // One line, where `main` would write several: it becomes a line of the table.
            eprintln!("{error:#}");
            std::process::exit(1);
        }
        Some(first) if first == run::SCAN => {
            return run::scan(Path::new(&arguments.next().unwrap_or_default()));
        }
        _ => {}
    }
    let options = Options::parse(std::env::args().skip(1))?;
    let temporary = tempfile::tempdir()?;
    let folder = options.folder.as_deref().unwrap_or(temporary.path());
    let folder = std::path::absolute(folder)?;
    match options.mcp {
        true => serve(&options, &folder),
        false => trace(&options, &folder),
    }
}

/// Measures reports.
fn trace(options: &Options, folder: &Path) -> anyhow::Result<()> {
    let peer = options.peer()?;
    let mut values = Vec::new();
    if !options.json {
        print(&report::heading(&peer))?;
    }
    for name in &options.projects {
        let project = project::generate(name);
        let folders = Folders::write(&project, folder)?;
        let measured = measure(options, &peer, &project, &folders)?;
        match options.json {
            true => values.push(report::json(&project, &measured)),
            false => print(&report::table(&project, &measured))?,
        }
    }
    if options.json {
        let optimized = !cfg!(debug_assertions);
        let report = json!({"peer": peer, "optimized": optimized, "projects": values});
        print(&format!("{report:#}\n"))?;
    }
    Ok(())
}

/// Measures the MCP server.
fn serve(options: &Options, folder: &Path) -> anyhow::Result<()> {
    let project = project::generate(SERVED);
    let ours = folder.join(SERVED).join("ours");
    write(&project, &ours)?;
    let figures = server::measure(&options.ours, &ours)?;
    print(&match options.json {
        true => format!("{:#}\n", server::json(&figures)),
        false => server::table(&figures),
    })
}

/// A copy of the project for each side: the peer writes the requirements that it extracts into the tree.
struct Folders {
    peer: PathBuf,
    ours: PathBuf,
    reports: PathBuf,
}

impl Folders {
    fn write(project: &Project, folder: &Path) -> anyhow::Result<Folders> {
        let folder = folder.join(project.name);
        let [peer, ours, reports] = ["peer", "ours", "reports"].map(|name| folder.join(name));
        write(project, &peer)?;
        write(project, &ours)?;
        fs::create_dir_all(&reports)?;
        Ok(Folders { peer, ours, reports })
    }
}

/// Writes a project, in place of what an earlier run left there.
fn write(project: &Project, folder: &Path) -> anyhow::Result<()> {
    if folder.join(".duvet/config.toml").exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    eprintln!("{}: writing {}", project.name, folder.display());
    project.write(folder)
}

struct Contestant {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    /// The report that it writes, if it writes one.
    report: Option<PathBuf>,
}

fn measure(options: &Options, peer: &Path, project: &Project, folders: &Folders) -> anyhow::Result<Measured> {
    let contestants = contestants(options, peer, folders)?;
    let mut outcomes: Vec<Option<Result<Usage, String>>> = contestants.iter().map(|_| None).collect();
    let (start, mut n_runs) = (Instant::now(), 0);
    while n_runs < options.runs && (n_runs == 0 || start.elapsed() < TIME_PER_PROJECT) {
        n_runs += 1;
        for (contestant, outcome) in contestants.iter().zip(&mut outcomes) {
            if matches!(outcome, Some(Err(_))) {
                continue;
            }
            // Progress goes to stderr, so that the table or the JSON can be redirected.
            eprintln!("{}, run {n_runs} of {}: {}", project.name, options.runs, contestant.name);
            let usage = run::run(&contestant.program, &contestant.arguments, &contestant.folder)
                .map_err(|error| format!("{error:#}"));
            *outcome = Some(match (outcome.take(), usage) {
                (Some(Ok(before)), Ok(usage)) => Ok(before.best(usage)),
                (_, usage) => usage,
            });
        }
        // A project that the peer does not accept proves nothing.
        if let Some(Err(reason)) = &outcomes[0] {
            anyhow::bail!("the peer does not accept {}: {reason}", project.name);
        }
    }
    let peer_report = contestants[0].report.as_deref().expect("the peer writes one");
    let mut rows = Vec::new();
    for (index, (contestant, outcome)) in contestants.iter().zip(outcomes).enumerate() {
        let outcome = outcome.expect("there is at least one run");
        let ours = contestant.report.as_deref().filter(|_| index > 0 && outcome.is_ok());
        let sameness = ours.map(|ours| report::compare(peer_report, ours));
        rows.push(Row { name: contestant.name.clone(), outcome, sameness });
    }
    Ok(Measured { n_runs, facts: Facts::of(peer_report)?, rows })
}

/// Returns what is run, the peer first.
fn contestants(options: &Options, peer: &Path, folders: &Folders) -> anyhow::Result<Vec<Contestant>> {
    let tracing = |name: String, program: &Path, folder: &Path, report: &str| {
        let report = folders.reports.join(report);
        Contestant {
            name,
            program: program.to_owned(),
            arguments: vec!["report".to_owned(), "--json".to_owned(), report.display().to_string()],
            folder: folder.to_owned(),
            report: Some(report),
        }
    };
    let mut contestants = vec![
        tracing("peer".to_owned(), peer, &folders.peer, "peer.json"),
        tracing("ours".to_owned(), &options.ours, &folders.ours, "ours.json"),
        // As after a change from one to the other: what the peer has extracted lies there.
        tracing(
            "ours, where the peer has run".to_owned(),
            &options.ours,
            &folders.peer,
            "ours-after-peer.json",
        ),
    ];
    contestants.push(Contestant {
        name: "floor: read and scan, one thread".to_owned(),
        program: std::env::current_exe()?,
        arguments: vec![run::SCAN.to_owned(), ".".to_owned()],
        folder: folders.ours.clone(),
        report: None,
    });
    contestants.push(Contestant {
        name: "floor: rg -c '//='".to_owned(),
        program: "rg".into(),
        // Hidden files too: the specifications are among them, and whoever traces has to read them.
        arguments: ["--hidden", "--no-ignore", "-c", "//=", "."].map(String::from).to_vec(),
        folder: folders.ours.clone(),
        report: None,
    });
    Ok(contestants)
}

struct Options {
    json: bool,
    mcp: bool,
    runs: usize,
    projects: Vec<String>,
    peer: Option<PathBuf>,
    ours: PathBuf,
    folder: Option<PathBuf>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Options> {
        let mut options = Options {
            json: false,
            mcp: false,
            runs: 3,
            projects: Vec::new(),
            peer: None,
            ours: std::env::current_exe()?.with_file_name("duvet"),
            folder: None,
        };
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| anyhow::anyhow!("{argument}: expected a value after it"));
            match argument.as_str() {
                "--json" => options.json = true,
                "--mcp" => options.mcp = true,
                "--runs" => options.runs = number(&argument, &value()?)?,
                "--project" => options.projects.push(known(value()?)?),
                "--peer" => options.peer = Some(std::path::absolute(value()?)?),
                "--ours" => options.ours = std::path::absolute(value()?)?,
                "--folder" => options.folder = Some(value()?.into()),
                _ => anyhow::bail!(
                    "{argument}: expected --json, --mcp, --runs N, --project NAME, --peer PATH, --ours PATH or \
                     --folder PATH (projects stay there)"
                ),
            }
        }
        if options.projects.is_empty() {
            options.projects = project::NAMES.iter().map(|name| (*name).to_owned()).collect();
        }
        Ok(options)
    }

    /// Returns the peer's program, which is installed if none was named and none is there.
    fn peer(&self) -> anyhow::Result<PathBuf> {
        let peer = match &self.peer {
            Some(peer) => peer.clone(),
            None => {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
                let peer = root.join("bin/duvet");
                if !peer.exists() {
                    install(&root)?;
                }
                peer
            }
        };
        // It cannot tell its version, so whoever names another answers for it.
        anyhow::ensure!(peer.exists(), "--peer: {} is not there", peer.display());
        Ok(peer)
    }
}

fn install(root: &Path) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["install", "duvet", "--version", PEER_VERSION, "--root"])
        .arg(root)
        // Its own profile, not ours.
        .current_dir(std::env::temp_dir())
        .stdout(std::io::stderr())
        .status()
        .context("cargo cannot be started")?;
    anyhow::ensure!(status.success(), "cargo install duvet: {status}");
    Ok(())
}

fn number(name: &str, text: &str) -> anyhow::Result<usize> {
    match text.parse() {
        Ok(number) if (1..=RUNS_MAX).contains(&number) => Ok(number),
        _ => anyhow::bail!("{name}: expected 1 to {RUNS_MAX}, found {text:?}"),
    }
}

fn known(name: String) -> anyhow::Result<String> {
    let names = project::NAMES;
    anyhow::ensure!(names.contains(&name.as_str()), "--project: expected one of {names:?}, found {name:?}");
    Ok(name)
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
