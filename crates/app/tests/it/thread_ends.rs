//! The thread from each of its ends, on each surface, and what cannot be cited.

use std::path::Path;

use expect_test::expect;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::{Agent, folder, write};
use crate::backend::{Backend, on_every_store};
use crate::managed::run;
use crate::web::Visitor;

const PROJECT: &str = "project = 'DEFAULT'\nrepository = 'example.org/kettle'\nreports = ['reports/*']\n\
                       [[source]]\npattern = '**/*.py'\ncomment-style = { meta = '#=', content = '##' }\n";
const CODE: &str = "class Kettle:\n    def heat(self, degrees):\n        #= spexus://REQ-001\n        \
                    ## The kettle MUST switch off at 100 degrees.\n        return degrees < 100\n\n    def whistle(self):\n        \
                    #= spexus://AC-001\n        ## It whistles when the water boils.\n        return 'whee'\n";
const TESTS: &str = "from kettle import Kettle\n\n\ndef test_heat():\n    #= spexus://REQ-001\n    #= type=test\n    \
                     ## The kettle MUST switch off at 100 degrees.\n    assert not Kettle().heat(100)\n\n\ndef test_whistle():\n    \
                     #= spexus://AC-001\n    #= type=test\n    ## It whistles when the water boils.\n    \
                     assert Kettle().whistle() == 'whee'\n";
/// What pytest writes: the tests, and what each of them executed.
const REPORT: &str = "<testsuites name=\"pytest tests\"><testsuite name=\"pytest\" tests=\"2\">\
                      <testcase classname=\"tests.test_kettle\" name=\"test_heat\"/>\
                      <testcase classname=\"tests.test_kettle\" name=\"test_whistle\"/></testsuite></testsuites>";
const COVERAGE: &str = r#"{"meta": {"show_contexts": true}, "files": {"kettle.py": {"executed_lines": [1, 2, 5, 7, 10], "missing_lines": [],
    "contexts": {"5": ["tests.test_kettle.test_heat"], "10": ["tests.test_kettle.test_whistle"]}}}}"#;

/// A checkout of the kettle.
fn checkout() -> TempDir {
    folder(&[
        (".spexus/project.toml", PROJECT),
        ("kettle.py", CODE),
        ("tests/test_kettle.py", TESTS),
        ("reports/junit.xml", REPORT),
        ("reports/coverage.json", COVERAGE),
    ])
}

/// Makes what the code cites.
fn fill(backend: &Backend) {
    let requirement = json!({
        "user_story_id": "US-001", "title": "Switch off", "priority": 1, "type_id": "Functional",
        "description": "The kettle MUST switch off at 100 degrees. The lid SHOULD stay closed.",
    });
    for (path, body) in [
        ("/epics", json!({ "title": "Kettle", "priority": 1 })),
        ("/user-stories", json!({ "epic_id": "EP-001", "title": "Boil water", "priority": 1 })),
        (
            "/acceptance-criteria",
            json!({ "user_story_id": "US-001", "description": "It whistles when the water boils." }),
        ),
        ("/requirements", requirement),
        ("/repositories", json!({ "name": "example.org/kettle", "projects": ["DEFAULT"] })),
    ] {
        backend.create(path, &body);
    }
}

fn settings(backend: &Backend) -> [(&str, &str); 2] {
    [("SPEXUS_SERVER", backend.url.as_str()), ("SPEXUS_TOKEN", backend.token.as_str())]
}

