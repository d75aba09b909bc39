//! What is pushed to a server.

use evidence::{EvidenceDocument, ManualEvidence, Verdict};
use expect_test::expect;

use crate::kettle::{self, Kettle};

#[test]
fn a_document_has_outcomes_and_digests_and_no_lines() {
    let reports = kettle::read(&["surefire-rerun.xml"]);
    let kettle = Kettle::new("junit4", &reports, Some(1));
    let document = EvidenceDocument::new(&reports, &kettle.places, &kettle.results, Some(1));
    let digest = blake3_of("surefire-rerun.xml");
    assert_eq!(document.reports[0].digest, digest);
    let text = serde_json::to_string_pretty(&document).expect("JSON").replace(&digest, "DIGEST");
    expect![[r#"
        {
          "reports": [
            {
              "tool": "surefire",
              "digest": "DIGEST"
            }
          ],
          "exit_status": 1,
          "tests": [
            {
              "file": "src/test/java/shop/KettleTest.java",
              "symbol": "KettleTest.boils",
              "outcome": "passed",
              "attempts": 1,
              "duration_ms": 0,
              "shows_retries": true
            },
            {
              "file": "src/test/java/shop/KettleTest.java",
              "symbol": "KettleTest.overflows",
              "outcome": "failed",
              "attempts": 2,
              "duration_ms": 0,
              "shows_retries": true
            },
            {
              "file": "src/test/java/shop/KettleTest.java",
              "symbol": "KettleTest.descales",
              "outcome": "skipped",
              "attempts": 0,
              "duration_ms": 0,
              "shows_retries": false
            },
            {
              "file": "src/test/java/shop/KettleTest.java",
              "symbol": "KettleTest.whistles",
              "outcome": "flaky",
              "attempts": 2,
              "duration_ms": 25,
              "shows_retries": true
            }
          ]
        }"#]]
    .assert_eq(&text);
    let again = EvidenceDocument::read("push", &serde_json::to_vec(&document).expect("JSON"));
    assert_eq!(again, Ok(document));
}

#[test]
fn a_document_that_somebody_sends_is_checked() {
    let digest = "0".repeat(64);
    let test =
        r#"{"file": "FILE", "symbol": "boils", "outcome": "passed", "attempts": 1, "shows_retries": true}"#;
    let with = |tests: &str| {
        format!(r#"{{"reports": [{{"tool": "pytest", "digest": "{digest}"}}], "tests": [{tests}]}}"#)
    };
    let read = |text: &str| match EvidenceDocument::read("push", text.as_bytes()) {
        Ok(document) => format!("{} tests", document.tests.len()),
        Err(refusal) => refusal.to_string(),
    };
    expect!["1 tests"].assert_eq(&read(&with(&test.replace("FILE", "tests/a.py"))));
    expect!["push: tests.file: the path ../a.py leads out of the repository"]
        .assert_eq(&read(&with(&test.replace("FILE", "../a.py"))));
    expect!["push: tests.file: the path /etc/passwd leads out of the repository"]
        .assert_eq(&read(&with(&test.replace("FILE", "/etc/passwd"))));
    expect!["push: tests.file: expected a text, found none"]
        .assert_eq(&read(&with(&test.replace("FILE", ""))));
    expect!["push: tests.file: expected at most 2000 characters"]
        .assert_eq(&read(&with(&test.replace("FILE", &"a".repeat(3_000)))));
    expect![
        "push:1: unknown variant `proven`, expected one of `not_run`, `skipped`, `passed`, `flaky`, `failed`"
    ]
    .assert_eq(&read(&with(&test.replace("passed", "proven"))));
    expect!["push:1: unknown field `tries`, expected one of `file`, `symbol`, `outcome`, `attempts`, `duration_ms`, `shows_retries`, `verifies`"].assert_eq(&read(&with(&test.replace("attempts", "tries"))));
    expect!["push: reports.digest: expected 64 hexadecimal digits of BLAKE3, found beef"]
        .assert_eq(&read(&with("").replace(&digest, "beef")));
    expect!["push:1: the report is truncated: EOF while parsing an object"].assert_eq(&read("{"));
    expect!["push:1: the report is truncated: EOF while parsing a value"].assert_eq(&read(""));
}

#[test]
fn people_may_say_what_they_saw() {
    let seen = ManualEvidence {
        who: "ada".to_owned(),
        what: "the kettle does not burn the hand".to_owned(),
        when: "2026-11-18T09:00:00Z".to_owned(),
        digest: Some("a".repeat(64)),
    };
    let document = EvidenceDocument { manual: vec![seen], ..EvidenceDocument::default() };
    let text = serde_json::to_vec(&document).expect("JSON");
    assert_eq!(EvidenceDocument::read("push", &text), Ok(document));
}

#[test]
fn verdicts_have_one_word_each() {
    let word = |verdict: Verdict| serde_json::to_string(&verdict).expect("JSON");
    assert_eq!(word(Verdict::NotRun), "\"not_run\"");
    assert_eq!(Verdict::NotRun.to_string(), "not run");
    assert_eq!(serde_json::from_str::<Verdict>("\"witnessed\"").expect("a verdict"), Verdict::Witnessed);
}

fn blake3_of(name: &str) -> String {
    blake3::hash(&kettle::recorded(name)).to_hex().to_string()
}
