//! Who and what is refused, in which order, and with which words.

use serde_json::{Value, json};

use super::agent::{Agent, STATELESS, initialize};
use crate::backend::{Answer, Backend, on_every_store, on_sqlite, send};

/// Each request is wrong in all the ways that come after the one that it is refused for.
#[test]
fn checks_come_in_their_order() {
    on_sqlite(&[], &[], |backend, _| {
        let huge = "x".repeat((10 << 20) + 1);
        let post = || backend.anonymous("POST", "/mcp").header("mcp-protocol-version", "v9");
        let known = || post().bearer_auth(&backend.token);

        let origin = send(post().header("origin", "https://evil.example.org").body("{"));
        check(&origin, 403, -32003, "FORBIDDEN");
        assert_eq!(origin.header("www-authenticate"), "", "a page has no use for a challenge");
        let host = send(post().header("host", "evil.example.org").body("{"));
        check(&host, 403, -32003, "FORBIDDEN");
        let token = send(post().body(huge.clone()));
        check(&token, 401, -32001, "UNAUTHENTICATED");
        let size = send(known().body(huge));
        check(&size, 413, -32600, "TOO_LARGE");
        assert_eq!(size.message(), "Message too large (limit 10485760 bytes)");
        let headers = send(known().body("{"));
        assert_eq!(
            (headers.status, &headers.json["error"]["code"]),
            (400, &json!(-32022)),
            "{}",
            headers.text
        );
        let message = send(backend.request("POST", "/mcp").body("{"));
        assert_eq!(
            (message.status, &message.json["error"]["code"]),
            (400, &json!(-32700)),
            "{}",
            message.text
        );
        assert!(message.json.get("id").is_none(), "{}", message.text);
    });
}

