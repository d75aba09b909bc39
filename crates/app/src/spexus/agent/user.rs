//! The user that an agent acts as: on the local store, or on a server with a token that expires.

use std::path::PathBuf;

use clap::ArgMatches;
use ops::{ErrorKind, known};
use serde_json::json;

use super::host::{Host, Start};
use crate::spexus::commands::{CommandProblem, Place, place};
use crate::spexus::config::config_folder;
use crate::spexus::private_file;

/// How an agent gets at requirements.
pub enum Access {
    /// The local store.
    Local {
        /// The agent's user.
        user: String,
        /// The store, where it is not the default one.
        database: Option<String>,
    },
    /// A server.
    Server {
        /// Its URL.
        url: String,
        /// The agent's user.
        user: String,
        /// The file with the URL and the token, which the bridge reads.
        path: PathBuf,
    },
}

impl Access {
    /// Access to a server.
    pub fn server(url: &str, host: Host, user: &str) -> Access {
        let path = config_folder().join("agents").join(format!("{}.json", host.name()));
        Access::Server { url: url.to_owned(), user: user.to_owned(), path }
    }

    /// How the host starts Spexus.
    pub fn start(&self) -> Start {
        match self {
            Access::Local { user, database } => {
                let mut arguments = vec!["mcp".to_owned(), "--as".to_owned(), user.clone()];
                if let Some(database) = database {
                    arguments.extend(["--database".to_owned(), database.clone()]);
                }
                Start { command: program("spexus"), arguments }
            }
            Access::Server { path, .. } => Start {
                command: program("requirements-mcp-server"),
                arguments: vec!["--config".to_owned(), path.display().to_string()],
            },
        }
    }

    /// What will be made beside the files of the host.
    pub fn described(&self) -> String {
        match self {
            Access::Local { user, .. } => {
                format!("make the user {user} (role User) in the local store, unless it exists\n")
            }
            Access::Server { url, user, path } => format!(
                "make the user {user} (role User) on {url}, unless it exists\nmake a token for it\nwrite the token to {}, readable by you alone\n",
                path.display()
            ),
        }
    }

    /// Makes the user, and the token where one is needed.
    pub fn make(&self, matches: &ArgMatches) -> Result<String, CommandProblem> {
        let place = place(matches)?;
        let mut text = String::new();
        let (Access::Local { user, .. } | Access::Server { user, .. }) = self;
        if make_user(&place, user)? {
            text.push_str(&format!("made the user {user}\n"));
        }
        let Access::Server { url, path, .. } = self else { return Ok(text) };
        let expires_in = matches.get_one::<String>("expires-in");
        let name = format!("{user} {}", crate::spexus::now());
        let arguments = json!({"name": name, "user": user, "scopes": ["write"], "expires_in": expires_in});
        let token = place.call(known::CREATE_TOKEN, arguments)?;
        let settings = json!({"backend_api_url": url, "pat_token": token["token"]});
        let settings = serde_json::to_string_pretty(&settings).unwrap_or_default() + "\n";
        private_file::write(path, settings.as_bytes()).map_err(CommandProblem::Usage)?;
        let until = token["expires_at"].as_str().unwrap_or("never");
        text.push_str(&format!("made a token, which expires at {until}\nwrote {}\n", path.display()));
        Ok(text)
    }
}

/// Makes a user, unless there is one with the name.
fn make_user(place: &Place, name: &str) -> Result<bool, CommandProblem> {
    let arguments = json!({"username": name, "email": format!("{name}@agents.invalid"), "role": "User"});
    match place.call(known::CREATE_USER, arguments) {
        Ok(_) => Ok(true),
        Err(CommandProblem::Refused(error)) if error.kind == ErrorKind::Conflict => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// A program of ours by its name if it is on the path, otherwise by its whole path: hosts do not search where a shell does.
fn program(name: &str) -> String {
    let beside =
        std::env::current_exe().ok().map(|own| own.with_file_name(name)).filter(|path| path.is_file());
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    let is_same = |one: &PathBuf, other: &PathBuf| one.canonicalize().ok() == other.canonicalize().ok();
    match (beside, on_path) {
        (Some(beside), Some(on_path)) if !is_same(&beside, &on_path) => beside.display().to_string(),
        (Some(beside), None) => beside.display().to_string(),
        _ => name.to_owned(),
    }
}
