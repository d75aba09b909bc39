//! Who asks over REST: known, counted, and kept from guessing.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::backend::{on_sqlite, send};
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
        for _ in 0..2 {
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
