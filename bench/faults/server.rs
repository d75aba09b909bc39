//! The server under test: the release binary on one address, so that clients find it again.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use store::model::{Time, Via};
use store::{Location, Store};

/// How long a start may take, with the recovery of the store.
const START_MAX: Duration = Duration::from_secs(30);

pub struct Server {
    child: Child,
}

impl Server {
    /// Starts the server, and waits until it can work.
    pub fn start(program: &Path, database: &str, address: &str) -> anyhow::Result<Server> {
        let child = Command::new(program)
            .args(["serve", "--listen", address, "--database", database])
            .env("SPEXUS_RATE_LIMIT", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let server = Server { child };
        wait_until_ready(address)?;
        Ok(server)
    }

    /// Ends the process without a word.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Ends the process in order.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        kill(Pid::from_raw(i32::try_from(self.child.id())?), Signal::SIGTERM)?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn wait_until_ready(address: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    while let Err(error) = bench_shared::http::wait_until_ready(address) {
        if started.elapsed() > START_MAX {
            return Err(error.context("the server is not ready"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// An address that is free now.
pub fn free_address() -> anyhow::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Creates a store, and returns the token of its administrator.
pub fn first_start(database: &str) -> anyhow::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
    let now = Time::from_microseconds(i64::try_from(now)?);
    let location = Location::parse(database).map_err(anyhow::Error::msg)?;
    let store = Store::open(&location, store::Options::default(), now)?;
    let request = ops::Request::new(Via::Cli, now);
    Ok(ops::first_start(&store, &request)?.context("the store is not empty")?.token)
}
