//! One-time sign-in links: where they are shown, the page that they lead to, and that guessing them is slowed down.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use nix::pty::openpty;
use reqwest::blocking::Client;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::backend::{Answer, Backend, on_every_store, on_sqlite, send};

/// A browser that follows no redirects.
fn browser() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().redirect(Policy::none()).build().expect("a client")
}

fn open(url: &str) -> Answer {
    send(browser().get(url))
}

/// Sends the form of the page.
fn sign_in(server: &str, code: &str, more: &str) -> Answer {
    let body = format!("_next=%2F&code={code}&cookie=true{more}");
    let request = browser().post(format!("{server}/do/use_sign_in_link")).header("origin", server);
    send(request.header("content-type", "application/x-www-form-urlencoded").body(body))
}

fn code_of(url: &str) -> &str {
    url.split_once("/welcome?code=").expect("a link").1
}

#[test]
fn the_page_of_a_link_signs_in_and_sets_a_password() {
    on_every_store(|backend| {
        let link = backend.create("/auth/sign-in-links", &json!({}));
        let url = link["url"].as_str().expect("a URL");
        assert!(url.starts_with(&format!("{}/welcome?code=", backend.url)), "{url}");
        for _ in 0..2 {
            let page = open(url);
            assert_eq!(page.status, 200, "{}", page.text);
            assert!(
                page.text.contains("<b>admin</b>") && page.text.contains("name=\"new_password\""),
                "{}",
                page.text
            );
            assert!(!page.text.contains("data-press"), "{}", page.text);
            assert_eq!((page.header("cache-control"), page.header("set-cookie")), ("no-store", ""));
        }
        let short = sign_in(&backend.url, code_of(url), "&new_password=short");
        assert_eq!((short.status, short.header("set-cookie")), (400, ""));
        assert!(
            short.text.contains("role=\"alert\"") && short.text.contains("name=\"new_password\""),
            "{}",
            short.text
        );
        let done = sign_in(&backend.url, code_of(url), "&new_password=another+long+one");
        assert_eq!((done.status, done.header("location")), (303, "/"), "{}", done.text);
        let cookie = done.header("set-cookie").split(';').next().expect("a cookie").to_owned();
        let me = send(backend.anonymous("GET", "/auth/me").header("cookie", cookie));
        assert_eq!(me.json["username"], "admin");
        let login = json!({ "username": "admin", "password": "another long one" });
        assert_eq!(backend.send("POST", "/auth/login", &login).status, 200);
        for again in [open(url), sign_in(&backend.url, code_of(url), "")] {
            assert_eq!((again.status, again.header("set-cookie")), (401, ""));
            assert!(again.text.contains("was used or has expired"), "{}", again.text);
            assert!(again.text.contains("spexus sign-in-link"), "{}", again.text);
        }
        assert_eq!(open(&format!("{}/welcome", backend.url)).status, 400);
        assert!(!backend.log().contains(code_of(url)), "a log has the code");
    });
}

#[test]
fn a_page_of_another_site_signs_nobody_in() {
    on_sqlite(&[], &[], |backend, _| {
        let link = backend.create("/auth/sign-in-links", &json!({}));
        let code = code_of(link["url"].as_str().expect("a URL")).to_owned();
        let request = browser().post(format!("{}/do/use_sign_in_link", backend.url));
        let request = request.header("origin", "https://evil.example");
        let refused = send(request.body(format!("code={code}&cookie=true")));
        assert_eq!((refused.status, refused.header("set-cookie")), (403, ""));
        assert_eq!(sign_in(&backend.url, &code, "").status, 303, "and the link is not used up");
    });
}

#[test]
fn guessing_codes_is_slowed_down_and_the_right_one_works() {
    on_sqlite(&[], &[("SPEXUS_FAILED_LOGIN_LIMIT", "3")], |backend, _| {
        let link = backend.create("/auth/sign-in-links", &json!({}));
        let guess = |number: usize| match number % 3 {
            0 => open(&format!("{}/welcome?code=wrong", backend.url)).status,
            1 => sign_in(&backend.url, "wrong", "").status,
            _ => backend.send("POST", "/auth/sign-in-links/use", &json!({ "code": "wrong" })).status,
        };
        let statuses: Vec<u16> = (0..9).map(guess).collect();
        assert_eq!((&statuses[..3], statuses[8]), (&[401, 401, 401][..], 429), "{statuses:?}");
        let url = link["url"].as_str().expect("a URL");
        assert_eq!((open(url).status, sign_in(&backend.url, code_of(url), "").status), (200, 303));
        let trail = backend.get("/audit?event=link_refused").json;
        assert_eq!(trail["total_count"], 1, "an address has one row a minute: {trail}");
    });
}

