//! `spexus check`: a change fails for what it makes worse, and for nothing else.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::expect;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::{Agent, folder, text, write};
use crate::managed::run;
use crate::process::clean;

pub const PROJECT: &str = "project = 'DEFAULT'\nrepository = 'example.org/kettle'\n[[source]]\npattern = 'src/**/*.rs'\n\
                       [[source]]\npattern = 'tests/**/*.rs'\n";
const REPORTS: &str = "reports = ['reports/*.json', 'reports/*.info']\n";
pub const CODE: &str = "pub fn heat(degrees: u32) -> bool {\n    //= spexus://REQ-001\n    //# The kettle MUST switch off at 100 degrees.\n    \
                    degrees < 100\n}\n\npub fn pour() {}\n";
pub const TEST: &str = "#[test]\nfn switches_off() {\n    //= spexus://REQ-001\n    //= type=test\n    \
                    //# The kettle MUST switch off at 100 degrees.\n    assert!(!kettle::heat(100));\n}\n";
const TEXT: &str = "The kettle MUST switch off at 100 degrees. The lid SHOULD stay closed.";
pub const STALE: &str = "//= spexus://REQ-001\n//# The kettle MUST switch off at 90 degrees.\nfn old() {}\n";
const LID: &str = "//= spexus://REQ-001\n//# The lid SHOULD stay closed.\nfn lid() {}\n";

/// A repository with a requirement in its store, on a branch beside main.
pub struct Checkout {
    folder: TempDir,
}

impl Checkout {
    /// One with these files in its first commit.
    pub fn with(files: &[(&str, &str)]) -> Checkout {
        let usual =
            [("Cargo.toml", "[package]\nname = \"kettle\"\n"), (".gitignore", "/data\n/reports\n/.cache\n")];
        let checkout = Checkout { folder: folder(&[&usual[..], files].concat()) };
        for arguments in [
            &["epic", "create", "--title", "Kettle", "--priority", "1"][..],
            &["user-story", "create", "--epic-id", "EP-001", "--title", "Boil water", "--priority", "1"],
        ] {
            checkout.spexus(arguments);
        }
        for text in [&TEXT.replace("100", "90"), "A pot MUST have a handle."] {
            let fixed =
                ["--title", "Switch off", "--priority", "1", "--type-id", "Functional", "--description"];
            checkout.spexus(
                &[&["requirement", "create", "--user-story-id", "US-001"], &fixed[..], &[text]].concat(),
            );
        }
        checkout.spexus(&["requirement", "update", "REQ-001", "--description", TEXT]);
        checkout.spexus(&["repository", "create", "example.org/kettle", "--projects", "DEFAULT"]);
        checkout.git(&["init", "--quiet", "--initial-branch=main"]);
        checkout.commit("Kettle");
        checkout.git(&["checkout", "--quiet", "-b", "change"]);
        checkout
    }

    fn new() -> Checkout {
        Checkout::with(&[(".spexus/project.toml", PROJECT), ("src/lib.rs", CODE), ("tests/kettle.rs", TEST)])
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, path: &str, text: &str) {
        write(self.root(), path, text);
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).expect("it is there");
    }

    #[track_caller]
    pub fn spexus(&self, arguments: &[&str]) {
        let (exit, out, err) = run(self.root(), "spexus", arguments, &[]);
        assert_eq!(exit, 0, "{arguments:?}: {out}{err}");
    }

    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        git(self.root(), arguments)
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// What the check says, and how it ends.
    fn check(&self, arguments: &[&str]) -> (i32, String) {
        check_in(self.root(), arguments)
    }

    /// Checks that nothing is worse.
    #[track_caller]
    fn passes(&self, arguments: &[&str]) -> String {
        let (exit, told) = self.check(arguments);
        assert_eq!(exit, 0, "{told}");
        told
    }

    /// Checks that something is, and returns the rules with their places.
    #[track_caller]
    fn fails(&self, arguments: &[&str]) -> Vec<String> {
        let (exit, told) = self.check(&[&["--format", "json"], arguments].concat());
        assert_eq!(exit, 1, "{told}");
        let found: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
        let failing =
            found["findings"].as_array().expect("a list").iter().filter(|finding| finding["fails"] == true);
        let shown = |finding: &Value| {
            let line = finding["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
            format!(
                "{} {}{line} {}",
                finding["rule"].as_str().unwrap(),
                finding["file"].as_str().unwrap(),
                finding["subject"].as_str().unwrap()
            )
        };
        failing.map(shown).collect()
    }

    /// Takes back what was changed since the last commit.
    fn restore(&self) {
        self.git(&["checkout", "--quiet", "--", "."]);
        self.git(&["clean", "--quiet", "-fd"]);
    }
}

/// Runs git, as somebody without settings of their own.
#[track_caller]
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let identity =
        ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "protocol.file.allow=always"];
    let settings = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")];
    let done = Command::new("git").args(identity).args(arguments).envs(settings).current_dir(folder).output();
    assert!(done.as_ref().is_ok_and(|done| done.status.success()), "{arguments:?}: {done:?}");
    String::from_utf8(done.expect("it was done").stdout).expect("UTF-8").trim().to_owned()
}

fn check_in(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let (exit, out, err) = run(folder, "spexus", &[&["check"], arguments].concat(), &[]);
    (exit, out + &err)
}

