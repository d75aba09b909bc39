//! The REST interface: one shape for everything, strict about what it takes.

use serde_json::{Value, json};

use crate::backend::{Backend, on_every_store, on_sqlite, send};
use crate::server::wait_until;

/// A small tree: an epic, a story, a criterion and two requirements.
fn plant(backend: &Backend) {
    backend.create("/epics", &json!({ "title": "Checkout", "priority": 1 }));
    backend.create("/epics/EP-001/user-stories", &json!({ "title": "Pay", "priority": 2 }));
    backend.create(
        "/acceptance-criteria",
        &json!({ "user_story_id": "US-001", "description": "A receipt is sent" }),
    );
    for title in ["Cards are charged once", "Receipts are sent"] {
        let body =
            json!({ "user_story_id": "US-001", "title": title, "type_id": "Functional", "priority": 2 });
        backend.create("/requirements", &body);
    }
}

#[test]
fn a_team_works_with_requirements() {
    on_every_store(|backend| {
        plant(backend);
        let list = backend.get("/requirements?status=draft&priority=2&sort=title&limit=1");
        assert_eq!(list.status, 200, "{}", list.text);
        assert_eq!(list.json["total_count"], 2);
        assert_eq!((&list.json["limit"], &list.json["offset"]), (&json!(1), &json!(0)));
        assert_eq!(list.json["data"][0]["reference_id"], "REQ-001");
        let stories = backend.get("/epics/ep-1/user-stories");
        assert_eq!(stories.json["data"][0]["reference_id"], "US-001");
        let changed = backend.send(
            "PATCH",
            "/requirements/REQ-001",
            &json!({ "description": "Once.", "status": "active" }),
        );
        assert_eq!((changed.status, changed.header("etag")), (200, "\"2\""), "{}", changed.text);
        let cleared = backend.send(
            "PATCH",
            "/requirements/REQ-001",
            &json!({ "description": null, "assignee_id": null }),
        );
        assert!(
            cleared.json.get("description").is_none() && cleared.json.get("assignee").is_none(),
            "{}",
            cleared.text
        );
        assert_eq!(cleared.json["status"], "Active", "what is absent stays");
        let related = json!({ "source_requirement_id": "REQ-002", "target_requirement_id": "REQ-001", "relationship_type_id": "depends_on" });
        backend.create("/relationships", &related);
        let circle = json!({ "source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002", "relationship_type_id": "blocks" });
        let circle = backend.send("POST", "/relationships", &circle);
        assert_eq!((circle.status, circle.code()), (409, "CONFLICT"), "{}", circle.text);
        let tree = backend.get("/hierarchy/EP-001");
        assert_eq!(
            tree.json["data"][0]["children"][0]["children"].as_array().map(Vec::len),
            Some(3),
            "{}",
            tree.text
        );
        let path = backend.get("/hierarchy/REQ-002/path");
        let names: Vec<&str> = path.json["path"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|step| step["reference_id"].as_str())
            .collect();
        assert_eq!(names, ["EP-001", "US-001", "REQ-002"]);
        let refused = send(backend.request("DELETE", "/epics/EP-001"));
        assert_eq!(refused.status, 409);
        assert!(refused.message().contains("US-001"), "{}", refused.text);
        let preview = send(backend.request("DELETE", "/epics/EP-001?dry_run"));
        assert_eq!(preview.json["with_it"]["requirements"], 2, "{}", preview.text);
        assert_eq!(send(backend.request("DELETE", "/epics/EP-001?force=true")).status, 200);
        let gone = backend.get("/requirements/REQ-002");
        assert_eq!(gone.status, 404);
        assert!(gone.json["error"]["deleted_at"].is_string(), "{}", gone.text);
        assert_eq!(send(backend.request("POST", "/epics/EP-001/restore")).status, 200);
        assert_eq!(backend.get("/requirements/REQ-002").status, 200);
    });
}

