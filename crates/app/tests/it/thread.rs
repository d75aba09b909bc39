//! The thread from the command line: citations and test reports of a checkout are pushed, and asked for.

use std::fs;
use std::path::Path;
use std::process::Command;

use expect_test::expect;
use serde_json::json;
use tempfile::TempDir;

use crate::agent::{folder, write};
use crate::backend::on_every_store;
use crate::managed::run;

const PROJECT: &str = "project = 'DEFAULT'\nrepository = 'example.org/kettle'\nreports = ['reports/*.json', 'reports/*.info']\n\
                       [[source]]\npattern = 'src/**/*.rs'\n[[source]]\npattern = 'tests/**/*.rs'\n";
const CODE: &str = "pub fn heat(degrees: u32) -> bool {\n    //= spexus://REQ-001\n    //# The kettle MUST switch off at 100 degrees.\n    \
                    degrees < 100\n}\n\n//= spexus://REQ-001\n//# The lid SHOULD stay closed.\npub fn close() {}\n";
const TEST: &str = "#[test]\nfn switches_off() {\n    //= spexus://REQ-001\n    //= type=test\n    \
                    //# The kettle MUST switch off at 100 degrees.\n    assert!(!kettle::heat(100));\n}\n";
/// What libtest writes with `--format json`.
const REPORT: &str = "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 1 }\n\
                      { \"type\": \"test\", \"event\": \"started\", \"name\": \"switches_off\" }\n\
                      { \"type\": \"test\", \"name\": \"switches_off\", \"event\": \"ok\" }\n\
                      { \"type\": \"suite\", \"event\": \"ok\", \"passed\": 1, \"failed\": 0, \"ignored\": 0, \"measured\": 0, \
                      \"filtered_out\": 0, \"exec_time\": 0.001 }\n";
const COVERAGE: &str = "SF:src/lib.rs\nDA:1,1\nDA:4,1\nDA:9,0\nend_of_record\n";

/// A checkout whose store has a requirement, and knows the repository.
fn checkout() -> TempDir {
    let files = [
        (".spexus/project.toml", PROJECT),
        ("Cargo.toml", "[package]\nname = \"kettle\"\n"),
        ("src/lib.rs", CODE),
        ("tests/kettle.rs", TEST),
        ("reports/run.json", REPORT),
        ("reports/lcov.info", COVERAGE),
    ];
    let folder = folder(&files);
    let text = "The kettle MUST switch off at 100 degrees. The lid SHOULD stay closed.";
    for arguments in [
        &["epic", "create", "--title", "Kettle", "--priority", "1"][..],
        &["user-story", "create", "--epic-id", "EP-001", "--title", "Boil water", "--priority", "1"],
        &[
            "requirement",
            "create",
            "--user-story-id",
            "US-001",
            "--title",
            "Switch off",
            "--priority",
            "1",
            "--type-id",
            "Functional",
            "--description",
            text,
        ],
        &["repository", "create", "example.org/kettle", "--projects", "DEFAULT"],
    ] {
        let (exit, out, err) = run(folder.path(), "spexus", arguments, &[]);
        assert_eq!(exit, 0, "{arguments:?}: {out}{err}");
    }
    folder
}

fn spexus(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    run(folder, "spexus", arguments, &[])
}

/// What a thread looks like, without the time of the push.
fn thread(folder: &Path, from: &str, options: &[&str]) -> String {
    let (exit, out, err) = spexus(folder, &[&["thread", from], options].concat());
    assert_eq!(exit, 0, "{out}{err}");
    let lines = out.lines().map(|line| line.split(", pushed ").next().unwrap_or_default().to_owned() + "\n");
    lines.collect()
}

