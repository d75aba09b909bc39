//! Projects that try to reach private networks: what is fetched, from where, and by which commands.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tempfile::TempDir;

use crate::agent::folder;
use crate::process::{Serving, clean};

const SPEC: &str = "# Pot\n\n## Lid\n\nThe lid MUST close.\n";

#[test]
fn private_hosts_are_fetched_from_only_if_the_user_names_them() {
    let server = Server::start(|_| Answer::Document(SPEC.into()));
    let port = server.port;
    for (url, host) in [
        (format!("https://127.0.0.1:{port}/p"), "127.0.0.1"),
        (format!("https://localhost:{port}/p"), "localhost"),
        (format!("https://[::ffff:127.0.0.1]:{port}/p"), "::ffff:7f00:1"),
        ("https://169.254.169.254/latest/meta-data".to_owned(), "169.254.169.254"),
        ("https://0.0.0.0/x".to_owned(), "0.0.0.0"),
    ] {
        let (code, log) = report(&citing(&url), &[]);
        let problem =
            format!("{host} is in a private network; pass `--allow-private-host {host}` to allow it");
        assert!(code == 1 && log.contains(&problem), "{url}: {log}");
    }
    let (code, log) = report(&citing(&format!("http://127.0.0.1:{port}/p")), &[]);
    assert!(code == 1 && log.contains("only https is fetched"), "{log}");
    assert_eq!(server.requests(), [""; 0]);
    for host in ["127.0.0.1", "localhost"] {
        let folder = citing(&format!("http://{host}:{port}/p"));
        let (code, log) = report(&folder, &["--allow-private-host", host]);
        assert_eq!(code, 0, "{log}");
    }
    assert_eq!(server.requests(), ["/p", "/p"]);
}

#[test]
fn a_redirect_leads_to_no_private_host() {
    let secret = Server::start(|_| Answer::Document(SPEC.into()));
    let port = secret.port;
    // `localhost` is allowed; its address by number is not.
    for target in [
        format!("https://127.0.0.1:{port}/p"),
        format!("https://[::ffff:127.0.0.1]:{port}/p"),
        format!("http://127.0.0.1:{port}/p"),
        "https://169.254.169.254/p".to_owned(),
        "https://10.0.0.1/p".to_owned(),
    ] {
        let to = target.clone();
        let server = Server::start(move |_| Answer::Redirect(to.clone()));
        let folder = citing(&format!("http://localhost:{}/p", server.port));
        let (code, log) = report(&folder, &["--allow-private-host", "localhost"]);
        assert!(code == 1 && log.contains("it is redirected to"), "{target}: {log}");
        assert_eq!(server.requests(), ["/p"]);
    }
    assert_eq!(secret.requests(), [""; 0]);

    let server = Server::start(|path| Answer::Redirect(format!("{path}x")));
    let folder = citing(&format!("http://localhost:{}/p", server.port));
    let (code, log) = report(&folder, &["--allow-private-host", "localhost"]);
    assert!(code == 1 && log.contains("too many redirects"), "{log}");
    assert!(server.requests().len() < 10);
}

#[test]
fn nothing_leads_from_https_to_http() {
    let plain = Server::start(|_| Answer::Document(SPEC.into()));
    let to = format!("http://127.0.0.1:{}/p", plain.port);
    let server = Server::start_tls(move |path| match path {
        "/p" => Answer::Redirect(to.clone()),
        _ => Answer::Document(SPEC.into()),
    });
    let certificate = server.certificate.clone();
    let run = |path: &str| {
        let folder = citing(&format!("https://127.0.0.1:{}/{path}", server.port));
        let arguments = ["report", "--allow-private-host", "127.0.0.1"];
        run_with(folder.path(), &arguments, &[("SSL_CERT_FILE", &certificate)])
    };
    let (code, log) = run("p");
    assert!(code == 1 && log.contains("it is redirected from https to http"), "{log}");
    assert_eq!(plain.requests(), [""; 0]);
    let (code, log) = run("q");
    assert_eq!(code, 0, "{log}");
}

#[test]
fn a_document_without_end_is_cut_off() {
    let server = Server::start(|_| Answer::Endless);
    let folder = citing(&format!("http://localhost:{}/p", server.port));
    let start = Instant::now();
    let (code, log) = report(&folder, &["--allow-private-host", "localhost"]);
    assert!(code == 1 && log.contains("it is larger than 20 MiB"), "{log}");
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(!folder.path().join(".duvet/specifications").exists());
}