#[test]
fn errors_have_one_shape_and_name_every_field() {
    on_every_store(|backend| {
        plant(backend);
        let wrong = backend.send("POST", "/epics", &json!({ "title": "", "priority": 9, "titel": "x" }));
        assert_eq!((wrong.status, wrong.code()), (400, "VALIDATION_ERROR"));
        let fields: Vec<&str> = wrong.json["error"]["details"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|detail| detail["field"].as_str())
            .collect();
        for field in ["title", "priority", "titel"] {
            assert!(fields.contains(&field), "{field} is not in {fields:?}");
        }
        for (path, status, field) in [
            ("/epics?state=draft", 400, "state"),
            ("/epics?status=dreft", 400, "status"),
            ("/epics?limit=0", 400, "limit"),
            ("/epics?limit=101", 400, "limit"),
            ("/epics?limit=ten", 400, "limit"),
            ("/epics?priority=5", 400, "priority[0]"),
            ("/epics?created_from=yesterday", 400, "created_from"),
            ("/epics?type=Functional", 400, "type"),
            ("/epics?kind=requirement", 400, "kind"),
            ("/epics?title=%ff", 400, "title"),
            ("/epics?limit=1&limit=2", 400, "limit"),
            ("/epics/nonsense", 400, "reference"),
            ("/epics/EP-999", 404, "reference"),
            ("/epics/REQ-001", 404, ""),
            ("/epics/US-001/user-stories", 400, "epic_id"),
            ("/epics/%00", 400, "reference"),
        ] {
            let answer = backend.get(path);
            assert_eq!(answer.status, status, "{path}: {}", answer.text);
            let error = &answer.json["error"];
            assert!(
                error["request_id"].is_string() && error["message"].is_string(),
                "{path}: {}",
                answer.text
            );
            assert_eq!(
                error["details"][0]["field"].as_str().unwrap_or_default(),
                field,
                "{path}: {}",
                answer.text
            );
        }
        for (body, code) in [
            ("{", "MALFORMED_REQUEST"),
            ("[]", "MALFORMED_REQUEST"),
            ("\"text\"", "MALFORMED_REQUEST"),
            ("{\"title\": \"a\\u0000b\", \"priority\": 1}", "VALIDATION_ERROR"),
            ("{\"title\": 7, \"priority\": 1}", "VALIDATION_ERROR"),
        ] {
            let request =
                backend.request("POST", "/epics").header("content-type", "application/json").body(body);
            let answer = send(request);
            assert_eq!((answer.status, answer.code()), (400, code), "{body}: {}", answer.text);
        }
        let invalid = send(
            backend
                .request("POST", "/epics")
                .header("content-type", "application/json")
                .body(vec![b'"', 0xff, b'"']),
        );
        assert_eq!(invalid.status, 400, "{}", invalid.text);
        let form =
            send(backend.request("POST", "/epics").header("content-type", "text/plain").body("title=x"));
        assert_eq!((form.status, form.code()), (415, "UNSUPPORTED_MEDIA_TYPE"));
        let large = send(
            backend
                .request("POST", "/epics")
                .header("content-type", "application/json")
                .body(vec![b' '; 11 << 20]),
        );
        assert_eq!((large.status, large.code()), (413, "TOO_LARGE"));
        let unknown = backend.get("/epicz");
        assert_eq!((unknown.status, unknown.code()), (404, "NOT_FOUND"));
        let method = backend.send("PUT", "/epics", &json!({}));
        assert_eq!((method.status, method.code()), (405, "METHOD_NOT_ALLOWED"));
        assert!(!method.header("allow").is_empty());
    });
}

