//! `duvet check`: it never passes because there was nothing to check, and says what is missing so that people and
//! machines find it.

use std::collections::BTreeSet;
use std::process::Command;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::{folder, write};

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
    [[source]]\npattern = 'kiosk/*.py'\ncomment-style = { meta = '##=', content = '##%' }\n\
    [[specification]]\nsource = 'card.md'\n[report.html]\nenabled = false\n";
const CARD: &str = "# Card\n\n* A number MUST have 13 digits.\n* A number MUST NOT be logged, unless somebody asks.\n\
    * A card SHOULD be plastic.\n";
const CITED: &str = "##= card.md#card\n##% A number MUST have 13 digits.\n";

#[test]
fn the_gate_fails_where_nothing_was_checked() {
    let config = |from: &str, to: &str| CONFIG.replace(from, to);
    let (card, cited) = (("card.md", CARD), ("kiosk/a.py", CITED));
    let nowhere = config("kiosk/", "src/");
    let easy = "# Card\n\nA number has 13 digits.\n";
    let quote = "##= card.md#card\n##% A number has 13 digits.\n";
    for (files, message) in [
        (vec![card, cited], "nothing was checked: there is no .duvet/config.toml"),
        (
            vec![(".duvet/config.toml", &*nowhere), card, cited],
            "nothing was checked: no file matches src/*.py",
        ),
        (
            vec![(".duvet/config.toml", CONFIG), card, ("kiosk/a.py", "pass\n")],
            "nothing was checked: no citation was found in 1 files",
        ),
        (
            vec![(".duvet/config.toml", CONFIG), ("card.md", easy), ("kiosk/a.py", quote)],
            "nothing was checked: no specification has a requirement",
        ),
    ] {
        let folder = folder(&files);
        let (code, _, stderr) = run(&folder, &["check"]);
        assert!(code == 1 && stderr.contains(message), "{message}: {stderr}");
        let (code, _, stderr) = run(&folder, &["check", "--allow-empty"]);
        assert!(code == 0 && !stderr.contains("nothing was checked"), "{message}: {stderr}");
    }
    assert_eq!(run(&project(CITED), &["check", "--deny", "warnings"]).0, 0);
    // What is wrong otherwise is said, and enough.
    let (_, _, stderr) = run(&project("##= card.md#cards\n"), &["check"]);
    assert!(!stderr.contains("nothing was checked"), "{stderr}");
}

