//! Requirements traceability for people and agents: `duvet report`, `duvet check`, `duvet mcp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    spexus::duvet::main()
}
