//! The thread in the web application: what was pushed is seen beside the text, with its gaps; and named states are compared.

use serde_json::{Value, json};

use crate::backend::{Backend, on_every_store, on_sqlite};
use crate::web::{Visitor, fill};

/// The file with the code, and that with the tests, as hashes of their content.
const CODE: &str = "aaaaaaaaaaaaaaaa";
const TESTS: &str = "bbbbbbbbbbbbbbbb";

/// Answers of REST that must be right.
#[track_caller]
fn send(backend: &Backend, method: &str, path: &str, body: &Value) -> Value {
    let answer = backend.send(method, path, body);
    assert!((200..300).contains(&answer.status), "{path}: {}", answer.text);
    answer.json
}

fn get(backend: &Backend, path: &str) -> Value {
    let answer = backend.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json
}

/// A requirement of two sentences; code and a test cite the first of them, and the test has passed.
fn push(backend: &Backend, visitor: &Visitor<'_>) {
    fill(visitor);
    let text = json!({"description": "A card number MUST be masked <b>. It MUST NOT be logged."});
    send(backend, "PATCH", "/requirements/REQ-001", &text);
    let repository = json!({"name": "github.com/acme/shop", "projects": ["DEFAULT"]});
    backend.create("/repositories", &repository);
    let thread = get(backend, "/thread?from=REQ-001");
    let unit = thread["data"][0]["units"][0]["hash"].as_str().expect("a hash");
    let cites = |line: u32, kind: &str, symbol: &str| {
        json!({"line": line, "last_line": line + 1, "kind": kind, "reference": "DEFAULT-REQ-001", "units": [unit], "symbol": symbol,
               "covered": [line, line + 8]})
    };
    let files = [
        json!({"path": "src/pay.rs", "blob": CODE, "citations": [cites(4, "code", "mask")]}),
        json!({"path": "tests/pay.rs", "blob": TESTS, "citations": [cites(7, "test", "masks"), cites(20, "test", "masks_again")]}),
    ];
    let lines = files.map(|file| file.to_string()).join("\n");
    let pushed = json!({"content": lines, "commit": "0123456789abcdef"});
    send(backend, "POST", "/repositories/github.com%2Facme%2Fshop/trace", &pushed);
    let executed = json!({"reference": "DEFAULT-REQ-001", "unit": unit, "path": "src/pay.rs", "blob": CODE, "how": "witnessed"});
    let test = json!({"path": "tests/pay.rs", "blob": TESTS, "symbol": "masks", "outcome": "passed", "attempts": 1, "executes": [executed]});
    let run = json!({"content": test.to_string(), "tool": "nextest", "commit": "0123456789abcdef", "exit_status": 0});
    send(backend, "POST", "/repositories/github.com%2Facme%2Fshop/evidence", &run);
}

#[track_caller]
fn shows(visitor: &Visitor<'_>, path: &str, parts: &[&str]) -> String {
    let page = visitor.get(path);
    assert_eq!(page.status, 200, "{path}: {}", page.text);
    for part in parts {
        assert!(page.text.contains(part), "{path}: {part}: {}", page.text);
    }
    page.text
}

#[test]
fn code_tests_and_gaps_are_seen_beside_the_text() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        push(backend, &visitor);
        shows(&visitor, "/r/REQ-001", &["href=\"/r/REQ-001/code\"", "href=\"/r/REQ-001/tests\""]);
        let place = "<code>src/pay.rs:4</code>";
        let code = shows(
            &visitor,
            "/r/REQ-001/code",
            &[place, "class=\"mark done\"", "witnessed", "no code cites it"],
        );
        assert!(code.contains("open: nothing cites it") && !code.contains("<b>."), "{code}");
        let tests =
            ["tests/pay.rs:7", "nextest on main", "0123456789", "token", "not run", "no test cites it"];
        shows(&visitor, "/r/REQ-001/tests", &tests);
        let columns =
            ["Checkout", "Pay by card", "Mask card numbers", place, "not run", "0 of 2 verified, 1 cited"];
        shows(&visitor, "/p/DEFAULT/thread/EP-001", &columns);
        shows(&visitor, "/p/DEFAULT/thread/US-001?view=list", &[place, "Keep tokens", "no code cites it"]);
        shows(&visitor, "/p/DEFAULT/thread?from=src/pay.rs:5", &["REQ-001", "Checkout", "Pay by card"]);
        shows(&visitor, "/p/DEFAULT/thread?from=src/pay.rs:90", &["the nearest citation is src/pay.rs:4"]);
        shows(&visitor, "/p/DEFAULT/thread", &["0 of 2 verified, 1 cited"]);
        shows(
            &visitor,
            "/p/DEFAULT",
            &["0 of 2 verified, 1 cited", "/p/DEFAULT/thread?only=open", "/p/DEFAULT/stale/count"],
        );
        shows(
            &visitor,
            "/p/DEFAULT/matrix",
            &["1 of 2 sentences of REQ-001 have a citation in code", "none: no test cites REQ-002"],
        );
        let file = backend.get("/projects/DEFAULT/matrix.csv").text;
        assert!(file.contains(",code,tests,verified") && file.contains("1 of 2,1 of 2,\n"), "{file}");
        // What is closed is not open: the second sentence is tried by hand.
        let fields = [
            ("reference", "REQ-001"),
            ("unit", "2"),
            ("what", "Read the log"),
            ("_next", "/r/REQ-001/tests"),
        ];
        assert_eq!(visitor.write("add_manual_evidence", &fields), "/r/REQ-001/tests");
        shows(&visitor, "/r/REQ-001/tests", &["Read the log", "by hand, admin"]);
        let open = shows(&visitor, "/p/DEFAULT/thread/EP-001?only=open", &["REQ-002"]);
        assert!(!open.contains("Mask card numbers"), "{open}");
        shows(&visitor, "/p/DEFAULT", &["1 of 2 verified, 1 cited"]);
        // Numbers of programs are the same.
        let report = get(backend, "/reports/status?project=DEFAULT");
        let kind = &report["kinds"][3];
        assert_eq!(
            (&kind["cited"], &kind["verified"], &kind["verified_percent"]),
            (&json!(1), &json!(1), &json!(50)),
            "{report}"
        );
        let of_epic = get(backend, "/reports/status?epic_id=EP-001");
        assert_eq!(of_epic["kinds"][3]["verified"], 1, "{of_epic}");
        let tree = get(backend, "/reports/hierarchy?project=DEFAULT");
        assert_eq!(
            (&tree["n_verified"], &tree["epics"][0]["user_stories"][0]["n_cited"]),
            (&json!(1), &json!(1)),
            "{tree}"
        );
        let impact = get(backend, "/impact/US-001");
        assert_eq!((&impact["n_cited"], &impact["n_verified"]), (&json!(1), &json!(1)), "{impact}");
        let hit =
            impact["affected"].as_array().expect("hits").iter().find(|hit| hit["reference_id"] == "REQ-001");
        let thread = &hit.expect("a hit")["thread"];
        assert_eq!((&thread["with_tests"], &thread["verified"]), (&json!(1), &json!(true)), "{impact}");
        // What is obsolete counts no longer.
        send(backend, "PATCH", "/requirements/REQ-001", &json!({"status": "Active"}));
        send(backend, "PATCH", "/requirements/REQ-001", &json!({"status": "Obsolete"}));
        let report = get(backend, "/reports/status?project=DEFAULT");
        assert_eq!(report["kinds"][3]["verified"], 0, "{report}");
    });
}