#[test]
fn a_stale_citation_fails_the_change_that_writes_it_alone() {
    let checkout =
        Checkout::with(&[(".spexus/project.toml", PROJECT), ("src/lib.rs", CODE), ("src/old.rs", STALE)]);
    let told = checkout.passes(&[]);
    assert!(told.starts_with("nothing is worse: 0 source files changed; "), "{told}");
    // What was stale before does not fail, wherever it moves.
    checkout.write("src/old.rs", &format!("fn more() {{}}\n\n{STALE}"));
    checkout.passes(&[]);
    checkout.remove("src/old.rs");
    checkout.write("src/renamed.rs", STALE);
    checkout.passes(&[]);
    checkout.restore();
    checkout.write("src/copy.rs", &format!("fn new() {{}}\n\n{STALE}"));
    assert_eq!(checkout.fails(&[]), ["stale-citation src/copy.rs:4 REQ-001"]);
    let (_, told) = checkout.check(&[]);
    let (lines, end) =
        told.rsplit_once("1 finding: 1 source file changed, 1 requirement touched; ").expect("a summary");
    assert!(end.contains(" compared with main ("), "{told}");
    expect![[r#"
        src/copy.rs:4: stale-citation: REQ-001 changed in version 2: this quote is from version 1
            the difference is: The kettle MUST switch off at [-90-]{+100+} degrees.
            write instead:
            //= spexus://REQ-001
            //# The kettle MUST switch off at 100 degrees.
        touched: REQ-001: The kettle MUST switch off at 90 degrees.; src/copy.rs:3 (old)
        note: evidence was not judged: no run of a test is known, and `reports` in .spexus/project.toml names none
    "#]]
    .assert_eq(lines);
    checkout.commit("Copy");
    assert_eq!(checkout.fails(&[]), ["stale-citation src/copy.rs:4 REQ-001"], "committed or not");
    checkout.passes(&["--base", "HEAD"]);
    assert_eq!(checkout.fails(&["--base", "HEAD~1"]).len(), 1);
    // An outdated pin is told like an outdated quote.
    checkout.write("src/pin.rs", "//= spexus://REQ-001@1\nfn pin() {}\n");
    assert_eq!(checkout.fails(&["--base", "HEAD"]), ["stale-citation src/pin.rs:1 REQ-001"]);
}

#[test]
fn a_broken_citation_fails_the_change_that_breaks_it() {
    let broken = "//= spexus://REQ-001\n//# The kettle MUST sing.\nfn sing() {}\n";
    let checkout =
        Checkout::with(&[(".spexus/project.toml", PROJECT), ("src/lib.rs", CODE), ("src/sing.rs", broken)]);
    checkout.write("src/sing.rs", &format!("{broken}fn more() {{}}\n"));
    checkout.passes(&[]);
    checkout.write("src/lib.rs", &CODE.replace("100 degrees.", "100 degree."));
    assert_eq!(checkout.fails(&[]), ["broken-citation src/lib.rs:3 REQ-001"]);
    checkout.write("src/lib.rs", &CODE.replace("REQ-001", "REQ-099"));
    let found = checkout.fails(&[]);
    assert!(found[0].starts_with("broken-citation src/lib.rs:2 REQ-099"), "{found:?}");
    checkout.write("src/lib.rs", &CODE.replace("//# The", "//= tipe=test\n    //# The"));
    let found = checkout.fails(&[]);
    assert!(found[0].starts_with("broken-citation src/lib.rs:3"), "{found:?}");
    checkout.restore();
    // A citation of what became obsolete was as wrong before.
    checkout.spexus(&["requirement", "update", "REQ-001", "--status", "Obsolete"]);
    checkout.write("src/lib.rs", &CODE.replace("pour", "fill"));
    checkout.passes(&[]);
    checkout.write("src/new.rs", "//= spexus://REQ-001\n//# The lid SHOULD stay closed.\nfn lid() {}\n");
    assert_eq!(checkout.fails(&[]), ["broken-citation src/new.rs:1 REQ-001"]);
}

#[test]
fn the_last_citation_of_a_requirement_is_missed() {
    let pot = "fn pot() {}\n\n//= spexus://REQ-002\n//# A pot MUST have a handle.\nfn handle() {}\n";
    let checkout = Checkout::with(&[
        (".spexus/project.toml", PROJECT),
        ("src/lib.rs", CODE),
        ("src/pot.rs", pot),
        ("src/lid.rs", LID),
    ]);
    checkout.write("src/pot.rs", "fn pot() {}\n\nfn handle() {}\n");
    assert_eq!(checkout.fails(&[]), ["removed-citation src/pot.rs:3 REQ-002"]);
    let (_, told) = checkout.check(&[]);
    assert!(
        told.contains(
            "nothing cites REQ-002 any more: its last citation was at src/pot.rs:3: A pot MUST have a handle."
        ),
        "{told}"
    );
    checkout.remove("src/pot.rs");
    assert_eq!(checkout.fails(&[]), ["removed-citation src/pot.rs REQ-002"]);
    // It is somewhere else, or was not the last.
    checkout.write("src/handle.rs", pot);
    checkout.passes(&[]);
    checkout.restore();
    checkout.remove("src/lid.rs");
    checkout.passes(&[]);
    checkout.restore();
    // A note that it is still to be done does not implement it.
    checkout.write("src/pot.rs", &pot.replace("//# A", "//= type=todo\n//# A"));
    assert_eq!(checkout.fails(&[]), ["removed-citation src/pot.rs:3 REQ-002"]);
    // What does not hold any more need not be cited.
    checkout.spexus(&["requirement", "update", "REQ-002", "--status", "Obsolete"]);
    checkout.write("src/pot.rs", "fn pot() {}\n");
    checkout.passes(&[]);
}

/// What libtest writes with `--format json`.
fn libtest(outcome: &str) -> String {
    let n = |is: &str| u8::from(outcome == is);
    format!(
        "{{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 1 }}\n\
         {{ \"type\": \"test\", \"event\": \"started\", \"name\": \"switches_off\" }}\n\
         {{ \"type\": \"test\", \"name\": \"switches_off\", \"event\": \"{outcome}\" }}\n\
         {{ \"type\": \"suite\", \"event\": \"{outcome}\", \"passed\": {}, \"failed\": {}, \"ignored\": 0, \"measured\": 0, \
         \"filtered_out\": 0, \"exec_time\": 0.001 }}\n",
        n("ok"),
        n("failed"),
    )
}

fn coverage(executed: &[u32], not: &[u32]) -> String {
    let line = |line: &u32, hits: u8| format!("DA:{line},{hits}\n");
    let lines: String =
        executed.iter().map(|at| line(at, 1)).chain(not.iter().map(|at| line(at, 0))).collect();
    format!("SF:src/lib.rs\n{lines}end_of_record\n")
}

#[test]
fn evidence_fails_the_change_that_loses_it() {
    let project =
        PROJECT.replace("[[source]]\npattern = 'src", &format!("{REPORTS}[[source]]\npattern = 'src"));
    let checkout = Checkout::with(&[
        (".spexus/project.toml", &project),
        ("src/lib.rs", CODE),
        ("tests/kettle.rs", TEST),
    ]);
    let ran = |outcome: &str, executed: &[u32], not: &[u32]| {
        checkout.write("reports/run.json", &libtest(outcome));
        checkout.write("reports/lcov.info", &coverage(executed, not));
    };
    ran("ok", &[1, 4], &[7]);
    checkout.spexus(&["push"]);
    checkout.passes(&[]);
    // The code changes after the tests ran.
    let changed = CODE.replace("degrees < 100", "degrees <= 99");
    checkout.write("src/lib.rs", &changed);
    assert_eq!(checkout.fails(&[]), ["old-evidence src/lib.rs:2 REQ-001"]);
    ran("ok", &[1, 4], &[7]);
    checkout.passes(&[]);
    ran("failed", &[1, 4], &[7]);
    assert_eq!(checkout.fails(&[]), ["failed-evidence src/lib.rs:2 REQ-001"]);
    // Coverage is missed: the base was witnessed, and this has only passed.
    checkout.write("reports/run.json", &libtest("ok"));
    checkout.remove("reports/lcov.info");
    assert_eq!(checkout.fails(&[]), ["missing-evidence src/lib.rs:2 REQ-001"]);
    let (_, told) = checkout.check(&[]);
    assert!(told.contains("the policy closes at witnessed; no coverage report shows"), "{told}");
    // A changed line of cited code is not executed, though the rest of it is.
    checkout.write(
        "src/lib.rs",
        &CODE.replace(
            "    degrees < 100\n",
            "    if degrees > 200 {\n        return false;\n    }\n    degrees < 100\n",
        ),
    );
    ran("ok", &[1, 4, 7], &[5, 10]);
    assert_eq!(checkout.fails(&[]), ["untested-change src/lib.rs:5 REQ-001"]);
    // Code that cites nothing may change as it likes.
    checkout.write("src/lib.rs", &CODE.replace("pour() {}", "pour() {\n    todo!()\n}"));
    ran("ok", &[1, 4], &[7, 8]);
    let told = checkout.passes(&[]);
    assert!(!told.contains("touched"), "{told}");
    // The test is removed.
    checkout.restore();
    checkout.remove("tests/kettle.rs");
    ran("ok", &[1, 4], &[7]);
    assert_eq!(checkout.fails(&[]), ["missing-evidence tests/kettle.rs REQ-001"]);
    // A new citation needs evidence of its own.
    checkout.restore();
    checkout.write("src/lid.rs", LID);
    ran("ok", &[1, 4], &[7]);
    assert_eq!(checkout.fails(&[]), ["missing-evidence src/lid.rs:1 REQ-001"]);
    checkout.commit("Lid");
    checkout.write("src/lid.rs", &format!("{LID}// more\n").replace("lid()", "lid2()"));
    ran("ok", &[1, 4], &[7]);
    checkout.passes(&["--base", "HEAD"]);
    checkout.write("reports/run.json", "");
    let (exit, told) = checkout.check(&["--base", "HEAD"]);
    assert_eq!(exit, 2, "a report that cannot be read is not green: {told}");
}

#[test]
fn a_flaky_test_fails_the_change_that_makes_it_so() {
    let project = PROJECT
        .replace("[[source]]\npattern = 'src", "reports = ['reports/*.xml']\n[[source]]\npattern = 'src");
    let checkout = Checkout::with(&[
        (".spexus/project.toml", &project),
        ("src/lib.rs", CODE),
        ("tests/kettle.rs", TEST),
    ]);
    let case = |inside: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<testsuites name=\"nextest-run\" tests=\"1\" failures=\"0\" errors=\"0\">\n\
             <testsuite name=\"kettle::kettle\" tests=\"1\" disabled=\"0\" errors=\"0\" failures=\"0\">\n\
             <testcase name=\"switches_off\" classname=\"kettle::kettle\" time=\"0.1\">{inside}</testcase>\n</testsuite></testsuites>\n"
        )
    };
    let flaky = case("<flakyFailure type=\"test failure\">x</flakyFailure>");
    checkout.write("src/lib.rs", &CODE.replace("degrees < 100", "degrees <= 99"));
    checkout.write("reports/run.xml", &flaky);
    assert_eq!(checkout.fails(&[]), ["flaky-evidence src/lib.rs:2 REQ-001"]);
    // It was flaky before.
    checkout.restore();
    checkout.write("reports/run.xml", &flaky);
    checkout.spexus(&["push"]);
    checkout.write("src/lib.rs", &CODE.replace("degrees < 100", "degrees <= 99"));
    checkout.write("reports/run.xml", &flaky);
    checkout.passes(&[]);
}

