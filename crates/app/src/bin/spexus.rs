//! Requirements for people and agents: `spexus serve`, and every operation as a command.

use std::process::ExitCode;

fn main() -> ExitCode {
    spexus::spexus::main()
}
