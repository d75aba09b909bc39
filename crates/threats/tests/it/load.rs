//! Files that anybody may have written.

use std::path::Path;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use threats::load::{FILE_SIZE_MAX_BYTES, parse};
use threats::{Library, library};

use crate::{file, files, read};

#[test]
fn a_problem_names_file_line_column_and_cause() {
    check(
        "threat_pattern:\n  id: X-Y-001\n  severity: [high]\n",
        expect!["p.yaml:3:13: expected text for `severity`, found a list"],
    );
    check(
        "threat_pattern:\n  id: X-Y-001\n  name: \"open\n",
        expect!["p.yaml:4:1: expected the closing quote of a text that began above"],
    );
    check(
        "threat_pattern:\n  id: X-Y-001\n id: again\n",
        expect!["p.yaml:3:2: expected a key that is indented like those above it"],
    );
    check(
        "threat_pattern:\n  id: X-Y-001\n  id: X-Y-002\n",
        expect!["p.yaml:3:3: expected each key once, found `id` again"],
    );
    check(
        "threat_pattern:\n  id: X-Y-001\n  triggers: {keywords: celery}\n",
        expect![[r#"p.yaml:3:24: expected a list for `keywords`, found "celery""#]],
    );
    check(
        "threat_pattern:\n  id: X-Y-001\n  attack_scenario: {attack_steps: [{step: one}]}\n",
        expect![[r#"p.yaml:3:43: expected a whole number for `step`, found "one""#]],
    );
}

#[test]
fn what_is_no_pattern_is_a_problem() {
    check("", expect!["p.yaml: expected the key `threat_pattern`, found an empty file"]);
    check(" \n\n", expect!["p.yaml: expected the key `threat_pattern`, found an empty file"]);
    check("# only a comment\n", expect!["p.yaml:1:1: expected the key `threat_pattern`, found none"]);
    check("- a\n- list\n", expect!["p.yaml:1:1: expected a mapping, `key: value`, found a list"]);
    check("just text", expect![[r#"p.yaml:1:1: expected a mapping, `key: value`, found "just text""#]]);
    check(
        "threat_patern:\n  id: X-Y-001\n",
        expect!["p.yaml:1:1: expected the key `threat_pattern`, found none"],
    );
    check("threat_pattern:\n", expect!["p.yaml:1:1: expected the key `threat_pattern`, found none"]);
    check(
        "threat_pattern:\n  name: nameless\n",
        expect!["p.yaml: threat_pattern.id: expected an id, found none"],
    );
    check(
        "threat_pattern: {id: X-Y-001}\n---\nthreat_pattern: {id: X-Y-002}\n",
        expect!["p.yaml:2:1: expected one document, found several"],
    );
    check(
        "threat_pattern:\n  id: X-Y-001\n  name: a\0b\n",
        expect!["p.yaml:3:10: expected text, found a NUL character"],
    );
}

#[test]
fn hostile_files_are_refused_quickly() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
                threat_pattern: {id: X-Y-001}\n";
    check(bomb, expect!["p.yaml:5:11: expected aliases of at most 20000 values, found more"]);
    check(
        &format!("threat_pattern: {}", "[".repeat(100_000)),
        expect!["p.yaml:1:17: expected a mapping, `key: value` for `threat_pattern`, found a list"],
    );
    check(
        &format!("threat_pattern:\n  id: X-Y-001\n  x: {}", "{a: ".repeat(1_000)),
        expect!["p.yaml:3:126: expected at most 32 levels, found more"],
    );
    check(
        &format!("threat_pattern:\n  id: X-Y-001\n  x: {}", "- ".repeat(1_000)),
        expect![
            "p.yaml:3:6: expected a value for `x`, found the item of a list; begin the list on a line of its own"
        ],
    );
    let endless = format!("threat_pattern:\n  id: X-Y-001\n  name: {}\n", "x".repeat(10 << 20));
    check(&endless, expect!["p.yaml: expected at most 1048576 bytes, found 10485799"]);
}

#[test]
fn a_file_at_the_size_limit_loads() {
    let mut text = file("X-Y-001", "name: x");
    text.push_str(&"#".repeat(FILE_SIZE_MAX_BYTES - text.len()));
    assert_eq!(parse("p.yaml", &text).unwrap().name, "x");
}

#[test]
fn other_line_ends_a_mark_and_unknown_keys_do_no_harm() {
    let text = "\u{feff}threat_pattern:\r\n  id: X-Y-001\r\n  name: first\r\n  unknown: {deep: [1, {x: y}]}\r\nextra: 1\r\n";
    let pattern = parse("p.yaml", text).unwrap();
    assert_eq!((pattern.id.as_str(), pattern.name.as_str()), ("X-Y-001", "first"));
}

#[test]
fn values_are_read_as_the_original_reads_them() {
    let text = file(
        "X-Y-001",
        "name:\nversion: 1.10\nlast_updated: 2025-02-04\ntier: ~\ngeneralizes_to:\ntriggers:\n  keywords: []\n  actions:\nprovenance:",
    );
    let json = serde_json::to_value(parse("p.yaml", &text).unwrap()).unwrap();
    let shown = [
        "name",
        "version",
        "last_updated",
        "tier",
        "triggers",
        "provenance",
        "mitigations",
        "generalizes_to",
    ]
    .map(|field| format!("{field}: {}\n", json.get(field).map_or("absent".to_owned(), ToString::to_string)))
    .concat();
    expect![[r#"
        name: ""
        version: "1.10"
        last_updated: "2025-02-04"
        tier: ""
        triggers: {"keywords":[],"actions":null,"file_patterns":null}
        provenance: {"source_type":"","description":""}
        mitigations: null
        generalizes_to: absent
    "#]]
    .assert_eq(&shown);
}

#[test]
fn odd_shapes_survive() {
    let text = file(
        "X-Y-001",
        "security_principles:\n  - Least privilege\n  - {principle: Deny, note: {deep: 1}}\n\
         testing:\n  manual_verification: just look\n  tools: [a, 2, null]\nvalidation: [\"by hand\"]",
    );
    let json = serde_json::to_value(parse("p.yaml", &text).unwrap()).unwrap();
    let shown =
        ["security_principles", "testing", "validation"].map(|field| format!("{}\n", json[field])).concat();
    expect![[r#"
        ["Least privilege",{"principle":"Deny","note":{"deep":1}}]
        {"manual_verification":"just look","tools":["a",2,null]}
        ["by hand"]
    "#]]
    .assert_eq(&shown);
}

#[test]
fn one_bad_file_does_not_hide_the_rest() {
    let (library, problems) = Library::load([
        ("c.yaml", file("X-Y-003", "name: third")),
        ("b.yaml", "threat_pattern: [".to_owned()),
        ("a.yaml", file("X-Y-001", "name: first")),
    ]);
    let ids: Vec<&str> = library.patterns().iter().map(|pattern| pattern.id.as_str()).collect();
    assert_eq!(ids, ["X-Y-001", "X-Y-003"]);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].file, "b.yaml");
}

#[test]
fn of_two_files_with_one_id_the_first_by_path_stays() {
    let (library, problems) = Library::load([
        ("z.yaml", file("x-y-001", "name: later")),
        ("a.yaml", file("X-Y-001", "name: earlier")),
    ]);
    assert_eq!(library.get("X-y-001").unwrap().name, "earlier");
    expect!["z.yaml: threat_pattern.id: x-y-001 is already taken by a.yaml, which is kept"]
        .assert_eq(&problems[0].to_string());
}

#[test]
fn an_invalid_pattern_is_left_out_and_named_with_its_line() {
    let valid = read("tmkb/patterns/authorization/tier-b/TMKB-AUTHZ-009.yaml");
    let (library, problems) = Library::load([
        (
            "a.yaml",
            valid.replace("severity: \"high\"", "severity: \"hihg\"").replace("AUTHZ-009", "AUTHZ-999"),
        ),
        ("b.yaml", file("X-Y-001", "name: first")),
        ("c.yaml", valid.clone()),
    ]);
    assert_eq!(problems, []);
    let (library, problems) = library.without_invalid();
    let ids: Vec<&str> = library.patterns().iter().map(|pattern| pattern.id.as_str()).collect();
    assert_eq!(ids, ["TMKB-AUTHZ-009"], "a reference to a pattern that is not there does no harm");
    let problems: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    expect![[r#"
        a.yaml:13: TMKB-AUTHZ-999 is not served: severity - expected critical, high, medium, low, found "hihg"; did you mean "high"?
        b.yaml:2: X-Y-001 is not served: tier - required, found nothing; 7 more, see `tmkb validate`
    "#]].assert_eq(&problems);
}

#[test]
fn own_patterns_come_beside_the_built_in_ones_and_before_them() {
    let (own, _) = Library::load([
        ("a.yaml", file("X-Y-001", "name: own")),
        ("b.yaml", file("TMKB-AUTHZ-001", "name: instead")),
    ]);
    let (library, problems) = own.with_packs(&["all"]).unwrap();
    assert_eq!(library.patterns().len(), 25);
    assert_eq!(library.get("TMKB-AUTHZ-001").unwrap().name, "instead");
    assert_eq!(problems.len(), 1);
    expect!["built-in pattern: threat_pattern.id: TMKB-AUTHZ-001 is already taken by b.yaml, which is kept"]
        .assert_eq(&problems[0].to_string());
    assert!(Library::load([("a.yaml", "")]).0.with_packs(&["nothing"]).is_err());
}

#[test]
fn an_unknown_id_suggests_the_nearest() {
    let error = crate::TMKB.get("TMKB-AUTHZ-0001").unwrap_err();
    expect![
        "pattern not found: TMKB-AUTHZ-0001; did you mean TMKB-AUTHZ-001, TMKB-AUTHZ-002, TMKB-AUTHZ-003?"
    ]
    .assert_eq(&error.to_string());
    expect!["pattern not found: something else"]
        .assert_eq(&crate::TMKB.get("something else").unwrap_err().to_string());
}

#[test]
fn languages_and_frameworks_come_from_the_patterns() {
    assert_eq!(crate::TMKB.languages(), ["python"]);
    assert_eq!(crate::TMKB.frameworks(), ["flask", "any"]);
    let (library, _) = Library::load([
        ("a", file("X-Y-001", "language: Rust\nframework: axum")),
        (
            "b",
            file(
                "X-Y-002",
                "language: any\nframework: any\nmitigations: [{code_examples: [{language: go}]}]",
            ),
        ),
        ("c", file("X-Y-003", "language: go")),
    ]);
    assert_eq!(library.languages(), ["go", "rust"]);
    assert_eq!(library.frameworks(), ["axum", "any"]);
}

#[test]
fn the_built_in_patterns_load_without_a_problem() {
    assert_eq!(library::packs(), ["authorization"]);
    let library = Library::builtin(library::PACKS_DEFAULT).unwrap();
    assert_eq!(library.patterns().len(), 24);
    assert_eq!(library.languages(), ["python"]);
    assert_eq!(library.frameworks(), ["flask", "any"]);
    let error = Library::builtin(&["autorization"]).unwrap_err();
    assert_eq!(error.to_string(), "packs: expected all or some of authorization, found \"autorization\"");
}

#[test]
fn the_built_in_patterns_are_those_of_their_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("patterns");
    let (from_files, problems) = Library::load(files(&folder));
    assert_eq!(problems, []);
    assert_eq!(Library::builtin(&["all"]).unwrap().patterns(), from_files.patterns());
}

proptest! {
    #[test]
    fn any_text_loads_or_is_a_problem(text in ".{0,300}") {
        let _ = parse("p.yaml", &text);
    }

    #[test]
    fn a_damaged_pattern_loads_or_is_a_problem(cut in 0_usize..4_000, at in 0_usize..4_000, junk in "[\\x00-\\x7f]{0,8}") {
        let whole = read("tmkb/patterns/authorization/tier-b/TMKB-AUTHZ-009.yaml");
        let mut text: Vec<char> = whole.chars().collect();
        text.drain(at..(at + cut).min(text.len()));
        let text: String = text[..at].iter().copied().chain(junk.chars()).chain(text[at..].iter().copied()).collect();
        let _ = parse("p.yaml", &text);
    }
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let start = std::time::Instant::now();
    let problem = parse("p.yaml", text).expect_err("it is no pattern");
    assert!(start.elapsed().as_secs() < 2, "took {:?}", start.elapsed());
    expected.assert_eq(&problem.to_string());
}
