//! The hosts of agents: where each keeps its configuration, and in which form.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::Change;
use crate::spexus::config::home;

/// A host that starts agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Host {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
}

/// What Spexus is called in a configuration.
const SERVER: &str = "spexus";

/// How a host starts a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Start {
    /// Whether the program exists: at its path, or where programs are searched.
    pub fn is_there(&self) -> bool {
        let path = Path::new(&self.command);
        let folders = std::env::var_os("PATH").unwrap_or_default();
        match path.components().count() {
            1 => std::env::split_paths(&folders).any(|folder| folder.join(path).is_file()),
            _ => path.is_file(),
        }
    }
}

impl Host {
    const ALL: [Host; 4] = [Host::Claude, Host::Codex, Host::Cursor, Host::Vscode];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Host::Claude => "claude",
            Host::Codex => "codex",
            Host::Cursor => "cursor",
            Host::Vscode => "vscode",
        }
    }

    /// What to do when the files are written.
    pub const fn next_step(self) -> &'static str {
        match self {
            Host::Claude => "Start claude in this folder, and approve the server spexus; /mcp shows it.",
            Host::Codex => "Start codex in this folder; /mcp shows the server.",
            Host::Cursor => "Open this folder in Cursor, and enable spexus under Settings, MCP.",
            Host::Vscode => "Open this folder in VS Code, and start spexus in .vscode/mcp.json.",
        }
    }

    /// The file that names servers: in the project, but for Codex, which reads that of the user.
    fn path(self, root: &Path) -> PathBuf {
        match self {
            Host::Claude => root.join(".mcp.json"),
            Host::Cursor => root.join(".cursor/mcp.json"),
            Host::Vscode => root.join(".vscode/mcp.json"),
            Host::Codex => {
                let folder = std::env::var_os("CODEX_HOME").filter(|folder| !folder.is_empty());
                folder.map_or_else(|| home().join(".codex"), PathBuf::from).join("config.toml")
            }
        }
    }

    /// The configuration with a server in it, beside all that is there.
    pub(super) fn configured(self, root: &Path, start: &Start) -> Result<Change, String> {
        let (path, before) = Change::read(self.path(root))?;
        let text = before.as_deref().unwrap_or_default();
        let after = match self {
            Host::Codex => with_table(&path, text, start)?,
            _ => with_member(&path, text, self.members(), &self.member(start))?,
        };
        Ok(Change { path, before, after })
    }

    const fn members(self) -> &'static str {
        if matches!(self, Host::Vscode) { "servers" } else { "mcpServers" }
    }

    fn member(self, start: &Start) -> Value {
        let start = json!({"command": start.command, "args": start.arguments});
        match (self, start) {
            (Host::Vscode, Value::Object(start)) => {
                let kind = Map::from_iter([("type".to_owned(), json!("stdio"))]);
                Value::Object(kind.into_iter().chain(start).collect())
            }
            (_, start) => start,
        }
    }
}

/// A JSON object with a member in one of its objects.
fn with_member(path: &Path, text: &str, members: &str, member: &Value) -> Result<String, String> {
    let shown = path.display();
    let paste = || serde_json::to_string_pretty(&json!({members: {SERVER: member}})).unwrap_or_default();
    let mut whole: Map<String, Value> = match text.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).map_err(|error| {
            format!("{shown}: expected JSON without comments: {error}; add this yourself:\n{}", paste())
        })?,
    };
    let servers = whole.entry(members).or_insert_with(|| json!({}));
    let Value::Object(servers) = servers else {
        return Err(format!("{shown}: expected an object for {members}; add this yourself:\n{}", paste()));
    };
    if servers.get(SERVER) == Some(member) {
        return Ok(text.to_owned());
    }
    servers.insert(SERVER.to_owned(), member.clone());
    Ok(serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n")
}

/// A TOML file with a table at its end. What is above keeps its comments and its form.
fn with_table(path: &Path, text: &str, start: &Start) -> Result<String, String> {
    let shown = path.display();
    let whole: toml::Table = text.parse().map_err(|error| format!("{shown}: {error}"))?;
    let (command, arguments) =
        (toml::Value::from(start.command.as_str()), toml::Value::from(start.arguments.clone()));
    let table = format!("command = {command}\nargs = {arguments}\n");
    match whole.get("mcp_servers").and_then(|servers| servers.get(SERVER)) {
        Some(there) if there.get("command") == Some(&command) && there.get("args") == Some(&arguments) => {
            Ok(text.to_owned())
        }
        Some(_) => {
            Err(format!("{shown} has another [mcp_servers.{SERVER}]; remove it, or change it to\n{table}"))
        }
        None => {
            let gap = if text.is_empty() || text.ends_with("\n\n") {
                ""
            } else if text.ends_with('\n') {
                "\n"
            } else {
                "\n\n"
            };
            Ok(format!("{text}{gap}[mcp_servers.{SERVER}]\n{table}"))
        }
    }
}

/// A configuration that starts Spexus.
#[derive(Debug)]
pub struct Found {
    /// The host.
    pub host: Host,
    /// The file.
    pub path: PathBuf,
    /// How it starts Spexus, or why that cannot be read.
    pub start: Result<Start, String>,
}

/// The configurations around a folder that name Spexus.
pub fn found(root: &Path) -> Vec<Found> {
    let of = |host: Host| {
        let (path, text) = Change::read(host.path(root)).ok()?;
        let whole: Result<Value, String> = match host {
            Host::Codex => toml::from_str(&text?).map_err(|error| error.to_string()),
            _ => serde_json::from_str(&text?).map_err(|error| error.to_string()),
        };
        let members = if host == Host::Codex { "mcp_servers" } else { host.members() };
        let start = match whole {
            Err(message) => Err(message),
            Ok(whole) => {
                let member = whole.get(members)?.get(SERVER)?;
                let words = member["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
                match member["command"].as_str() {
                    Some(command) => Ok(Start {
                        command: command.to_owned(),
                        arguments: words.map(str::to_owned).collect(),
                    }),
                    // It connects to a server by itself.
                    None => return None,
                }
            }
        };
        Some(Found { host, path, start })
    };
    Host::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Start {
        Start { command: "spexus".to_owned(), arguments: vec!["mcp".to_owned()] }
    }

    #[test]
    fn what_is_in_a_file_stays() {
        let path = Path::new("mcp.json");
        let before = r#"{"mcpServers": {"other": {"command": "x"}}, "more": 1}"#;
        let after = with_member(path, before, "mcpServers", &Host::Claude.member(&start())).expect("JSON");
        let after: Value = serde_json::from_str(&after).expect("JSON");
        assert_eq!(after["mcpServers"]["other"]["command"], "x");
        assert_eq!((&after["more"], &after["mcpServers"]["spexus"]["args"]), (&json!(1), &json!(["mcp"])));
        let refused = with_member(path, "{ // a comment\n}", "servers", &Host::Vscode.member(&start()));
        assert!(refused.expect_err("no JSON").contains("add this yourself"));
    }

    #[test]
    fn a_table_is_added_once() {
        let path = Path::new("config.toml");
        let before = "# mine\nmodel = \"x\"\n";
        let once = with_table(path, before, &start()).expect("TOML");
        assert!(
            once.starts_with(before) && once.contains("[mcp_servers.spexus]\ncommand = \"spexus\"\n"),
            "{once}"
        );
        assert_eq!(with_table(path, &once, &start()).expect("TOML"), once);
        let other = Start { command: "other".to_owned(), arguments: Vec::new() };
        assert!(with_table(path, &once, &other).is_err());
    }
}