#[test]
fn only_reports_and_extraction_fetch() {
    let server = Server::start(|_| Answer::Document(SPEC.into()));
    let url = format!("http://127.0.0.1:{}/p", server.port);
    let folder = citing(&url);
    for arguments in [&["check"][..], &["lock"], &["query", "--check", "test"], &["init"]] {
        run_with(folder.path(), arguments, &[]);
    }
    let mut serving = Serving::duvet(folder.path(), &[]);
    serving.handshake("2025-11-25");
    let citation = json!({"citation": format!("//= {url}#lid")});
    serving.request(1, "tools/call", json!({"name": "validate_citation", "arguments": citation}));
    serving.request(2, "resources/read", json!({"uri": "/requirements"}));
    serving.end();
    assert_eq!(server.requests(), [""; 0]);
    let extract = ["extract", "--allow-private-host", "127.0.0.1", "-f", "markdown", "-o", "out", &url];
    let (code, log) = run_with(folder.path(), &extract, &[]);
    assert_eq!(code, 0, "{log}");
    assert_eq!(server.requests(), ["/p"]);
}

/// A project that cites a section of a document.
fn citing(url: &str) -> TempDir {
    let config = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
        [[source]]\npattern = 'src/*.rs'\n[report.html]\nenabled = false\n";
    let source = format!("//= {url}#lid\n//# The lid MUST close.\n");
    folder(&[(".duvet/config.toml", config), ("src/lib.rs", &source)])
}

fn report(folder: &TempDir, more: &[&str]) -> (i32, String) {
    run_with(folder.path(), &[&["report"], more].concat(), &[])
}

fn run_with(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> (i32, String) {
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_duvet")), environment);
    let output = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().expect("it runs");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

enum Answer {
    Document(String),
    Redirect(String),
    Endless,
}

/// A server that knows which paths were asked for.
struct Server {
    port: u16,
    paths: mpsc::Receiver<String>,
    /// The file with its certificate, if it speaks TLS.
    certificate: String,
    _folder: Option<TempDir>,
}

impl Server {
    fn start(answer: impl Fn(&str) -> Answer + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, paths) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                respond(stream, &answer, &sender);
            }
        });
        Server { port, paths, certificate: String::new(), _folder: None }
    }

    fn start_tls(answer: impl Fn(&str) -> Answer + Send + 'static) -> Server {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().expect("a folder");
        let (certificate, key) = crate::tls::certificate(folder.path());
        let chain = CertificateDer::from_pem_slice(&fs::read(&certificate).expect("a file")).expect("PEM");
        let key = PrivateKeyDer::from_pem_slice(&fs::read(key).expect("a file")).expect("PEM");
        let config = rustls::ServerConfig::builder().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![chain], key).expect("a certificate"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, paths) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let session = rustls::ServerConnection::new(config.clone()).expect("a session");
                respond(rustls::StreamOwned::new(session, SlowToHang(stream)), &answer, &sender);
            }
        });
        Server { port, paths, certificate, _folder: Some(folder) }
    }

    fn requests(&self) -> Vec<String> {
        self.paths.try_iter().collect()
    }
}

/// A connection on which nobody waits for ever.
struct SlowToHang(TcpStream);

impl std::io::Read for SlowToHang {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.set_read_timeout(Some(Duration::from_secs(5)))?;
        self.0.read(buffer)
    }
}

impl std::io::Write for SlowToHang {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn respond(
    mut stream: impl std::io::Read + std::io::Write,
    answer: &impl Fn(&str) -> Answer,
    sender: &mpsc::Sender<String>,
) {
    let mut buffer = [0; 4096];
    let n_bytes = stream.read(&mut buffer).unwrap_or(0);
    let request = String::from_utf8_lossy(&buffer[..n_bytes]).into_owned();
    let Some(path) = request.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()) else { return };
    let _ = sender.send(path.to_owned());
    let head = "connection: close\r\n";
    let _ = match answer(path) {
        Answer::Document(text) => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{head}\r\n{text}", text.len())
        }
        Answer::Redirect(to) => {
            write!(stream, "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n{head}\r\n")
        }
        Answer::Endless => {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n");
            let piece = [b'a'; 1 << 16];
            // Bounded, should the other side never stop.
            (0..1_000).try_for_each(|_| stream.write_all(&piece))
        }
    };
    let _ = stream.flush();
}
