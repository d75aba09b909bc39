//! Threat knowledge for people and agents: `tmkb query`, `tmkb serve`.

use std::process::ExitCode;

/// Answers and reports are made of many small texts, on which this allocator spends half of what the system's does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    spexus::tmkb::main()
}
