//! The server itself: the release binary, started as anybody would, but without limits on how often one may ask.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::http::wait_until_ready;

/// A running server, until it is dropped.
pub struct Server {
    child: Child,
    pub address: String,
    pub token: String,
    /// From the start of the process to the first answer of `/health/ready`.
    pub cold_start: Duration,
}

impl Server {
    pub fn start(program: &Path, database: &str, token: &str) -> anyhow::Result<Server> {
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
            .env("SPEXUS_RATE_LIMIT", "0")
            // A large import on a busy machine may take longer than anybody would wait.
            .env("SPEXUS_REQUEST_TIMEOUT", "600")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let mut greeting = [0; 4096];
        let length = child.stdout.as_mut().context("stdout is piped")?.read(&mut greeting)?;
        let greeting = String::from_utf8_lossy(&greeting[..length]);
        let address = greeting.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        let address = address.context("the server does not start")?.to_owned();
        let mut server = Server { child, address, token: token.to_owned(), cold_start: Duration::ZERO };
        wait_until_ready(&server.address)?;
        server.cold_start = started.elapsed();
        Ok(server)
    }

    /// Resident memory in MiB: all of it, and what is not a page of a file.
    pub fn memory_mib(&self) -> anyhow::Result<(f64, f64)> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| -> anyhow::Result<f64> {
            let line = text.lines().find(|line| line.starts_with(name)).context("no such field")?;
            Ok(line.split_whitespace().nth(1).context("no number")?.parse::<f64>()? / 1024.0)
        };
        Ok((field("VmRSS:")?, field("RssAnon:")?))
    }

    /// Processor time of the server so far.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        const TICK_MS: u64 = 10;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = stat.rsplit_once(") ").context("a stat line")?.1.split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        Ok(Duration::from_millis(ticks * TICK_MS))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