#[test]
fn a_checkout_is_pushed_and_the_thread_leads_both_ways() {
    let folder = checkout();
    let (exit, _, told) = spexus(folder.path(), &["push"]);
    assert_eq!(exit, 0, "{told}");
    expect![[r#"
        pushed: 3 citations of 1 requirement in 2 files, example.org/kettle refs/heads/main
        pushed: 1 test with citations, 1 passed
    "#]]
    .assert_eq(&told);
    let pushed = ["--ref", "refs/heads/main"];
    expect![[r#"
        EP-001  Kettle
          US-001  Boil water
        REQ-001  Switch off  [Draft]  1 of 2 closed
        ├ ✓ witnessed  The kettle MUST switch off at 100 degrees.
        │     code  src/lib.rs:2  heat
        │     test  tests/kettle.rs:3  switches_off  passed, cargo test, local
        └ ○ not run    The lid SHOULD stay closed.
              code  src/lib.rs:7  close
              open: no test cites it
        example.org/kettle refs/heads/main
    "#]]
    .assert_eq(&thread(folder.path(), "REQ-001", &pushed));
    let line = thread(folder.path(), "src/lib.rs:4", &pushed);
    assert!(line.starts_with("EP-001  Kettle\n  US-001  Boil water\nREQ-001  Switch off"), "{line}");
    let (_, _, again) = spexus(folder.path(), &["push"]);
    assert!(again.starts_with("unchanged: 3 citations"), "{again}");
    // The code changes, and what was seen of it is old.
    write(folder.path(), "src/lib.rs", &CODE.replace("degrees < 100", "degrees <= 99"));
    spexus(folder.path(), &["push", "--dry-run"]);
    assert!(thread(folder.path(), "REQ-001", &pushed).contains("✓ witnessed"));
    assert!(thread(folder.path(), "REQ-001", &[]).contains("↻ old"), "of the checkout as it is now");
    write(folder.path(), "reports/run.json", "");
    write(folder.path(), "reports/lcov.info", "");
    let (exit, _, told) = spexus(folder.path(), &["push"]);
    assert_eq!(exit, 2, "an empty report is refused: {told}");
    assert!(thread(folder.path(), "REQ-001", &pushed).contains("↻ old"));
}

#[test]
fn a_checkout_beside_its_store_needs_no_push() {
    let folder = checkout();
    let told = |from: &str| {
        let (exit, out, err) = spexus(folder.path(), &["thread", from]);
        assert_eq!(exit, 0, "{out}{err}");
        out
    };
    expect![[r#"
        EP-001  Kettle
          US-001  Boil water
        REQ-001  Switch off  [Draft]  1 of 2 closed
        ├ ✓ witnessed  The kettle MUST switch off at 100 degrees.
        │     code  src/lib.rs:2  heat
        │     test  tests/kettle.rs:3  switches_off  passed, cargo test, local
        └ ○ not run    The lid SHOULD stay closed.
              code  src/lib.rs:7  close
              open: no test cites it
        example.org/kettle refs/heads/main, as it is here now
    "#]]
    .assert_eq(&told("REQ-001"));
    let from_code = told("src/lib.rs:4");
    assert!(from_code.contains("switch off at 100 degrees.  ← here\n"), "{from_code}");
    assert_eq!(from_code.replace("  ← here", ""), told("REQ-001"), "from the code as from the requirement");
    assert!(told("EP-001").starts_with("EP-001  Kettle\n"), "{}", told("EP-001"));
    assert!(told("tests/kettle.rs::switches_off").contains("✓ witnessed"));
    assert!(told("EP-001").contains("US-001  Boil water"), "{}", told("EP-001"));
    // The test changes, and what it has shown is old until it runs again.
    write(folder.path(), "tests/kettle.rs", &TEST.replace("heat(100)", "heat(101)"));
    assert!(told("REQ-001").contains("↻ old"), "{}", told("REQ-001"));
    write(folder.path(), "reports/run.json", REPORT);
    write(folder.path(), "reports/lcov.info", COVERAGE);
    assert!(told("REQ-001").contains("✓ witnessed"), "{}", told("REQ-001"));
    // A repository that the store does not know, and that was never pushed.
    write(folder.path(), ".spexus/project.toml", &PROJECT.replace("example.org/kettle", "example.org/pot"));
    assert!(
        told("REQ-001").contains("example.org/pot refs/heads/main, as it is here now"),
        "{}",
        told("REQ-001")
    );
    assert!(told("REQ-001").contains("✓ witnessed"), "{}", told("REQ-001"));
    // What nobody sees counts for nothing: the requirement is not there.
    write(folder.path(), "src/lib.rs", &CODE.replace("REQ-001", "REQ-099"));
    assert!(!told("REQ-001").contains("src/lib.rs"), "{}", told("REQ-001"));
    let (exit, _, _) = spexus(folder.path(), &["thread", "REQ-099"]);
    assert_eq!(exit, 1);
}

#[test]
fn a_stale_citation_is_shown_with_both_versions_and_the_lines_to_write() {
    let folder = checkout();
    let text = "The kettle MUST switch off at 100 degrees. The lid SHOULD stay shut.";
    spexus(folder.path(), &["requirement", "update", "REQ-001", "--description", text]);
    let (exit, out, err) = spexus(folder.path(), &["stale-citation", "list"]);
    assert_eq!(exit, 0, "{out}{err}");
    expect![[r#"
        stale  REQ-001  Switch off  src/lib.rs:7  example.org/kettle
          version 1  The lid SHOULD stay closed.
          version 2  The lid SHOULD stay shut.
          change     The lid SHOULD stay [-closed.-]{+shut.+}
          if the code still fits, write
            //= spexus://REQ-001
            //# The lid SHOULD stay shut.
    "#]]
    .assert_eq(&out);
}

#[test]
fn a_report_links_a_test_to_what_it_verifies() {
    let folder = checkout();
    let case = |link: &str| {
        format!(
            "<testsuite name='tests' tests='1'><testcase classname='tests.test_lid' name='test_lid'><properties>\
             <property name='verifies' value='{link}'/></properties></testcase></testsuite>"
        )
    };
    let files = [
        ("tests/test_lid.py", "def test_lid():\n    assert True\n"),
        ("reports/run.json", REPORT),
        ("reports/lid.xml", &case("REQ-001")),
        (
            ".spexus/project.toml",
            &format!("{PROJECT}[[source]]\npattern = 'tests/**/*.py'\n")
                .replace("'reports/*.info'", "'reports/*.xml'"),
        ),
    ];
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    let (exit, _, told) = spexus(folder.path(), &["push"]);
    assert_eq!(exit, 0, "{told}");
    for options in [&[][..], &["--ref", "refs/heads/main"]] {
        let thread = thread(folder.path(), "REQ-001", options);
        let link = "tests/test_lid.py:1  test_lid  passed, JUnit, cargo test, local, linked by its report";
        assert_eq!(thread.matches(link).count(), 2, "it is about every unit: {thread}");
    }
    write(folder.path(), "reports/lid.xml", &case("the-lid"));
    let (exit, _, told) = spexus(folder.path(), &["push"]);
    assert_eq!(exit, 0, "{told}");
    assert!(told.contains("tests/test_lid.py::test_lid verifies \"the-lid\""), "{told}");
}

#[test]
fn a_push_tells_files_that_differ_from_their_commit() {
    let folder = checkout();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
        let settings = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")];
        let done = Command::new("git")
            .args(identity)
            .args(arguments)
            .envs(settings)
            .current_dir(folder.path())
            .output();
        assert!(done.as_ref().is_ok_and(|done| done.status.success()), "{arguments:?}: {done:?}");
        done.expect("it ran").stdout
    };
    let live = || spexus(folder.path(), &["thread", "REQ-001"]).1.contains(", changed since, as it is here");
    let head = || {
        let (exit, _, told) = spexus(folder.path(), &["evidence", "add"]);
        assert_eq!(exit, 0, "{told}");
        let (_, out, _) = spexus(folder.path(), &["--json", "thread", "REQ-001", "--ref", "refs/heads/main"]);
        let thread: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
        (thread["heads"][0]["commit"].is_string(), thread["heads"][0]["dirty"] == true)
    };
    assert_eq!(head(), (false, false), "no commit is known");
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "src", "tests"]);
    git(&["commit", "--quiet", "--message=Kettle"]);
    assert_eq!((head(), live()), ((true, false), false));
    write(folder.path(), "src/lib.rs", &format!("{CODE}// changed\n"));
    assert_eq!((head(), live()), ((true, true), true), "pushed, and as it is here");
    git(&["commit", "--quiet", "--all", "--message=Change"]);
    git(&["gc", "--quiet"]);
    assert_eq!(head(), (true, false), "from a pack");
    // A report for another commit than the one that is checked out is not of that commit.
    let name =
        |revision: &str| String::from_utf8(git(&["rev-parse", revision])).expect("a name").trim().to_owned();
    for (commit, is_other) in
        [("f".repeat(40), true), (name("HEAD~1"), true), (name("HEAD")[..8].to_owned(), false)]
    {
        let (exit, _, told) = spexus(folder.path(), &["push", "--commit", &commit]);
        assert_eq!(exit, 0, "{told}");
        let expected = format!("its files differ from {commit}, which is pushed as changed");
        assert_eq!(told.contains(&expected), is_other, "{told}");
        let (_, out, _) = spexus(folder.path(), &["--json", "thread", "REQ-001", "--ref", "refs/heads/main"]);
        let thread: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
        assert_eq!(thread["heads"][0]["dirty"] == true, is_other, "{commit}: {out}");
    }
    write(folder.path(), "src/new.rs", "");
    assert_eq!(head(), (true, true), "a file that is not in the commit");
}

#[test]
fn a_checkout_is_pushed_to_a_server() {
    on_every_store(|backend| {
        for (path, body) in [
            ("/epics", json!({"title": "Kettle", "priority": 1})),
            ("/user-stories", json!({"epic_id": "EP-001", "title": "Boil water", "priority": 1})),
            (
                "/requirements",
                json!({"user_story_id": "US-001", "title": "Switch off", "priority": 1, "type_id": "Functional",
                    "description": "The kettle MUST switch off at 100 degrees. The lid SHOULD stay closed."}),
            ),
            ("/repositories", json!({"name": "example.org/kettle", "projects": ["DEFAULT"]})),
        ] {
            backend.create(path, &body);
        }
        let folder = checkout();
        let settings = [("SPEXUS_SERVER", backend.url.as_str()), ("SPEXUS_TOKEN", backend.token.as_str())];
        let (exit, _, told) = run(folder.path(), "spexus", &["push"], &settings);
        assert_eq!(exit, 0, "{told}");
        assert!(told.contains("pushed: 1 test with citations, 1 passed"), "{told}");
        let (_, out, _) = run(folder.path(), "spexus", &["thread", "REQ-001"], &settings);
        assert!(out.contains("✓ witnessed") && out.contains("passed, cargo test, token"), "{out}");
    });
}

#[test]
fn a_push_says_what_it_cannot_do() {
    let folder = checkout();
    write(folder.path(), "src/lib.rs", &format!("{CODE}//= spexus://REQ-099\nfn x() {{}}\n"));
    let (exit, _, told) = spexus(folder.path(), &["push", "--repository", "example.org/pot"]);
    assert_eq!(exit, 1, "{told}");
    assert!(told.contains("there is no repository \"example.org/pot\""), "{told}");
    let dry = ["push", "--dry-run", "--repository", "example.org/pot"];
    assert_eq!(spexus(folder.path(), &dry), (1, String::new(), told), "a dry run refuses what a push does");
    write(folder.path(), ".spexus/project.toml", "project = 'DEFAULT'\n");
    let (exit, _, told) = spexus(folder.path(), &["push"]);
    assert_eq!(exit, 2, "{told}");
    assert!(told.contains("which repository is this?"), "{told}");
    write(folder.path(), ".spexus/project.toml", "project = 'DEFAULT'\nrepositry = 'x'\n");
    let (exit, _, told) = spexus(folder.path(), &["thread", "REQ-001"]);
    assert_eq!(exit, 0, "{told}");
    assert!(told.contains(".spexus/project.toml:2") && told.contains("repositry"), "{told}");
}

#[test]
fn paths_of_a_report_are_relative_to_the_root_or_to_its_folder() {
    let folder = checkout();
    fs::create_dir(folder.path().join("part")).expect("a folder can be made");
    fs::rename(folder.path().join("src"), folder.path().join("part/src")).expect("a folder can be moved");
    let project =
        PROJECT.replace("'src/**/*.rs'", "'part/src/**/*.rs'").replace("reports/*.info", "part/*.info");
    for (path, text) in [
        (".spexus/project.toml", project.as_str()),
        ("reports/run.json", REPORT),
        ("part/lcov.info", COVERAGE),
    ] {
        write(folder.path(), path, text);
    }
    let (exit, _, told) = spexus(folder.path(), &["push"]);
    assert_eq!(exit, 0, "{told}");
    assert!(thread(folder.path(), "REQ-001", &["--ref", "main"]).contains("✓ witnessed"));
    let (_, _, told) = spexus(folder.path(), &["push", "reports/run.json", "reports/lcov.info"]);
    let expected =
        "reports/lcov.info: no file that it names is a source of the project, such as src/lib.rs; its paths";
    assert!(told.contains(expected), "{told}");
    let pipe = folder.path().join("reports/pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let (exit, _, told) = spexus(folder.path(), &["push", "reports/pipe.json"]);
    assert!(exit == 2 && told.contains("reports/pipe.json: expected a file"), "nobody waits for it: {told}");
    let (exit, _, told) = spexus(folder.path(), &["push"]);
    assert_eq!(exit, 0, "what a pattern matches beside files is left out: {told}");
    let (exit, _, told) = spexus(folder.path(), &["push", "--ref", ""]);
    assert!(exit == 2 && told.contains("--ref"), "{told}");
}

#[test]
fn a_failure_that_may_be_of_several_tests_leaves_none_closed() {
    let folder = checkout();
    let test = "#= spexus://REQ-001\n#= type=test\n## The lid SHOULD stay closed.\ndef test_lid():\n    assert True\n";
    for part in ["one", "two"] {
        write(folder.path(), &format!("{part}/test_lid.py"), test);
    }
    let source = "[[source]]\npattern = '*/test_*.py'\ncomment-style = { meta = '#=', content = '##' }\n";
    write(folder.path(), ".spexus/project.toml", &format!("{PROJECT}{source}"));
    let report = |outcome: &str| {
        let name = "<testsuites><testsuite name='pytest'><testcase classname='test_lid' name='test_lid'>";
        write(
            folder.path(),
            "reports/lid.xml",
            &format!("{name}{outcome}</testcase></testsuite></testsuites>"),
        );
        write(folder.path(), "reports/run.json", REPORT);
        spexus(folder.path(), &["push", "reports/lid.xml", "reports/run.json"])
    };
    let (exit, _, told) = report("");
    assert_eq!(exit, 1, "{told}");
    let several = "test_lid.test_lid: several match: one/test_lid.py:1 test_lid, two/test_lid.py:1 test_lid";
    assert!(told.contains(several) && !told.contains("incomplete"), "{told}");
    let (exit, _, told) = report("<failure message='open'/>");
    assert_eq!(exit, 1, "{told}");
    let open = "the run is incomplete and closes nothing: test_lid.test_lid is failed, and which test it is is not known";
    assert!(told.contains(several) && told.contains(open), "{told}");
}

#[test]
fn the_policy_of_a_checkout_holds_where_no_store_knows_its_repository() {
    let folder = checkout();
    let project = PROJECT.replace("repository = 'example.org/kettle'\n", "");
    for (policy, mark) in [
        ("", "✓"),
        ("trust = 'oidc'", "◐"),
        ("refs = ['refs/heads/release']", "◐"),
        ("closes = 'proven'", "◐"),
    ] {
        write(folder.path(), ".spexus/project.toml", &format!("{project}[policy]\n{policy}\n"));
        write(folder.path(), "reports/run.json", REPORT);
        write(folder.path(), "reports/lcov.info", COVERAGE);
        let thread = thread(folder.path(), "REQ-001", &[]);
        assert!(thread.contains(&format!("{mark} witnessed")), "{policy}: {thread}");
    }
}

#[test]
fn lines_of_a_push_need_no_format() {
    let folder = checkout();
    write(folder.path(), "trace.jsonl", "{\"path\": \"a.rs\", \"blob\": \"aaaaaaaa\"}\n");
    let (exit, out, told) = spexus(folder.path(), &["trace", "push", "example.org/kettle", "trace.jsonl"]);
    assert!(exit == 0 && out.contains("n_files      1"), "{out}{told}");
}