/// Not JSON is a parse error, JSON that is no request an invalid one.
//@= spexus://REQ-122
//@= type=test
//@# 002 R11.1: jsonrpc must be 2.0
//@= spexus://REQ-123
//@= type=test
//@# 002 R11.2: id, method and params are checked
//@= spexus://REQ-127
//@= type=test
//@# 002 R11.6: failure has code and message
//@= spexus://REQ-128
//@= type=test
//@# 002 R11.7: standard errors have the standard codes
//@= spexus://REQ-130
//@= type=test
//@# 002 R11.9: what is not a message is an error
//@= spexus://REQ-111
//@= type=test
//@# 002 R9.11: a malformed request is answered with 400
#[test]
fn malformed_messages_are_bad_requests() {
    on_sqlite(&[], &[], |backend, _| {
        let agent = Agent::new(backend, "2025-03-26", &backend.token);
        let cases: [(&str, i64, Value); 8] = [
            ("", -32700, Value::Null),
            ("{\"jsonrpc\":", -32700, Value::Null),
            ("[]", -32600, Value::Null),
            ("5", -32600, Value::Null),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, json!(7)),
            (r#"{"id":"seven","method":"ping"}"#, -32600, json!("seven")),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        ];
        for (body, code, id) in cases {
            let answer = agent.post(body);
            let found = (answer.status, &answer.json["error"]["code"], &answer.json["id"]);
            assert_eq!(found, (400, &json!(code), &id), "{body}: {}", answer.text);
        }
    });
}

//@= spexus://REQ-102
//@= type=test
//@# 002 R9.2: it requires a bearer token
//@= spexus://REQ-103
//@= type=test
//@# 002 R9.3: the token is the same as everywhere else
//@= spexus://REQ-104
//@= type=test
//@# 002 R9.4: an invalid token is answered with 401
//@= spexus://REQ-132
//@= type=test
//@# 002 R12.2: the backend checks the token as everywhere else
//@= spexus://REQ-138
//@= type=test
//@# 002 R12.8: failed authentication is logged
//@= spexus://REQ-166
//@= type=test
//@# 002 R16.2: tests cover routing and authentication
//@= spexus://REQ-172
//@= type=test
//@# 002 R16.8: tests cover tokens and rights
#[test]
fn requests_without_a_valid_token_are_rejected() {
    on_every_store(|backend| {
        let ping = json!({"jsonrpc": "2.0", "id": 41, "method": "ping"}).to_string();
        let ask = |authorization: Option<&str>| {
            let request = backend.anonymous("POST", "/mcp").body(ping.clone());
            send(match authorization {
                Some(authorization) => request.header("authorization", authorization),
                None => request,
            })
        };
        let none = ask(None);
        check(&none, 401, -32001, "UNAUTHENTICATED");
        assert_eq!(none.json["id"], 41, "the id is readable");
        assert_eq!(none.header("www-authenticate"), "Bearer realm=\"spexus\"");

        let revoked = backend.create("/tokens", &json!({"name": "gone", "scopes": ["read"]}));
        let path = format!("/tokens/{}", revoked["id"].as_str().expect("an id"));
        assert!(backend.send("DELETE", &path, &json!({})).status < 300);
        let revoked = format!("Bearer {}", revoked["token"].as_str().expect("a secret"));
        let unknown = format!("Bearer mcp_pat_{}", "A".repeat(43));
        let refused = [unknown.as_str(), "Bearer", "Basic YTpi", "Bearer nonsense", revoked.as_str()];
        for authorization in refused {
            let answer = ask(Some(authorization));
            check(&answer, 401, -32001, "UNAUTHENTICATED");
            let challenge = "Bearer realm=\"spexus\", error=\"invalid_token\"";
            assert_eq!(answer.header("www-authenticate"), challenge, "{authorization}");
        }
        // Never from the query: it would stand in logs on the way.
        let path = format!("/mcp?token={0}&access_token={0}", backend.token);
        let query = send(backend.anonymous("POST", &path).body(ping.clone()));
        check(&query, 401, -32001, "UNAUTHENTICATED");
        let good = ask(Some(&format!("bearer {}", backend.token)));
        assert_eq!((good.status, &good.json["result"]), (200, &json!({})), "{}", good.text);
        let log = backend.log_with("refused");
        assert!(!log.contains(&"A".repeat(43)), "no token is logged: {log}");
    });
}

/// A token that expires while it is used.
//@= spexus://REQ-136
//@= type=test
//@# 002 R12.6: an expired token is rejected
#[test]
fn an_expired_token_is_refused() {
    on_sqlite(&[], &[], |backend, folder| {
        let token = backend.create("/tokens", &json!({"name": "short", "scopes": ["read"]}));
        let agent = Agent::new(backend, STATELESS, token["token"].as_str().expect("a secret"));
        agent.result("server/discover", json!({}));
        let database = rusqlite::Connection::open(folder.join("spexus.db")).expect("the store");
        let changed = database.execute("update token set expires_at = 1 where name = 'short'", []);
        assert_eq!(changed.expect("the store can be written"), 1);
        let refused = agent.ask("server/discover", json!({}));
        // 2026-07-28 leaves our own numbers to others.
        check(&refused, 401, -32603, "UNAUTHENTICATED");
    });
}

/// What a token may do is the lesser of its scopes and its owner's role.
//@= spexus://REQ-133
//@= type=test
//@# 002 R12.3: operations have the owner's rights
//@= spexus://REQ-134
//@= type=test
//@# 002 R12.4: missing rights are answered with 403
#[test]
fn who_may_not_is_forbidden() {
    on_every_store(|backend| {
        let scoped = backend.create("/tokens", &json!({"name": "reader", "scopes": ["read"]}));
        let scoped = scoped["token"].as_str().expect("a secret").to_owned();
        let create = json!({"name": "create_epic", "arguments": {"title": "No", "priority": 1}});
        for (revision, code) in [("2025-03-26", -32003), ("2025-11-25", -32003), (STATELESS, -32603)] {
            let agent = Agent::new(backend, revision, &scoped);
            let agent = if revision == STATELESS { agent } else { agent.shake_hands() };
            let refused = agent.ask("tools/call", create.clone());
            check(&refused, 403, code, "FORBIDDEN");
            let challenge = "Bearer realm=\"spexus\", error=\"insufficient_scope\", scope=\"write\"";
            assert_eq!(refused.header("www-authenticate"), challenge, "{revision}");
            // Who wants to hear of progress is refused no differently.
            let mut eager = create.clone();
            eager["_meta"] = json!({"progressToken": "p"});
            check(&agent.ask("tools/call", eager), 403, code, "FORBIDDEN");
            agent.call("search_global", json!({"query": "anything"}));
        }
        let carol = Agent::new(backend, "2025-06-18", &token_of(backend, "carol", "Commenter")).shake_hands();
        check(&carol.ask("tools/call", create), 403, -32003, "FORBIDDEN");
        backend.create("/epics", &json!({"title": "Talk", "priority": 1}));
        carol.call("add_comment", json!({"reference": "EP-001", "content": "Good."}));
    });
}

//@= spexus://REQ-004
//@= type=test
//@# 000 error: an error has a code for programs, a message, and the versions that are supported and received
//@= spexus://REQ-011
//@= type=test
//@# 000 versions: protocol versions are counted, and unsupported ones stand out in the log
//@= spexus://REQ-043
//@= type=test
//@# 002 R2.3: the requested version is compared with those supported
//@= spexus://REQ-045
//@= type=test
//@# 002 R2.5: a version that is not supported is error -32602
//@= spexus://REQ-047
//@= type=test
//@# 002 R2.7: the error says clearly what is wrong with the version
//@= spexus://REQ-020
//@= type=test
//@# 001 R2.4: an error is a JSON-RPC error instead of a result
#[test]
fn an_unknown_version_in_initialize_is_an_error_that_helps() {
    on_sqlite(&[], &[], |backend, _| {
        for version in ["2024-01-01", STATELESS, "", "2025-03-26 "] {
            let agent = Agent::new(backend, "2025-03-26", &backend.token);
            let answer = agent.ask("initialize", initialize(version));
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert_eq!(answer.header("mcp-session-id"), "");
            let error = &answer.json["error"];
            assert_eq!(error["code"], -32602, "{error}");
            let message = "Unsupported protocol version. Expected one of: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25";
            assert_eq!(error["message"], message);
            assert_eq!(error["data"]["code"], "INVALID_PROTOCOL_VERSION");
            assert_eq!(error["data"]["received_version"], version);
            assert_eq!(error["data"]["supported_versions"][1], "2025-03-26");
        }
        let log = backend.log_with("received_version=2024-01-01");
        let lines = log.lines().filter(|line| line.contains("received_version=2024-01-01"));
        let lines: Vec<&str> = lines.collect();
        assert!(
            matches!(lines[..], [line] if line.contains("[WARN]") && line.contains("user=admin")),
            "{lines:?}"
        );
    });
}

//@= spexus://REQ-001
//@= type=test
//@# 000 request: an initialize request is checked, and the error for a malformed one names what is wrong
#[test]
fn a_malformed_initialize_is_told_what_is_wrong() {
    on_sqlite(&[], &[], |backend, _| {
        let cases = [
            (json!({}), "protocolVersion"),
            (json!({"protocolVersion": 5}), "protocolVersion"),
            (json!({"protocolVersion": "2025-03-26", "capabilities": []}), "capabilities"),
            (json!({"protocolVersion": "2025-03-26", "clientInfo": "me"}), "clientInfo"),
        ];
        for (params, field) in cases {
            let answer = Agent::new(backend, "2025-03-26", &backend.token).ask("initialize", params);
            let error = &answer.json["error"];
            assert_eq!(
                (&error["code"], &error["data"]["errors"][0]["field"]),
                (&json!(-32602), &json!(field)),
                "{error}"
            );
            assert_eq!(answer.header("mcp-session-id"), "");
        }
        let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"}).to_string();
        let empty = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).to_string();
        for (message, missing) in [(bare, "params"), (empty, "protocolVersion")] {
            let error = send(backend.request("POST", "/mcp").body(message)).json["error"].clone();
            assert_eq!(
                (&error["code"], &error["data"]["code"]),
                (&json!(-32602), &json!("MALFORMED_REQUEST"))
            );
            assert!(error["message"].as_str().is_some_and(|text| text.contains(missing)), "{error}");
        }
    });
}

