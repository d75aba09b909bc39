//! The server itself: the release binary, driven over HTTP.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;

use crate::Side;
use bench_shared::fill::Layout;
use bench_shared::http::{Request, drive, wait_until_ready};
use bench_shared::measure::Measured;
use bench_shared::text::{self, Random};

/// A running server.
pub struct Ours {
    child: Child,
    pub address: String,
    pub token: String,
    /// From the start of the process to the first answer of `/health/ready`.
    pub cold_start: Duration,
}

impl Ours {
    /// Starts the server as anybody would, but without limits on how often one may ask.
    pub fn start(program: &Path, database: &str, token: &str) -> anyhow::Result<Ours> {
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
        wait_until_ready(&address)?;
        Ok(Ours { child, address, token: token.to_owned(), cold_start: started.elapsed() })
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

    fn get(
        &self,
        n_clients: usize,
        time: Duration,
        path: impl Fn(u64) -> String + Clone + 'static,
    ) -> anyhow::Result<Measured> {
        let (address, token) = (self.address.clone(), self.token.clone());
        drive(&self.address, n_clients, time, move |number| Request::get(&address, &token, &path(number)))
    }

    /// One client asks for some paths in turn.
    pub fn ask(&self, time: Duration, paths: Vec<String>) -> anyhow::Result<Measured> {
        self.get(1, time, move |number| paths[number as usize % paths.len()].clone())
    }
}

impl Side for Ours {
    fn read(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        self.get(n_clients, time, move |number| {
            format!("/api/v1/requirements/REQ-{:03}", 1 + Random(number).below(layout.n_requirements))
        })
    }

    fn list_of_story(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        self.get(n_clients, time, move |number| {
            let story = 1 + Random(number).below(layout.n_stories());
            format!("/api/v1/user-stories/US-{story:03}/requirements")
        })
    }

    fn create(&self, n_clients: usize, time: Duration, layout: Layout) -> anyhow::Result<Measured> {
        let (address, token) = (self.address.clone(), self.token.clone());
        drive(&self.address, n_clients, time, move |number| {
            let story = format!("US-{:03}", 1 + number % layout.n_stories());
            Request::post(&address, &token, "/api/v1/requirements", &new_requirement(&story, number))
        })
    }
}

/// The body of a request that makes a requirement.
pub fn new_requirement(story: &str, number: u64) -> String {
    json!({
        "user_story_id": story, "type_id": "Functional", "priority": 2,
        "title": text::title(number), "description": text::description(number),
    })
    .to_string()
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
