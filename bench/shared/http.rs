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
}

impl Request {
    pub fn get(address: &str, token: &str, path: &str) -> Request {
        let text = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
        Request { bytes: text.into_bytes(), status: 200 }
    }

    pub fn post(address: &str, token: &str, path: &str, body: &str) -> Request {
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Request { bytes: text.into_bytes(), status: 201 }
    }
}

/// Lets clients send one request after the other for some time. `next` makes the request with a number.
pub fn drive(
    address: &str,
    n_clients: usize,
    time: Duration,
    next: impl Fn(u64) -> Request + Clone + 'static,
) -> anyhow::Result<Measured> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let cpu_before = own_cpu()?;
    let started = Instant::now();
    let latencies_us = runtime.block_on(tokio::task::LocalSet::new().run_until(async {
        let mut clients = JoinSet::new();
        for client in 0..n_clients {
            let (address, next) = (address.to_owned(), next.clone());
            let until = started + time;
            clients.spawn_local(async move {
                let mut connection = Connection::open(&address).await?;
                let mut latencies_us = Vec::new();
                let mut number = client as u64;
                while Instant::now() < until {
                    let request = next(number);
                    let sent = Instant::now();
                    connection.exchange(&request).await?;
                    latencies_us.push(sent.elapsed().as_micros() as u32);
                    number += n_clients as u64;
                }
                anyhow::Ok(latencies_us)
            });
        }
        let mut all = Vec::new();
        while let Some(ended) = clients.join_next().await {
            all.extend(ended??);
        }
        anyhow::Ok(all)
    }))?;
    let elapsed = started.elapsed();
    Ok(Measured::new(latencies_us, elapsed, own_cpu()? - cpu_before))
}

/// Runs `body` while one more client sends a request after every pause.
pub fn beside<T>(
    address: &str,
    pause: Duration,
    next: impl Fn(u64) -> Request + Sync,
    body: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| -> anyhow::Result<()> {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut connection = Connection::open(address).await?;
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    connection.exchange(&next(number)).await?;
                    tokio::time::sleep(pause).await;
                }
                Ok(())
            })
        });
        let result = body();
        is_over.store(true, Ordering::Relaxed);
        sending.join().map_err(|_| anyhow::anyhow!("the client beside has panicked"))??;
        result
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

    async fn exchange(&mut self, request: &Request) -> anyhow::Result<()> {
        self.stream.write_all(&request.bytes).await?;
        self.buffer.clear();
        let mut end = None;
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the server has closed the connection");
            }
            if end.is_none()
                && let Some(head) = memchr::memmem::find(&self.buffer, b"\r\n\r\n")
            {
                end = Some(head + 4 + content_length(&self.buffer[..head])?);
            }
            if end.is_some_and(|end| self.buffer.len() >= end) {
                break;
            }
        }
        let status = self.buffer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
        if status.and_then(|status| status.parse().ok()) != Some(request.status) {
            bail!("{}\n{}", String::from_utf8_lossy(&request.bytes), String::from_utf8_lossy(&self.buffer));
        }
        Ok(())
    }
}

fn content_length(head: &[u8]) -> anyhow::Result<usize> {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let at = memchr::memmem::find(head, NAME).context("an answer without a length")? + NAME.len();
    let digits = head[at..].split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(std::str::from_utf8(digits)?.parse()?)
}

fn own_cpu() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(microseconds.max(0) as u64))
}
