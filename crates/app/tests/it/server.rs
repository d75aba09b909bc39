//! Servers for tests of faults: they can be killed, told to stop, and fail to start; their clients notice an answer that
//! does not come, and keep to one connection.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, ExitStatus},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use nix::{sys::signal, unistd::Pid};
use serde_json::{Value, json};

use crate::process::{PATIENCE, clean};

/// How long a server lets a request take. A client waits a little longer, so that it notices who does not keep to it.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
const CLIENT_TIMEOUT: Duration = Duration::from_secs(18);

/// A running server.
pub struct Spexus {
    child: Child,
    /// `127.0.0.1:12345`.
    pub address: String,
    /// What the first start has shown; empty at a later one.
    pub token: String,
    log: Option<thread::JoinHandle<String>>,
}

impl Spexus {
    /// Starts a server on a store and waits until it listens.
    #[track_caller]
    pub fn start(database: &str) -> Spexus {
        Spexus::spawn(command(database))
    }

    /// Starts a server on a SQLite file.
    #[track_caller]
    pub fn on_file(path: &Path) -> Spexus {
        Spexus::start(&sqlite(path))
    }

    #[track_caller]
    pub fn spawn(command: Command) -> Spexus {
        Spexus::try_spawn(command).unwrap_or_else(|(_, log)| panic!("the server does not start:\n{log}"))
    }

    /// Starts a server; its exit code and what it wrote to stderr when it ends instead of listening.
    pub fn try_spawn(mut command: Command) -> Result<Spexus, (Option<i32>, String)> {
        let mut child = command.spawn().expect("the program is there");
        let mut stderr = child.stderr.take().expect("stderr is piped");
        let log = thread::spawn(move || {
            let mut log = Vec::new();
            let _ = stderr.read_to_end(&mut log);
            String::from_utf8_lossy(&log).into_owned()
        });
        let greeting = greeting(&mut child);
        let word = |before: &str| greeting.split(before).nth(1)?.split_whitespace().next();
        let Some(address) = word("Spexus is at http://") else {
            let status = child.wait().expect("the child can be waited for");
            return Err((status.code(), log.join().expect("the log")));
        };
        let token = word("\n  token ").unwrap_or_default().to_owned();
        Ok(Spexus { address: address.to_owned(), token, child, log: Some(log) })
    }

    /// A client with the token of the first start.
    pub fn client(&self) -> Client {
        Client::new(&self.address, &self.token)
    }

    /// Ends the server as a crash does.
    pub fn kill(mut self) {
        self.child.kill().expect("the server runs");
        self.child.wait().expect("the child can be waited for");
    }

    /// Asks the server to stop.
    pub fn terminate(&self) {
        signal::kill(Pid::from_raw(self.child.id() as i32), signal::SIGTERM).expect("the server runs");
    }

    /// Waits for the end: the exit status and the log.
    pub fn wait(&mut self, patience: Duration) -> (ExitStatus, String) {
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("the child can be waited for") {
                Some(status) => break status,
                None if started.elapsed() > patience => panic!("the server has not ended after {patience:?}"),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        (status, self.log.take().expect("waited for once").join().expect("the log"))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Spexus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_spexus");

/// `spexus serve` on some free port, without limits on how often one may ask.
pub fn command(database: &str) -> Command {
    command_of(Path::new(PROGRAM), database)
}

/// The same with a copy of the program.
pub fn command_of(program: &Path, database: &str) -> Command {
    let timeout = REQUEST_TIMEOUT.as_secs().to_string();
    let environment =
        [("SPEXUS_RATE_LIMIT", "0"), ("SPEXUS_REQUEST_TIMEOUT", timeout.as_str()), ("LOG_LEVEL", "warn")];
    let mut command = clean(Command::new(program), &environment);
    command.args(["serve", "--listen", "127.0.0.1:0", "--database", database]);
    command
}

pub fn sqlite(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// What the server says when it listens; nothing when it ends instead.
fn greeting(child: &mut Child) -> String {
    let mut output = child.stdout.take().expect("stdout is piped");
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // It is short and written at once, so that it comes in one piece.
        let mut bytes = [0; 4096];
        let length = output.read(&mut bytes).unwrap_or(0);
        let _ = sender.send(String::from_utf8_lossy(&bytes[..length]).into_owned());
        let _ = io::copy(&mut output, &mut io::sink());
    });
    receiver.recv_timeout(PATIENCE).expect("the server greets or ends")
}

/// One connection that is kept, and made anew after a failure.
pub struct Client {
    address: String,
    token: String,
    stream: Option<BufReader<TcpStream>>,
}

/// What a server answers.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names are lower case.
    pub headers: BTreeMap<String, String>,
    pub text: String,
    /// The same, if it is JSON.
    pub body: Value,
}

impl Client {
    pub fn new(address: &str, token: &str) -> Client {
        Client { address: address.to_owned(), token: token.to_owned(), stream: None }
    }

