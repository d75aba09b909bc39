//! Requirements for people and agents: `spexus serve`, and every operation as a command.

use std::process::ExitCode;

/// A server's answers are made of many small texts, on which this allocator spends half of what the system's does. The
/// other programs serve one client each, and rather give back what they no longer need.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    spexus::spexus::main()
}
