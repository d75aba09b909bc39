//! Who asks over REST: known by token or cookie, counted, and kept from guessing.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::backend::{on_every_store, on_sqlite, send};
use crate::server::wait_until;

#[test]
fn guesses_at_a_password_are_counted_and_noted() {
    on_sqlite(&[], &[("SPEXUS_FAILED_LOGIN_LIMIT", "3")], |backend, _| {
        let guess = |password: &str| {
            let body = json!({ "current_password": password, "new_password": "another password" });
            backend.send("POST", "/auth/change-password", &body)
        };
        // What is no guess is not counted.
        for _ in 0..5 {
            assert_eq!(guess(" ").status, 400);
        }
        for _ in 0..3 {
            let wrong = guess("not it");
            assert_eq!((wrong.status, wrong.code()), (400, "VALIDATION_ERROR"));
        }
        assert_eq!(guess("not it").status, 429);
        assert_eq!(guess(&backend.password).status, 429, "nothing is looked at meanwhile");
        let noted = backend.get("/audit?event=password_refused").json;
        assert_eq!((&noted["total_count"], &noted["data"][0]["actor"]), (&json!(4), &json!("admin")));
        assert!(backend.log().contains("operation=change_password"), "{}", backend.log());
    });
}

#[test]
fn guesses_at_a_time_are_counted_one_after_the_other() {
    on_sqlite(&[], &[("SPEXUS_FAILED_LOGIN_LIMIT", "3")], |backend, _| {
        let n_answered = AtomicUsize::new(0);
        let guess = |password: &str| {
            let body = json!({ "username": "admin", "password": password });
            let status = backend.send("POST", "/auth/login", &body).status;
            n_answered.fetch_add(1, Ordering::SeqCst);
            status
        };
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let wrong: Vec<_> = (0..6).map(|_| scope.spawn(|| guess("not it"))).collect();
            // The right one comes when all others are waiting, and few have failed yet.
            wait_until("a refusal", || n_answered.load(Ordering::SeqCst) > 0);
            let right = scope.spawn(|| guess(&backend.password));
            wrong.into_iter().chain([right]).map(|guess| guess.join().expect("an answer")).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 3, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 4, "{statuses:?}");
    });
}

#[test]
fn who_asks_is_known_and_limited() {
    on_sqlite(&[], &[("SPEXUS_RATE_LIMIT", "30"), ("SPEXUS_FAILED_LOGIN_LIMIT", "3")], |backend, _| {
        let nobody = send(backend.anonymous("GET", "/epics"));
        assert_eq!((nobody.status, nobody.code()), (401, "UNAUTHENTICATED"));
        assert!(nobody.header("www-authenticate").starts_with("Bearer "));
        // Who may not ask is not told what is wrong with the question.
        let malformed =
            send(backend.anonymous("POST", "/epics").header("content-type", "application/json").body("{"));
        assert_eq!(malformed.status, 401);
        // Who shows nothing is not counted: there was no guess.
        for _ in 0..3 {
            send(backend.anonymous("GET", "/epics").bearer_auth("mcp_pat_wrong"));
        }
        let limited = send(backend.anonymous("GET", "/epics").bearer_auth("mcp_pat_wrong"));
        assert_eq!((limited.status, limited.code()), (429, "RATE_LIMITED"));
        assert!(limited.header("retry-after").parse::<u64>().is_ok());
        // Others behind the same address are not kept out.
        assert_eq!(backend.get("/auth/me").status, 200);
        let mut last = backend.get("/auth/me");
        for _ in 0..40 {
            last = backend.get("/auth/me");
        }
        assert_eq!((last.status, last.code()), (429, "RATE_LIMITED"));
        assert!(!backend.log().contains(&backend.token), "a token reached the log");
    });
}

#[test]
fn browsers_log_in_by_cookie_and_other_sites_change_nothing() {
    on_every_store(|backend| {
        let login = |password: &str| {
            let body = json!({ "username": "admin", "password": password, "cookie": true }).to_string();
            send(
                backend
                    .anonymous("POST", "/auth/login")
                    .header("content-type", "application/json")
                    .header("origin", &backend.url)
                    .body(body),
            )
        };
        let wrong = login("not the password");
        assert_eq!((wrong.status, wrong.code()), (401, "UNAUTHENTICATED"));
        let right = login(&backend.password);
        assert_eq!(right.status, 200, "{}", right.text);
        let cookie = right.header("set-cookie").to_owned();
        for part in ["spexus_session=", "HttpOnly", "SameSite=Lax", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let with = |method: &str, path: &str| backend.anonymous(method, path).header("cookie", &cookie);
        let me = send(with("GET", "/auth/me"));
        assert_eq!(me.json["username"], "admin", "{}", me.text);
        let body = json!({ "title": "From a page", "priority": 1 }).to_string();
        let post = |origin: Option<&str>| {
            let mut request =
                with("POST", "/epics").header("content-type", "application/json").body(body.clone());
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            send(request)
        };
        assert_eq!(post(Some("https://evil.example")).status, 403);
        assert_eq!(post(None).status, 403);
        assert_eq!(post(Some(&backend.url)).status, 201);
        assert_eq!(backend.get("/epics/EP-001/history").json["data"][0]["via"], "web");
        let audit = backend.get("/audit?event=login_failed");
        assert_eq!(audit.json["data"][0]["actor"], "admin", "{}", audit.text);
        let logout = send(with("POST", "/auth/logout").header("origin", &backend.url));
        assert_eq!(logout.json["logged_out"], true, "{}", logout.text);
        assert_eq!(send(with("GET", "/auth/me")).status, 401);
    });
}

#[test]
fn tokens_do_what_their_scopes_allow() {
    on_sqlite(&[], &[], |backend, _| {
        let made =
            backend.create("/tokens", &json!({ "name": "reader", "scopes": ["read"], "expires_in": "30d" }));
        let secret = made["token"].as_str().unwrap().to_owned();
        assert!(secret.starts_with("mcp_pat_") && secret.len() == 51, "{secret}");
        let read = send(backend.anonymous("GET", "/epics").bearer_auth(&secret));
        assert_eq!(read.status, 200);
        let body = json!({ "title": "x", "priority": 1 }).to_string();
        let write = send(
            backend
                .anonymous("POST", "/epics")
                .bearer_auth(&secret)
                .header("content-type", "application/json")
                .body(body),
        );
        assert_eq!((write.status, write.code()), (403, "FORBIDDEN"));
        assert!(write.header("www-authenticate").contains("insufficient_scope"), "{:?}", write.headers);
        let listed = backend.get("/tokens");
        assert!(!listed.text.contains(&secret), "a secret is listed");
        let id = made["id"].as_str().unwrap();
        assert_eq!(send(backend.request("DELETE", &format!("/tokens/{id}"))).status, 200);
        assert_eq!(send(backend.anonymous("GET", "/epics").bearer_auth(&secret)).status, 401);
    });
}
