//! Our pages: how long the server takes for each, and what a browser has to load.

use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use bench_shared::fill::{self, Layout, PER_EPIC};
use bench_shared::http::{Client, Reply, Request};
use bench_shared::server::Server;
use bench_shared::text::{PER_STORY, Random};
use serde::Serialize;

/// So many requests of a page are measured, after as many that are not.
const N_REQUESTS: usize = 64;
const N_WARM: usize = 16;
/// Clients that ask at once.
pub const CLIENTS: [usize; 2] = [1, 8];

/// The budget of a page.
pub const BYTES_MAX: usize = 60_000;
pub const REQUESTS_MAX: usize = 5;
pub const P50_MAX: Duration = Duration::from_millis(15);
pub const P99_MAX: Duration = Duration::from_millis(50);

/// A server with somebody signed in.
pub struct Ours {
    server: Server,
    pub cookie: String,
}

impl Deref for Ours {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Ours {
    /// Starts the server and signs in.
    pub fn start(program: &Path, database: &str, token: &str) -> anyhow::Result<Ours> {
        let server = Server::start(program, database, token)?;
        let mut ours = Ours { server, cookie: String::new() };
        let form = format!("token={token}&cookie=true");
        let answer = ours.head(&ours.form("/do/login", &form))?;
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        ours.cookie =
            cookie.and_then(|cookie| cookie.split(';').next()).context("nobody could sign in")?.to_owned();
        Ok(ours)
    }

    pub fn get(&self, path: &str) -> Request {
        let (address, cookie) = (&self.address, &self.cookie);
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\n\r\n"
        );
        Request { bytes: text.into_bytes(), status: 200, label: "" }
    }

    /// What a form of a page sends.
    pub fn form(&self, path: &str, body: &str) -> Request {
        let (address, cookie) = (&self.address, &self.cookie);
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nCookie: {cookie}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Request { bytes: text.into_bytes(), status: 303, label: "" }
    }

    /// The head of an answer.
    fn head(&self, request: &Request) -> anyhow::Result<String> {
        use std::io::{BufRead, BufReader, Write};
        let mut stream = std::net::TcpStream::connect(&self.address)?;
        stream.write_all(&request.bytes)?;
        let lines = BufReader::new(stream).lines();
        let head: Result<Vec<String>, _> =
            lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).collect();
        Ok(head?.join("\n"))
    }

    /// A page as text, without compression.
    pub fn plain(&self, client: &mut Client, path: &str) -> anyhow::Result<String> {
        let bytes = String::from_utf8(self.get(path).bytes)?.replace("Accept-Encoding: gzip\r\n", "");
        let reply = client.send(&Request { bytes: bytes.into_bytes(), status: 200, label: "" })?;
        anyhow::ensure!(reply.status == 200, "{path} is answered with {}", reply.status);
        Ok(String::from_utf8_lossy(&reply.body).into_owned())
    }

    /// Asks and expects the page.
    pub fn load(&self, client: &mut Client, path: &str) -> anyhow::Result<Reply> {
        let reply = client.send(&self.get(path))?;
        anyhow::ensure!(reply.status == 200, "{path} is answered with {}", reply.status);
        Ok(reply)
    }
}

/// What a page takes.
#[derive(Serialize)]
pub struct PageFigures {
    pub page: &'static str,
    /// The p50 and the p99 with one client and with eight, in milliseconds.
    pub times_ms: Vec<(f64, f64)>,
    /// The page alone, compressed.
    pub bytes: usize,
    /// The first visit: the page and what it loads, compressed.
    pub first_bytes: usize,
    pub first_requests: usize,
}

