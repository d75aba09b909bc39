//! Clients that write, and send every request again with its idempotency key until it is answered.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// A request that nobody answers for so long has failed.
const PATIENCE: Duration = Duration::from_secs(35);
/// The pause before a request is sent again, and between two requests.
const PAUSE: Duration = Duration::from_millis(2);
/// Requests that fail without an outage, of which as many are shown.
const EXAMPLES_MAX: usize = 5;
/// Something is sent so often at most.
const ATTEMPTS_MAX: u32 = 20_000;

/// Whether there is an outage: the number is odd while there is one.
#[derive(Default)]
pub struct Outage {
    epoch: AtomicU64,
}

impl Outage {
    pub fn begin(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    pub fn end(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Says that it does not end.
    fn give_up(&self) {
        self.epoch.store(u64::MAX, Ordering::SeqCst);
    }

    fn now(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }
}

/// What clients were told has happened.
#[derive(Default)]
pub struct Written {
    pub n_acknowledged: u64,
    /// Requests that were sent again because of an outage.
    pub n_retried: u64,
    /// Requests that failed without one, or in a way that no outage explains.
    pub n_failures: u64,
    /// What some of them were answered.
    pub examples: Vec<String>,
    /// Titles of epics that must be there once.
    pub made: Vec<String>,
    /// Titles of epics that must be there once, deleted.
    pub deleted: Vec<String>,
    /// Titles of epics, and how often each was changed.
    pub changed: Vec<(String, i64)>,
}

/// Lets clients write while `faults` runs.
pub fn load(
    n_clients: usize,
    address: &str,
    token: &str,
    outage: &Outage,
    faults: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Written> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..n_clients)
            .map(|number| {
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut client = Client {
                        address,
                        token,
                        outage,
                        stream: None,
                        name: format!("client{number}"),
                        n_sent: 0,
                        written: Written::default(),
                    };
                    client.write_until(is_over);
                    client.written
                })
            })
            .collect();
        let result = faults();
        is_over.store(true, Ordering::SeqCst);
        if result.is_err() {
            // Nobody will answer any more.
            outage.give_up();
        }
        let mut all = Written::default();
        for client in clients {
            let written = client.join().expect("a client does not panic");
            all.n_acknowledged += written.n_acknowledged;
            all.n_retried += written.n_retried;
            all.n_failures += written.n_failures;
            all.examples.extend(written.examples);
            all.made.extend(written.made);
            all.deleted.extend(written.deleted);
            all.changed.extend(written.changed);
        }
        all.examples.truncate(EXAMPLES_MAX);
        result.map(|()| all)
    })
}

struct Client<'a> {
    address: &'a str,
    token: &'a str,
    outage: &'a Outage,
    stream: Option<TcpStream>,
    name: String,
    n_sent: u64,
    written: Written,
}

impl Client<'_> {
    /// Creates, changes, deletes and sends lists in turn.
    fn write_until(&mut self, is_over: &AtomicBool) {
        let own_title = format!("{} counts", self.name);
        let Some(own) = self.ask("POST", "/api/v1/epics", &json!({"title": own_title, "priority": 1})) else {
            return;
        };
        let own_path = format!("/api/v1/epics/{}", own["id"].as_str().unwrap_or_default());
        let mut n_changes = 0;
        while !is_over.load(Ordering::SeqCst) {
            let title = format!("{} {}", self.name, self.n_sent);
            match self.n_sent % 5 {
                0 => {
                    let description = (n_changes + 1).to_string();
                    if self.ask("PATCH", &own_path, &json!({ "description": description })).is_some() {
                        n_changes += 1;
                    }
                }
                1 => {
                    let titles: Vec<String> = (0..3).map(|index| format!("{title} part {index}")).collect();
                    let operations: Vec<Value> = titles
                        .iter()
                        .map(|title| {
                            json!({"operation": "create_epic", "arguments": {"title": title, "priority": 2}})
                        })
                        .collect();
                    if self.ask("POST", "/api/v1/bulk", &json!({ "operations": operations })).is_some() {
                        self.written.made.extend(titles);
                    }
                }
                2 => {
                    let body = json!({"title": title, "priority": 3});
                    let Some(made) = self.ask("POST", "/api/v1/epics", &body) else { continue };
                    let path = format!("/api/v1/epics/{}", made["id"].as_str().unwrap_or_default());
                    match self.ask("DELETE", &path, &Value::Null) {
                        Some(_) => self.written.deleted.push(title),
                        None => self.written.made.push(title),
                    }
                }
                _ => {
                    let body = json!({"title": title, "priority": 4});
                    if self.ask("POST", "/api/v1/epics", &body).is_some() {
                        self.written.made.push(title);
                    }
                }
            }
            std::thread::sleep(PAUSE);
        }
        self.written.changed.push((own_title, n_changes));
    }

    /// Sends a request until it is answered. None when it was refused for a reason other than an outage.
    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Option<Value> {
        self.n_sent += 1;
        let key = format!("{}-{}", self.name, self.n_sent);
        for attempt in 0..ATTEMPTS_MAX {
            let before = self.outage.now();
            if before == u64::MAX {
                return None;
            }
            let sent = self.send(method, path, &key, body);
            let after = self.outage.now();
            let has_outage = before % 2 == 1 || before != after;
            let (is_explained, told) = match sent {
                Ok((status, answer)) if (200..300).contains(&status) => {
                    self.written.n_acknowledged += 1;
                    return Some(answer);
                }
                Ok((503, answer)) => (has_outage, format!("503 {answer}")),
                Ok((status, answer)) => {
                    self.fail(&format!("{method} {path}: {status} {answer}"));
                    return None;
                }
                Err(error) => {
                    self.stream = None;
                    (has_outage, error.to_string())
                }
            };
            if is_explained {
                self.written.n_retried += 1;
            } else {
                self.fail(&format!("{method} {path}, attempt {attempt}: {told}"));
            }
            std::thread::sleep(PAUSE);
        }
        None
    }

    fn fail(&mut self, example: &str) {
        self.written.n_failures += 1;
        if self.written.examples.len() < EXAMPLES_MAX {
            self.written.examples.push(example.to_owned());
        }
    }

    fn send(&mut self, method: &str, path: &str, key: &str, body: &Value) -> io::Result<(u16, Value)> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream
            }
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nIdempotency-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        let mut buffer = [0; 16 << 10];
        let (head, length) = loop {
            let n_read = stream.read(&mut buffer)?;
            if n_read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            answer.extend_from_slice(&buffer[..n_read]);
            if let Some(end) = memchr::memmem::find(&answer, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
                let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                let length: usize = length.and_then(|digits| digits.trim().parse().ok()).unwrap_or_default();
                answer.drain(..end + 4);
                break (head, length);
            }
        };
        while answer.len() < length {
            let n_read = stream.read(&mut buffer)?;
            if n_read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            answer.extend_from_slice(&buffer[..n_read]);
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        if !head.contains("connection: close") {
            self.stream = Some(stream);
        }
        Ok((status, serde_json::from_slice(&answer).unwrap_or_default()))
    }
}
