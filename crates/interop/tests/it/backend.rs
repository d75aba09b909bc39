//! `spexus serve` with a small project, for clients over HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use private_postgres::Database;
use serde_json::Value;
use tempfile::TempDir;

use crate::server;

/// A running server.
pub struct Backend {
    child: Child,
    /// Where it is.
    pub url: String,
    /// The administrator's token.
    pub token: String,
    /// The store.
    database: String,
    /// Holds the code, and the store where it is a file.
    folder: TempDir,
}

fn serve(folder: &TempDir, address: &str, database: &str) -> Child {
    let trace = format!("DEFAULT={}", folder.path().join("code").display());
    Command::new(server::spexus())
        .args(["serve", "--demo", "--listen", address, "--database", database, "--trace", &trace])
        .env("LOG_LEVEL", "off")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server can be started")
}

impl Backend {
    pub fn start() -> Backend {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let database = format!("sqlite:{}", folder.path().join("spexus.db").display());
        Backend::start_in(folder, database)
    }

    /// Starts a server on a database of PostgreSQL.
    pub fn start_on(database: &Database) -> Backend {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        Backend::start_in(folder, database.url().to_owned())
    }

    fn start_in(folder: TempDir, database: String) -> Backend {
        traced(&folder.path().join("code"));
        let mut child = serve(&folder, "127.0.0.1:0", &database);
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let (mut url, mut token) = (String::new(), String::new());
        for line in lines.by_ref().map_while(Result::ok) {
            if let Some(found) = line.strip_prefix("Spexus is at ") {
                url = found.to_owned();
            } else if let Some(found) = line.strip_prefix("  token     ") {
                token = found.to_owned();
            } else if line.starts_with("Stop it") {
                break;
            }
        }
        assert!(!url.is_empty() && !token.is_empty(), "the server did not start");
        thread::spawn(move || lines.count());
        Backend { child, url, token, database, folder }
    }

    /// Kills the server, and does something before it is started again in the same place.
    pub fn restart(&mut self, meanwhile: impl FnOnce()) {
        self.restart_after(|_| meanwhile());
    }

    /// The same with the files of its store at hand.
    pub fn restart_after(&mut self, meanwhile: impl FnOnce(StoreFiles<'_>)) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        meanwhile(StoreFiles { folder: self.folder.path() });
        self.child = serve(&self.folder, self.url.trim_start_matches("http://"), &self.database);
        let mut lines = BufReader::new(self.child.stdout.take().expect("stdout is piped")).lines();
        let started = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("Stop it"));
        assert!(started, "the server did not start again");
        thread::spawn(move || lines.count());
    }

    /// Asks through REST.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        self.answer(method, path, body, 200)
    }

    /// Makes something through REST.
    pub fn create(&self, path: &str, body: &str) -> Value {
        self.answer("POST", path, body, 201)
    }

    fn answer(&self, method: &str, path: &str, body: &str, status: u16) -> Value {
        let address = self.url.trim_start_matches("http://");
        let mut connection = TcpStream::connect(address).expect("the server listens");
        let head = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        connection.write_all(head.as_bytes()).expect("the server reads");
        connection.write_all(body.as_bytes()).expect("the server reads");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("the server answers");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        let (_, json) = answer.split_once("\r\n\r\n").expect("an answer has a body");
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

/// The files of a store while no server has them open.
pub struct StoreFiles<'a> {
    folder: &'a Path,
}

/// A store in SQLite is the database, and what was not yet written into it.
const STORE_FILES: [&str; 3] = ["spexus.db", "spexus.db-wal", "spexus.db-shm"];

impl StoreFiles<'_> {
    /// Keeps a copy of them.
    pub fn save(&self) {
        for name in STORE_FILES {
            let _ = fs::copy(self.folder.join(name), self.folder.join(format!("saved-{name}")));
        }
    }

    /// Puts the copy in their place.
    pub fn restore(&self) {
        for name in STORE_FILES {
            let _ = fs::remove_file(self.folder.join(name));
            let _ = fs::copy(self.folder.join(format!("saved-{name}")), self.folder.join(name));
        }
    }
}

/// A folder with a specification and the code that cites it.
fn traced(folder: &Path) {
    for (name, text) in [
        (
            ".duvet/config.toml",
            "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n\n[[source]]\npattern = \"src/*.rs\"\n\n\
             [[specification]]\nsource = \"payment.md\"\n",
        ),
        (
            "payment.md",
            "# Payment\n\n## Cards\n\nA card number MUST NOT be stored.\nA card SHOULD be checked before it is charged.\n\n\
             ## Receipts\n\nA receipt MUST be sent.\n",
        ),
        ("src/pay.rs", "//= payment.md#cards\n//# A card number MUST NOT be stored.\npub fn pay() {}\n"),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
