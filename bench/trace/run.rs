//! Runs a program once and tells what it used.
//!
//! The kernel keeps the peak memory of all children together, so each run gets a small process in between: this binary
//! again, which starts the program, waits for it and prints the figures.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use memchr::memmem;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The first argument of the process in between.
pub const MEASURED: &str = "--measured";
/// The first argument of the process that reads all files and looks for `//=`.
pub const SCAN: &str = "--scan";
/// No program needs as long for a project; one that does is stuck.
const LIFE_MAX: Duration = Duration::from_secs(120);
const STDERR_CHARS_MAX: usize = 2_000;

#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time, user and system together, over all threads.
    pub cpu_ms: f64,
    pub wall_ms: f64,
    pub peak_memory_mib: f64,
}

impl Usage {
    /// Returns the best of both, each figure by itself.
    pub fn best(self, other: Usage) -> Usage {
        Usage {
            cpu_ms: self.cpu_ms.min(other.cpu_ms),
            wall_ms: self.wall_ms.min(other.wall_ms),
            peak_memory_mib: self.peak_memory_mib.min(other.peak_memory_mib),
        }
    }
}

/// Runs a program in a folder. It must end with 0.
pub fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A], folder: &Path) -> anyhow::Result<Usage> {
    let output = Command::new(std::env::current_exe()?)
        .arg(MEASURED)
        .arg(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last_chars = stderr.chars().count().saturating_sub(STDERR_CHARS_MAX);
        let stderr: String = stderr.chars().skip(last_chars).collect();
        anyhow::bail!("{} in {}: {}", program.display(), folder.display(), stderr.trim_end());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The process in between.
pub fn measured(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> anyhow::Result<()> {
    let program = arguments.next().context("expected a program")?;
    let mut command = Command::new(&program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| program.display().to_string())?;
    let id = Pid::from_raw(child.id().try_into()?);
    let (finished, wait) = channel::<()>();
    let guard = thread::spawn(move || {
        let is_hung = wait.recv_timeout(LIFE_MAX).is_err();
        if is_hung {
            let _ = kill(id, Signal::SIGKILL);
        }
        is_hung
    });
    let status = child.wait()?;
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    let _ = finished.send(());
    anyhow::ensure!(!guard.join().unwrap_or_default(), "ended by force after {} s", LIFE_MAX.as_secs());
    anyhow::ensure!(status.success(), "{status}");

    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let microseconds = (used.user_time() + used.system_time()).num_microseconds();
    let usage = Usage {
        cpu_ms: microseconds as f64 / 1e3,
        wall_ms,
        // Linux counts it in KiB.
        peak_memory_mib: used.max_rss() as f64 / 1024.0,
    };
    Ok(serde_json::to_writer(std::io::stdout(), &usage)?)
}

/// The least that any tracing program has to do: reads every file and finds the lines with `//=`.
pub fn scan(folder: &Path) -> anyhow::Result<()> {
    let finder = memmem::Finder::new("//=");
    let (mut folders, mut contents, mut n) = (vec![folder.to_owned()], Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
                continue;
            }
            contents.clear();
            File::open(entry.path())?.read_to_end(&mut contents)?;
            n += finder.find_iter(&contents).count();
        }
    }
    Ok(writeln!(std::io::stdout(), "{n}")?)
}