/// Bad arguments are refused with the field, and nothing happens.
//@= spexus://REQ-079
//@= type=test
//@# 002 R6.8: a failing tool is a JSON-RPC error with details
//@= spexus://REQ-080
//@= type=test
//@# 002 R6.9: validation errors of the backend are mapped
//@= spexus://REQ-081
//@= type=test
//@# 002 R6.10: arguments that do not fit are rejected before the backend is called
//@= spexus://REQ-144
//@= type=test
//@# 002 R13.6: errors name the field
//@= spexus://REQ-145
//@= type=test
//@# 002 R13.7: errors say what to do
#[test]
fn bad_arguments_name_their_fields() {
    on_sqlite(&[], &[], |backend, _| {
        let call = json!({"name": "create_epic", "arguments": {"title": "", "priority": 9, "colour": "red"}});
        let old = Agent::handshake(backend, "2025-06-18").ask("tools/call", call.clone());
        assert_eq!((old.status, &old.json["error"]["code"]), (200, &json!(-32602)), "{}", old.text);
        let data = &old.json["error"]["data"];
        let new = Agent::stateless(backend).ask("tools/call", call);
        assert_eq!((new.status, &new.json["result"]["isError"]), (200, &json!(true)), "{}", new.text);
        assert_eq!(data["errors"], new.json["result"]["_meta"]["spexus/error"]["errors"]);
        assert!(data["errors"].to_string().contains("priority"), "{data}");
        assert_eq!(backend.get("/epics").json["total_count"], 0);
    });
}