/// What libtest writes of tests that ended like this.
fn libtest_of(tests: &[(&str, &str)]) -> String {
    let n = |is: &str| tests.iter().filter(|(_, outcome)| *outcome == is).count();
    let ended = if n("failed") > 0 { "failed" } else { "ok" };
    let cases: String = tests
        .iter()
        .map(|(name, outcome)| {
            format!(
                "{{\"type\":\"test\",\"event\":\"started\",\"name\":\"{name}\"}}\n\
                 {{\"type\":\"test\",\"name\":\"{name}\",\"event\":\"{outcome}\"}}\n"
            )
        })
        .collect();
    format!(
        "{{\"type\":\"suite\",\"event\":\"started\",\"test_count\":{}}}\n{cases}{{\"type\":\"suite\",\"event\":\"{ended}\",\
         \"passed\":{},\"failed\":{},\"ignored\":0,\"measured\":0,\"filtered_out\":0,\"exec_time\":0.001}}\n",
        tests.len(),
        n("ok"),
        n("failed"),
    )
}

const EXPORT: &str = "A celery task MUST export the invoices of the user who asked.";

/// A checkout whose second requirement, which nothing cites, is one that a pattern of the library is about.
fn threatened() -> Checkout {
    let project = format!("reports = ['reports/*.json']\n{PROJECT}[policy]\ncloses = 'passed'\n");
    let checkout = Checkout::with(&[
        (".spexus/project.toml", &project),
        ("src/lib.rs", CODE),
        ("tests/kettle.rs", TEST),
    ]);
    checkout.spexus(&["requirement", "update", "REQ-002", "--title", "Export", "--description", EXPORT]);
    checkout.spexus(&["repository", "update", "example.org/kettle", "--closes-at", "passed"]);
    checkout
}

