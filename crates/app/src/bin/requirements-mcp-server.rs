//! Requirements for an AI host over stdin and stdout, from a Spexus server elsewhere.

use std::process::ExitCode;

fn main() -> ExitCode {
    spexus::bridge::main()
}
