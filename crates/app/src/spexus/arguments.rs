//! The command line: what is written by hand, and a command for every operation.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use clap_complete::Shell;

use super::{
    Exit, agent, backup, commands, describe, doctor, edit, health, here, migrate, print, serve, several,
    suggest,
};
use crate::{color, combined, gate, managed};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold());

/// Understands the command line and runs what it asks for.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    color::choose(&arguments);
    let matches = match command().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let error = suggest::improve(error, &arguments);
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            return if error.use_stderr() { Exit::Usage } else { print::written(printed) };
        }
    };
    match matches.subcommand() {
        Some(("serve", matches)) => serve::run(matches),
        Some(("mcp", matches)) => combined::run(matches),
        Some(("migrate", matches)) => migrate::run(matches),
        Some(("doctor", matches)) => doctor::run(matches),
        Some(("health", matches)) => health::run(matches),
        Some(("backup", matches)) => backup::backup(matches),
        Some(("restore", matches)) => backup::restore(matches),
        Some(("check", matches)) => gate::run(matches),
        Some(("pull", matches)) => managed::pull(matches),
        Some(("cite", matches)) => managed::cite(matches),
        Some(("push", matches)) => managed::push(matches),
        Some(("evidence", matches)) if let Some(("add", matches)) = matches.subcommand() => {
            managed::push(matches)
        }
        Some(("edit", matches)) => edit::run(matches),
        Some(("status", matches)) => several::status(matches),
        Some(("assign", matches)) => several::assign(matches),
        Some(("agent", matches)) => agent::run(matches),
        Some(("completions", matches)) => completions(matches),
        Some((name, matches)) => commands::run(name, matches),
        None => here::run(&matches),
    }
}

/// The whole command line.
pub fn command() -> Command {
    let command = Command::new("spexus")
        .about("Requirements, their traces in code, and the threats against them, for people and AI agents")
        .version(env!("CARGO_PKG_VERSION"))
        .styles(STYLES)
        .args(everywhere())
        .subcommand(
            Command::new("serve")
                .about("Start the server: the store, REST, agents, and the page")
                .arg(text("listen-database", "URL").help(
                    "PostgreSQL without the pooler in front of it, to hear of changes [default: --database]",
                ))
                .arg(text("listen", "ADDRESS").help("Where to listen [default: 127.0.0.1:8080]"))
                .arg(text("public-url", "URL").help("Where the server is reached from outside"))
                .arg(
                    text("trusted-proxy", "CIDR")
                        .action(ArgAction::Append)
                        .help("A proxy that says for whom it asks, by Forwarded or X-Forwarded-For; may be repeated"),
                )
                .arg(
                    text("trace", "KEY=FOLDER")
                        .action(ArgAction::Append)
                        .help("Show the traces of a project in this folder to whoever reads the project; may be repeated"),
                )
                .arg(text("import-limit", "MIB").help("How large the file of an import may be [default: 50]"))
                .arg(path("tls-cert").help("A PEM file with the certificate, for TLS").requires("tls-key"))
                .arg(path("tls-key").help("A PEM file with the certificate's key").requires("tls-cert"))
                .arg(text("toolsets", "SETS").help(
                    "The tools that agents are shown: daily, requirements, comments, steering, prompts, bulk, views, thread, work, all [default: daily]",
                ))
                .arg(flag("read-only").help("Show agents only tools that change nothing"))
                .arg(flag("output-schemas").help("Tell agents the schemas of answers, too"))
                .arg(flag("demo").help("Fill an empty store with a small project")),
        )
        .subcommand(
            Command::new("mcp")
                .about("Serve an agent over stdin and stdout: the local store, the project in this folder, and threats")
                .arg(
                    Arg::new("parts")
                        .long("toolsets")
                        .value_name("SETS")
                        .help("What to offer, with commas between")
                        .value_delimiter(',')
                        .default_value(combined::DEFAULT_SET)
                        .value_parser(combined::sets().collect::<Vec<_>>()),
                )
                .arg(flag("read-only").help("Offer only what changes nothing"))
                .arg(flag("output-schemas").help("Describe answers too, which makes the list of tools several times longer")),
        )
        .subcommand(
            Command::new("migrate")
                .about("Bring the store's schema up to date; the server does so by itself")
                .arg(flag("check").help("Only say what is missing, and exit with 1 if anything is")),
        )
        .subcommand(
            Command::new("doctor")
                .about("Look at the store, the configuration and the server, and say what to do"),
        )
        .subcommand(
            Command::new("health")
                .about("Ask a running server whether its store can be read and written; for health checks")
                .long_about(
                    "Ask a running server whether its store can be read and written; for health checks\n\n\
                     Asks the server on this machine, at the address of --listen (SPEXUS_LISTEN), or the one of --server. Exits with 0 if it \
                     is ready, and with 1 if it is not or does not answer within 5 s.",
                )
                .arg(text("listen", "ADDRESS").help("Where the server listens [default: 127.0.0.1:8080]")),
        )
        .subcommand(
            Command::new("backup")
                .about("Write everything into a new file, while the server goes on")
                .arg(file_argument("The file to make")),
        )
        .subcommand(
            Command::new("restore")
                .about("Fill an empty store from a backup, on either engine")
                .arg(file_argument("The backup"))
                .arg(flag("replace").help("Replace everything in the store; what was revoked in it stays revoked"))
                .arg(flag("revoke-tokens").help("Revoke all tokens that the backup brings along")),
        )
        .subcommand(edit::command())
        .subcommands(several::commands())
        .subcommand(agent::command())
        .subcommand(gate::command())
        .subcommands(managed::commands())
        .subcommand(
            Command::new("completions")
                .about("Print completions for a shell")
                .arg(Arg::new("shell").value_name("SHELL").required(true).value_parser(value_parser!(Shell))),
        );
    describe::add(command)
}

/// Flags that every command takes.
fn everywhere() -> [Arg; 8] {
    [
        text("database", "URL").help("The store: sqlite:PATH or postgres://USER@HOST/DATABASE"),
        path("database-ca").help("A PEM file with the certificate that signs PostgreSQL's"),
        path("config").help("A TOML file with settings"),
        text("server", "URL").help(
            "Ask this server instead of opening the store; serve, mcp, migrate, backup and restore cannot",
        ),
        text("token", "TOKEN").help("The token for the server; better in SPEXUS_TOKEN"),
        text("as", "USER").help(
            "Act as this user on the local store, not with --server [default: the first administrator]",
        ),
        flag("json").help("Print JSON"),
        text("color", "WHEN").value_parser(color::CHOICES).help(color::HELP),
    ]
    .map(|arg| arg.global(true).help_heading("Everywhere"))
}

pub fn text(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value)
}

fn path(name: &'static str) -> Arg {
    text(name, "FILE").value_hint(ValueHint::FilePath)
}

pub fn flag(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

fn file_argument(about: &'static str) -> Arg {
    Arg::new("file").value_name("FILE").required(true).value_hint(ValueHint::FilePath).help(about)
}

/// A file that a command reads or writes.
pub fn file(matches: &ArgMatches, name: &str) -> Option<PathBuf> {
    matches.try_get_one::<String>(name).ok().flatten().map(PathBuf::from)
}

fn completions(matches: &ArgMatches) -> Exit {
    let Some(shell) = matches.get_one::<Shell>("shell") else { return Exit::Usage };
    print::raw(&crate::completions(*shell, command()))
}
