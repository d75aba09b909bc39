//! One peer, running: its pipes, what it has used, and a guard that ends it when it hangs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

/// No peer needs as long for a whole round; one that does is stuck.
const LIFE_MAX: Duration = Duration::from_secs(120);
const STDERR_BYTES_MAX: u64 = 4096;
/// What the kernel counts processor time in, as /proc shows it on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

pub struct Running {
    pub stdin: ChildStdin,
    pub stdout: BufReader<ChildStdout>,
    id: u32,
    child: Arc<Mutex<Child>>,
    finished: Sender<()>,
    guard: JoinHandle<bool>,
    stderr: JoinHandle<String>,
}

impl Running {
    pub fn start(mut command: Command) -> anyhow::Result<Running> {
        let program = command.get_program().display().to_string();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| {
            format!("{program} cannot be started (scripts/tools and cargo build bring it)")
        })?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stderr = child.stderr.take().expect("stderr is piped");
        let id = child.id();
        let child = Arc::new(Mutex::new(child));
        let (finished, wait) = channel::<()>();
        let hung = Arc::clone(&child);
        let guard = thread::spawn(move || {
            let is_hung = wait.recv_timeout(LIFE_MAX).is_err();
            if is_hung {
                let _ = hung.lock().expect("nobody panics with it").kill();
            }
            is_hung
        });
        Ok(Running {
            stdin: stdin.expect("stdin is piped"),
            stdout: BufReader::with_capacity(1 << 16, stdout.expect("stdout is piped")),
            id,
            child,
            finished,
            guard,
            stderr: thread::spawn(move || first_words(stderr)),
        })
    }

    /// Sends a line and reads the line that comes back.
    pub fn ask(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.stdin.write_all(request)?;
        let mut answer = Vec::new();
        self.stdout.read_until(b'\n', &mut answer)?;
        anyhow::ensure!(answer.ends_with(b"\n"), "the output ended in the middle of a conversation");
        Ok(answer)
    }

    /// Opens the session; returns the server's version.
    pub fn initialize(&mut self) -> anyhow::Result<String> {
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench-mcp", "version": env!("CARGO_PKG_VERSION")},
        }});
        let answer: Value = serde_json::from_slice(&self.ask(format!("{request}\n").as_bytes())?)?;
        let revision = &answer["result"]["protocolVersion"];
        anyhow::ensure!(revision == "2025-11-25", "expected revision 2025-11-25, found {answer}");
        Ok(answer["result"]["serverInfo"]["version"].as_str().unwrap_or("unknown").to_owned())
    }

    pub fn initialized(&mut self) -> anyhow::Result<()> {
        Ok(self.stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?)
    }

    /// Returns the processor time used so far, user and system together, in seconds.
    pub fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id))?;
        // The second field is the name in parentheses, which may hold spaces.
        let (_, fields) = stat.rsplit_once(") ").context("/proc/…/stat has no name")?;
        let mut ticks = fields.split(' ').skip(11).map(str::parse::<u64>);
        match (ticks.next(), ticks.next()) {
            (Some(Ok(user)), Some(Ok(system))) => Ok((user + system) as f64 / TICKS_PER_SECOND),
            _ => anyhow::bail!("/proc/…/stat has no processor times: {stat}"),
        }
    }

    /// Returns the most memory it ever had resident, in MiB.
    pub fn peak_memory_mib(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }

    /// Closes its input and waits for its end; `reason` then tells why, if it is an error.
    pub fn finish<T>(self, reason: anyhow::Result<T>) -> anyhow::Result<T> {
        drop(self.stdin);
        if reason.is_err() {
            // It may be stuck with a full pipe, and would never see the end of its input.
            let _ = self.child.lock().expect("nobody panics with it").kill();
        }
        drop(self.stdout);
        // Not `wait` under the lock: the guard must be able to end a child that does not want to.
        let status = loop {
            if let Some(status) = self.child.lock().expect("nobody panics with it").try_wait()? {
                break status;
            }
            thread::sleep(Duration::from_millis(1));
        };
        let _ = self.finished.send(());
        let is_hung = self.guard.join().unwrap_or_default();
        anyhow::ensure!(!is_hung, "ended by force after {} s", LIFE_MAX.as_secs());
        let stderr = self.stderr.join().unwrap_or_default();
        reason.with_context(|| format!("{status}; {}", stderr.trim_end()))
    }
}

/// Keeps the beginning of what it has to say, and lets it go on talking.
fn first_words(mut stderr: impl Read) -> String {
    let mut words = Vec::new();
    let _ = stderr.by_ref().take(STDERR_BYTES_MAX).read_to_end(&mut words);
    let _ = std::io::copy(&mut stderr, &mut std::io::sink());
    String::from_utf8_lossy(&words).into_owned()
}
