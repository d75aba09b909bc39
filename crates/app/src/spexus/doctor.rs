//! `spexus doctor`: how the store, the configuration and the server fare, and what to do.

use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::time::Duration;

use clap::ArgMatches;
use serde_json::{Value, json};
use store::{Location, Mode, State, Store, health, user};
use tracing::level_filters::LevelFilter;

use super::agent::{self, Found};
use super::commands::CommandProblem;
use super::config::{self, StoreConfig};
use super::remote::Remote;
use super::{Exit, credentials, print};
use crate::managed::{self, PROJECT_FILE, ProjectFile};

/// One thing that was looked at.
struct Finding {
    name: &'static str,
    well: bool,
    message: String,
    /// What to do about it.
    advice: Option<String>,
}

/// Looks at everything.
pub fn run(matches: &ArgMatches) -> Exit {
    let mut findings = vec![well("program", format!("spexus {}", env!("CARGO_PKG_VERSION")))];
    let mut settings = config::settings(matches);
    let server = config::server(&mut settings);
    if server.is_none() {
        settings.refuse_flag("SPEXUS_AS", "doctor looks at the whole store, and as nobody");
    }
    let token: Option<String> = settings.optional("SPEXUS_TOKEN");
    let config = config::read(&mut settings);
    crate::logging::start_with_time(&mut settings, LevelFilter::WARN);
    match settings.check() {
        Ok(()) => findings.push(well("configuration", "all settings make sense".to_owned())),
        Err(problems) => {
            // With a default in place of a wrong setting, another store would be looked at than the one that was meant.
            let advice = "correct the settings that are named; the rest is looked at when they make sense";
            findings.push(ill("configuration", problems.to_string(), advice));
            return report(&findings, matches.get_flag("json"));
        }
    }
    if let Some((certificate, key)) = &config.tls {
        findings.push(match super::http::Tls::read(certificate, key) {
            Ok(_) => well("tls", "certificate and key fit".to_owned()),
            Err(message) => ill("tls", message, "give a PEM certificate chain and its key"),
        });
    }
    let file = look_at_project(&mut findings);
    match &server {
        Some(server) => {
            let token = token.or_else(|| credentials::find(server).map(|login| login.secret));
            look_at_server(server, token, &mut findings);
        }
        None => look_at_store(&config.store, &mut findings),
    }
    // The project's server, beside the store, where the user has logged in to it.
    if let Some(named) = file.and_then(|file| file.server).filter(|named| server.as_ref() != Some(named)) {
        match credentials::find(&named) {
            Some(login) => look_at_server(&named, Some(login.secret), &mut findings),
            None => findings.push(ill(
                "server",
                format!("{PROJECT_FILE} names {named}, and there is no login to it"),
                &format!("spexus auth login --server {named}, if you trust it"),
            )),
        }
    }
    look_at_agents(&mut findings);
    report(&findings, matches.get_flag("json"))
}

/// Looks at the project that this folder is in, if it is in one.
fn look_at_project(findings: &mut Vec<Finding>) -> Option<ProjectFile> {
    let folder = std::env::current_dir().ok()?;
    let root = folder.ancestors().find(|folder| managed::is_root(folder))?;
    match ProjectFile::read(root) {
        Ok(file) => {
            let about = match &file {
                Some(file) => format!("{}: project {}", root.display(), file.project),
                None => format!("{}: traces of documents, no {PROJECT_FILE}", root.display()),
            };
            findings.push(well("project", about));
            file
        }
        Err(problems) => {
            let lines: Vec<String> = problems.iter().map(crate::duvet::server::line).collect();
            findings.push(ill(
                "project",
                lines.join("\n"),
                "correct the file; nothing in it is used until then",
            ));
            None
        }
    }
}

/// Looks at the configurations of agents that start Spexus.
fn look_at_agents(findings: &mut Vec<Finding>) {
    let Ok(root) = agent::root() else { return };
    for Found { host, path, start } in agent::found(&root) {
        let shown = format!("{}, {}", host.name(), path.display());
        let again = format!("spexus agent add {} --write", host.name());
        findings.push(match start {
            Err(message) => ill("agent", format!("{shown}: {message}"), "correct the file"),
            Ok(start) if !start.is_there() => {
                let message = format!("{shown} starts {}, which cannot be found", start.command);
                ill("agent", message, &format!("install it, or write the configuration again: {again}"))
            }
            Ok(start) => {
                well("agent", format!("{shown} starts {} {}", start.command, start.arguments.join(" ")))
            }
        });
    }
}