/// What is not there, by revision.
//@= spexus://REQ-062
//@= type=test
//@# 002 R4.8: a resource that is not found is error -32002
//@= spexus://REQ-070
//@= type=test
//@# 002 R5.7: invalid parameters are a validation error
//@= spexus://REQ-099
//@= type=test
//@# 002 R8.9: missing arguments are named
//@= spexus://REQ-100
//@= type=test
//@# 002 R8.10: context that cannot be loaded is an error with details
//@= spexus://REQ-110
//@= type=test
//@# 002 R9.10: failures are structured
//@= spexus://REQ-120
//@= type=test
//@# 002 R10.9: an unknown method is an error
//@= spexus://REQ-129
//@= type=test
//@# 002 R11.8: own errors have codes from -32000
//@= spexus://REQ-171
//@= type=test
//@# 002 R16.7: tests cover error codes
#[test]
fn a_missing_resource_has_the_code_of_the_revision() {
    on_sqlite(&[], &[], |backend, _| {
        let (old, new) = (Agent::handshake(backend, "2025-11-25"), Agent::stateless(backend));
        let missing = json!({"uri": "epic://EP-404"});
        let checks = [
            (&old, "resources/read", missing.clone(), 200, -32002),
            (&new, "resources/read", missing, 200, -32602),
            (&old, "resources/read", json!({"uri": "epics://list?colour=red"}), 200, -32602),
            (&old, "prompts/get", json!({"name": "decompose_epic"}), 200, -32602),
            (
                &old,
                "prompts/get",
                json!({"name": "decompose_epic", "arguments": {"epic_id": "EP-404"}}),
                200,
                -32002,
            ),
            (&old, "no/such/method", json!({}), 200, -32601),
            (&new, "no/such/method", json!({}), 404, -32601),
            (&new, "ping", json!({}), 404, -32601),
            (&old, "shutdown", json!({}), 200, -32601),
            (&old, "tools/call", json!({"name": "nothing"}), 200, -32602),
        ];
        for (agent, method, params, status, code) in checks {
            let answer = agent.ask(method, params.clone());
            let found = (answer.status, &answer.json["error"]["code"]);
            assert_eq!(
                found,
                (status, &json!(code)),
                "{} {method} {params}: {}",
                agent.revision,
                answer.text
            );
        }
    });
}

//@= spexus://REQ-121
//@= type=test
//@# 002 R10.10: a failure inside is logged and an internal error
//@= spexus://REQ-146
//@= type=test
//@# 002 R13.8: internal errors are logged in full
#[test]
fn internal_errors_are_logged_but_not_sent() {
    on_sqlite(&[], &[], |backend, folder| {
        backend.create("/epics", &json!({"title": "Pay", "priority": 1}));
        let old = Agent::handshake(backend, "2025-06-18");
        let database = rusqlite::Connection::open(folder.join("spexus.db")).expect("the store");
        database.execute_batch("alter table entity rename to gone").expect("it can be spoilt");
        for agent in [old, Agent::stateless(backend)] {
            let call = json!({"name": "get_entity", "arguments": {"reference": "EP-001"}});
            for (method, params) in
                [("tools/call", call), ("resources/read", json!({"uri": "epic://EP-001"}))]
            {
                let answer = agent.ask(method, params);
                check(&answer, 500, -32603, "INTERNAL_ERROR");
                assert_eq!(answer.message(), "Internal error");
                assert!(!answer.text.contains("entity"), "{}", answer.text);
                let id =
                    answer.json["error"]["data"]["request_id"].as_str().expect("where to look").to_owned();
                assert_eq!(answer.header("x-request-id"), id);
            }
        }
        let log = backend.log_with("no such table");
        let line = log.lines().find(|line| line.contains("no such table")).expect("a line");
        for part in ["[ERROR]", "[req_id=", "user=admin", "operation=get_entity"] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    });
}