#[track_caller]
fn spexus(folder: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> String {
    let (exit, out, told) = run(folder, "spexus", arguments, settings);
    assert_eq!(exit, 0, "{arguments:?}: {out}{told}");
    out
}

/// What a thread says: each unit with its verdict, its code and its tests.
fn said(thread: &Value) -> Vec<String> {
    let items = thread["data"].as_array().expect("items");
    let places = |unit: &Value, name: &str| {
        let places = unit[name].as_array().into_iter().flatten();
        places
            .map(|place| place["place"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let said = items.iter().flat_map(|item| {
        let units = item["units"].as_array().expect("units").iter();
        units.map(move |unit| {
            let [reference, verdict] =
                [&item["reference_id"], &unit["verdict"]].map(|text| text.as_str().unwrap_or_default());
            format!("{reference} {verdict}: {} | {}", places(unit, "code"), places(unit, "tests"))
        })
    });
    said.collect()
}

#[test]
fn the_thread_is_the_same_from_every_end_on_every_surface() {
    on_every_store(|backend| {
        fill(backend);
        let checkout = checkout();
        let settings = settings(backend);
        spexus(checkout.path(), &["push"], &settings);
        let visitor = Visitor::administrator(backend);
        let mut agent =
            Agent::bridge_with(folder(&[]), backend, "2025-11-25", &[("MCP_TOOLSETS", "daily,thread")]);
        let criterion = ["AC-001 proven: kettle.py:8 | tests/test_kettle.py:12"];
        let requirement = ["REQ-001 proven: kettle.py:3 | tests/test_kettle.py:5", "REQ-001 not_run:  | "];
        let both = [&criterion[..], &requirement].concat();
        for (from, expected) in [
            ("EP-001", &both[..]),
            ("US-001", &both),
            ("AC-001", &criterion),
            ("REQ-001", &requirement),
            ("kettle.py:10", &criterion),
            ("kettle.py:5", &requirement),
            ("kettle.py", &both),
            ("tests/test_kettle.py::test_whistle", &criterion),
            ("tests/test_kettle.py::test_heat", &requirement),
        ] {
            let rest = backend.get(&format!("/thread?from={from}"));
            assert_eq!(
                (rest.status, said(&rest.json)),
                (200, expected.iter().map(|text| (*text).to_owned()).collect()),
                "{from}"
            );
            assert_eq!(said(&agent.json("get_thread", json!({ "from": from }))), said(&rest.json), "{from}");
            let printed = spexus(checkout.path(), &["--json", "thread", from], &settings);
            assert_eq!(serde_json::from_str::<Value>(&printed).expect("JSON"), rest.json, "{from}");
            let tree = spexus(checkout.path(), &["thread", from], &settings);
            let page = match from.contains(['.', '/']) {
                true => visitor.get(&format!("/p/DEFAULT/thread?from={from}")),
                false => visitor.get(&format!("/p/DEFAULT/thread/{from}")),
            };
            assert_eq!(page.status, 200, "{from}: {}", page.text);
            let places =
                expected.iter().flat_map(|line| line.split(' ')).filter(|part| part.contains(".py:"));
            for place in places {
                assert!(
                    tree.contains(place) && page.text.contains(place),
                    "{from}: {place}: {tree}{}",
                    page.text
                );
            }
            for above in ["EP-001", "US-001"] {
                assert!(
                    tree.contains(above) && page.text.contains(above),
                    "{from}: {above}: {tree}{}",
                    page.text
                );
            }
        }
        let tree = spexus(checkout.path(), &["thread", "EP-001"], &settings);
        let tree: Vec<&str> =
            tree.lines().map(|line| line.split(", pushed ").next().unwrap_or_default()).collect();
        expect![[r#"
            EP-001  Kettle
            US-001  Boil water
            AC-001  It whistles when the water boils.  verified
            └ ✓ proven     It whistles when the water boils.
                  code  kettle.py:8  Kettle.whistle
                  test  tests/test_kettle.py:12  test_whistle  passed, pytest, token
            REQ-001  Switch off  [Draft]  1 of 2 closed
            ├ ✓ proven     The kettle MUST switch off at 100 degrees.
            │     code  kettle.py:3  Kettle.heat
            │     test  tests/test_kettle.py:5  test_heat  passed, pytest, token
            └ ○ not run    The lid SHOULD stay closed.
                  open: nothing cites it
            2 requirements and criteria, 2 cited, 1 verified
            example.org/kettle refs/heads/main"#]]
        .assert_eq(&tree.join("\n"));
    });
}

#[test]
fn what_cannot_be_cited_is_told_alike_whether_it_is_hidden_or_missing() {
    on_every_store(|backend| {
        fill(backend);
        let requirement = |story: &str, text: &str| json!({ "user_story_id": story, "title": "Title", "type_id": "Functional", "priority": 1, "description": text });
        for (path, body) in [
            ("/requirements", requirement("US-001", "It MUST glow.")),
            ("/projects", json!({ "key": "HID", "name": "Hidden", "access": "members" })),
            ("/epics", json!({ "title": "Hide", "priority": 1, "project": "HID" })),
            ("/user-stories", json!({ "epic_id": "HID-EP-001", "title": "Hide", "priority": 1 })),
            ("/requirements", requirement("HID-US-001", "It MUST hide.")),
            ("/users", json!({ "username": "ann", "email": "ann@example.org", "role": "User" })),
        ] {
            backend.create(path, &body);
        }
        let both = json!({ "projects": ["DEFAULT", "HID"] });
        assert_eq!(backend.send("PATCH", "/repositories/example.org%2Fkettle", &both).status, 200);
        assert_eq!(backend.send("DELETE", "/requirements/REQ-002", &json!({})).status, 200);
        let token = backend.create("/tokens", &json!({ "name": "test", "user": "ann", "scopes": ["write"] }));
        let token = token["token"].as_str().expect("a secret");
        let settings = [("SPEXUS_SERVER", backend.url.as_str()), ("SPEXUS_TOKEN", token)];

        let checkout = checkout();
        let cited = [
            ("REQ-002", "It MUST glow."),
            ("REQ-099", "It MUST sing."),
            ("HID-REQ-001", "It MUST hide."),
            ("HID-REQ-099", "It MUST hide."),
        ];
        let citations = cited.map(|(reference, quote)| format!("#= spexus://{reference}\n## {quote}\n\n"));
        write(checkout.path(), "lid.py", &citations.concat());
        let told = |program: &str, arguments: &[&str]| {
            let (exit, out, told) = run(checkout.path(), program, arguments, &settings);
            (exit, out + &told)
        };
        let pulled = told("spexus", &["pull"]);
        assert_eq!(pulled.0, 1, "{}", pulled.1);
        for (reference, line) in [("DEFAULT/REQ-099", 4), ("HID/REQ-001", 7), ("HID/REQ-099", 10)] {
            let expected =
                format!("{reference} does not exist, or is not visible; it is cited at lid.py:{line}");
            assert!(pulled.1.contains(&expected), "{reference}: {}", pulled.1);
        }
        assert!(!checkout.path().join(".duvet/specifications/HID").exists());
        let checked = told("duvet", &["check"]);
        assert_eq!(checked.0, 1, "{}", checked.1);
        assert!(
            checked.1.contains("gone-requirement") && checked.1.contains("REQ-002 was deleted"),
            "{}",
            checked.1
        );
        for reference in ["REQ-099", "HID-REQ-001", "HID-REQ-099"] {
            assert!(
                checked.1.contains(&format!("{reference} does not exist, or is not visible")),
                "{}",
                checked.1
            );
        }
        let pushed = told("spexus", &["push"]);
        assert_eq!(pushed.0, 1, "{}", pushed.1);
        for reference in ["DEFAULT-REQ-099", "HID-REQ-001", "HID-REQ-099"] {
            let reference = reference.trim_start_matches("DEFAULT-");
            let expected = format!(
                "{reference} does not exist in a project of this repository, or is not visible; left out"
            );
            assert!(pushed.1.contains(&expected), "{}", pushed.1);
        }
        let stale = told("spexus", &["stale-citation", "list", "--reference", "REQ-002"]);
        assert!(stale.1.contains("gone") && stale.1.contains("lid.py:1"), "{}", stale.1);
        // Whoever asks for it by name hears the same of what is hidden as of what was never there.
        for arguments in [
            &["thread", "REF"][..],
            &["cite", "REF", "--file", "lid.py"],
            &["evidence", "manual", "REF", "Looked"],
            &["stale-citation", "list", "--reference", "REF"],
            &["cited-texts", "--references", "REF"],
        ] {
            let ask = |reference: &str| {
                let arguments: Vec<&str> = arguments
                    .iter()
                    .map(|argument| if *argument == "REF" { reference } else { argument })
                    .collect();
                let (exit, told) = told("spexus", &arguments);
                (exit, told.replace(reference, "REF"))
            };
            assert_eq!(ask("HID-REQ-001"), ask("HID-REQ-099"), "{arguments:?}");
        }
        let line = told("spexus", &["thread", "lid.py:8"]).1;
        assert_eq!(
            line,
            told("spexus", &["thread", "lid.py:11"]).1,
            "nothing is told of what is cited there"
        );
    });
}

#[test]
fn what_a_report_quotes_is_not_cited_there() {
    on_every_store(|backend| {
        fill(backend);
        let checkout = checkout();
        // pytest prints the source of a test that fails.
        let failed = REPORT.replace(
            "\"test_heat\"/>",
            &format!(
                "\"test_heat\"><failure message=\"assert False\">{}</failure></testcase>",
                CODE.replace('<', "&lt;")
            ),
        );
        let project = PROJECT.replace("'**/*.py'", "'**/*.*'");
        write(checkout.path(), ".spexus/project.toml", &project);
        write(checkout.path(), "reports/junit.xml", &failed);
        let settings = settings(backend);
        spexus(checkout.path(), &["push"], &settings);
        let places = || said(&backend.get("/thread?from=REQ-001").json);
        let expected = ["REQ-001 failed: kettle.py:3 | tests/test_kettle.py:5", "REQ-001 not_run:  | "];
        assert_eq!(places(), expected);
        // One that is named on the command line is not read as code either.
        write(checkout.path(), ".spexus/project.toml", &project.replace("'reports/*'", ""));
        spexus(checkout.path(), &["push", "reports/junit.xml", "reports/coverage.json"], &settings);
        assert_eq!(places(), expected);
    });
}

#[test]
fn a_test_that_reports_name_otherwise_is_found_by_the_name_in_the_project_file() {
    on_every_store(|backend| {
        fill(backend);
        let checkout = checkout();
        let renamed = REPORT.replace("name=\"test_heat\"", "name=\"heats the water\"");
        write(checkout.path(), "reports/junit.xml", &renamed);
        let settings = settings(backend);
        let (exit, _, told) = run(checkout.path(), "spexus", &["push"], &settings);
        assert!(told.contains("tests.test_kettle.heats the water: no test has this name"), "{exit} {told}");
        let verdict = || said(&backend.get("/thread?from=REQ-001").json).remove(0);
        assert!(verdict().starts_with("REQ-001 not_run"), "{}", verdict());
        let names = "[tests]\n'tests.test_kettle.heats the water' = 'tests/test_kettle.py::test_heat'\n";
        write(checkout.path(), ".spexus/project.toml", &format!("{PROJECT}{names}"));
        spexus(checkout.path(), &["push"], &settings);
        assert!(verdict().starts_with("REQ-001 p"), "{}", verdict());
    });
}

#[cfg(unix)]
#[test]
fn globs_of_reports_lead_neither_out_of_the_project_nor_in_circles() {
    let outside = folder(&[("junit.xml", REPORT)]);
    // Brackets in the name of a folder are not part of a glob.
    let above = folder(&[]);
    let root = above.path().join("[kettle]");
    for (path, text) in [
        (".spexus/project.toml", PROJECT.replace("'reports/*'", "'**/*.xml', 'away/*.xml'").as_str()),
        ("kettle.py", CODE),
        ("tests/test_kettle.py", TESTS),
        ("reports/junit.xml", REPORT),
    ] {
        write(&root, path, text);
    }
    std::os::unix::fs::symlink(outside.path(), root.join("away")).expect("a link");
    std::os::unix::fs::symlink("/", root.join("reports/all")).expect("a link");
    std::os::unix::fs::symlink(".", root.join("reports/again")).expect("a link");
    for arguments in [
        &["epic", "create", "--title", "Kettle", "--priority", "1"][..],
        &["user-story", "create", "--epic-id", "EP-001", "--title", "Boil", "--priority", "1"],
        &[
            "requirement",
            "create",
            "--user-story-id",
            "US-001",
            "--title",
            "Stop",
            "--priority",
            "1",
            "--type-id",
            "Functional",
            "--description",
            "The kettle MUST switch off at 100 degrees.",
        ],
        &["repository", "create", "example.org/kettle", "--projects", "DEFAULT"],
    ] {
        spexus(&root, arguments, &[]);
    }
    let (exit, out, told) = run(&root, "spexus", &["push"], &[]);
    assert!(told.contains("pushed: 1 test with citations, 1 passed"), "{exit} {out}{told}");
    assert!(told.contains("no report matches away/*.xml"), "{told}");
}
