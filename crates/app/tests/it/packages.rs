//! What packages rely on: health checks, passwords in files, packaged settings, completions.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use private_postgres::Server as Postgres;
use serde_json::json;

use crate::backend::{Backend, on_every_store, send};
use crate::process::clean;
use crate::spexus_cli::{json_of, refused, spexus};

#[test]
fn a_health_check_asks_the_server_on_this_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    on_every_store(|backend| {
        let address = backend.url.trim_start_matches("http://");
        let port = address.rsplit(':').next().expect("a port");
        let output = spexus(folder.path(), &["health", "--listen", address], "");
        let text = String::from_utf8_lossy(&output.stdout);
        let ready = send(backend.anonymous("GET", "/health/ready")).json;
        let store = ready["store"].as_str().expect("a store");
        assert_eq!(text, format!("{} is ready: {store}, read ok, write ok\n", backend.url));
        assert_eq!(output.status.code(), Some(0));
        // A server in a container listens on every address.
        let everywhere = format!("0.0.0.0:{port}");
        assert_eq!(json_of(folder.path(), &["health", "--listen", &everywhere]), ready);
        assert_eq!(json_of(folder.path(), &["health", "--server", &backend.url]), ready);
    });
    assert!(fs::read_dir(folder.path()).expect("a folder").next().is_none(), "a health check made a file");
}

#[test]
fn a_health_check_does_not_leave_the_machine_through_a_proxy() {
    let folder = tempfile::tempdir().expect("a folder");
    let backend = Backend::start(&format!("sqlite:{}/spexus.db", folder.path().display()), &[]);
    let address = backend.url.trim_start_matches("http://");
    let mut command =
        clean(Command::new(env!("CARGO_BIN_EXE_spexus")), &[("HTTP_PROXY", "http://127.0.0.1:1")]);
    let output =
        command.args(["health", "--listen", address]).stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_health_check_over_tls_asks_the_public_name_at_the_own_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = crate::tls::certificate_for(folder.path(), "DNS:spexus.example.org");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let settings = [
        ("SPEXUS_DATABASE", format!("sqlite:{}/spexus.db", folder.path().display())),
        ("SPEXUS_LISTEN", format!("127.0.0.1:{port}")),
        ("SPEXUS_PUBLIC_URL", "https://spexus.example.org".to_owned()),
        ("SPEXUS_TLS_CERT", certificate),
        ("SPEXUS_TLS_KEY", key),
    ];
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut server = clean(Command::new(env!("CARGO_BIN_EXE_spexus")), &settings);
    server.arg("serve");
    let _backend = Backend::spawn(server);
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_spexus")), &settings);
    let output = command.arg("health").stdin(Stdio::null()).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .starts_with(&format!("https://spexus.example.org:{port} is ready"))
    );
}

#[test]
fn a_health_check_fails_where_no_server_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = refused(folder.path(), &["health", "--listen", "127.0.0.1:1"], 1);
    assert!(told.starts_with("http://127.0.0.1:1 does not answer: "), "{told}");
    for (arguments, expected) in [
        (["--token", "mcp_pat_1"], "--token (from the command line): health needs no credentials"),
        (["--as", "ann"], "--as (from the command line): health needs no credentials"),
        (["--listen", "nowhere"], "--listen (from the command line): expected an address and a port"),
    ] {
        let told = refused(folder.path(), &[&["health"], &arguments[..]].concat(), 2);
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn the_password_of_the_database_may_be_in_a_file() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    let (scheme, rest) = database.url().split_once("://").expect("a URL");
    let (user, host) = rest.split_once('@').expect("a user");
    let (name, password) = user.split_once(':').expect("a password");
    let url = format!("{scheme}://{name}@{host}");
    let start = |text: &str| {
        fs::write(&file, text).expect("a file");
        let mut command = Backend::command(&url, &[]);
        command.env("SPEXUS_DATABASE_PASSWORD_FILE", &file).env("SPEXUS_LISTEN_DATABASE", &url);
        command
    };
    // It replaces the one in the URL, and may have any character.
    let backend = Backend::spawn(start(&format!("{password}\n")));
    backend.create("/epics", &json!({ "title": "Checkout", "priority": 1 }));
    for (text, expected) in
        [("wrong & 100 %\n", "password authentication failed"), ("\n", "expected a password, found nothing")]
    {
        let output = start(text).output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(expected) && !told.contains("100 %"), "{told}");
    }
    fs::remove_file(&file).expect("a file");
    let mut command = Backend::command(&url, &[]);
    let output = command.env("SPEXUS_DATABASE_PASSWORD_FILE", &file).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.starts_with(&format!("SPEXUS_DATABASE_PASSWORD_FILE: {}: No such file", file.display())),
        "{told}"
    );
}

/// Those that are commented out, too.
#[test]
fn the_settings_that_come_with_the_package_are_settings() {
    let packaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/debian/spexus.toml");
    let text = fs::read_to_string(packaged).expect("settings");
    let folder = tempfile::tempdir().expect("a folder");
    let password = folder.path().join("password");
    fs::write(&password, "secret").expect("a file");
    let (mut settings, mut seen) = (String::new(), Vec::new());
    // A setting that comes twice is an alternative; the last is taken.
    for line in text.lines().rev() {
        let line = line.strip_prefix("# ").unwrap_or(line);
        let Some((name, value)) = line.split_once(" = ").filter(|(name, _)| !name.contains(' ')) else {
            continue;
        };
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let value = value.replace("/etc/spexus/database-password", &password.display().to_string());
        settings.push_str(&format!("{name} = {}\n", value.replace("127.0.0.1:8080", "127.0.0.1:1")));
    }
    assert!(seen.len() >= 6, "{settings}");
    let file = folder.path().join("spexus.toml");
    fs::write(&file, &settings).expect("a file");
    // 2 would be a setting that makes no sense.
    let told = refused(folder.path(), &["health", "--config", &file.display().to_string()], 1);
    assert!(told.contains("does not answer"), "{told}");
}

#[test]
fn every_program_prints_its_completions() {
    for program in [
        env!("CARGO_BIN_EXE_spexus"),
        env!("CARGO_BIN_EXE_duvet"),
        env!("CARGO_BIN_EXE_tmkb"),
        env!("CARGO_BIN_EXE_requirements-mcp-server"),
    ] {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let mut command = clean(Command::new(program), &[]);
            let output = command.args(["completions", shell]).stdin(Stdio::null()).output().expect("it runs");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("completions"), "{program} {shell}: {text}");
        }
    }
}
