//! The command lines of `spexus pull`, `spexus cite` and `spexus push`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, Command, ValueHint, value_parser};

use crate::spexus::{flag, text};

/// The commands for citations of managed requirements.
pub fn commands() -> [Command; 4] {
    [
        Command::new("pull")
            .about("Write the requirements that code cites into .duvet/specifications, to check citations without the store")
            .arg(flag("check").help("Write nothing, and exit with 1 if anything would be written")),
        Command::new("cite")
            .about("Print the comment that cites a requirement, or insert it into a file")
            .arg(
                Arg::new("reference")
                    .value_name("REFERENCE")
                    .required(true)
                    .help("The requirement or acceptance criterion, such as REQ-027"),
            )
            .arg(
                text("file", "FILE")
                    .required(true)
                    .value_hint(ValueHint::FilePath)
                    .help("The file that the comment is for"),
            )
            .arg(
                text("line", "LINE")
                    .value_parser(value_parser!(u32).range(1..))
                    .help("Insert it above this line; with --write"),
            )
            .arg(
                text("unit", "NUMBER")
                    .value_parser(value_parser!(u32).range(1..))
                    .help("The sentence to cite, from 1 on, if it has several"),
            )
            .arg(
                text("type", "TYPE")
                    .value_parser(["implementation", "test", "exception", "todo", "implication"])
                    .help("What the code is to it [default: as the file's pattern says; test in a file of tests]"),
            )
            .arg(flag("write").requires("line").help("Insert it into the file")),
        push("push"),
        // By the name that evidence has elsewhere.
        Command::new("evidence").subcommand(push("add")),
    ]
}

fn push(name: &'static str) -> Command {
    Command::new(name)
        .about("Tell the store which code and tests cite its requirements, and what test runs have shown")
        .arg(
            Arg::new("reports")
                .value_name("REPORT")
                .num_args(0..)
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::FilePath)
                .help("Reports of test and coverage tools [default: those that .spexus/project.toml names]"),
        )
        .arg(
            text("repository", "NAME")
                .value_parser(NonEmptyStringValueParser::new())
                .help("The repository [default: as .spexus/project.toml says]"),
        )
        .arg(
            text("ref", "REF")
                .value_parser(NonEmptyStringValueParser::new())
                .help("The ref that is checked out [default: as CI or .git says]"),
        )
        .arg(
            text("commit", "ID")
                .value_parser(NonEmptyStringValueParser::new())
                .help("The commit that is checked out [default: as CI or .git says]"),
        )
        .arg(
            flag("dirty")
                .help("Say that files differ from that commit [default: as the commit in .git says]"),
        )
        .arg(
            text("exit-status", "NUMBER")
                .value_parser(value_parser!(i32))
                .help("What the test run ended with: one that failed without a failed test closes nothing"),
        )
        .arg(flag("dry-run").help("Push nothing, and say what would be pushed"))
}
