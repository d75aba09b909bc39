//! Threat knowledge for people and agents: `tmkb query`, `tmkb serve`.

use std::process::ExitCode;

fn main() -> ExitCode {
    spexus::tmkb::main()
}