fn cites(reference: &str, text: &str, kind: &str, function: &str) -> String {
    format!("//= spexus://{reference}\n{kind}//# {text}\nfn {function}() {{\n    run();\n}}\n")
}

#[test]
fn an_open_threat_fails_the_change_that_opens_it() {
    let checkout = threatened();
    let test = |reference: &str, text: &str, name: &str| {
        let cited = cites(reference, text, "//= type=test\n", name);
        cited.replace(&format!("fn {name}"), &format!("#[test]\nfn {name}"))
    };
    let ran = |tests: &[(&str, &str)]| checkout.write("reports/run.json", &libtest_of(tests));
    checkout.write("src/export.rs", &cites("REQ-002", EXPORT, "", "export"));
    checkout.write("tests/export.rs", &test("REQ-002", EXPORT, "exports"));
    ran(&[("switches_off", "ok"), ("exports", "ok")]);
    // Nobody has decided: that is told, and fails only whoever asks for it.
    let told = checkout.passes(&[]);
    assert!(
        told.contains(
            "src/export.rs:1: new-threat: REQ-002: threat TMKB-AUTHZ-001 (critical, Background job runs without the requester's \
             authority): nobody has decided whether it applies\n    decide: spexus threat decide REQ-002 TMKB-AUTHZ-001 "
        ),
        "{told}"
    );
    let denied = checkout.fails(&["--deny", "new-threat"]);
    assert_eq!(denied[0], "new-threat src/export.rs:1 REQ-002");
    let (exit, markdown) = checkout.check(&["--format", "markdown"]);
    assert!(exit == 0 && markdown.contains("<summary>2 open threats</summary>"), "{markdown}");
    let criterion = "A job of somebody else ends without effect.";
    let criteria = json!([{ "description": criterion }]).to_string();
    checkout.spexus(&[
        "threat",
        "decide",
        "REQ-002",
        "TMKB-AUTHZ-018",
        "not_applicable",
        "--reason",
        "No file.",
    ]);
    checkout.spexus(&["threat", "decide", "REQ-002", "TMKB-AUTHZ-001", "applies", "--criteria", &criteria]);
    assert_eq!(checkout.fails(&[]), ["open-threat src/export.rs:1 REQ-002"]);
    let (_, told) = checkout.check(&[]);
    assert!(
        told.contains("it applies, and evidence does not close it: AC-001: nothing cites it\n"),
        "{told}"
    );
    // A first test of a criterion makes nothing worse, though the threat is still open.
    checkout.commit("Export");
    checkout.write("tests/more.rs", &test("AC-001", criterion, "more"));
    ran(&[("switches_off", "ok"), ("exports", "ok"), ("more", "ignored")]);
    assert_eq!(checkout.fails(&["--base", "HEAD"]), ["missing-evidence tests/more.rs:1 AC-001"]);
    checkout.remove("tests/more.rs");
    // Evidence closes it, and nothing else.
    checkout.write("tests/rights.rs", &test("AC-001", criterion, "ends"));
    ran(&[("switches_off", "ok"), ("exports", "ok"), ("ends", "failed")]);
    assert_eq!(
        checkout.fails(&[]),
        ["failed-evidence tests/rights.rs:1 AC-001", "open-threat src/export.rs:1 REQ-002"]
    );
    ran(&[("switches_off", "ok"), ("exports", "ok"), ("ends", "ok")]);
    let told = checkout.passes(&[]);
    assert!(!told.contains("threat"), "{told}");
    checkout.spexus(&["push"]);
    checkout.commit("Rights");
    // Whoever breaks the test opens the threat, also where only the criterion is touched.
    checkout.write("tests/rights.rs", &test("AC-001", criterion, "ends").replace("run()", "stop()"));
    ran(&[("switches_off", "ok"), ("exports", "ok"), ("ends", "failed")]);
    assert_eq!(
        checkout.fails(&["--base", "HEAD"]),
        ["failed-evidence tests/rights.rs:1 AC-001", "open-threat tests/rights.rs:1 REQ-002"]
    );
    // It was open before: whoever touches something else of it does not answer for it.
    checkout.spexus(&["push"]);
    checkout.commit("Broken");
    checkout.write("src/export.rs", &cites("REQ-002", EXPORT, "", "export").replace("run()", "start()"));
    ran(&[("switches_off", "ok"), ("exports", "ok"), ("ends", "failed")]);
    checkout.passes(&["--base", "HEAD"]);
}