#[test]
fn other_http_methods_and_unreadable_bodies_are_rejected() {
    on_sqlite(&[], &[], |backend, _| {
        for method in ["PUT", "PATCH", "HEAD"] {
            let answer = send(backend.request(method, "/mcp"));
            assert_eq!((answer.status, answer.header("allow")), (405, "GET, POST, DELETE"), "{method}");
        }
        for method in ["GET", "DELETE"] {
            let request = backend.request(method, "/mcp").header("mcp-protocol-version", STATELESS);
            let answer = send(request);
            check(&answer, 405, -32600, "METHOD_NOT_ALLOWED");
            assert_eq!(answer.header("allow"), "POST");
        }
        let agent = Agent::handshake(backend, "2025-11-25");
        let session = agent.session.clone().expect("a session");
        let stream = backend
            .request("GET", "/mcp")
            .header("mcp-session-id", session)
            .header("accept", "application/json");
        check(&send(stream), 406, -32600, "NOT_ACCEPTABLE");
        let ping = agent.message("ping", json!({}));
        for (accept, status) in [
            ("text/html", 406),
            ("image/*;q=0.5, text/html", 406),
            ("application/json", 200),
            ("Application/JSON; charset=utf-8", 200),
            ("*/*", 200),
        ] {
            let request = backend.request("POST", "/mcp").header("accept", accept).body(ping.to_string());
            assert_eq!(send(request).status, status, "{accept}");
        }
        let stateless = Agent::stateless(backend);
        let listen =
            stateless.message("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
        let request = backend
            .request("POST", "/mcp")
            .header("mcp-protocol-version", STATELESS)
            .header("mcp-method", "subscriptions/listen")
            .header("accept", "application/json");
        check(&send(request.body(listen.to_string())), 406, -32600, "NOT_ACCEPTABLE");
    });
}

/// There is no authorization server, so nothing may look as if there were one.
#[test]
fn clients_that_look_for_oauth_find_nothing_in_json() {
    on_sqlite(&[], &[], |backend, _| {
        let client = reqwest::blocking::Client::new();
        for path in
            ["oauth-protected-resource", "oauth-authorization-server", "oauth-protected-resource/api/v1/mcp"]
        {
            let answer = send(client.get(format!("{}/.well-known/{path}", backend.url)));
            assert_eq!((answer.status, answer.header("content-type")), (404, "application/json"), "{path}");
            assert!(answer.json["error"].is_object(), "{}", answer.text);
        }
    });
}

#[test]
fn pages_of_allowed_origins_may_ask() {
    let allowed = [("SPEXUS_ALLOWED_ORIGINS", "https://ide.example.org")];
    on_sqlite(&[], &allowed, |backend, _| {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        let ask =
            |origin: &str| send(backend.request("POST", "/mcp").header("origin", origin).body(ping.clone()));
        let good = ask("https://ide.example.org");
        assert_eq!(
            (good.status, good.header("access-control-allow-origin")),
            (200, "https://ide.example.org")
        );
        assert!(
            good.header("access-control-expose-headers").contains("mcp-session-id"),
            "{:?}",
            good.headers
        );
        assert_eq!(ask(&backend.url).status, 200, "our own page");
        for origin in ["null", "https://ide.example.org.evil.org", "http://ide.example.org"] {
            check(&ask(origin), 403, -32003, "FORBIDDEN");
        }
    });
}

/// Every refusal is a JSON-RPC error with a code for programs.
#[track_caller]
pub fn check(answer: &Answer, status: u16, code: i64, name: &str) {
    let error = &answer.json["error"];
    assert_eq!(
        (answer.status, &error["code"], &error["data"]["code"]),
        (status, &json!(code), &json!(name)),
        "{}",
        answer.text
    );
    assert_eq!(answer.json["jsonrpc"], "2.0");
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(!answer.header("x-request-id").is_empty());
}

/// A new user's token, which may do whatever its owner may.
#[track_caller]
pub fn token_of(backend: &Backend, username: &str, role: &str) -> String {
    let password = "correct horse battery";
    let email = format!("{username}@example.org");
    backend
        .create("/users", &json!({"username": username, "email": email, "password": password, "role": role}));
    let login = backend.send("POST", "/auth/login", &json!({"username": username, "password": password}));
    let secret = login.json["session"].as_str().unwrap_or_default();
    let request = backend.anonymous("POST", "/tokens").bearer_auth(secret);
    let body = json!({"name": "agent", "scopes": ["full_access"]}).to_string();
    let token = send(request.header("content-type", "application/json").body(body));
    token.json["token"].as_str().unwrap_or_else(|| panic!("{}", token.text)).to_owned()
}
