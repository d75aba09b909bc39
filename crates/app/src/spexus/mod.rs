//! The program `spexus`: the server, and every operation as a command.

mod agent;
mod arguments;
mod auth;
mod backup;
mod bar;
mod commands;
pub mod config;
mod credentials;
mod demo;
mod describe;
mod doctor;
mod edit;
mod gather;
mod health;
mod here;
pub mod http;
pub mod manual;
mod migrate;
mod print;
mod private_file;
mod remote;
mod serve;
mod several;
mod show;
mod suggest;
mod target;

pub(crate) use arguments::{command, flag, text};
pub(crate) use commands::{CommandProblem, Place, check_server, has_store, place_of, told};
pub(crate) use print::{raw as print_raw, tell};

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use store::model::Time;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Refused, or there are findings.
    Refused,
    /// Wrong usage or configuration.
    Usage,
}

impl Exit {
    /// This ending, unless all was well: then the other.
    pub fn and(self, other: Exit) -> Exit {
        if self == Exit::Done { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
        })
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let exit = arguments::run(std::env::args_os());
    crate::logging::finish();
    exit.into()
}

/// A program that a variable names, with the arguments that it may have, as `EDITOR` and `PAGER` do.
fn shell(program: &str) -> std::process::Command {
    if cfg!(windows) {
        let mut words = program.split_whitespace();
        let mut command = std::process::Command::new(words.next().unwrap_or_default());
        command.args(words);
        return command;
    }
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &format!("{program} \"$@\""), program]);
    command
}

/// The time, to the microsecond.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_microseconds(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