#[test]
fn a_lease_fails_for_what_its_work_has_to_show() {
    let checkout = threatened();
    checkout.write("reports/run.json", &libtest_of(&[("switches_off", "ok")]));
    checkout.passes(&[]);
    checkout.spexus(&["next", "--under", "REQ-002"]);
    // Nothing has changed, and the work is not done.
    assert_eq!(checkout.fails(&["--lease", "REQ-002.1"]), ["missing-evidence .spexus/project.toml REQ-002"]);
    let (_, told) = checkout.check(&["--lease", "REQ-002.1"]);
    assert!(
        told.contains("REQ-002: nothing cites it; the work of REQ-002.1 is done once it is closed"),
        "{told}"
    );
    checkout.write("src/export.rs", &cites("REQ-002", EXPORT, "", "export"));
    assert_eq!(checkout.fails(&["--lease", "REQ-002.1"]), ["missing-evidence src/export.rs:1 REQ-002"]);
    let test =
        cites("REQ-002", EXPORT, "//= type=test\n", "exports").replace("fn exports", "#[test]\nfn exports");
    checkout.write("tests/export.rs", &test);
    checkout.write("reports/run.json", &libtest_of(&[("switches_off", "ok"), ("exports", "ok")]));
    checkout.passes(&["--lease", "REQ-002.1"]);
    // The work of somebody else, of nobody, and what is no lease.
    for (arguments, why) in [
        (&["--lease", "REQ-002.9"][..], "REQ-002.9"),
        (&["--lease", "REQ-099.1"][..], "REQ-099"),
        (&["--lease", "REQ-002"][..], "expected a lease such as REQ-012.3, found \"REQ-002\""),
        (&["--lease", "REQ-002.1", "--diff", "-"][..], "cannot be used with"),
    ] {
        let (exit, told) = checkout.check(arguments);
        assert!(exit == 2 && told.contains(why), "{arguments:?}: {told}");
    }
    checkout.spexus(&["work", "release", "REQ-002.1"]);
    let (exit, told) = checkout.check(&["--lease", "REQ-002.1"]);
    assert!(exit == 2 && told.contains("cannot tell: REQ-002.1 ended at "), "{told}");
}

#[test]
fn work_is_not_finished_by_a_change_that_makes_something_worse() {
    let checkout = threatened();
    checkout.spexus(&["repository", "update", "example.org/kettle", "--closing-refs", "refs/heads/change"]);
    checkout.spexus(&["next", "--under", "REQ-002", "--paths", "src/export.rs"]);
    let test =
        cites("REQ-002", EXPORT, "//= type=test\n", "exports").replace("fn exports", "#[test]\nfn exports");
    checkout.write("src/export.rs", &cites("REQ-002", EXPORT, "", "export"));
    checkout.write("tests/export.rs", &test);
    checkout.write("reports/run.json", &libtest_of(&[("switches_off", "ok"), ("exports", "ok")]));
    let finish = |more: &[&str]| {
        run(checkout.root(), "spexus", &[&["work", "finish", "REQ-002.1", "--json"], more].concat(), &[])
    };
    // All that was asked for is closed; what the change breaks beside is in the way.
    checkout.write("src/copy.rs", STALE);
    let (exit, told, err) = finish(&[]);
    assert_eq!(exit, 0, "{err}");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((&told["finished"], &told["missing"]), (&json!(false), &Value::Null), "{told}");
    assert_eq!(told["findings"][0]["rule"], "stale-citation", "{told}");
    assert_eq!(told["findings"][0]["place"], "src/copy.rs:2", "{told}");
    let (exit, told, err) = finish(&["--base", "nothing"]);
    assert!(exit != 0 && told.contains("base: there is no commit"), "{told}{err}");
    // In a file of other work it is for that to mend.
    checkout.spexus(&["next", "--under", "REQ-001"]);
    let (_, told, err) = finish(&[]);
    let told: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {err}"));
    assert_eq!(told["finished"], true, "{told}");
    assert!(
        told["notes"].to_string().contains("what is worse in the files of REQ-001.1 was left out"),
        "{told}"
    );
}

#[test]
fn weakening_the_policy_is_a_finding_and_changes_nothing() {
    let project = format!("{PROJECT}[policy]\ncloses = 'witnessed'\n");
    let checkout =
        Checkout::with(&[(".spexus/project.toml", &project), ("src/lib.rs", CODE), ("src/old.rs", LID)]);
    checkout.write(".spexus/project.toml", &project.replace("witnessed", "passed"));
    assert_eq!(checkout.fails(&[]), ["weakened-policy .spexus/project.toml .spexus/project.toml"]);
    // The files that it leaves out are checked all the same.
    checkout.write(".spexus/project.toml", &project.replace("src/**/*.rs", "lib/**/*.rs"));
    checkout.write("src/lib.rs", &CODE.replace("100 degrees.", "100 degree."));
    assert_eq!(
        checkout.fails(&[]),
        ["weakened-policy .spexus/project.toml .spexus/project.toml", "broken-citation src/lib.rs:3 REQ-001"]
    );
    checkout.restore();
    checkout.write(".spexus/project.toml", &project.replace("witnessed", "proven"));
    checkout.passes(&[]);
}