#[test]
fn the_command_line_prints_a_link_for_the_server_that_is_named() {
    on_sqlite(&[], &[], |backend, folder| {
        let database = format!("sqlite:{}", folder.join("spexus.db").display());
        let run = |arguments: &[&str]| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_spexus"));
            let output = command.arg("sign-in-link").args(arguments).output().expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("text")
        };
        let printed = run(&["--database", &database]);
        let url = printed.lines().find_map(|line| line.strip_prefix("url")).expect("a URL").trim();
        assert!(url.starts_with("http://127.0.0.1:8080/welcome?code="), "{printed}");
        assert!(printed.contains("10 minutes"), "{printed}");
        assert_eq!(open(&format!("{}/welcome?code={}", backend.url, code_of(url))).status, 200);
        let asked = run(&["--server", &backend.url, "--token", &backend.token, "--user", "admin", "--json"]);
        let asked: Value = serde_json::from_str(&asked).expect("JSON");
        assert_eq!(open(asked["url"].as_str().expect("a URL")).status, 200);
    });
}

/// Starts a server whose output is a terminal, and returns what it prints first.
fn on_a_terminal(folder: &Path, arguments: &[&str], test: impl Fn(&str)) {
    let pty = openpty(None, None).expect("a terminal");
    let database = format!("sqlite:{}", folder.join("spexus.db").display());
    let mut command = Backend::command(&database, arguments);
    command.stdin(Stdio::null()).stdout(pty.slave).stderr(Stdio::null());
    let mut child = command.spawn().expect("the server starts");
    // It holds the terminal open as well.
    drop(command);
    let (mut terminal, mut printed, mut buffer) = (File::from(pty.master), String::new(), [0; 4096]);
    while !printed.contains("Stop it") {
        let length = terminal.read(&mut buffer).expect("the server prints");
        printed.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    test(&printed);
    child.kill().and_then(|()| child.wait()).expect("it was running");
}

/// The link that was printed.
fn link_in(printed: &str) -> Option<&str> {
    printed.lines().map(str::trim).find(|line| line.contains("/welcome?code="))
}

#[test]
fn a_first_start_shows_a_link_to_a_terminal_only() {
    let folder = tempfile::tempdir().expect("a folder");
    on_a_terminal(folder.path(), &[], |printed| {
        let page = open(link_in(printed).expect("a link"));
        assert!(page.status == 200 && page.text.contains("name=\"new_password\""), "{}", page.text);
    });
    on_a_terminal(folder.path(), &[], |printed| {
        assert_eq!(link_in(printed), None, "a second start has none")
    });
    let other = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", other.path().join("spexus.db").display());
    let output = Backend::command(&database, &[])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = output.expect("the server starts");
    let mut printed = String::new();
    let mut stdout = child.stdout.take().expect("piped");
    let mut buffer = [0; 4096];
    while !printed.contains("Stop it") {
        let length = stdout.read(&mut buffer).expect("the server prints");
        printed.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    child.kill().and_then(|()| child.wait()).expect("it was running");
    assert!(link_in(&printed).is_none() && printed.contains("spexus sign-in-link"), "{printed}");
}

#[test]
fn the_link_of_the_demonstration_signs_in_by_itself_and_shows_the_project() {
    let folder = tempfile::tempdir().expect("a folder");
    on_a_terminal(folder.path(), &["--demo"], |printed| {
        let url = link_in(printed).expect("a link");
        let page = open(url).text;
        assert!(page.contains("data-press") && !page.contains("name=\"new_password\""), "{page}");
        assert!(page.contains("name=\"_next\" value=\"/p/DEFAULT\""), "{page}");
    });
}

#[test]
fn the_form_for_a_link_shows_it() {
    on_sqlite(&[], &[], |backend, _| {
        let link = backend.create("/auth/sign-in-links", &json!({}));
        let done = sign_in(&backend.url, code_of(link["url"].as_str().expect("a URL")), "");
        let cookie = done.header("set-cookie").split(';').next().expect("a cookie").to_owned();
        let request = browser().post(format!("{}/do/create_sign_in_link", backend.url));
        let request = request.header("origin", &backend.url).header("cookie", cookie);
        let shown = send(request.header("content-type", "application/x-www-form-urlencoded").body(""));
        assert!(shown.status == 200 && shown.text.contains("/welcome?code="), "{}", shown.text);
    });
}
