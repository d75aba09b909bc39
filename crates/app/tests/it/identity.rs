//! CI identities over HTTP, with an issuer on this machine that serves its discovery document and its keys.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::backend::{Answer, Backend, on_sqlite, send};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// An issuer.
struct Issuer {
    url: String,
    key: EcdsaKeyPair,
    served: Arc<Mutex<Served>>,
}

/// What it serves, and how often it was asked for keys.
struct Served {
    discovery: String,
    keys: Vec<Value>,
    n_asked: usize,
}

impl Issuer {
    /// Starts an issuer whose key has the id `first`.
    fn start() -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        let discovery = json!({ "issuer": url, "jwks_uri": format!("{url}/keys") }).to_string();
        let served = Arc::new(Mutex::new(Served { discovery, keys: Vec::new(), n_asked: 0 }));
        let serving = served.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.expect("a connection"));
                let mut request = String::new();
                while reader.read_line(&mut request).is_ok_and(|length| length > 2) {}
                let mut served = serving.lock().expect("not poisoned");
                let body = match request.split(' ').nth(1) {
                    Some("/.well-known/openid-configuration") => served.discovery.clone(),
                    Some("/keys") => {
                        served.n_asked += 1;
                        json!({ "keys": served.keys }).to_string()
                    }
                    other => panic!("the server asks for {other:?}"),
                };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                // Who has read enough may hang up.
                let _ = reader.get_mut().write_all(format!("{head}{body}").as_bytes());
            }
        });
        let issuer = Issuer { url, key, served };
        issuer.publish("first");
        issuer
    }

    /// Publishes the key under an id.
    fn publish(&self, key_id: &str) {
        let point = self.key.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|half| URL_SAFE_NO_PAD.encode(half));
        let key = json!({ "kty": "EC", "crv": "P-256", "use": "sig", "kid": key_id, "x": x, "y": y });
        self.served.lock().expect("not poisoned").keys.push(key);
    }

    fn n_asked(&self) -> usize {
        self.served.lock().expect("not poisoned").n_asked
    }

    /// The identity of a run that was started by a push to the main branch.
    fn identity(&self, audience: &str, key_id: &str, token_id: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
        let claims = json!({
            "iss": self.url, "aud": audience, "jti": token_id, "iat": now, "nbf": now, "exp": now + 300,
            "repository_id": "42", "ref": "refs/heads/main", "sha": COMMIT, "event_name": "push",
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&json!({ "alg": "ES256", "kid": key_id })), part(&claims));
        let signature = self.key.sign(&SystemRandom::new(), message.as_bytes()).expect("a signature");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn exchange(backend: &Backend, identity_token: &str) -> Answer {
    let body = json!({ "identity_token": identity_token }).to_string();
    send(backend.anonymous("POST", "/identity").header("content-type", "application/json").body(body))
}

#[test]
fn a_run_pushes_with_the_token_that_its_identity_is_exchanged_for() {
    let issuer = Issuer::start();
    on_sqlite(&[], &[("SPEXUS_OIDC_ISSUERS", &issuer.url)], |backend, _| {
        let repository =
            json!({ "name": "shop", "projects": ["DEFAULT"], "issuer": issuer.url, "external_id": "42" });
        backend.create("/repositories", &repository);
        let made = exchange(backend, &issuer.identity(&backend.url, "first", "one"));
        assert_eq!((made.status, &made.json["trust"]), (200, &json!("oidc")), "{}", made.text);
        let token = made.json["token"].as_str().expect("a secret");
        let test = json!({ "path": "tests/pay.rs", "blob": COMMIT, "symbol": "pays", "outcome": "passed", "attempts": 1 });
        let run = json!({ "tool": "cargo", "exit_status": 0, "content": test.to_string() });
        let request = backend.anonymous("POST", "/repositories/shop/evidence").bearer_auth(token);
        let pushed = send(request.header("content-type", "application/json").body(run.to_string()));
        assert_eq!((pushed.status, &pushed.json["trust"]), (200, &json!("oidc")), "{}", pushed.text);
        let request = backend.anonymous("POST", "/epics").bearer_auth(token);
        let refused =
            send(request.header("content-type", "application/json").body(r#"{"title":"x","priority":1}"#));
        assert_eq!(refused.status, 403, "{}", refused.text);

        assert_eq!(exchange(backend, &issuer.identity(&backend.url, "first", "one")).status, 401, "replayed");
        let elsewhere = exchange(backend, &issuer.identity("https://elsewhere.example", "first", "two"));
        assert!(elsewhere.status == 401 && elsewhere.message().contains("audience"), "{}", elsewhere.text);
        assert_eq!(issuer.n_asked(), 1, "keys are kept");
        assert!(!backend.log().contains(token), "no log has a secret");
    });
}

#[test]
fn keys_are_fetched_again_for_an_unknown_id_but_not_for_any_number_of_them() {
    let issuer = Issuer::start();
    on_sqlite(&[], &[("SPEXUS_OIDC_ISSUERS", &issuer.url)], |backend, _| {
        let repository =
            json!({ "name": "shop", "projects": ["DEFAULT"], "issuer": issuer.url, "external_id": "42" });
        backend.create("/repositories", &repository);
        assert_eq!(exchange(backend, &issuer.identity(&backend.url, "first", "one")).status, 200);
        issuer.publish("second");
        assert_eq!(exchange(backend, &issuer.identity(&backend.url, "second", "two")).status, 200);
        assert_eq!(issuer.n_asked(), 2);
        for number in 0..30 {
            let unknown = exchange(backend, &issuer.identity(&backend.url, &format!("x{number}"), "three"));
            assert!(unknown.status == 401 && unknown.message().contains("has no key"), "{}", unknown.text);
        }
        assert_eq!(issuer.n_asked(), 11, "one fetch and ten for unknown ids");
        assert_eq!(exchange(backend, &issuer.identity(&backend.url, "first", "four")).status, 200);
    });
}

#[test]
fn an_issuer_that_misbehaves_is_told_and_not_asked_again_at_once() {
    for (discovery, expected) in [
        (r#"{"issuer": "https://evil.example", "jwks_uri": "ISSUER/keys"}"#, "another issuer"),
        (r#"{"issuer": "ISSUER", "jwks_uri": "http://127.0.0.1:1/keys"}"#, "expected the same host"),
        (r#"{"issuer": "ISSUER", "jwks_uri": "file:///etc/passwd"}"#, "expected the same host"),
        (r#"{"issuer": "ISSUER""#, "EOF while parsing"),
        ("LARGE", "larger than 256 KiB"),
    ] {
        let issuer = Issuer::start();
        let text = discovery.replace("ISSUER", &issuer.url).replace("LARGE", &"x".repeat(1 << 20));
        issuer.served.lock().expect("not poisoned").discovery = text;
        on_sqlite(&[], &[("SPEXUS_OIDC_ISSUERS", &issuer.url)], |backend, _| {
            for _ in 0..2 {
                let refused = exchange(backend, &issuer.identity(&backend.url, "first", "one"));
                assert_eq!(refused.status, 503, "{}", refused.text);
                assert!(refused.message().contains(expected), "{}", refused.text);
            }
            assert_eq!(issuer.n_asked(), 0);
        });
    }
}

#[test]
fn only_listed_issuers_that_are_reached_safely_are_accepted() {
    let issuer = Issuer::start();
    on_sqlite(&[], &[], |backend, _| {
        let refused = exchange(backend, &issuer.identity(&backend.url, "first", "one"));
        assert!(refused.status == 401 && refused.message().contains("is not accepted"), "{}", refused.text);
        assert_eq!(issuer.n_asked(), 0);
    });
    for wrong in [
        "http://ci.example.org",
        "ci.example.org",
        "https://user@ci.example.org",
        "https://ci.example.org?x=1",
    ] {
        let mut command = Backend::command("sqlite::memory:", &[]);
        let output = command.env("SPEXUS_OIDC_ISSUERS", wrong).output().expect("the program");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{wrong}: {said}");
        assert!(said.contains("SPEXUS_OIDC_ISSUERS (from the environment): expected issuers"), "{said}");
    }
}