    /// Sends a request. An error means that nobody knows what came of it.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(&self.address)?,
        };
        let answer = self.write(&mut stream, method, path, headers, body).and_then(|()| read(&mut stream))?;
        if answer.headers.get("connection").map(String::as_str) != Some("close") {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    #[track_caller]
    pub fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], None).unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    #[track_caller]
    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], Some(body)).unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// Makes an epic with a title; its reference id when the server says that it has.
    pub fn create_epic(&mut self, title: &str) -> io::Result<Answer> {
        self.send("POST", "/api/v1/epics", &[], Some(&json!({"title": title, "priority": 2})))
    }

    /// All epics: reference id and title.
    #[track_caller]
    pub fn epics(&mut self) -> Vec<(String, String)> {
        const PAGE: usize = 100;
        let mut found = Vec::new();
        loop {
            let path = format!("/api/v1/epics?limit={PAGE}&offset={}", found.len());
            let answer = self.get(&path);
            assert_eq!(answer.status, 200, "{answer:?}");
            let page = answer.body["data"].as_array().expect("a page");
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            found.extend(page.iter().map(|epic| (text(&epic["reference_id"]), text(&epic["title"]))));
            if page.len() < PAGE {
                return found;
            }
        }
    }

    /// Opens the stream of changes, which ends when the server ends it.
    pub fn events(&self, query: &str) -> io::Result<BufReader<TcpStream>> {
        let mut stream = connect(&self.address)?;
        self.write(&mut stream, "GET", &format!("/api/v1/events{query}"), &[], None)?;
        read_head(&mut stream)?;
        Ok(stream)
    }

    fn write(
        &self,
        stream: &mut BufReader<TcpStream>,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> io::Result<()> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        if !self.token.is_empty() {
            text += &format!("Authorization: Bearer {}\r\n", self.token);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        if !body.is_empty() {
            text += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        }
        stream.get_mut().write_all(format!("{text}\r\n{body}").as_bytes())
    }
}

fn connect(address: &str) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Answer> {
    let (status, headers) = read_head(stream)?;
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    Ok(Answer { status, headers, body: serde_json::from_str(&text).unwrap_or_default(), text })
}

fn read_head(stream: &mut BufReader<TcpStream>) -> io::Result<(u16, BTreeMap<String, String>)> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "no status line"))?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
            None => return Ok((status, headers)),
        };
    }
}

/// What clients saw while they created epics.
#[derive(Default)]
pub struct Load {
    /// Reference id and title of each epic that the server says it has made.
    pub acknowledged: Vec<(String, String)>,
    /// Other answers.
    pub refused: Vec<Answer>,
    /// Requests without an answer, and why.
    pub unanswered: Vec<io::Error>,
    pub longest: Duration,
}

/// Lets clients create epics, each one after the other, while `meanwhile` runs. Clients go to the addresses in turn.
pub fn load<T>(
    addresses: &[&str],
    token: &str,
    n_clients: usize,
    meanwhile: impl FnOnce(&dyn Fn() -> usize) -> T,
) -> (Load, T) {
    let load = Mutex::new(Load::default());
    let is_over = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        for number in 0..n_clients {
            let mut client = Client::new(addresses[number % addresses.len()], token);
            let (load, is_over) = (&load, &is_over);
            scope.spawn(move || create_until(is_over, &mut client, number, load));
        }
        let n_acknowledged = || load.lock().expect("no client panics").acknowledged.len();
        let _end = End(&is_over);
        meanwhile(&n_acknowledged)
    });
    (load.into_inner().expect("no client panics"), result)
}

/// Ends the clients, also when what happens meanwhile fails: the test would wait for them for ever.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn create_until(is_over: &AtomicBool, client: &mut Client, number: usize, load: &Mutex<Load>) {
    let mut n_created = 0;
    while !is_over.load(Ordering::Acquire) {
        n_created += 1;
        let title = format!("epic {n_created} of client {number}");
        let started = Instant::now();
        let answer = client.create_epic(&title);
        let mut load = load.lock().expect("no client panics");
        load.longest = load.longest.max(started.elapsed());
        match answer {
            Ok(answer) if answer.status == 201 => {
                let reference = answer.body["reference_id"].as_str().expect("a reference id").to_owned();
                load.acknowledged.push((reference, title));
                continue;
            }
            Ok(answer) => load.refused.push(answer),
            Err(error) => load.unanswered.push(error),
        }
        drop(load);
        // As a client does that was told to come back later.
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for something that happens within seconds.
#[track_caller]
pub fn wait_until(what: &str, mut is_done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_done() {
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that what was acknowledged is there, and that no two epics share a reference id.
#[track_caller]
pub fn check_all_there(acknowledged: &[(String, String)], epics: &[(String, String)]) {
    let mut known = BTreeMap::new();
    for (reference, title) in epics {
        if let Some(other) = known.insert(reference, title) {
            panic!("{reference} is {other:?} and {title:?}");
        }
    }
    for (reference, title) in acknowledged {
        assert_eq!(known.get(reference), Some(&title), "{reference} was acknowledged as {title:?}");
    }
}
