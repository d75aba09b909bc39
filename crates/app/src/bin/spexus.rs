//! Requirements for people and agents: `spexus serve`, and every operation as a command.

use std::process::ExitCode;

/// Answers and reports are made of many small texts, on which this allocator spends half of what the system's does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    spexus::spexus::main()
}