#[test]
fn comments_that_are_not_read_are_warned_about() {
    let source = "##= card.md#card\n\n##% A number MUST have 13 digits.\n##% And so on.\n\nx = 1\n\n\
        ##% A card SHOULD be plastic.\n\n#= card.md#card\n#% A card SHOULD be plastic.\n\n\
        ##= card.md#card\n##= type=exception\n##% A card SHOULD be plastic.\n\n##%define X\n";
    let folder = project(&format!("{CITED}\n{source}"));
    check(
        &folder,
        &["check"],
        0,
        expect![[r#"
        warning[missing-reason]: the exception does not say why
         ╭▸ kiosk/a.py:16:1
         ╰ help: add a line with `reason=…`
        warning[stray-quote]: the quote is cut off from its target
          ╭▸ kiosk/a.py:6:1
          │
        6 │ ##% A number MUST have 13 digits.
          │ ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ after a gap
          │
          ╰ help: a citation is lines without a gap: remove what stands between
        warning[stray-quote]: the quote has no target
           ╭▸ kiosk/a.py:11:1
           │
        11 │ ##% A card SHOULD be plastic.
           │ ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ quotes nothing
           │
           ╰ help: put `##= TARGET#SECTION` above it
        warning[comment-style]: `#=` does not make a citation in this file
           ╭▸ kiosk/a.py:13:1
           │
        13 │ #= card.md#card
           │ ━━━━━━━━━━━━━━━ not read
           │
           ╰ help: citations here are written with `##=` and `##%`
        3 requirements: 1 done, 1 need tests, 0 in progress, 1 not started; 0 errors, 4 warnings
    "#]],
    );
    assert_eq!(run(&folder, &["check", "--deny", "warnings"]).0, 1);
    // Reports are as Duvet's.
    assert_eq!(run(&folder, &["report"]).0, 0);
}

#[test]
fn what_is_missing_is_shown_where_it_is_required() {
    let source = format!("{CITED}\n##= card.md#card\n##% A number MUST NOT be logged\n");
    let folder = project(&source);
    check(
        &folder,
        &["check", "--require-citations"],
        1,
        expect![[r#"
        error[partly-covered]: card-md#card is implemented in part (52 %): A number MUST NOT be logged, unless somebody asks.
          ╭▸ card.md:4:3
          │
        4 │ * A number MUST NOT be logged, unless somebody asks.
          │   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ required here
          │
          ├ help: what is left: unless somebody asks.
          ╰ help: cite it: card.md#card
        error[incomplete]: card-md#card is not implemented: A card SHOULD be plastic.
          ╭▸ card.md:5:3
          │
        5 │ * A card SHOULD be plastic.
          │   ━━━━━━━━━━━━━━━━━━━━━━━━━ required here
          │
          ╰ help: cite it: card.md#card
        2 errors
        3 requirements: 0 done, 1 need tests, 1 in progress, 1 not started; 2 errors, 0 warnings
    "#]],
    );
    let (_, stdout, _) =
        run(&folder, &["check", "--require-citations", "--level", "MUST", "--format", "json"]);
    let report: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["problems"][0]["code"], "partly-covered");
    let (code, ..) = run(&project(CITED), &["check", "--require-tests", "--level", "should"]);
    assert_eq!(code, 1);
    let (code, _, stderr) = run(&folder, &["check", "--level", "HIGH"]);
    assert!(code == 2 && stderr.contains("expected one of MUST, SHOULD, MAY"), "{stderr}");
}

#[test]
fn a_requirement_is_one_case_of_junit() {
    let folder = project(CITED);
    let (code, junit, _) =
        run(&folder, &["check", "--format", "junit", "--require-citations", "--level", "MUST"]);
    assert_eq!(code, 1);
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="duvet">
          <testsuite name="card-md" tests="3" failures="1" skipped="2">
            <testcase classname="card" name="A number MUST have 13 digits."><skipped message="needs tests"/></testcase>
            <testcase classname="card" name="A number MUST NOT be logged, unless somebody asks."><failure message="card.md:4:3: card-md#card is not implemented: A number MUST NOT be logged, unless somebody asks. (cite it: card.md#card)"/></testcase>
            <testcase classname="card" name="A card SHOULD be plastic."><skipped message="not started"/></testcase>
          </testsuite>
          <testsuite name="problems" tests="0" failures="0">
          </testsuite>
        </testsuites>
    "#]].assert_eq(&junit);
}

#[test]
fn every_result_of_sarif_has_a_place_and_a_name() {
    let source = format!("{CITED}\n##= card.md#cards\n\n##% stray\n\n##= card.md#card\n##= type=tset\n");
    let folder = project(&source);
    let arguments = ["check", "--format", "sarif", "--require-citations", "--require-tests"];
    let sarif =
        |folder: &TempDir| -> Value { serde_json::from_str(&run(folder, &arguments).1).expect("JSON") };
    let first = sarif(&folder);
    let run = &first["runs"][0];
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 6, "{first}");
    for result in results {
        let location = &result["locations"][0]["physicalLocation"];
        assert!(location["region"]["startLine"].as_u64() > Some(0), "{result}");
        let uri = location["artifactLocation"]["uri"].as_str().expect("a path");
        assert!(folder.path().join(uri).is_file(), "{result}");
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().expect("an index") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["text"].as_str().is_some_and(|help| help.len() > 20), "{rule}");
    }
    let missing = results.iter().find(|result| result["ruleId"] == "incomplete").expect("a requirement");
    assert_eq!(missing["locations"][0]["physicalLocation"]["region"]["startLine"], 3, "{missing}");
    // Lines may move, and a problem is still the same; each is another.
    write(folder.path(), "kiosk/a.py", &format!("\n\n{source}"));
    write(folder.path(), "card.md", &CARD.replacen("\n\n", "\n\nCards are cards.\n\n", 1));
    let second = sarif(&folder);
    let prints = |sarif: &Value| -> BTreeSet<String> {
        let results = sarif["runs"][0]["results"].as_array().expect("results").iter();
        results.map(|result| result["partialFingerprints"].to_string()).collect()
    };
    assert_eq!((prints(&first), prints(&first).len()), (prints(&second), 6));
    // Without a configuration there is no place but where it would be.
    let empty = crate::agent::folder(&[("card.md", CARD)]);
    let result = &sarif(&empty)["runs"][0]["results"][0];
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], ".duvet/config.toml");
}

/// The schema of the technical committee, `Schemata/sarif-schema-2.1.0.json` of its repository, as the crate `serde-sarif`
/// 0.8.0 (MIT) carries it.
const SARIF_SCHEMA: &str = include_str!("../data/sarif-2.1.0.json");

#[test]
fn sarif_fits_the_official_schema() {
    // A bracket too many, which the committee's errata took out.
    let corrected =
        SARIF_SCHEMA.replace("^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$", "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$");
    let schema = serde_json::from_str(&corrected).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    assert!(!schema.is_valid(&json!({"version": "2.1.0"})), "a log has runs");
    let wrong = "##= card.md#cards\n\n##% stray\n\n##= card.md#card\n##= type=tset\n##= type=test\n";
    for folder in [project(CITED), project(wrong), folder(&[("card.md", CARD)])] {
        let (_, sarif, _) =
            run(&folder, &["check", "--format", "sarif", "--require-citations", "--require-tests"]);
        let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
        let errors: Vec<String> = schema.iter_errors(&sarif).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

fn project(source: &str) -> TempDir {
    folder(&[(".duvet/config.toml", CONFIG), ("card.md", CARD), ("kiosk/a.py", source)])
}

fn run(folder: &TempDir, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duvet"));
    let output = command.args(arguments).current_dir(folder.path()).env_remove("CI").output();
    let output = output.expect("duvet runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn check(folder: &TempDir, arguments: &[&str], code: i32, expected: Expect) {
    let (found, stdout, stderr) = run(folder, arguments);
    expected.assert_eq(&format!("{stderr}{stdout}"));
    assert_eq!(found, code);
}