#[test]
fn nothing_that_is_said_is_passed_over() {
    on_every_store(|backend| {
        plant(backend);
        backend.create("/projects", &json!({ "key": "SHOP", "name": "Shop" }));
        let post = |path: &str, body: &str| {
            let request = backend.request("POST", path).header("content-type", "application/json");
            send(request.body(body.to_owned()))
        };
        let field = |answer: &crate::backend::Answer| {
            (
                answer.status,
                answer.json["error"]["details"][0]["field"].as_str().unwrap_or_default().to_owned(),
            )
        };
        let twice = post("/epics", r#"{"title": "One", "priority": 1, "title": "Two"}"#);
        assert_eq!(field(&twice), (400, "title".to_owned()), "{}", twice.text);
        assert_eq!(post("/epics", "[1]").message(), "the body is not a JSON object");
        assert!(post("/epics", "{").message().starts_with("the body is not JSON"));
        let kind = backend.get("/epics?kind=epic");
        assert_eq!(field(&kind), (400, "kind".to_owned()), "{}", kind.text);
        let unknown = backend.get("/epics?colour=red");
        let allowed = unknown.json["error"]["details"][0]["allowed"].to_string();
        assert!(allowed.contains("status") && !allowed.contains("\"kind\""), "{allowed}");
        assert!(!allowed.contains("user_story_id"), "a filter that epics do not have is offered: {allowed}");
        assert_eq!(field(&backend.get("/hierarchy/EP-001?project=SHOP")), (400, "project".to_owned()));
        assert_eq!(backend.get("/hierarchy/EP-001?project=default").status, 200);
        let both = json!({ "name": "x", "expires_in": "1h", "expires_at": "2100-01-01" });
        assert_eq!(field(&post("/tokens", &both.to_string())), (400, "expires_in".to_owned()));
        let taken = json!({ "username": "ADMIN", "email": "x@example.org", "role": "User" });
        assert_eq!(field(&post("/users", &taken.to_string())), (409, "username".to_owned()));
        let circle = json!({ "source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002",
            "relationship_type_id": "depends_on" });
        assert_eq!(post("/relationships", &circle.to_string()).status, 201);
        assert_eq!(
            field(&post("/relationships", &circle.to_string())),
            (409, "target_requirement_id".to_owned())
        );
    });
}

#[test]
fn writes_are_guarded_by_versions_and_keys() {
    on_every_store(|backend| {
        plant(backend);
        let patch = |etag: &str, title: &str| {
            let request = backend.request("PATCH", "/epics/EP-001").header("if-match", etag);
            send(
                request
                    .header("content-type", "application/json")
                    .body(json!({ "title": title }).to_string()),
            )
        };
        assert_eq!(patch("\"1\"", "One").status, 200);
        let stale = patch("\"1\"", "Two");
        assert_eq!((stale.status, stale.code()), (409, "STALE_VERSION"));
        assert_eq!(stale.json["error"]["current"]["title"], "One", "{}", stale.text);
        assert_eq!(patch("seven", "Two").status, 400);
        assert_eq!(patch("*", "Two").status, 200);

        let keyed = |key: &str, title: &str| {
            let request = backend.request("POST", "/epics").header("idempotency-key", key);
            send(
                request
                    .header("content-type", "application/json")
                    .body(json!({ "title": title, "priority": 1 }).to_string()),
            )
        };
        let first = keyed("k1", "Once");
        let again = keyed("k1", "Once");
        assert_eq!((first.status, again.status), (201, 201));
        assert_eq!(first.json, again.json);
        assert_eq!(
            (again.header("idempotency-replayed"), again.header("location")),
            ("true", first.header("location"))
        );
        let other = keyed("k1", "Another");
        assert_eq!((other.status, other.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
        assert_eq!(backend.get("/epics").json["total_count"], 2);
        let (wrong, again) = (keyed("k2", ""), keyed("k2", ""));
        assert_eq!((wrong.status, wrong.header("idempotency-replayed")), (400, ""));
        assert_eq!((again.status, again.header("idempotency-replayed")), (400, "true"));
        assert_eq!(keyed("k2", "Right now").status, 422);
        assert_eq!(keyed(&"k".repeat(300), "x").status, 400);
        // A key on what only reads is of no use, and does no harm.
        assert_eq!(send(backend.request("GET", "/users").header("idempotency-key", "k3")).status, 200);
    });
}

#[test]
fn a_change_that_is_to_be_guarded_never_happens_unguarded() {
    on_every_store(|backend| {
        plant(backend);
        let relation = json!({ "source_requirement_id": "REQ-001", "target_requirement_id": "REQ-002",
            "relationship_type_id": "depends_on" });
        let relation = backend.create("/relationships", &relation)["id"].as_str().unwrap().to_owned();
        backend.create("/projects", &json!({ "key": "SHOP", "name": "Shop" }));
        backend.create("/users", &json!({ "username": "ann", "email": "a@example.org", "role": "User" }));
        let token = backend.create("/tokens", &json!({ "name": "mine" }))["id"].as_str().unwrap().to_owned();
        let (relation, token) = (format!("/relationships/{relation}"), format!("/tokens/{token}"));
        for (method, path) in [
            ("DELETE", relation.as_str()),
            ("DELETE", "/config/requirement-types/Interface"),
            ("DELETE", "/config/relationship-types/conflicts_with"),
            ("DELETE", "/projects/SHOP"),
            ("DELETE", "/users/ann"),
            ("PATCH", token.as_str()),
            ("DELETE", token.as_str()),
            ("POST", "/epics/EP-001/restore"),
            ("PUT", "/prompts/PROMPT-001/activate"),
        ] {
            let guarded = |etag: &str| {
                let body = if method == "DELETE" { "" } else { "{}" };
                let request = backend.request(method, path).header("if-match", etag);
                send(request.header("content-type", "application/json").body(body))
            };
            let stale = guarded("\"99\"");
            assert_eq!((stale.status, stale.code()), (409, "STALE_VERSION"), "{method} {path}");
            assert_eq!(stale.json["error"]["details"][0]["field"], "expected_version", "{method} {path}");
            assert_ne!(guarded("\"1\"").code(), "STALE_VERSION", "{method} {path}");
        }
        let two = backend.request("PATCH", "/epics/EP-001").header("if-match", "\"1\"");
        let body = json!({ "title": "x", "expected_version": 2 }).to_string();
        assert_eq!(send(two.header("content-type", "application/json").body(body)).status, 400);
        let create = backend.request("POST", "/epics").header("if-match", "\"1\"");
        let body = json!({ "title": "x", "priority": 1 }).to_string();
        let unknown = send(create.header("content-type", "application/json").body(body));
        assert_eq!(
            (unknown.status, unknown.json["error"]["details"][0]["field"].clone()),
            (400, json!("If-Match"))
        );
    });
}

#[test]
fn request_ids_are_honoured_and_echoed() {
    on_sqlite(&[], &[], |backend, _| {
        let answer = send(backend.request("GET", "/epics/EP-404").header("x-request-id", "abc-123"));
        assert_eq!(answer.header("x-request-id"), "abc-123");
        assert_eq!(answer.json["error"]["request_id"], "abc-123");
        let made_up = send(backend.request("GET", "/epics").header("x-request-id", "a b"));
        assert_ne!(made_up.header("x-request-id"), "a b");
        assert!(!made_up.header("x-request-id").is_empty());
        backend.create("/epics", &json!({ "title": "x", "priority": 1 }));
        let history = backend.get("/epics/EP-001/history");
        assert!(history.json["data"][0]["request_id"].is_string(), "{}", history.text);
        assert_eq!(history.json["data"][0]["via"], "rest");
        assert!(backend.log().contains("abc-123"));
    });
}

/// Neither rows nor the space that is free in the file hold what was purged, so that no later backup does. The index of
/// words, which are folded there, loses those of deleted texts as it is put in order.
#[test]
fn what_is_purged_is_gone_from_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let backend = Backend::start(&format!("sqlite:{}", path.display()), &[]);
    let word = "Quetzalcoatl";
    for n in 0..20 {
        let long = format!("{word} {}", "and so on ".repeat(n * 60));
        let body = json!({ "title": word, "priority": 1, "description": long });
        let request = backend.request("POST", "/epics").header("idempotency-key", format!("k{n}"));
        let made = send(request.header("content-type", "application/json").body(body.to_string()));
        let id = made.json["reference_id"].as_str().expect("an id").to_owned();
        let path = format!("/epics/{id}");
        backend.create(&format!("{path}/comments"), &json!({ "content": word }));
        assert_eq!(
            backend.send("PATCH", &path, &json!({ "title": "Other", "description": null })).status,
            200
        );
        assert_eq!(backend.send("DELETE", &path, &json!({})).status, 200);
        assert_eq!(backend.send("POST", &format!("/purge/{id}"), &json!({})).status, 200);
    }
    backend.stop();
    let journal = folder.path().join("spexus.db-wal");
    wait_until("the end of the server", || !journal.exists());
    let bytes = std::fs::read(&path).expect("the file");
    let n_left = bytes.windows(word.len()).filter(|window| *window == word.as_bytes()).count();
    assert_eq!(n_left, 0);
}

#[test]
fn a_path_names_the_kind_of_what_it_is_about() {
    on_sqlite(&[], &[], |backend, _| {
        backend.create("/epics", &json!({ "title": "Epic", "priority": 1 }));
        let story = backend.create("/epics/EP-1/user-stories", &json!({ "title": "Story", "priority": 1 }));
        let said = backend.create("/user-stories/US-1/comments", &json!({ "content": "Well" }));
        let (story, said) = (story["id"].as_str().unwrap(), said["id"].as_str().unwrap());
        for path in [
            "/epics/US-1",
            "/epics/US-1/history",
            "/epics/US-1/comments",
            "/prompts/US-1/history",
            "/comments/US-1/history",
            &format!("/requirements/{story}/history"),
            &format!("/epics/{said}/history"),
        ] {
            let wrong = backend.get(path);
            assert_eq!((wrong.status, wrong.code()), (404, "NOT_FOUND"), "{path}: {}", wrong.text);
            assert!(wrong.message().contains(" is a "), "{path}: {}", wrong.text);
        }
        let wrong = backend.send("POST", "/epics/US-1/comments", &json!({ "content": "Well" }));
        assert_eq!((wrong.status, wrong.message()), (404, "US-001 is a user story, not an epic"));
        for path in [
            "/user-stories/us-001/history".to_owned(),
            format!("/comments/{said}/history"),
            "/prompts/PROMPT-1/history".to_owned(),
        ] {
            assert_eq!(backend.get(&path).json["total_count"], 1, "{path}");
        }
    });
}

#[test]
fn what_a_request_says_twice_or_in_another_writing_is_refused() {
    on_sqlite(&[], &[], |backend, _| {
        let epic = json!({ "title": "Epic", "priority": 1 });
        backend.create("/epics", &epic);
        let json = |method: &str, path: &str| {
            backend.request(method, path).header("content-type", "application/json").body(epic.to_string())
        };
        let guarded = json("PATCH", "/epics/EP-1").header("if-match", "*").header("if-match", "\"7\"");
        let refused = send(guarded);
        assert_eq!((refused.status, refused.message()), (400, "if-match: is given twice"));
        let refused = send(json("PATCH", "/epics/EP-1").header("if-match", "\"1"));
        assert_eq!(refused.status, 400, "{}", refused.text);
        let packed = send(json("POST", "/epics").header("content-encoding", "gzip"));
        let message = "expected a body without Content-Encoding, found \"gzip\"";
        assert_eq!((packed.status, packed.message()), (415, message));
        let other =
            backend.request("POST", "/epics").header("content-type", "application/json; charset=utf-16");
        let other = send(other.body(epic.to_string()));
        assert_eq!((other.status, other.message()), (415, "expected the charset utf-8, found \"utf-16\""));
        let ours =
            backend.request("POST", "/epics").header("content-type", "application/json; charset=\"UTF-8\"");
        assert_eq!(send(ours.body(epic.to_string())).status, 201);
        // A flag alone means yes; one that is left empty says nothing.
        assert_eq!(backend.send("DELETE", "/epics/EP-1?dry_run", &json!({})).json["deleted"], false);
        let empty = backend.send("DELETE", "/epics/EP-1?force=", &json!({}));
        assert_eq!((empty.status, &empty.json["error"]["details"][0]["field"]), (400, &json!("force")));
        assert_eq!(backend.get("/epics?=1").message(), "query: expected name=value, found \"=1\"");
        let story = json!({ "epic_id": "ep-001", "title": "Story", "priority": 1 });
        assert_eq!(backend.send("POST", "/epics/EP-1/user-stories", &story).status, 201);
        let file = backend.request("POST", "/import?format=csv&content=x").header("content-type", "text/csv");
        assert_eq!(send(file.body("kind,title\n")).status, 400);
    });
}

//@= spexus://REQ-164
//@= type=test
//@# 002 R15.9: leaks can be seen in the metrics
#[test]
fn health_metrics_pages_and_the_description_are_there() {
    on_every_store(|backend| {
        assert_eq!(send(backend.anonymous("GET", "/health/live")).json["status"], "ok");
        assert_eq!(send(backend.anonymous("GET", "/health/ready")).json["status"], "ok");
        backend.get("/epics");
        let metrics = send(backend.anonymous("GET", "/metrics")).text;
        for name in [
            "spexus_requests_total",
            "list_entities",
            "spexus_request_seconds_bucket",
            // [002 R15.9]
            "spexus_resident_memory_bytes",
        ] {
            assert!(metrics.contains(name), "{metrics}");
        }
        let home = send(backend.anonymous("GET", "/"));
        assert!(home.text.contains("<h1>Spexus</h1>") && home.text.contains("Sign in"), "{}", home.text);
        let reference = send(backend.anonymous("GET", "/reference")).text;
        assert!(!reference.contains('`') && !reference.contains("Administrator or more"));
        let list =
            reference.split("id=\"list_entities\"").nth(1).and_then(|rest| rest.split("</article>").next());
        assert!(list.is_some_and(|list| !list.contains("<code>kind</code>")), "the path decides the kind");
        let description = send(backend.anonymous("GET", "/openapi.json")).json;
        assert_eq!(description["openapi"], "3.1.0");
        for entry in ops::OPERATIONS {
            assert!(
                reference.contains(&format!("id=\"{}\"", entry.name)),
                "{} is not in the reference",
                entry.name
            );
        }
    });
}

#[test]
fn text_comes_back_as_it_went_in() {
    on_every_store(|backend| {
        for text in [
            "'; drop table entity; --",
            "Ünïcødé 🦀 Требование ё\u{301}",
            "<script>alert(1)</script>",
            "\u{202e}reversed \u{7}bell",
            "$1 ?1 %s {} \\ \" ' ` \r\n\t",
        ] {
            let epic =
                backend.create("/epics", &json!({ "title": text, "priority": 1, "description": text }));
            let path = format!("/epics/{}", epic["id"].as_str().unwrap());
            let read = backend.get(&path);
            assert_eq!((&read.json["title"], &read.json["description"]), (&json!(text), &json!(text)));
        }
        let long = "ё".repeat(50_000);
        backend.create("/epics", &json!({ "title": "long", "priority": 1, "description": long }));
        let longer = backend.send(
            "POST",
            "/epics",
            &json!({ "title": "x", "priority": 1, "description": format!("{long}ё") }),
        );
        assert_eq!(longer.message(), "description: expected 0 to 50000 characters, found 50001");
    });
}

#[test]
fn spans_are_sent_when_open_telemetry_is_configured() {
    let sink = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", sink.local_addr().expect("an address"));
    let collector = std::thread::spawn(move || {
        let (mut stream, _) = sink.accept().expect("a connection");
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        while !received.windows(11).any(|part| part == b"create_epic") {
            match std::io::Read::read(&mut stream, &mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(length) => received.extend_from_slice(&buffer[..length]),
            }
        }
        let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        String::from_utf8_lossy(&received).into_owned()
    });
    on_sqlite(
        &[],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint), ("OTEL_BSP_SCHEDULE_DELAY", "50")],
        |backend, _| {
            backend.create("/epics", &json!({ "title": "Secret title", "priority": 1 }));
            while !collector.is_finished() {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        },
    );
    let received = collector.join().expect("what was sent");
    assert!(received.starts_with("POST /v1/traces"), "{received}");
    for expected in ["create_epic", "POST /epics", "spexus.request_id", "admin"] {
        assert!(received.contains(expected), "{expected} was not sent: {received}");
    }
    assert!(!received.contains("Secret title"), "a text was sent");
}

#[test]
fn pages_of_listed_origins_may_read_answers() {
    on_sqlite(&[], &[("SPEXUS_ALLOWED_ORIGINS", "https://board.example")], |backend, _| {
        let asked = |origin: &str| send(backend.request("GET", "/epics").header("origin", origin));
        assert_eq!(
            asked("https://board.example").header("access-control-allow-origin"),
            "https://board.example"
        );
        assert_eq!(asked("https://evil.example").header("access-control-allow-origin"), "");
        let preflight = backend.anonymous("OPTIONS", "/epics").header("origin", "https://board.example");
        let preflight = send(preflight.header("access-control-request-method", "POST"));
        assert!(preflight.header("access-control-allow-methods").contains("POST"), "{:?}", preflight.headers);
    });
}

#[test]
fn long_requests_tell_their_progress_to_whoever_asks() {
    on_sqlite(&[], &[], |backend, _| {
        let rows: String = (0..500).map(|number| format!("epic,Epic {number},2\n")).collect();
        let ask = |format: &str| {
            let request = backend.request("POST", &format!("/import?format={format}"));
            let answer =
                send(request.header("spexus-progress", "1").body(format!("kind,title,priority\n{rows}")));
            assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"));
            let lines = answer.text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
            lines.collect::<Vec<Value>>()
        };
        let lines = ask("csv");
        let (last, steps) = lines.split_last().expect("lines");
        assert_eq!((&last["status"], &last["body"]["created"]), (&json!(200), &json!(500)), "{last}");
        assert!(steps.iter().any(|step| step["progress"]["done"].is_u64()), "{lines:?}");
        // A refusal comes last, too, as it would have come without the header.
        let refused = ask("parchment").pop().expect("a line");
        assert_eq!(
            (&refused["status"], &refused["body"]["error"]["code"]),
            (&json!(400), &json!("VALIDATION_ERROR"))
        );
    });
}