#[test]
fn a_change_is_compared_with_what_both_sides_have_in_common() {
    let checkout = Checkout::new();
    checkout.write("src/mine.rs", LID);
    checkout.commit("Mine");
    // Meanwhile somebody else breaks main, which is not ours to answer for.
    checkout.git(&["checkout", "--quiet", "main"]);
    checkout.write("src/theirs.rs", STALE);
    checkout.commit("Theirs");
    checkout.git(&["tag", "-a", "v1", "-m", "v1"]);
    checkout.git(&["checkout", "--quiet", "change"]);
    checkout.passes(&["--base", "main"]);
    // By whatever name, also from packed refs, and where a commit is checked out by itself.
    checkout.git(&["pack-refs", "--all"]);
    checkout.git(&["gc", "--quiet"]);
    checkout.git(&["checkout", "--quiet", "--detach"]);
    let main = checkout.git(&["rev-parse", "main"]);
    for base in ["main", "refs/heads/main", "v1", &main, &main[..9], "main^", "main~1"] {
        checkout.passes(&["--base", base]);
    }
    // After a merge, theirs is on both sides.
    checkout.git(&["merge", "--quiet", "--no-edit", "main"]);
    checkout.passes(&["--base", "main"]);
    assert_eq!(checkout.fails(&["--base", "change"]), ["stale-citation src/theirs.rs:2 REQ-001"]);
    // In a work tree of its own.
    let beside = tempfile::tempdir().expect("a folder");
    let tree = beside.path().join("tree");
    checkout.git(&["worktree", "add", "--quiet", "--detach", &tree.display().to_string(), "main^"]);
    write(&tree, "src/more.rs", STALE);
    let data = checkout.root().join("data/spexus");
    let store = fs::read_dir(data)
        .expect("the store's folder")
        .flatten()
        .find(|entry| entry.path().extension().is_some_and(|end| end == "db"));
    let store = format!("sqlite:{}", store.expect("a store").path().display());
    let (exit, told) = check_in(&tree, &["--base", "main", "--database", &store]);
    assert!(exit == 1 && told.contains("src/more.rs:2: stale-citation"), "{told}");
}

#[test]
fn what_cannot_be_told_is_never_green() {
    let checkout = Checkout::new();
    for _ in 0..3 {
        checkout.commit("More");
    }
    for (base, message) in [
        ("nothing", "cannot tell: there is no commit \"nothing\" to compare with; fetch it first"),
        ("0123456789012345678901234567890123456789", "there is no commit"),
        ("main~99", "there is no commit \"main~99\""),
        ("../main", "there is no commit"),
    ] {
        let (exit, told) = checkout.check(&["--base", base]);
        assert!(exit == 2 && told.contains(message), "{base}: {told}");
    }
    // A shallow clone without the commit that both have in common.
    let beside = tempfile::tempdir().expect("a folder");
    let origin = format!("file://{}", checkout.root().display());
    git(beside.path(), &["clone", "--quiet", "--depth=1", "--no-single-branch", &origin, "clone"]);
    let clone = beside.path().join("clone");
    let (exit, told) = check_in(&clone, &["--base", "origin/main"]);
    assert!(
        exit == 2 && told.contains("this is a shallow clone, which does not have the commit that"),
        "{told}"
    );
    git(&clone, &["fetch", "--quiet", "--unshallow"]);
    assert_eq!(check_in(&clone, &["--base", "origin/main"]).0, 0);
    // No common history.
    git(&clone, &["checkout", "--quiet", "--orphan", "alone"]);
    git(&clone, &["commit", "--quiet", "--message=Alone"]);
    let (exit, told) = check_in(&clone, &["--base", "origin/main"]);
    assert!(exit == 2 && told.contains("have no commit in common"), "{told}");
    // No repository, no project.
    let nowhere = folder(&[(".spexus/project.toml", PROJECT)]);
    let (exit, told) = check_in(nowhere.path(), &[]);
    assert!(exit == 2 && told.contains("is in no Git repository"), "{told}");
    let (exit, told) = check_in(beside.path(), &[]);
    assert!(exit == 2 && told.contains(".spexus/project.toml"), "{told}");
    checkout.write(".spexus/project.toml", "project = 'DEFAULT'\nclosses = 1\n");
    let (exit, told) = checkout.check(&[]);
    assert!(exit == 2 && told.contains(".spexus/project.toml:2"), "{told}");
}

#[test]
fn files_that_are_no_text_do_not_stop_the_check() {
    let checkout = Checkout::new();
    fs::write(checkout.root().join("src/blob.rs"), [0, 159, 146, 150]).expect("it is written");
    let told = checkout.passes(&[]);
    assert!(told.contains("note: src/blob.rs was left out: it is binary"), "{told}");
    // Lines that end in another way are the same lines.
    checkout.write("src/lib.rs", &CODE.replace('\n', "\r\n"));
    let told = checkout.passes(&[]);
    assert!(told.contains("0 source files changed"), "{told}");
    checkout.write("src/lib.rs", &CODE.replace("100 degrees.", "100 degree.").replace('\n', "\r\n"));
    assert_eq!(checkout.fails(&[]), ["broken-citation src/lib.rs:3 REQ-001"]);
    // Whoever makes a file unreadable takes its citations away.
    checkout.restore();
    checkout.remove("tests/kettle.rs");
    fs::write(checkout.root().join("src/lib.rs"), [0, 1, 2]).expect("it is written");
    assert_eq!(checkout.fails(&[]), ["removed-citation src/lib.rs REQ-001"]);
    checkout.restore();
    let long: String = (0..60_000).map(|line| format!("fn f{line}() {{}}\n")).collect();
    checkout.write("src/long.rs", &format!("{long}{STALE}"));
    assert_eq!(checkout.fails(&[]), ["stale-citation src/long.rs:60002 REQ-001"]);
}