#[test]
fn states_are_compared_and_stale_citations_shown_with_both_texts() {
    on_every_store(|backend| {
        let visitor = Visitor::administrator(backend);
        push(backend, &visitor);
        let fields = [("reference", "REQ-001"), ("what", "Looked"), ("_next", "/r/REQ-001")];
        visitor.write("add_manual_evidence", &fields);
        let pinned = [("project", "DEFAULT"), ("name", "Release <1>"), ("_next", "/p/DEFAULT/baselines")];
        assert_eq!(visitor.write("pin_baseline", &pinned), "/p/DEFAULT/baselines");
        let page = shows(&visitor, "/p/DEFAULT/baselines", &["Release &lt;1&gt;"]);
        let id = page
            .split("baselines?from=")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .expect("an id")
            .to_owned();
        let text = json!({"description": "A card number MUST be hidden <b>. It MUST NOT be logged."});
        send(backend, "PATCH", "/requirements/REQ-001", &text);
        let compared =
            ["1 reworded", "1 no longer verified", "<del>masked</del><ins>hidden</ins>", "to the present"];
        shows(&visitor, &format!("/p/DEFAULT/baselines?from={id}"), &compared);
        let both = format!("/p/DEFAULT/baselines?from={id}&to={id}");
        shows(&visitor, &both, &["Nothing differs."]);
        for (format, part) in [("json", "masked"), ("markdown", "masked")] {
            let file = visitor.get(&format!("/api/v1/baselines/{id}/export?project=DEFAULT&format={format}"));
            assert!(file.status == 200 && file.text.contains(part), "{format}: {}", file.text);
        }
        let stale = [
            "stale: quotes version 2",
            "<del>masked</del><ins>hidden</ins>",
            "//= spexus://REQ-001\n//# A card number MUST be hidden",
            "src/pay.rs:4",
            "github.com/acme/shop",
        ];
        shows(&visitor, "/p/DEFAULT/stale", &stale);
        shows(&visitor, "/r/REQ-001/code", &stale);
        shows(&visitor, "/p/DEFAULT/stale/count", &["3 stale citations"]);
        shows(&visitor, "/p/DEFAULT/thread/REQ-001", &["stale: quotes version 2", "no code cites it"]);
        let form = visitor.get("/operations/delete_baseline?project=DEFAULT&baseline=Release%20%3C1%3E").text;
        assert!(form.contains("Delete a baseline"), "{form}");
        let deleted = [("project", "DEFAULT"), ("baseline", id.as_str()), ("_next", "/p/DEFAULT/baselines")];
        visitor.write("delete_baseline", &deleted);
        shows(&visitor, "/p/DEFAULT/baselines", &["No state of this project has a name yet."]);
    });
}

#[test]
fn repositories_are_made_and_changed_by_administrators() {
    on_sqlite(&[], &[], |backend, _| {
        let visitor = Visitor::administrator(backend);
        let next = "/admin/repositories";
        let fields = [("name", "shop"), ("projects", "DEFAULT"), ("closes_at", "passed"), ("_next", next)];
        assert_eq!(visitor.write("create_repository", &fields), next);
        shows(
            &visitor,
            "/admin/repositories",
            &["shop", "passed", "/operations/update_repository?repository=shop&amp;projects=DEFAULT"],
        );
        // The generated form keeps what it does not change.
        let fields = [
            ("repository", "shop"),
            ("projects", "DEFAULT"),
            ("closes_at", "proven"),
            ("closing_refs", ""),
            ("expected_version", "1"),
            ("_next", next),
        ];
        visitor.write("update_repository", &fields);
        let parts = ["proven", "No citation was pushed yet.", "No test run was pushed yet."];
        shows(&visitor, "/admin/repositories?repository=shop", &parts);
        let unknown = visitor.get("/admin/repositories?repository=nowhere");
        assert_eq!(unknown.status, 404, "{}", unknown.text);
    });
}
