//! What is said of files that are not reports of the second form.

use expect_test::expect;

use crate::merge::{check, report};

#[test]
fn what_is_not_a_report_is_named_with_its_place() {
    check(
        &["", "[]", "{\n}"],
        expect![[r#"
            Error report: a.json is not a report of the second form: EOF while parsing a value
              at a.json:1:1 []
              such reports come from `duvet report --json-v2 FILE` and `duvet merge`
            Error report: b.json is not a report of the second form: invalid length 0, expected an object
              at b.json:1:2 [[]]
              such reports come from `duvet report --json-v2 FILE` and `duvet merge`
            Error report: c.json is not a report of the second form: missing field `version`
              at c.json:2:1 [}]
              such reports come from `duvet report --json-v2 FILE` and `duvet merge`
        "#]],
    );
    check(
        &[r#"{"version": "2.0", "sources": {}, "annotations": {}, "extra": 1}"#],
        expect![[r#"
        Error report: a.json is not a report of the second form: unknown field `extra`, expected one of `version`, `issue_links`, `repositories`, `sources`, `annotations`
          at a.json:1:60 [{"version": "2.0", "sources": {}, "annotations": {}, "extra": 1}]
          such reports come from `duvet report --json-v2 FILE` and `duvet merge`
    "#]],
    );
    check(
        &[&report(&[("cite", r#""cite-1": {"type": "SPEC"}"#)])],
        expect![[r#"
        Error report: a.json is not a report of the second form: unknown variant `SPEC`, expected one of `CITATION`, `TEST`, `IMPLICATION`, `EXCEPTION`, `TODO`
          at a.json:4:25 ["cite-1": {"type": "SPEC"}]
          such reports come from `duvet report --json-v2 FILE` and `duvet merge`
    "#]],
    );
    check(
        &[r#"{"version": "3.0", "news": {}}"#],
        expect![[r#"
        Error report: a.json is of version "3.0", expected "2.0"
          at a.json:1:13 [{"version": "3.0", "news": {}}]
          such reports come from `duvet report --json-v2 FILE` and `duvet merge`
    "#]],
    );
    check(
        &[r#"{"specifications": {}, "annotations": []}"#],
        expect![[r#"
        Error report: a.json is not a report of the second form: unknown field `specifications`, expected one of `version`, `issue_links`, `repositories`, `sources`, `annotations`
          at a.json:1:17 [{"specifications": {}, "annotations": []}]
          such reports come from `duvet report --json-v2 FILE` and `duvet merge`
    "#]],
    );
    check(
        &[],
        expect![[r#"
        Error empty: there is no report to merge
    "#]],
    );
}

#[test]
fn a_report_that_is_one_long_line_is_not_shown() {
    let long = format!(r#"{{"version": "2.0", "issue_links": ["{}"], "sources": 1}}"#, "x".repeat(1000));
    check(
        &[&long],
        expect![[r#"
            Error report: a.json is not a report of the second form: invalid type: integer `1`, expected an object
              at a.json:1:1052 []
              such reports come from `duvet report --json-v2 FILE` and `duvet merge`
        "#]],
    );
}