#[test]
fn a_project_may_be_a_folder_of_its_repository() {
    let checkout = Checkout::new();
    let cited = "//= card.md#card\n//# A number MUST have 13 digits.\nfn number() {}\n";
    checkout.write("sub/.duvet/config.toml", "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n[[source]]\npattern = 'src/*.rs'\n");
    checkout.write("sub/card.md", "# Card\n\nA number MUST have 13 digits.\n");
    checkout.write("sub/src/a.rs", cited);
    checkout.commit("Card");
    let sub = checkout.root().join("sub");
    checkout.write("src/lib.rs", "fn elsewhere() {}\n");
    let (exit, told) = check_in(&sub, &["--base", "HEAD"]);
    assert!(exit == 0 && told.starts_with("nothing is worse: 0 source files changed"), "{told}");
    checkout.write("sub/src/a.rs", "fn number() {}\n");
    let (exit, told) = check_in(&sub, &["--base", "HEAD"]);
    assert!(exit == 1 && told.contains("src/a.rs:1: removed-citation"), "{told}");
    let diff = checkout.git(&["diff", "--", "sub"]) + "\n";
    checkout.git(&["checkout", "--quiet", "--", "sub"]);
    let (exit, told) = check_diff(&sub, &diff);
    assert!(exit == 1 && told.contains("src/a.rs:1: removed-citation"), "{told}");
}

/// Checks a diff.
fn check_diff(folder: &Path, diff: &str) -> (i32, String) {
    let home = folder.display().to_string();
    let data = format!("{home}/data");
    let mut command = clean(
        Command::new(env!("CARGO_BIN_EXE_spexus")),
        &[("HOME", home.as_str()), ("XDG_DATA_HOME", data.as_str())],
    );
    let command = command.args(["check", "--diff", "-"]).current_dir(folder);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let _ = child.stdin.take().expect("a pipe").write_all(diff.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout) + &text(output.stderr))
}

#[test]
fn a_diff_is_checked_without_touching_a_file() {
    let checkout = Checkout::new();
    checkout.write("src/lib.rs", &CODE.replace("100 degrees.", "100 degree."));
    checkout.write("src/copy.rs", STALE);
    fs::rename(checkout.root().join("tests/kettle.rs"), checkout.root().join("tests/pot.rs"))
        .expect("it moves");
    checkout.git(&["add", "--all"]);
    let diff = checkout.git(&["diff", "--cached"]) + "\n";
    checkout.git(&["reset", "--quiet", "--hard"]);
    let (exit, told) = check_diff(checkout.root(), &diff);
    assert_eq!(exit, 1, "{told}");
    assert!(
        told.contains("src/lib.rs:3: broken-citation") && told.contains("src/copy.rs:2: stale-citation"),
        "{told}"
    );
    assert!(!told.contains("removed-citation") && told.contains("; a diff compared with HEAD ("), "{told}");
    assert_eq!(check_diff(checkout.root(), "").0, 0, "a diff of nothing");
    let (exit, told) =
        check_diff(checkout.root(), &diff.replace("-    //# The kettle MUST", "-    //# The pot MUST"));
    assert!(
        exit == 2 && told.contains("of the diff: it is a diff of another src/lib.rs: line 3 is"),
        "{told}"
    );
    for (bad, message) in [
        (
            "--- a/../x.rs\n+++ b/x.rs\n",
            "line 1 of the diff: \"../x.rs\" does not name a file of the repository",
        ),
        (
            "--- a/src/no.rs\n+++ b/src/no.rs\n@@ -1 +1 @@\n-a\n+b\n",
            "src/no.rs is not in the commit that the diff is applied to",
        ),
        ("hello", "line 1 of the diff: found no file in it"),
    ] {
        let (exit, told) = check_diff(checkout.root(), bad);
        assert!(exit == 2 && told.contains(message), "{told}");
    }
}

#[test]
fn a_store_that_is_away_is_replaced_by_what_was_pulled() {
    let checkout = Checkout::new();
    checkout.spexus(&["pull"]);
    checkout.commit("Pulled");
    fs::rename(checkout.root().join("data"), checkout.root().join(".cache")).expect("it moves");
    checkout.write("src/lib.rs", &CODE.replace("100 degrees.", "100 degree."));
    assert_eq!(checkout.fails(&["--base", "HEAD"]), ["broken-citation src/lib.rs:3 REQ-001"]);
    let (_, told) = checkout.check(&["--base", "HEAD"]);
    assert!(told.contains("what was pulled last is used: there is no store at"), "{told}");
    assert!(!checkout.root().join("data").exists(), "a check makes no store");
    // What was not pulled cannot be told.
    checkout.write("src/lib.rs", &CODE.replace("REQ-001", "REQ-002"));
    let (exit, told) = checkout.check(&["--base", "HEAD"]);
    assert!(exit == 2 && told.contains("src/lib.rs:2: the text of REQ-002 is not known"), "{told}");
}

