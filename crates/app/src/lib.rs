//! The programs of Spexus: command lines, transports, configuration. Everything else is in the other crates.

mod answered;
pub mod bridge;
mod budget;
mod color;
pub mod combined;
mod difference;
pub mod duvet;
pub mod gate;
mod large;
pub mod logging;
pub mod managed;
mod outbox;
pub mod requirements;
pub mod settings;
pub mod spexus;
pub mod stdio;
pub mod streamable;
pub mod tmkb;

use clap::CommandFactory as _;
use mcp::Profile;
use settings::Settings;

/// Returns the command lines of all programs, to generate man pages and completions from.
pub fn command_lines() -> [clap::Command; 4] {
    [spexus::command(), duvet::Arguments::command(), tmkb::Arguments::command(), bridge::Arguments::command()]
        .map(without_help_commands)
}

/// Removes the `help` commands that clap adds to each group, which would repeat the group's commands in the documentation.
fn without_help_commands(command: clap::Command) -> clap::Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help_commands)
}

/// Returns a script that completes a command line in a shell. It is generated in memory, because the generator panics when it cannot
/// write, as into a closed pipe.
pub(crate) fn completions(shell: clap_complete::Shell, mut command: clap::Command) -> String {
    let (name, mut script) = (command.get_name().to_owned(), Vec::new());
    clap_complete::generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Lets the environment change the name of a server and its version policy.
pub fn override_profile(profile: &mut Profile, settings: &mut Settings) {
    profile.name = settings.value("MCP_SERVER_NAME", profile.name.clone());
    profile.version = settings.value("MCP_SERVER_VERSION", profile.version.clone());
    profile.title = settings.optional("MCP_SERVER_TITLE").or(profile.title.take());
    profile.versions = settings.value("MCP_VERSION_POLICY", profile.versions);
}