fn look_at_store(config: &StoreConfig, findings: &mut Vec<Finding>) {
    if config.location.is_missing() {
        let message = format!("{} is not there yet", config.location);
        findings.push(match cannot_be_made(&config.location) {
            None if config.is_named => ill(
                "store",
                message,
                &format!("check the name, or create it: spexus migrate --database {}", config.location),
            ),
            Some(why) => ill(
                "store",
                format!("{message}, and cannot be made: {why}"),
                "name a file in a folder that you may write to: --database sqlite:PATH",
            ),
            None => Finding {
                name: "store",
                well: true,
                message,
                advice: Some("spexus serve makes it".to_owned()),
            },
        });
        return;
    }
    let store = match Store::open_as_it_is(
        &config.location,
        store::Options { connections: 1, statement_timeout: CHECK_MAX, ..config.options.clone() },
    ) {
        Ok(store) => store,
        Err(error) => {
            let advice = match &config.location {
                Location::Sqlite(path) if is_strange(path) => {
                    "name the store's file with --database sqlite:PATH; if this was it, move it away and restore a backup"
                }
                Location::Sqlite(_) => "check the path, and who may read and write it",
                Location::Postgres(_) => "check that it runs, its address, and who may open it",
            };
            findings.push(ill("store", format!("{}: {error}", config.location), advice));
            return;
        }
    };
    findings.push(match engine_version(&store) {
        Ok(version) => well("store", format!("{} {version} at {}", store.engine_name(), config.location)),
        Err(error) => ill("store", format!("{}: {error}", config.location), "check who may read the store"),
    });
    if let Location::Sqlite(path) = &config.location {
        findings.push(match store.wait(Mode::Snapshot, health::damage) {
            Ok(found) if found.is_empty() => well("file", "is whole".to_owned()),
            Ok(found) => ill("file", format!("is damaged: {}", found.join("; ")), RESTORE),
            Err(error) if error.kind == store::ErrorKind::Damaged => ill("file", error.to_string(), RESTORE),
            Err(error) => ill("file", error.to_string(), "check who may read the store"),
        });
        findings.extend(free_disk(path));
    }
    findings.push(match store.wait(Mode::Aside, health::write) {
        Ok(()) => well("writing", "works".to_owned()),
        Err(error) => {
            let advice = match error.kind {
                store::ErrorKind::Full => "make room on the disk",
                store::ErrorKind::Damaged => RESTORE,
                _ => "check who may write to the store, and whether another process keeps it locked",
            };
            ill("writing", format!("does not work: {error}"), advice)
        }
    });
    match store.migrations() {
        Ok(migrations) => {
            let count = |state| migrations.iter().filter(|migration| migration.state == state).count();
            let (pending, strange) = (count(State::Pending), count(State::Unknown) + count(State::Altered));
            findings.push(if strange > 0 {
                ill(
                    "schema",
                    "the store was written by another version".to_owned(),
                    "use that version, or restore a backup",
                )
            } else if pending > 0 {
                ill(
                    "schema",
                    format!("{pending} migrations are missing"),
                    "spexus migrate, or start the server",
                )
            } else {
                let last = migrations.last().map(|migration| migration.name.as_str()).unwrap_or_default();
                well("schema", format!("{last}, all {} migrations are there", migrations.len()))
            });
            if pending > 0 || strange > 0 {
                return;
            }
        }
        Err(error) => findings.push(ill("schema", error.to_string(), "check who may read the store")),
    }
    findings.push(
        match store.wait(Mode::Snapshot, |tx| {
            Ok::<_, store::Error>((user::count(tx)?, user::count_administrators(tx)?))
        }) {
            Ok((0, _)) => {
                ill("users", "there are none".to_owned(), "spexus serve makes the first administrator")
            }
            Ok((users, 0)) => ill(
                "users",
                format!("{users}, no administrator among them"),
                "spexus user update NAME --role Administrator",
            ),
            Ok((users, administrators)) => {
                well("users", format!("{users}, {administrators} of them administrators"))
            }
            Err(error) => ill("users", error.to_string(), "check who may read the store"),
        },
    );
}

/// Checking a file reads all of it.
const CHECK_MAX: Duration = Duration::from_secs(3_600);
const RESTORE: &str =
    "stop the server, keep a copy of the file, and restore a backup: spexus restore FILE --replace";
/// With less room than this, writes will soon be refused.
const FREE_MIN_MIB: u64 = 100;