#[test]
fn findings_are_written_for_machines_and_for_comments() {
    let checkout = Checkout::new();
    let hostile = "//= spexus://REQ-001\n//# @everyone <img src=x> [a](http://x) ``` & \"q\"\nfn x() {}\n";
    checkout.write("src/b.rs", hostile);
    let written = |format: &str| {
        let (exit, out, err) = run(checkout.root(), "spexus", &["check", "--format", format], &[]);
        assert_eq!((exit, err.as_str()), (1, ""), "{out}");
        out
    };
    let sarif: Value = serde_json::from_str(&written("sarif")).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("broken-citation"), &json!("error")));
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
    let rule = result["ruleIndex"].as_u64().expect("a number") as usize;
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"][rule]["id"], "broken-citation");
    // The same finding has the same fingerprint when lines move, and another one when it is another.
    let print = |sarif: &Value| sarif["runs"][0]["results"][0]["partialFingerprints"]["spexus/v1"].clone();
    checkout.write("src/b.rs", &format!("// moved\n\n{hostile}"));
    let moved: Value = serde_json::from_str(&written("sarif")).expect("JSON");
    assert_eq!(print(&sarif), print(&moved));
    checkout.write("src/b.rs", &hostile.replace("everyone", "nobody"));
    let other: Value = serde_json::from_str(&written("sarif")).expect("JSON");
    assert_ne!(print(&sarif), print(&other));
    checkout.write("src/b.rs", hostile);
    let junit = written("junit");
    assert!(
        junit.contains(
            "<testcase classname=\"broken-citation\" name=\"src/b.rs:2 REQ-001\"><failure message="
        ),
        "{junit}"
    );
    assert!(junit.contains("<testcase classname=\"stale-citation\" name=\"stale-citation\"/>"), "{junit}");
    let report = evidence::read(&evidence::Source { name: "junit", root: "", folder: "" }, junit.as_bytes());
    assert!(
        report.is_ok_and(|report| report.cases.iter().any(|case| case.outcome == evidence::Outcome::Failed)),
        "{junit}"
    );
    let markdown = written("markdown");
    assert!(markdown.starts_with("<!-- spexus-check -->\n### Requirements: 1 finding\n"), "{markdown}");
    assert!(
        markdown.contains("* **broken-citation** ` src/b.rs:2 `: ` REQ-001 does not say this"),
        "{markdown}"
    );
    for line in markdown.lines().filter(|line| line.contains("everyone")) {
        let is_code = line.starts_with("  ") || line.contains("` ");
        assert!(is_code, "{line} in {markdown}");
    }
    // For information unless somebody wants it.
    checkout.restore();
    checkout.write("src/lib.rs", &CODE.replace("degrees < 100", "degrees <= 99"));
    let told = checkout.passes(&[]);
    assert!(
        told.contains("touched: REQ-001: The kettle MUST switch off at 100 degrees.; src/lib.rs:2 (heat)"),
        "{told}"
    );
    assert_eq!(checkout.fails(&["--deny", "touched"]), ["touched src/lib.rs:2 REQ-001"]);
    let (exit, told) = checkout.check(&["--deny", "tuched"]);
    assert!(exit == 2 && told.contains("touched"), "{told}");
}

#[test]
fn agents_check_their_change() {
    let checkout = Checkout::new();
    checkout.write("src/copy.rs", STALE);
    let Checkout { folder } = checkout;
    let mut agent = Agent::spexus(folder, "2025-11-25", &["--toolsets", "daily,thread"]);
    let listed = agent.ask("tools/list", json!({}));
    assert!(listed.to_string().contains("\"check_change\""), "{listed}");
    let told = text(&agent.call("check_change", json!({}))).to_owned();
    assert!(told.contains("src/copy.rs:2: stale-citation: REQ-001 changed in version 2"), "{told}");
    let told = agent.refused("check_change", json!({"base": "nothing"}));
    assert!(told.contains("cannot tell: there is no commit \"nothing\""), "{told}");
    let diff = "--- /dev/null\n+++ b/src/d.rs\n@@ -0,0 +1,3 @@\n+//= spexus://REQ-001\n+//# The lid SHOULD stay shut.\n+fn d() {}\n";
    let told = text(&agent.call("check_change", json!({"diff": diff}))).to_owned();
    assert!(told.contains("src/d.rs:2: broken-citation"), "{told}");
}

#[test]
fn specifications_in_files_are_checked_too() {
    let config = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n[[source]]\npattern = 'src/**/*.rs'\n\
                  [[specification]]\nsource = 'card.md'\n";
    let card = "# Card\n\nA number MUST have 13 digits. A card SHOULD be plastic.\n";
    let cited = "//= card.md#card\n//# A number MUST have 13 digits.\nfn number() {}\n";
    let folder = folder(&[(".duvet/config.toml", config), ("card.md", card), ("src/a.rs", cited)]);
    let root = folder.path();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message=Card"]);
    write(root, "src/a.rs", "fn number() {}\n");
    let (exit, told) = check_in(root, &[]);
    assert!(
        exit == 1 && told.contains("src/a.rs:1: removed-citation: nothing cites card.md#card any more"),
        "{told}"
    );
    write(root, "src/b.rs", cited);
    assert_eq!(check_in(root, &[]).0, 0);
    write(root, "src/b.rs", &cited.replace("13 digits", "many letters"));
    let (exit, told) = check_in(root, &[]);
    assert!(
        exit == 1
            && told
                .contains("src/b.rs:2: broken-citation: section `card` of card.md does not have this text"),
        "{told}"
    );
    write(root, ".duvet/config.toml", &config.replace("src/**", "lib/**"));
    let (_, told) = check_in(root, &[]);
    assert!(
        told.contains(".duvet/config.toml: weakened-policy") && told.contains("src/b.rs:2: broken-citation"),
        "{told}"
    );
}
