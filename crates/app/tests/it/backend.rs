//! Starts `spexus serve` and talks to it over HTTP, on SQLite and on PostgreSQL.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::{sys::signal, unistd::Pid};
use private_postgres::Server as Postgres;
use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use serde_json::Value;

/// A running server with a fresh store.
pub struct Backend {
    child: Child,
    /// Where it is.
    pub url: String,
    /// The administrator's token.
    pub token: String,
    /// The administrator's password.
    pub password: String,
    log: Arc<Mutex<String>>,
    client: Client,
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
    /// The body, as text.
    pub text: String,
    /// The body, if it is JSON.
    pub json: Value,
}

impl Answer {
    /// A header's text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The code of an error.
    pub fn code(&self) -> &str {
        self.json["error"]["code"].as_str().unwrap_or_default()
    }

    /// The message of an error.
    pub fn message(&self) -> &str {
        self.json["error"]["message"].as_str().unwrap_or_default()
    }
}

/// Runs a test against a fresh server on SQLite, and on PostgreSQL where there is one.
pub fn on_every_store(test: impl Fn(&Backend)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&Backend::start(&format!("sqlite:{}", folder.path().join("spexus.db").display()), &[]));
    let Some(server) = Postgres::shared() else { return };
    let database = server.database();
    test(&Backend::start(database.url(), &[]));
}

/// Runs a test against a fresh server on SQLite, with flags and settings.
pub fn on_sqlite(arguments: &[&str], settings: &[(&str, &str)], test: impl Fn(&Backend, &Path)) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command =
        Backend::command(&format!("sqlite:{}", folder.path().join("spexus.db").display()), arguments);
    command.envs(settings.iter().copied());
    test(&Backend::spawn(command), folder.path());
}

impl Backend {
    /// Starts a server on a store.
    pub fn start(database: &str, arguments: &[&str]) -> Backend {
        Backend::spawn(Backend::command(database, arguments))
    }

    /// The command that starts a server on a store, without limits of rates.
    pub fn command(database: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("SPEXUS_") || name.starts_with("LOG_") || name.starts_with("MCP_") {
                command.env_remove(name);
            }
        }
        command.env("SPEXUS_RATE_LIMIT", "0").env("SPEXUS_FAILED_LOGIN_LIMIT", "0");
        command.env("SPEXUS_SESSION_LIMIT", "0");
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", database]).args(arguments);
        command
    }

    /// Starts a server with a certificate of its own.
    pub fn start_trusting(database: &str, arguments: &[&str], certificate: &[u8]) -> Backend {
        let mut backend = Backend::spawn(Backend::command(database, arguments));
        let certificate = reqwest::Certificate::from_pem(certificate).expect("a certificate");
        let builder = Client::builder().timeout(Duration::from_secs(60)).tls_certs_only([certificate]);
        backend.client = builder.build().expect("a client");
        backend
    }

    /// Starts a server and reads what it says first.
    pub fn spawn(mut command: Command) -> Backend {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let log = Arc::new(Mutex::new(String::new()));
        let (mut stderr, kept) = (child.stderr.take().expect("piped"), log.clone());
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut buffer) {
                kept.lock().expect("not poisoned").push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
        });
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut found = [String::new(), String::new(), String::new()];
        let mut said = String::new();
        while let Some(Ok(line)) = lines.next() {
            said.push_str(&line);
            said.push('\n');
            for (place, label) in ["Spexus is at ", "  token     ", "  password  "].iter().enumerate() {
                if let Some(rest) = line.strip_prefix(label) {
                    found[place] = rest.to_owned();
                }
            }
            if line.starts_with("Stop it") {
                break;
            }
        }
        let [url, token, password] = found;
        assert!(!url.is_empty(), "the server did not start:\n{said}{}", log.lock().expect("not poisoned"));
        // The client asks for one even where it speaks no TLS; a second test in the process keeps the first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(Duration::from_secs(60)).build().expect("a client");
        Backend { child, url, token, password, log, client }
    }

    /// A request with the administrator's token.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.anonymous(method, path).bearer_auth(&self.token)
    }

    /// A request without a token.
    pub fn anonymous(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let path = if path.starts_with("/health")
            || path == "/"
            || path.starts_with("/metrics")
            || path.starts_with("/reference")
        {
            path.to_owned()
        } else {
            format!("/api/v1{path}")
        };
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// `GET` as the administrator.
    pub fn get(&self, path: &str) -> Answer {
        send(self.request("GET", path))
    }

    /// A request with a JSON body as the administrator.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        send(self.request(method, path).header("content-type", "application/json").body(body.to_string()))
    }

    /// Creates something and returns it.
    #[track_caller]
    pub fn create(&self, path: &str, body: &Value) -> Value {
        let answer = self.send("POST", path, body);
        assert_eq!(answer.status, 201, "{path}: {}", answer.text);
        answer.json
    }

    /// A number that the server counts.
    #[track_caller]
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").text;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in\n{text}"))
    }

    /// How many files and connections the server has open.
    pub fn n_open_files(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(folder).expect("the server runs").count()
    }

    /// The most memory that the server has ever had resident, in bytes. The system counts roughly, so that it may be a little less
    /// than before.
    pub fn peak_memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("the server runs");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
        peak.and_then(|kib| kib.trim().parse::<usize>().ok()).expect("a number") << 10
    }

    /// The address that it listens on.
    pub fn address(&self) -> &str {
        self.url.split("://").nth(1).expect("a URL")
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("it was running");
    }

    /// Tells the server to stop, and does not wait for it.
    pub fn stop(&self) {
        let process = Pid::from_raw(self.child.id() as i32);
        signal::kill(process, signal::Signal::SIGTERM).expect("the server runs");
    }

    /// Waits until the server has logged something, and returns all that it has logged so far.
    #[track_caller]
    pub fn log_with(&self, text: &str) -> String {
        let started = Instant::now();
        while !self.log().contains(text) {
            assert!(started.elapsed() < Duration::from_secs(20), "{text:?} is not logged:\n{}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
        self.log()
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("not poisoned").clone()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and reads the answer.
#[track_caller]
pub fn send(request: RequestBuilder) -> Answer {
    let response = request.send().expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().expect("text");
    let json = serde_json::from_str(&text).unwrap_or_default();
    Answer { status, headers, text, json }
}
