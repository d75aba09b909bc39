//! Connections that send nothing, or take nothing: closed, and nobody else notices.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, setrlimit};
use serde_json::json;

use crate::backend::{Backend, on_sqlite, send};
use crate::server::wait_until;
use crate::tls::certificate;

/// A blocking connection to the server from a chosen address of this machine.
fn connect_from(source: [u8; 4], backend: &Backend) -> Option<TcpStream> {
    let target: SocketAddr = backend.address().parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().ok()?;
        socket.bind(SocketAddr::from((source, 0))).ok()?;
        // What nobody reads is soon with the server again.
        socket.set_recv_buffer_size(4 << 10).ok()?;
        let connected = tokio::time::timeout(Duration::from_secs(5), socket.connect(target)).await;
        connected.ok()?.ok()?.into_std().ok()
    })?;
    stream.set_nonblocking(false).expect("a blocking stream");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    Some(stream)
}

/// Starts a server that may have few files.
fn with_few_files(command: &Command, n_files: u32) -> Command {
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(format!("ulimit -n {n_files}; exec \"$@\"")).arg("sh");
    limited.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

#[test]
fn silent_connections_keep_nobody_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", folder.path().join("spexus.db").display());
    let backend = Backend::spawn(with_few_files(&Backend::command(&database, &[]), 256));
    // This process has both ends of nothing, but its own ends it must hold.
    let _ = setrlimit(Resource::RLIMIT_NOFILE, 4_096, 4_096);
    let mut silent = Vec::new();
    for number in 0..2_000_u32 {
        silent.extend(connect_from([127, 0, 1, (number % 100) as u8], &backend));
        if number % 50 == 0 {
            let started = Instant::now();
            assert_eq!(backend.get("/auth/me").status, 200, "after {number} silent connections");
            assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        }
    }
    assert!(silent.len() > 1_900, "{} connections", silent.len());
    assert!(backend.n_open_files() < 256);
    backend.create("/epics", &json!({ "title": "Served", "priority": 1 }));
    let log = backend.log();
    let n_refused = log.matches("could not be accepted").count();
    assert!(n_refused < 30, "{n_refused} lines:\n{log}");
}

#[test]
fn an_address_has_so_many_connections() {
    on_sqlite(&[], &[("SPEXUS_CONNECTION_LIMIT", "5")], |backend, _| {
        let silent: Vec<_> = (0..20).filter_map(|_| connect_from([127, 0, 2, 1], backend)).collect();
        // Those beyond the limit are closed at once.
        let n_closed = silent
            .iter()
            .filter(|stream| {
                stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a time-out");
                is_closed(stream)
            })
            .count();
        assert_eq!(n_closed, 15);
        assert_eq!(backend.get("/auth/me").status, 200, "others are served");
        assert_eq!(backend.log().matches("could not be accepted").count(), 1, "{}", backend.log());
        drop(silent);
        wait_until("room", || {
            let Some(mut stream) = connect_from([127, 0, 2, 1], backend) else { return false };
            let _ = stream.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).is_ok() && answer.ends_with(b"200")
        });
    });
}

/// Whether the server has closed its end, rather than said nothing.
fn is_closed(stream: &TcpStream) -> bool {
    match (&*stream).read(&mut [0]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_connection_without_a_request_is_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = certificate(folder.path());
    let database = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    let backends = [Backend::start(&database("plain.db"), &[]), Backend::start(&database("tls.db"), &tls)];
    let started = Instant::now();
    let mut streams: Vec<TcpStream> =
        backends.iter().filter_map(|backend| connect_from([127, 0, 0, 1], backend)).collect();
    // A little of a request, or of a handshake, is not a request.
    let mut part = connect_from([127, 0, 0, 1], &backends[0]).expect("a connection");
    part.write_all(b"GE").expect("a part");
    streams.push(part);
    for mut stream in streams {
        let _ = stream.read_to_end(&mut Vec::new());
        assert!(is_closed(&stream));
        let elapsed = started.elapsed();
        assert!((Duration::from_secs(8)..Duration::from_secs(18)).contains(&elapsed), "{elapsed:?}");
    }
}

/// Exports that nobody reads, far more than may be held at once.
const N_UNREAD: usize = 40;

#[test]
fn answers_that_nobody_reads_are_given_up() {
    on_sqlite(&[], &[("SPEXUS_WRITE_TIMEOUT", "1s"), ("SPEXUS_REQUEST_TIMEOUT", "60s")], |backend, _| {
        let text = "word ".repeat(9_900);
        for number in 0..240 {
            let body = json!({ "title": format!("Epic {number}"), "priority": 1, "description": text });
            backend.create("/epics", &body);
        }
        let file = send(backend.request("GET", "/export?format=json"));
        assert!(file.text.len() > 10 << 20, "{} bytes", file.text.len());
        assert_eq!(file.header("content-length"), file.text.len().to_string());
        let before = backend.peak_memory();
        let head = format!(
            "GET /api/v1/export?format=json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
            backend.token
        );
        let n_files = backend.n_open_files();
        let started = Instant::now();
        let unread: Vec<TcpStream> = (0..N_UNREAD)
            .map(|_| {
                let mut stream = connect_from([127, 0, 0, 1], backend).expect("a connection");
                stream.write_all(head.as_bytes()).expect("a request");
                stream
            })
            .collect();
        // Each is given up after a second, which lets those that wait have their turn.
        let n_left = || backend.n_open_files().saturating_sub(n_files);
        wait_until("all to be asked", || n_left() >= 8 || started.elapsed() > Duration::from_secs(3));
        wait_until("all to be given up", || n_left() < 4);
        let grown = backend.peak_memory().saturating_sub(before);
        let all = N_UNREAD * file.text.len();
        assert!(grown < all / 2, "{} KiB for {} KiB of exports", grown >> 10, all >> 10);
        drop(unread);
        assert_eq!(send(backend.request("GET", "/export?format=json")).text, file.text);
    });
}

/// The figures that every dashboard for Prometheus knows.
#[test]
fn the_process_is_measured() {
    on_sqlite(&[], &[], |backend, _| {
        assert!(backend.metric("process_resident_memory_bytes") > 1e6);
        assert!(backend.metric("process_virtual_memory_bytes") > 1e6);
        assert!(backend.metric("process_cpu_seconds_total") > 0.0);
        assert!((3.0..200.0).contains(&backend.metric("process_open_fds")));
        assert!(backend.metric("process_max_fds") >= 256.0);
        assert!(backend.metric("process_start_time_seconds") > 1.6e9);
        let text = backend.get("/metrics").text;
        assert_eq!(text.matches("# EOF").count(), 1, "{text}");
    });
}
