//! Reports of the second form, merged.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use trace::Diagnostic;
use trace::report::merge::{Input, merge};

const CITE: &str =
    r#""source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST""#;

#[test]
fn everything_of_all_reports_is_there_once() {
    check(
        &[
            &report(&[("inline", r#""src-1": {"file_name": "pot.md", "contents": "pot"}"#)]),
            &report(&[
                ("inline", r#""src-1": {"file_name": "pot.md", "contents": "pot"}"#),
                ("linked", r#""lnk-1": {"file_name": "pot.rs", "repository": "repo-1"}"#),
            ]),
            &report(&[("linked", r#""lnk-1": {"file_name": "pot.rs", "repository": "repo-1"}"#)]),
        ],
        expect![[r#"
            {"version":"2.0","sources":{"sources.json#inline":{"src-1":{"file_name":"pot.md","contents":"pot"}},"sources.json#linked":{"lnk-1":{"file_name":"pot.rs","repository":"repo-1"}}},"annotations":{"annotations.json#specification":{},"annotations.json#section":{},"annotations.json#requirement":{},"annotations.json#cite":{}}}
        "#]],
    );
}

#[test]
fn coverage_is_what_any_report_saw() {
    let requirement = |coverage: &str| {
        let fields =
            r#""source": {"src": "lnk-1"}, "origin": {"src": "src-1", "ranges": []}, "level": "MUST""#;
        report(&[("requirement", &format!(r#""req-1": {{{fields}, "coverage": {{{coverage}}}}}"#))])
    };
    check(
        &[
            &requirement(r#""cite-1": [{"start": 5, "end": 9}, {"start": 1, "end": 2}]"#),
            &requirement(r#""cite-1": [{"start": 1, "end": 2}], "cite-2": [{"start": 3, "end": 4}]"#),
        ],
        expect![[r#"
            {"version":"2.0","sources":{"sources.json#inline":{},"sources.json#linked":{}},"annotations":{"annotations.json#specification":{},"annotations.json#section":{},"annotations.json#requirement":{"req-1":{"source":{"src":"lnk-1"},"origin":{"src":"src-1","ranges":[]},"level":"MUST","coverage":{"cite-1":[{"start":1,"end":2},{"start":5,"end":9}],"cite-2":[{"start":3,"end":4}]}}},"annotations.json#cite":{}}}
        "#]],
    );
}

#[test]
fn notes_that_differ_are_kept_by_the_alphabet_with_a_warning() {
    let cite = |notes: &str| report(&[("cite", &format!(r#""cite-1": {{{CITE}, {notes}}}"#))]);
    check(
        &[
            &cite(r#""comment": "why", "tags": ["b"]"#),
            &cite(r#""comment": "because", "feature": "sound", "tags": ["b", "a"]"#),
        ],
        expect![[r#"
            Warning conflict: comment of cite-1 is "because" in b.json, and "why" in a.json
              at b.json:4:120 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "comment": "because", "feature": "sound", "tags": ["b", "a"]}]
              at a.json:4:120 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "comment": "why", "tags": ["b"]}]
              the first in the alphabet is kept, and all tags
            Warning conflict: feature of cite-1 is "sound" in b.json, and not there in a.json
              at b.json:4:142 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "comment": "because", "feature": "sound", "tags": ["b", "a"]}]
              at a.json:4:11 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "comment": "why", "tags": ["b"]}]
              the first in the alphabet is kept, and all tags
            Warning conflict: tags of cite-1 is ["b", "a"] in b.json, and ["b"] in a.json
              at b.json:4:159 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "comment": "because", "feature": "sound", "tags": ["b", "a"]}]
              at a.json:4:135 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "comment": "why", "tags": ["b"]}]
              the first in the alphabet is kept, and all tags
            {"version":"2.0","sources":{"sources.json#inline":{},"sources.json#linked":{}},"annotations":{"annotations.json#specification":{},"annotations.json#section":{},"annotations.json#requirement":{},"annotations.json#cite":{"cite-1":{"source":{"src":"lnk-1","line":1},"target":{"src":"src-1","ranges":[]},"type":"TEST","level":"AUTO","comment":"because","feature":"sound","tags":["a","b"]}}}}
        "#]],
    );
}

#[test]
fn what_a_citation_says_must_be_the_same() {
    let cite = |level: &str| report(&[("cite", &format!(r#""cite-1": {{{CITE}{level}}}"#))]);
    check(
        &[&cite(r#", "level": "MAY""#), &cite(""), &cite(r#", "level": "MUST""#)],
        expect![[r#"
        Error conflict: level of cite-1 is not there in b.json, and "MAY" in a.json
          at b.json:4:11 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST"}]
          at a.json:4:118 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "level": "MAY"}]
          make all reports from one state of the code
        Error conflict: level of cite-1 is "MUST" in c.json, and "MAY" in a.json
          at c.json:4:118 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "level": "MUST"}]
          at a.json:4:118 ["cite-1": {"source": {"src": "lnk-1", "line": 1}, "target": {"src": "src-1", "ranges": []}, "type": "TEST", "level": "MAY"}]
          make all reports from one state of the code
    "#]],
    );
}

#[test]
fn an_address_may_be_known_to_one_report_alone() {
    let specification = |url: &str| {
        let source = r#""source": {"src": "src-1", "start": 0, "end": 3}, "format": "ietf""#;
        report(&[("specification", &format!(r#""spc-1": {{{source}{url}}}"#))])
    };
    let (none, first, second) = (
        specification(""),
        specification(r#", "url": "https://a.example""#),
        specification(r#", "url": "https://b.example""#),
    );
    check(
        &[&none, &first],
        expect![[r#"
        {"version":"2.0","sources":{"sources.json#inline":{},"sources.json#linked":{}},"annotations":{"annotations.json#specification":{"spc-1":{"source":{"src":"src-1","start":0,"end":3},"format":"ietf","url":"https://a.example"}},"annotations.json#section":{},"annotations.json#requirement":{},"annotations.json#cite":{}}}
    "#]],
    );
    check(
        &[&none, &first, &second],
        expect![[r#"
        Error conflict: url of spc-1 is "https://b.example" in c.json, and "https://a.example" in b.json
          at c.json:4:86 ["spc-1": {"source": {"src": "src-1", "start": 0, "end": 3}, "format": "ietf", "url": "https://b.example"}]
          at b.json:4:86 ["spc-1": {"source": {"src": "src-1", "start": 0, "end": 3}, "format": "ietf", "url": "https://a.example"}]
          make all reports from one state of the code
    "#]],
    );
}

#[test]
fn files_without_a_repository_are_in_one_report_at_most() {
    let linked = |names: &[&str]| {
        let files = names.iter().map(|name| format!(r#""lnk-{name}": {{"file_name": "{name}"}}"#));
        report(&[("linked", &files.collect::<Vec<_>>().join(",\n"))])
    };
    check(
        &[&linked(&["a.rs"]), &linked(&["b.rs"])],
        expect![[r#"
        {"version":"2.0","sources":{"sources.json#inline":{},"sources.json#linked":{"lnk-a.rs":{"file_name":"a.rs"},"lnk-b.rs":{"file_name":"b.rs"}}},"annotations":{"annotations.json#specification":{},"annotations.json#section":{},"annotations.json#requirement":{},"annotations.json#cite":{}}}
    "#]],
    );
    check(
        &[&linked(&["a.rs", "b.rs", "c.rs"]), &linked(&["c.rs", "b.rs"])],
        expect![[r#"
        Error conflict: b.rs is in a.json and in b.json without a repository, and so is another file
          at b.json:4:27 ["lnk-b.rs": {"file_name": "b.rs"}]
          at a.json:4:27 ["lnk-b.rs": {"file_name": "b.rs"},]
          say where the files of each project can be looked at: `blob-link` of `[[source]]`, or --blob-link
    "#]],
    );
}

#[test]
fn kinds_that_are_not_known_are_kept_if_they_are_the_same() {
    let extended = |value: &str| {
        format!(r#"{{"version": "2.0", "sources": {{"new": {value}}}, "annotations": {{"other": null}}}}"#)
    };
    check(
        &[&extended(r#"{"b": 1, "a": 2}"#), &extended(r#"{"a": 2, "b": 1}"#)],
        expect![[r#"
        {"version":"2.0","sources":{"sources.json#inline":{},"sources.json#linked":{},"new":{"a":2,"b":1}},"annotations":{"annotations.json#specification":{},"annotations.json#section":{},"annotations.json#requirement":{},"annotations.json#cite":{},"other":null}}
    "#]],
    );
    check(
        &[&extended("1"), &extended("2")],
        expect![[r#"
        Error conflict: new is 2 in b.json, and 1 in a.json
          at b.json:1:39 [{"version": "2.0", "sources": {"new": 2}, "annotations": {"other": null}}]
          at a.json:1:39 [{"version": "2.0", "sources": {"new": 1}, "annotations": {"other": null}}]
          make all reports from one state of the code
    "#]],
    );
}

#[test]
fn many_differences_are_not_all_shown() {
    let many = |name: &str| {
        let text = |n| format!(r#""src-{n}": {{"file_name": "{name}", "contents": ""}}"#);
        report(&[("inline", &(0..25).map(text).collect::<Vec<_>>().join(",\n"))])
    };
    let inputs = inputs(&[&many("a"), &many("b")]);
    let errors = merge(&inputs).expect_err("they differ");
    assert_eq!(errors.len(), 21);
    assert_eq!(errors[20].message, "5 more such differences are not shown");
}

/// Merges reports, and again with each of them first, which must not change the result.
#[track_caller]
pub fn check(reports: &[&str], expected: Expect) {
    let inputs = inputs(reports);
    let shown = match merge(&inputs) {
        Ok(merged) => {
            for rotation in 1..inputs.len() {
                let mut turned = inputs.clone();
                turned.rotate_left(rotation);
                let again = merge(&turned).expect("the order does not matter");
                assert_eq!(again.document, merged.document);
            }
            let document = serde_json::to_string(&merged.document).expect("memory");
            let short = document.replace("https://awslabs.github.io/duvet/v2/", "");
            show(&merged.warnings) + &short + "\n"
        }
        Err(errors) => show(&errors),
    };
    expected.assert_eq(&shown);
}

fn inputs(reports: &[&str]) -> Vec<Input> {
    let named = reports.iter().zip('a'..).map(|(text, name)| (format!("{name}.json"), text));
    named.map(|(path, text)| Input { path: path.into(), text: (*text).to_owned() }).collect()
}

/// Writes a report with things of some kinds, each kind from a line of its own on.
pub fn report(parts: &[(&str, &str)]) -> String {
    let of = |group: &str, kinds: &[&str]| {
        let parts = parts.iter().filter(|(kind, _)| kinds.contains(kind));
        let key = |kind: &str| format!("https://awslabs.github.io/duvet/v2/{group}.json#{kind}");
        let parts = parts.map(|(kind, things)| format!("\"{}\": {{\n{things}\n}}", key(kind)));
        format!("\"{group}\": {{{}}}", parts.collect::<Vec<_>>().join(",\n"))
    };
    let sources = of("sources", &["inline", "linked"]);
    let annotations = of("annotations", &["specification", "section", "requirement", "cite"]);
    format!("{{\"version\": \"2.0\",\n{sources},\n{annotations}}}")
}

fn show(diagnostics: &[Diagnostic]) -> String {
    let mut shown = String::new();
    for diagnostic in diagnostics {
        let _ = writeln!(shown, "{:?} {}: {}", diagnostic.severity, diagnostic.code, diagnostic.message);
        for place in &diagnostic.places {
            let _ = writeln!(shown, "  at {place} [{}]", place.excerpt);
        }
        for help in &diagnostic.help {
            let _ = writeln!(shown, "  {help}");
        }
    }
    shown
}
