//! TLS: the server's own, and PostgreSQL's.

use std::path::Path;
use std::process::Command;

use private_postgres::{Options, Server};
use serde_json::json;

use crate::backend::{Backend, send};

#[test]
fn the_server_speaks_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = certificate(folder.path());
    let database = format!("sqlite:{}", folder.path().join("spexus.db").display());
    let backend = Backend::start_trusting(
        &database,
        &["--tls-cert", &certificate, "--tls-key", &key],
        &std::fs::read(&certificate).expect("a certificate"),
    );
    assert!(backend.url.starts_with("https://"), "{}", backend.url);
    backend.create("/epics", &json!({ "title": "Over TLS", "priority": 1 }));
    let body = json!({ "username": "admin", "password": backend.password, "cookie": true }).to_string();
    let login = backend.anonymous("POST", "/auth/login").header("content-type", "application/json");
    let login = send(login.header("origin", &backend.url).body(body));
    let cookie = login.header("set-cookie");
    assert!(cookie.starts_with("__Host-spexus_session=spexus_session_"), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    let pair = cookie.split(';').next().expect("a cookie");
    let with = |pair: &str| send(backend.anonymous("GET", "/auth/me").header("cookie", pair)).status;
    assert_eq!(with(pair), 200);
    // Another host of the domain could plant a cookie without the prefix.
    assert_eq!(with(pair.trim_start_matches("__Host-")), 401);
    let plain = reqwest::blocking::get(backend.url.replace("https://", "http://"));
    assert!(plain.is_err_and(|error| !error.is_builder()));
}

#[test]
fn a_certificate_that_is_none_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("not.pem");
    std::fs::write(&path, "nothing").expect("a file");
    let path = path.display().to_string();
    let database = format!("sqlite:{}", folder.path().join("spexus.db").display());
    let output =
        Backend::command(&database, &["--tls-cert", &path, "--tls-key", &path]).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("not.pem"), "{told}");
}

#[test]
fn postgresql_is_reached_over_tls_and_its_certificate_is_checked() {
    let Some(server) = Server::own(Options { tls: true, ..Options::default() }) else { return };
    let database = server.database();
    let folder = tempfile::tempdir().expect("a folder");
    let authority = folder.path().join("ca.pem");
    std::fs::write(&authority, server.certificate().expect("a certificate")).expect("a file");
    let url = format!("{}?sslmode=require", database.url());
    let backend = Backend::start(&url, &["--database-ca", &authority.display().to_string()]);
    assert_eq!(send(backend.anonymous("GET", "/health/ready")).json["store"], "PostgreSQL");
    backend.create("/epics", &json!({ "title": "Over TLS", "priority": 1 }));
    let output = Backend::command(&url, &[]).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("certificate"), "{told}");
}

/// A certificate for this machine and its key, as PEM files.
pub fn certificate(folder: &Path) -> (String, String) {
    certificate_for(folder, "IP:127.0.0.1")
}

/// The same for another name.
pub fn certificate_for(folder: &Path, name: &str) -> (String, String) {
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let status = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=127.0.0.1", "-addext", &format!("subjectAltName={name}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl runs")
        .status;
    assert!(status.success());
    (certificate.display().to_string(), key.display().to_string())
}
