//! The servers that are compared, each as anybody would start it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;

use bench_shared::http::wait_until_ready;

/// A running server.
pub struct Server {
    child: Child,
    pub address: String,
}

impl Server {
    /// Our server, but without limits on how often one may ask.
    pub fn ours(program: &Path, database: &str) -> anyhow::Result<Server> {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", database]);
        command.env("SPEXUS_RATE_LIMIT", "0").env("SPEXUS_SESSION_LIMIT", "0");
        command.env("SPEXUS_STREAM_LIMIT", "0").env("SPEXUS_CONNECTION_LIMIT", "0");
        let server = Server::start(command)?;
        wait_until_ready(&server.address)?;
        Ok(server)
    }

    pub fn rmcp(program: &Path) -> anyhow::Result<Server> {
        Server::start(Command::new(program))
    }

    fn start(mut command: Command) -> anyhow::Result<Server> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        let address = address.with_context(|| format!("{command:?} does not start: {line}"))?.to_owned();
        Ok(Server { child, address })
    }

    /// Processor time so far.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        const TICK_MS: u64 = 10;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = stat.rsplit_once(") ").context("a stat line")?.1.split(' ').collect();
        Ok(Duration::from_millis((fields[11].parse::<u64>()? + fields[12].parse::<u64>()?) * TICK_MS))
    }

    /// Resident memory.
    pub fn memory_mib(&self) -> anyhow::Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
        Ok(line.split_whitespace().nth(1).context("no number")?.parse::<f64>()? / 1024.0)
    }

    /// What starts the bridge to this server.
    pub fn bridge(&self, programs: &Path, token: &str) -> Box<dyn Fn() -> Command> {
        let (program, token) = (programs.join("requirements-mcp-server"), token.to_owned());
        let url = format!("http://{}", self.address);
        Box::new(move || {
            let mut command = Command::new(&program);
            command.env("BACKEND_API_URL", &url).env("MCP_PAT_TOKEN", &token).env("LOG_LEVEL", "error");
            command
        })
    }

    /// Opens subscriptions, each on a connection of its own, and waits until each is acknowledged.
    pub fn subscribe(&self, token: &str, n_subscriptions: usize) -> anyhow::Result<Vec<TcpStream>> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
            "notifications": {"resourcesListChanged": true, "resourceSubscriptions": ["requirement://REQ-001"]},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}},
        }})
        .to_string();
        let request = format!(
            "POST /api/v1/mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut streams = Vec::new();
        for _ in 0..n_subscriptions {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            stream.write_all(request.as_bytes())?;
            let mut seen = Vec::new();
            let mut buffer = [0; 4096];
            while memchr::memmem::find(&seen, b"acknowledged").is_none() {
                let length = stream.read(&mut buffer)?;
                anyhow::ensure!(length > 0, "{}", String::from_utf8_lossy(&seen));
                seen.extend_from_slice(&buffer[..length]);
            }
            streams.push(stream);
        }
        Ok(streams)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What starts the server over stdio on the same store.
pub fn mcp(programs: &Path, database: &str) -> Box<dyn Fn() -> Command> {
    let (program, database) = (programs.join("spexus"), database.to_owned());
    Box::new(move || {
        let mut command = Command::new(&program);
        command
            .args(["mcp", "--toolsets", "requirements", "--database", &database])
            .env("LOG_LEVEL", "error");
        command
    })
}

/// A thousand streams need as many files on both sides.
pub fn allow_many_files() -> anyhow::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most.min(16_384), most)?;
    Ok(())
}