impl PageFigures {
    /// What is over the budget.
    pub fn over(&self) -> Vec<String> {
        let mut over = Vec::new();
        let (p50, p99) = self.times_ms.first().copied().unwrap_or_default();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        if p50 > ms(P50_MAX) {
            over.push(format!("p50 > {} ms", P50_MAX.as_millis()));
        }
        if p99 > ms(P99_MAX) {
            over.push(format!("p99 > {} ms", P99_MAX.as_millis()));
        }
        if self.first_bytes > BYTES_MAX {
            over.push(format!("> {} KB", BYTES_MAX / 1000));
        }
        if self.first_requests > REQUESTS_MAX {
            over.push(format!("> {REQUESTS_MAX} requests"));
        }
        over
    }
}

/// Measures every page of the application.
pub fn measure(ours: &Ours, layout: Layout) -> anyhow::Result<Vec<PageFigures>> {
    let mut figures = Vec::new();
    for page in web::PAGES {
        let path = |number: u64| address_of(page.path, layout, number);
        if path(0).contains('{') {
            eprintln!("{} has a parameter that is not known here, and is left out", page.path);
            continue;
        }
        let (bytes, first_bytes, first_requests) = first_visit(ours, &path(0))?;
        let mut times_ms = Vec::new();
        for n_clients in CLIENTS {
            times_ms.push(timed(ours, n_clients, &path)?);
        }
        figures.push(PageFigures { page: page.path, times_ms, bytes, first_bytes, first_requests });
    }
    Ok(figures)
}

/// An address of a page, of a project and a requirement that a number chooses.
fn address_of(path: &str, layout: Layout, number: u64) -> String {
    let mut random = Random(number + 1);
    let project = random.below(layout.n_projects);
    let requirement = random.below(layout.n_requirements);
    let epic = requirement / PER_STORY / PER_EPIC;
    path.replace("{key}", &fill::key(project))
        .replace("{kind}", "requirement")
        .replace("{reference}", &fill::reference(project, "REQ", requirement + 1))
        .replace("{epic}", &fill::reference(project, "EP", epic + 1))
        .replace("{name}", "delete_entity")
        .replace("{pattern}", "TMKB-AUTHZ-001")
}

/// The bytes of a page, and those of a first visit with everything that it loads.
fn first_visit(ours: &Ours, path: &str) -> anyhow::Result<(usize, usize, usize)> {
    let mut client = Client::open(&ours.address)?;
    let page = ours.load(&mut client, path)?.body.len();
    // Once more as it is written, to see what it loads.
    let text = ours.plain(&mut client, path)?;
    let mut files: Vec<&str> =
        text.split("=\"/assets/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    files.sort_unstable();
    files.dedup();
    let mut all = page;
    for file in &files {
        all += ours.load(&mut client, &format!("/assets/{file}"))?.body.len();
    }
    Ok((page, all, 1 + files.len()))
}

/// The p50 and the p99 of some clients, in milliseconds.
fn timed(ours: &Ours, n_clients: usize, path: &(dyn Fn(u64) -> String + Sync)) -> anyhow::Result<(f64, f64)> {
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..n_clients)
            .map(|index| {
                scope.spawn(move || -> anyhow::Result<Vec<Duration>> {
                    let mut client = Client::open(&ours.address)?;
                    for number in 0..N_WARM / n_clients {
                        ours.load(&mut client, &path((1000 + number * n_clients + index) as u64))?;
                    }
                    let load = |number: usize| {
                        Ok(ours.load(&mut client, &path((number * n_clients + index) as u64))?.time)
                    };
                    (0..N_REQUESTS / n_clients).map(load).collect()
                })
            })
            .collect();
        let times: anyhow::Result<Vec<Vec<Duration>>> =
            clients.into_iter().map(|client| client.join().expect("no client panics")).collect();
        times.map(|times| times.concat())
    })?;
    times.sort_unstable();
    Ok((milliseconds(at(&times, 0.5)), milliseconds(at(&times, 0.99))))
}

/// The time that a share of some sorted times is below.
pub fn at(times: &[Duration], share: f64) -> Duration {
    let index = (times.len() as f64 * share) as usize;
    times.get(index.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
