//! `spexus agent add`: tells the host of an AI agent how to start Spexus, gives the agent a user of its own, and writes the rules
//! that it works by. Nothing is changed without `--write`.

mod host;
mod rules;
mod user;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};

pub use self::host::{Found, Host, found};
use super::commands::{CommandProblem, told};
use super::{Exit, config, flag, print, text};
use crate::duvet::{ChosenBy, Outputs};
use crate::managed;

/// The command.
pub fn command() -> Command {
    Command::new("agent").about("AI agents: connect one with Spexus").subcommand_required(true).arg_required_else_help(true).subcommand(
        Command::new("add")
            .about("Write the configuration of an agent's host, and the rules that the agent works by")
            .long_about(
                "Write the configuration of an agent's host, and the rules that the agent works by.\n\nWithout --write, it says what would be \
                 written. What is in the files stays. The agent acts as a user of its own: on the local store, or with --server \
                 on a server, where it gets a token that expires. The token is kept in a file that only you can read.",
            )
            .arg(
                Arg::new("host")
                    .value_name("HOST")
                    .required(true)
                    .value_parser(value_parser!(Host))
                    .help("claude, codex, cursor or vscode"),
            )
            .arg(text("user", "NAME").help("The agent's user [default: the host's name with -agent]"))
            .arg(text("expires-in", "TIME").default_value("90d").help("When the token for a server expires"))
            .arg(flag("no-rules").help("Write no rules"))
            .arg(flag("write").help("Write the files, and make the user and the token")),
    )
}

/// Runs the subcommand.
pub fn run(matches: &ArgMatches) -> Exit {
    let Some(("add", matches)) = matches.subcommand() else { return Exit::Usage };
    match add(matches) {
        Ok(text) => print::raw(&text),
        Err(problem) => told(problem),
    }
}

/// A file as it is and as it will be.
struct Change {
    path: PathBuf,
    before: Option<String>,
    after: String,
}

fn add(matches: &ArgMatches) -> Result<String, CommandProblem> {
    let host = *matches.get_one::<Host>("host").expect("the parser demands it");
    let is_written = matches.get_flag("write");
    let user = matches.get_one::<String>("user").cloned().unwrap_or_else(|| format!("{}-agent", host.name()));
    let root = root().map_err(CommandProblem::Usage)?;
    let server: Option<String> = config::server(&mut config::settings(matches));
    let access = match &server {
        None => user::Access::Local { user: user.clone(), database: local_database(matches) },
        Some(server) => user::Access::server(server, host, &user),
    };
    let mut changes = vec![host.configured(&root, &access.start()).map_err(CommandProblem::Usage)?];
    if !matches.get_flag("no-rules") {
        changes.push(rules::written(host, &root).map_err(CommandProblem::Usage)?);
    }
    changes.retain(|change| change.before.as_ref() != Some(&change.after));
    let mut text = String::new();
    if is_written {
        // Without a user, the files would name somebody who does not exist.
        text.push_str(&access.make(matches)?);
    } else {
        text.push_str(&format!("This would be done; --write does it.\n\n{}\n", access.described()));
    }
    for change in &changes {
        if is_written {
            change.write(&root)?;
            text.push_str(&format!("wrote {}\n", shown(&root, &change.path)));
        } else {
            text.push_str(&change.described(&root));
        }
    }
    if changes.is_empty() {
        text.push_str("The files are as they should be already.\n");
    } else if is_written {
        text.push_str(&format!("\n{}\n", host.next_step()));
    }
    Ok(text)
}

impl Change {
    fn read(path: PathBuf) -> Result<(PathBuf, Option<String>), String> {
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok((path, Some(text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((path, None)),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn write(&self, root: &Path) -> Result<(), CommandProblem> {
        let base = if self.path.starts_with(root) { root.to_owned() } else { config::home() };
        let path = self.path.strip_prefix(&base).unwrap_or(&self.path);
        let outputs = Outputs::confined(&base);
        let write = |out: &mut dyn std::io::Write| out.write_all(self.after.as_bytes());
        outputs.replace(path, ChosenBy::User, write).map_err(CommandProblem::Usage)
    }

    /// The lines that would be added to a file.
    fn described(&self, root: &Path) -> String {
        let before = self.before.as_deref().unwrap_or_default();
        let state = if self.before.is_some() { "add to" } else { "write" };
        let mut text = format!("{state} {}\n", shown(root, &self.path));
        for line in similar::TextDiff::from_lines(before, &self.after).iter_all_changes() {
            let mark = match line.tag() {
                similar::ChangeTag::Insert => '+',
                similar::ChangeTag::Delete => '-',
                similar::ChangeTag::Equal => continue,
            };
            text.push_str(&format!("    {mark} {}\n", line.value().trim_end()));
        }
        text.push('\n');
        text
    }
}

/// A path below the project, or below the home folder.
fn shown(root: &Path, path: &Path) -> String {
    match (path.strip_prefix(root), path.strip_prefix(config::home())) {
        (Ok(below), _) => below.display().to_string(),
        (_, Ok(below)) => format!("~/{}", below.display()),
        _ => path.display().to_string(),
    }
}

/// The folder that the agent works in: that of the project or of the repository around the current one, or the current one.
pub fn root() -> Result<PathBuf, String> {
    let folder = std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
    let is_root = |folder: &&Path| managed::is_root(folder) || folder.join(".git").exists();
    // A repository may be in the home folder, which is nobody's project.
    let found = folder.ancestors().take_while(|folder| *folder != config::home()).find(is_root);
    Ok(found.map_or(folder.clone(), Path::to_path_buf))
}

/// The store, where it is not the default one.
fn local_database(matches: &ArgMatches) -> Option<String> {
    config::settings(matches).optional("SPEXUS_DATABASE")
}
