//! A light load generator: HTTP/1.1 by hand on kept connections, all on one thread, so that it takes little from the
//! server that it shares the machine with. What it takes is measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::task::JoinSet;

use crate::measure::Measured;

/// What is sent: the bytes of a request and the status of its answer.
pub struct Request {
    pub bytes: Vec<u8>,
    pub status: u16,
    /// What kind of work it is, where several are measured at once.
    pub label: &'static str,
}

impl Request {
    pub fn get(address: &str, token: &str, path: &str) -> Request {
        Request::of("GET", address, token, path, "", "")
    }

    pub fn post(address: &str, token: &str, path: &str, body: &str) -> Request {
        Request { status: 201, ..Request::of("POST", address, token, path, "application/json", body) }
    }

    /// Any request, which is expected to be answered with 200.
    pub fn of(
        method: &str,
        address: &str,
        token: &str,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> Request {
        let mut text =
            format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n");
        if !body.is_empty() {
            text += &format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
        }
        text += "\r\n";
        text += body;
        Request { bytes: text.into_bytes(), status: 200, label: "" }
    }

    #[must_use]
    pub fn labelled(self, label: &'static str) -> Request {
        Request { label, ..self }
    }
}

/// An answer.
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
    pub time: Duration,
}

/// A client that sends one request after the other, for what is measured one by one.
pub struct Client {
    runtime: runtime::Runtime,
    connection: Connection,
}

impl Client {
    pub fn open(address: &str) -> anyhow::Result<Client> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let connection = runtime.block_on(Connection::open(address))?;
        Ok(Client { runtime, connection })
    }

    pub fn send(&mut self, request: &Request) -> anyhow::Result<Reply> {
        let sent = Instant::now();
        let (status, body) = self.runtime.block_on(self.connection.ask(request))?;
        Ok(Reply { status, body: body.to_vec(), time: sent.elapsed() })
    }
}

/// How long a request of a kind took, in microseconds.
pub type Sample = (&'static str, u32);

/// Lets clients send one request after the other for some time. `next` makes the request with a number.
pub fn drive(
    address: &str,
    n_clients: usize,
    time: Duration,
    next: impl Fn(u64) -> Request + Clone + 'static,
) -> anyhow::Result<Measured> {
    let cpu_before = own_cpu()?;
    let (samples, elapsed) = drive_labelled(address, n_clients, time, next)?;
    let latencies_us = samples.into_iter().map(|(_, latency_us)| latency_us).collect();
    Ok(Measured::new(latencies_us, elapsed, own_cpu()? - cpu_before))
}

/// Like [`drive`], with how long each request took by its label.
pub fn drive_labelled(
    address: &str,
    n_clients: usize,
    time: Duration,
    next: impl Fn(u64) -> Request + Clone + 'static,
) -> anyhow::Result<(Vec<Sample>, Duration)> {
    drive_clients(address, n_clients, None, time, next)
}

/// Lets clients send so many requests a second together, whether or not the server keeps up: each request has its time, and how long
/// it took counts from there on.
pub fn drive_paced(
    address: &str,
    n_clients: usize,
    per_second: f64,
    time: Duration,
    next: impl Fn(u64) -> Request + Clone + 'static,
) -> anyhow::Result<(Vec<Sample>, Duration)> {
    drive_clients(address, n_clients, Some(per_second), time, next)
}

fn drive_clients(
    address: &str,
    n_clients: usize,
    per_second: Option<f64>,
    time: Duration,
    next: impl Fn(u64) -> Request + Clone + 'static,
) -> anyhow::Result<(Vec<Sample>, Duration)> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let started = Instant::now();
    let samples = runtime.block_on(tokio::task::LocalSet::new().run_until(async {
        let mut clients = JoinSet::new();
        for client in 0..n_clients {
            let (address, next) = (address.to_owned(), next.clone());
            clients.spawn_local(async move {
                let mut connection = Connection::open(&address).await?;
                let mut samples = Vec::new();
                for number in (client as u64..).step_by(n_clients) {
                    let request = next(number);
                    let at = |rate: f64| started + Duration::from_secs_f64(number as f64 / rate);
                    let due = per_second.map_or_else(Instant::now, at);
                    if due >= started + time {
                        break;
                    }
                    if per_second.is_some() {
                        tokio::time::sleep_until(due.into()).await;
                    }
                    connection.exchange(&request).await?;
                    samples.push((request.label, due.elapsed().as_micros() as u32));
                }
                anyhow::Ok(samples)
            });
        }
        let mut all = Vec::new();
        while let Some(ended) = clients.join_next().await {
            all.extend(ended??);
        }
        anyhow::Ok(all)
    }))?;
    Ok((samples, started.elapsed()))
}

/// Runs `body` while one more client sends a request after every pause. Returns how long each of them took, in microseconds.
pub fn beside<T>(
    address: &str,
    pause: Duration,
    next: impl Fn(u64) -> Request + Sync,
    body: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<(T, Vec<u32>)> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| -> anyhow::Result<Vec<u32>> {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut connection = Connection::open(address).await?;
                let mut latencies_us = Vec::new();
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let sent = Instant::now();
                    connection.exchange(&next(number)).await?;
                    latencies_us.push(sent.elapsed().as_micros() as u32);
                    tokio::time::sleep(pause).await;
                }
                Ok(latencies_us)
            })
        });
        let result = body();
        is_over.store(true, Ordering::Relaxed);
        let latencies_us =
            sending.join().map_err(|_| anyhow::anyhow!("the client beside has panicked"))??;
        Ok((result?, latencies_us))
    })
}

/// Waits until the server can work.
pub fn wait_until_ready(address: &str) -> anyhow::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = Connection::open(address).await?;
        connection.exchange(&Request::get(address, "", "/health/ready")).await?;
        Ok(())
    })
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(address).await.with_context(|| address.to_owned())?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(64 << 10) })
    }

    /// Sends a request, whose answer must have the expected status.
    async fn exchange(&mut self, request: &Request) -> anyhow::Result<()> {
        let (status, _) = self.ask(request).await?;
        if status != request.status {
            bail!("{}\n{}", String::from_utf8_lossy(&request.bytes), String::from_utf8_lossy(&self.buffer));
        }
        Ok(())
    }

    /// Sends a request, and returns the status and the body of its answer.
    async fn ask(&mut self, request: &Request) -> anyhow::Result<(u16, &[u8])> {
        self.stream.write_all(&request.bytes).await?;
        self.buffer.clear();
        let mut head = None;
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the server has closed the connection");
            }
            if head.is_none()
                && let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n\r\n")
            {
                head = Some((end + 4, content_length(&self.buffer[..end])?));
            }
            match head {
                Some((start, Some(length))) if self.buffer.len() >= start + length => break,
                Some((_, None)) if self.buffer.ends_with(b"\r\n0\r\n\r\n") => break,
                _ => {}
            }
        }
        let status = self.buffer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
        let status = status.and_then(|status| status.parse().ok()).context("an answer without a status")?;
        Ok((status, &self.buffer[head.map_or(0, |(start, _)| start)..]))
    }
}

/// None where the answer comes in chunks.
fn content_length(head: &[u8]) -> anyhow::Result<Option<usize>> {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let Some(at) = memchr::memmem::find(head, NAME) else { return Ok(None) };
    let digits = head[at + NAME.len()..].split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(Some(std::str::from_utf8(digits)?.parse()?))
}

fn own_cpu() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(microseconds.max(0) as u64))
}