/// How much room there is for a file to grow, where the system says so.
fn free_disk(path: &Path) -> Option<Finding> {
    #[cfg(unix)]
    {
        let disk = nix::sys::statvfs::statvfs(path).ok()?;
        let free_mib = (u128::from(disk.blocks_available()) * u128::from(disk.fragment_size())) >> 20;
        let free_mib = u64::try_from(free_mib).unwrap_or(u64::MAX);
        let message = format!("{free_mib} MiB are free");
        Some(match free_mib {
            FREE_MIN_MIB.. => well("disk", message),
            _ => ill("disk", message, "make room on the disk"),
        })
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

fn engine_version(store: &Store) -> store::Result<String> {
    let sql = if store.is_remote() {
        "select current_setting('server_version')"
    } else {
        "select sqlite_version()"
    };
    let version = store.wait(Mode::Snapshot, move |tx| tx.row(sql, &[], |row| row.get::<String>(0)))?;
    Ok(version.unwrap_or_default())
}

fn look_at_server(server: &str, token: Option<String>, findings: &mut Vec<Finding>) {
    let has_token = token.is_some();
    let remote = match Remote::new(server, token) {
        Ok(remote) => remote,
        Err(CommandProblem::Usage(message)) => {
            return findings.push(ill("server", message, "give the server's URL"));
        }
        Err(CommandProblem::Refused(error)) => {
            return findings.push(ill("server", error.message, "give the server's URL"));
        }
    };
    match remote.call(ops::known::WHO_AM_I, json!({}), None) {
        Ok(me) => {
            findings.push(well("server", format!("{server} answers")));
            let name = me["username"].as_str().unwrap_or_default();
            findings.push(well(
                "token",
                format!("it is {name}'s, whose role is {}", me["role"].as_str().unwrap_or_default()),
            ));
        }
        Err(CommandProblem::Refused(error)) if error.kind == ops::ErrorKind::Unauthenticated => {
            findings.push(well("server", format!("{server} answers")));
            let advice = if has_token {
                "a new one is made on the server's machine, with spexus token create NAME --user USER, or by an administrator"
            } else {
                "spexus auth login --server URL, or set SPEXUS_TOKEN"
            };
            findings.push(ill("token", error.message, advice));
        }
        Err(CommandProblem::Refused(error)) => {
            findings.push(ill("server", error.message, "check that it runs, its URL, and what is between"));
        }
        Err(CommandProblem::Usage(message)) => findings.push(ill("server", message, "give the server's URL")),
    }
}

fn well(name: &'static str, message: String) -> Finding {
    Finding { name, well: true, message, advice: None }
}

fn ill(name: &'static str, message: String, advice: &str) -> Finding {
    Finding { name, well: false, message, advice: Some(advice.to_owned()) }
}

fn report(findings: &[Finding], as_json: bool) -> Exit {
    let all_well = findings.iter().all(|finding| finding.well);
    let printed = if as_json {
        let list: Vec<Value> = findings
            .iter()
            .map(|finding| json!({ "name": finding.name, "ok": finding.well, "message": finding.message, "advice": finding.advice }))
            .collect();
        print::json(&json!({ "ok": all_well, "findings": list }))
    } else {
        let mut text = String::new();
        for finding in findings {
            let mark = if finding.well { "ok " } else { "!! " };
            let message = finding.message.replace('\n', "\n                     ");
            text.push_str(&format!("{mark} {:<16} {message}\n", finding.name));
            if let Some(advice) = &finding.advice {
                text.push_str(&format!("    {:<16} → {advice}\n", ""));
            }
        }
        print::raw(&text)
    };
    printed.and(if all_well { Exit::Done } else { Exit::Refused })
}

/// Why a file of a store that is not there cannot be made, if so.
fn cannot_be_made(location: &Location) -> Option<String> {
    let Location::Sqlite(path) = location else { return None };
    let mut folders = path.ancestors().skip(1);
    let near = |folder: &&Path| folder.as_os_str().is_empty() || folder.exists();
    let folder = folders.find(near).unwrap_or(Path::new("."));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if !folder.is_dir() {
        return Some(format!("{} is not a folder", folder.display()));
    }
    // Only trying it tells.
    tempfile::tempfile_in(folder).err().map(|error| format!("{}: {error}", folder.display()))
}

/// Whether a file is no database at all.
fn is_strange(path: &Path) -> bool {
    const BEGINNING: &[u8] = b"SQLite format 3\0";
    let mut found = [0; BEGINNING.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut found));
    match read {
        Ok(()) => found != BEGINNING,
        Err(error) => error.kind() == ErrorKind::UnexpectedEof,
    }
}
