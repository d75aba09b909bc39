//! Secrets of servers that the user has logged in to: a file that only its owner reads, with one secret for each origin. A secret is
//! sent to the origin that issued it and nowhere else.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::config::config_folder;
use super::private_file;
use crate::managed::origin;

/// What is kept of a login.
#[derive(Clone, Deserialize, Serialize)]
pub struct Login {
    /// Who has logged in.
    pub user: String,
    /// The secret of the session.
    pub secret: String,
    /// When it ends.
    pub expires_at: String,
}

type Logins = BTreeMap<String, Login>;

/// The file with the secrets.
pub fn path() -> PathBuf {
    config_folder().join("credentials.json")
}

/// The login at the origin of a URL, if there is one.
pub fn find(server: &str) -> Option<Login> {
    let origin = origin(server).ok()?;
    read().ok()?.remove(&origin)
}

/// Keeps a login, in place of an earlier one at the same origin.
pub fn keep(server: &str, login: Login) -> Result<(), String> {
    let origin = origin(server)?;
    let mut logins = read()?;
    logins.insert(origin, login);
    write(&logins)
}

/// Forgets the login at an origin.
pub fn forget(server: &str) -> Result<(), String> {
    let origin = origin(server)?;
    let mut logins = read()?;
    match logins.remove(&origin) {
        Some(_) => write(&logins),
        None => Ok(()),
    }
}

fn read() -> Result<Logins, String> {
    let path = path();
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| format!("{}: expected what spexus auth login writes: {error}", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Logins::new()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn write(logins: &Logins) -> Result<(), String> {
    let text = serde_json::to_string_pretty(logins).map_err(|error| error.to_string())?;
    private_file::write(&path(), text.as_bytes())
}
