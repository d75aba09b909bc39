//! How often one may ask, what is counted, and what never reaches the log.

use serde_json::json;

use super::agent::{Agent, STATELESS, initialize};
use super::refusals::{check, token_of};
use crate::backend::{Answer, Backend, on_sqlite, send};

//@= spexus://REQ-009
//@= type=test
//@# 000 rate limit: initialize is limited
//@= spexus://REQ-137
//@= type=test
//@# 002 R12.7: rate limits apply to agents, too
#[test]
fn initialize_has_its_own_limit() {
    on_sqlite(&[], &[("SPEXUS_SESSION_LIMIT", "3")], |backend, _| {
        let agent = Agent::new(backend, "2025-11-25", &backend.token);
        for _ in 0..3 {
            agent.result("initialize", initialize("2025-11-25"));
        }
        let refused = agent.ask("initialize", initialize("2025-11-25"));
        check_limited(&refused);
        agent.result("tools/list", json!({}));
        let other = Agent::new(backend, "2025-11-25", &token_of(backend, "other", "User"));
        other.result("initialize", initialize("2025-11-25"));

        // Another token of the same user is another agent.
        let second = backend.create("/tokens", &json!({"name": "second", "scopes": ["read"]}));
        let second = Agent::new(backend, "2025-11-25", second["token"].as_str().expect("a secret"));
        for _ in 0..3 {
            second.result("initialize", initialize("2025-11-25"));
        }
        check_limited(&second.ask("initialize", initialize("2025-11-25")));

        // Who has logged in shows no token: all logins of a user are counted together.
        let statuses: Vec<u16> = (0..4)
            .map(|_| {
                let agent = Agent::new(backend, "2025-11-25", &login(backend));
                agent.ask("initialize", initialize("2025-11-25")).status
            })
            .collect();
        assert_eq!(statuses, [200, 200, 200, 429]);
    });
}

/// The limits of REST hold here, and both are counted together.
//@= spexus://REQ-137
//@= type=test
//@# 002 R12.7: rate limits apply to agents, too
#[test]
fn requests_are_limited_as_elsewhere() {
    on_sqlite(&[], &[("SPEXUS_RATE_LIMIT", "5")], |backend, _| {
        let agent = Agent::new(backend, "2025-11-25", &backend.token);
        let answers: Vec<Answer> = (0..12).map(|_| agent.ask("tools/list", json!({}))).collect();
        let n_served = answers.iter().filter(|answer| answer.status == 200).count();
        assert!((5..12).contains(&n_served), "{n_served} were served");
        check_limited(answers.last().expect("an answer"));
        assert_eq!(backend.get("/epics").status, 429);
    });
}

/// A call of a tool counts once, as any request does.
#[test]
fn a_call_is_counted_once() {
    on_sqlite(&[], &[("SPEXUS_RATE_LIMIT", "6")], |backend, _| {
        let agent = Agent::stateless(backend);
        for _ in 0..6 {
            agent.call("search_global", json!({"query": "x"}));
        }
    });
}

#[test]
fn guessing_tokens_is_limited() {
    on_sqlite(&[], &[("SPEXUS_FAILED_LOGIN_LIMIT", "2")], |backend, _| {
        let guess = || Agent::new(backend, "2025-11-25", "mcp_pat_wrong").ask("ping", json!({}));
        for _ in 0..2 {
            check(&guess(), 401, -32001, "UNAUTHENTICATED");
        }
        check_limited(&guess());
        Agent::new(backend, "2025-11-25", &backend.token).result("ping", json!({}));
    });
}

/// The secret of a new login of the administrator.
#[track_caller]
fn login(backend: &Backend) -> String {
    let body = json!({"username": "admin", "password": backend.password}).to_string();
    let login = backend.anonymous("POST", "/auth/login").header("content-type", "application/json");
    let answer = send(login.body(body));
    answer.json["session"].as_str().expect("a secret").to_owned()
}

#[track_caller]
fn check_limited(answer: &Answer) {
    check(answer, 429, -32005, "RATE_LIMITED");
    let seconds: u64 = answer.header("retry-after").parse().expect("Retry-After is a number");
    assert!((1..=60).contains(&seconds), "{seconds}");
}

//@= spexus://REQ-011
//@= type=test
//@# 000 versions: protocol versions are counted, and unsupported ones stand out in the log
//@= spexus://REQ-164
//@= type=test
//@# 002 R15.9: leaks can be seen in the metrics
#[test]
fn messages_are_counted() {
    on_sqlite(&[], &[], |backend, _| {
        let old = Agent::handshake(backend, "2025-03-26");
        let new = Agent::stateless(backend);
        new.call("create_epic", json!({"title": "Pay", "priority": 1}));
        new.ask("tools/call", json!({"name": "made_up_by_an_agent", "arguments": {}}));
        old.ask("resources/read", json!({"uri": "epic://EP-404"}));
        new.ask("made/up", json!({}));
        send(backend.anonymous("POST", "/mcp").body("{}"));
        let text = backend.get("/metrics").text;
        for line in [
            r#"spexus_mcp_messages_total{method="initialize",tool="",status="200",code="0"} 1"#,
            r#"spexus_mcp_messages_total{method="tools/call",tool="create_epic",status="200",code="0"} 1"#,
            r#"spexus_mcp_messages_total{method="tools/call",tool="",status="200",code="-32602"} 1"#,
            r#"spexus_mcp_messages_total{method="resources/read",tool="",status="200",code="-32002"} 1"#,
            r#"spexus_mcp_messages_total{method="unknown",tool="",status="404",code="-32601"} 1"#,
            r#"status="401",code="-32001"} 1"#,
            r#"spexus_mcp_revisions_total{revision="2026-07-28"} 3"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("made_up") && !text.contains("made/up"), "labels are ours:\n{text}");
    });
}

/// Every operation is logged with who asked; no token and no content is.
//@= spexus://REQ-135
//@= type=test
//@# 002 R12.5: every change is in the audit trail with its user
//@= spexus://REQ-140
//@= type=test
//@# 002 R13.2: log lines have time, request id and context
//@= spexus://REQ-141
//@= type=test
//@# 002 R13.3: the log has no tokens
#[test]
fn the_log_says_who_did_what_and_no_secrets() {
    on_sqlite(&[], &[("LOG_LEVEL", "debug")], |backend, _| {
        let agent = Agent::stateless(backend);
        let message = agent.message(
            "tools/call",
            json!({"name": "create_epic", "arguments": {"title": "Confidential", "priority": 1}}),
        );
        let answer = agent.exchange(&message, agent.request(&message).header("x-request-id", "trace-me-17"));
        assert_eq!((answer.status, answer.header("x-request-id")), (200, "trace-me-17"), "{}", answer.text);
        Agent::handshake(backend, "2025-11-25").result("prompts/list", json!({}));
        Agent::new(backend, STATELESS, &format!("mcp_pat_{}", "B".repeat(43)))
            .ask("server/discover", json!({}));
        let log = backend.log_with("trace-me-17");
        let line = log.lines().find(|line| line.contains("trace-me-17")).expect("the request is logged");
        for part in ["admin", "tools/call", "create_epic", "200"] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        let secrets = [backend.token.as_str(), &"B".repeat(43), "Confidential"];
        assert!(secrets.iter().all(|secret| !log.contains(secret)), "{log}");
        let history = backend.get("/epics/EP-001/history");
        assert!(history.text.contains("\"mcp\"") && history.text.contains("trace-me-17"), "{}", history.text);
    });
}
