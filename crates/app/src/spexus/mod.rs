//! The program `spexus`: the server, and every operation as a command.

mod arguments;
mod backup;
mod bar;
mod commands;
pub mod config;
mod demo;
mod describe;
mod doctor;
mod gather;
mod health;
pub mod http;
pub mod manual;
mod migrate;
mod print;
mod remote;
mod serve;
mod target;

pub(crate) use arguments::{command, flag, text};
pub(crate) use commands::{CommandProblem, Place, check_server, has_store, place, told};
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

/// The time, to the microsecond.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_microseconds(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
