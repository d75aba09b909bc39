//! Checks without coverage: what is implemented, what is tested, what is said twice.

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use trace::model::Model;
use trace::project::{Options, Project};
use trace::query::filter::AnnotationFilter;
use trace::query::{QueryCheck, answer, json, measure, text};
use trace::report::Report;

pub const SPEC: &str = "# Pot\n\n## Brewing\n\nThe pot MUST accept BREW, and it MUST accept POST.\n\
    Milk SHOULD be warm.\n\n## Tea\n\nTea MAY be refused.\n";

const CONFIG: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
    [[specification]]\nsource = 'spec.md'\n[[source]]\npattern = 'src/**/*.*'\n";

#[test]
fn a_requirement_is_implemented_by_quotes_that_have_all_its_words() {
    check(
        &[QueryCheck::Implementation],
        &[(
            "src/lib.rs",
            "//= spec.md#brewing\n//# The pot MUST accept BREW, and\n\n\
             //= spec.md#brewing\n//= type=exception\n//= reason=nobody posts\n//# it MUST accept\n//# POST.\n\n\
             //= spec.md#brewing\n//# SHOULD be\n\n\
             //= spec.md#tea\n//= type=todo\n//# Tea MAY be refused.\n",
        )],
        expect![[r#"
            implementation: failed, 0 of 3 requirements are implemented
              - spec.md:5: implemented in part (spec.md#brewing)
                  The pot MUST accept BREW, and it MUST accept POST.
                  src/lib.rs:1: implementation
                  src/lib.rs:4: exception
              - spec.md:6: implemented in part (spec.md#brewing)
                  Milk SHOULD be warm.
                  not covered: Milk
                  not covered: warm.
                  src/lib.rs:10: implementation
              - spec.md:10: only a todo (spec.md#tea)
                  Tea MAY be refused.
                  src/lib.rs:13: todo

            failed
        "#]],
    );
}

#[test]
fn what_is_missing_is_shown_as_the_annotation_that_would_do() {
    check(
        &[QueryCheck::Implementation, QueryCheck::Test],
        &[(
            "src/lib.rs",
            "//= spec.md#brewing\n//# Milk SHOULD be warm.\n\n//= spec.md#tea\n//# Tea MAY be refused.\n\n\
             //= spec.md#tea\n//= type=test\n//# Tea MAY\n\n//= spec.md#tea\n//= type=todo\n//# refused.\n",
        )],
        expect![[r#"
            implementation: failed, 1 of 3 requirements are implemented
              - spec.md:5: not implemented; the annotation would be (spec.md#brewing)
                  //= spec.md#brewing
                  //# The pot MUST accept BREW, and it MUST accept POST.
              + spec.md:6: implemented (spec.md#brewing)
                  Milk SHOULD be warm.
                  src/lib.rs:1: implementation
              - spec.md:10: implemented, but a todo is left (spec.md#tea)
                  Tea MAY be refused.
                  src/lib.rs:4: implementation
                  src/lib.rs:11: todo

            test: failed, 0 of 2 implementations are tested
              - src/lib.rs:1: not tested; the annotation would be (spec.md#brewing)
                  //= spec.md#brewing
                  //= type=test
                  //# Milk SHOULD be warm.
              - src/lib.rs:4: tested in part (spec.md#tea)
                  Tea MAY be refused.
                  not covered: be refused.
                  src/lib.rs:7: test

            2 of 2 checks failed: implementation, test
        "#]],
    );
}

#[test]
fn an_annotation_that_says_nothing_new_is_a_duplicate() {
    check(
        &[QueryCheck::Duplicates],
        &[(
            "src/lib.rs",
            "//= spec.md#brewing\n//# The pot MUST accept BREW\n\n//= spec.md#brewing\n//# pot MUST\n\n\
             //= spec.md#brewing\n//= type=test\n//# pot MUST\n\n//= spec.md#tea\n",
        )],
        expect![[r#"
            duplicates: failed, 5 of 7 annotations are no duplicates
              + .duvet/requirements/spec/brewing.toml:8: the only one (spec.md#brewing)
                  The pot MUST accept BREW, and it MUST accept POST.
              + .duvet/requirements/spec/brewing.toml:14: the only one (spec.md#brewing)
                  Milk SHOULD be warm.
              + .duvet/requirements/spec/tea.toml:7: the only one (spec.md#tea)
                  Tea MAY be refused.
              + src/lib.rs:7: the only one (spec.md#brewing)
                  pot MUST
              + src/lib.rs:1: shares words with others (spec.md#brewing)
                  The pot MUST accept BREW
                  src/lib.rs:4: implementation
              - src/lib.rs:4: says what others say (spec.md#brewing)
                  pot MUST
                  src/lib.rs:1: implementation
              - src/lib.rs:11: quotes nothing (spec.md#tea)

            failed
        "#]],
    );
}

#[test]
fn a_quote_with_an_edit_fails_the_check_and_shows_what_is_right() {
    check(
        &[QueryCheck::Test],
        &[("src/lib.rs", "//= spec.md#brewing\n//# Milk SHOULD be wurm.\n")],
        expect![[r#"
            test: failed, 0 of 1 implementations are tested
              - src/lib.rs:1: differs from its section, and checks take quotes word for word (spec.md#brewing)
                  Milk SHOULD be wurm.
                  the section has: Milk SHOULD be warm.

            failed
        "#]],
    );
}

#[test]
fn a_filter_picks_what_is_looked_at_and_never_what_covers_it() {
    let source = "//= spec.md#brewing\n//# The pot MUST accept BREW,\n\n\
                  //= spec.md#brewing\n//# and it MUST accept POST.\n";
    let loaded = load(&[("src/lib.rs", source)]);
    for (sections, quotes, expected) in [
        (&[][..], &["BREW"][..], "implementation: passed, 1 of 1 requirements are implemented"),
        (&["spec.md#brewing"], &["pot"], "implementation: passed, 1 of 1 requirements are implemented"),
        (&["spec.md#tea"], &[], "implementation: failed, 0 of 1 requirements are implemented"),
        (&["spec.md"], &[], "implementation: failed, 1 of 3 requirements are implemented"),
        (
            &["spec.md", "other.md"],
            &["milk", "post"],
            "implementation: failed, 1 of 2 requirements are implemented",
        ),
        (&["spec"], &[], "implementation: passed, 0 of 0 requirements are implemented"),
    ] {
        let strings = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let filter = AnnotationFilter::new(&strings(sections), &strings(quotes));
        let answers = answer(&Report::of(&loaded), &[QueryCheck::Implementation], &filter, &[]);
        let mut shown = Vec::new();
        text::write(&Report::of(&loaded), &answers, false, &mut shown).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(shown.lines().next(), Some(expected), "{sections:?} {quotes:?}");
        let report = Report::of(&loaded);
        let annotations = report.annotations.iter().map(|numbered| numbered.annotation);
        assert_eq!(
            filter.idle(annotations).len(),
            sections.iter().filter(|section| **section == "spec" || **section == "other.md").count()
        );
    }
}

#[test]
fn programs_get_every_finding() {
    let loaded = load(&[("src/lib.rs", "//= spec.md#tea\n//# Tea MAY\n")]);
    let filter = AnnotationFilter::new(&["spec.md#tea".to_owned()], &[]);
    let answers =
        answer(&Report::of(&loaded), &[QueryCheck::Implementation, QueryCheck::Duplicates], &filter, &[]);
    let mut shown = Vec::new();
    json::write(&Report::of(&loaded), &answers, &mut shown).unwrap();
    expect![[r#"
        {
          "passed": false,
          "checks": [
            {
              "check": "implementation",
              "passed": false,
              "counts": {
                "partial": 1
              },
              "findings": [
                {
                  "outcome": "partial",
                  "passed": false,
                  "path": ".duvet/requirements/spec/tea.toml",
                  "line": 7,
                  "type": "spec",
                  "target": "spec.md#tea",
                  "specification_line": 10,
                  "quote": "Tea MAY be refused.",
                  "missing": [
                    "be refused."
                  ],
                  "related": [
                    {
                      "path": "src/lib.rs",
                      "line": 1,
                      "type": "implementation",
                      "target": "spec.md#tea",
                      "specification_line": 10
                    }
                  ]
                }
              ]
            },
            {
              "check": "duplicates",
              "passed": true,
              "counts": {
                "unique": 2
              },
              "findings": [
                {
                  "outcome": "unique",
                  "passed": true,
                  "path": ".duvet/requirements/spec/tea.toml",
                  "line": 7,
                  "type": "spec",
                  "target": "spec.md#tea",
                  "specification_line": 10,
                  "quote": "Tea MAY be refused.",
                  "related": []
                },
                {
                  "outcome": "unique",
                  "passed": true,
                  "path": "src/lib.rs",
                  "line": 1,
                  "type": "implementation",
                  "target": "spec.md#tea",
                  "specification_line": 10,
                  "quote": "Tea MAY",
                  "related": []
                }
              ]
            }
          ]
        }
    "#]]
    .assert_eq(&String::from_utf8(shown).unwrap());
}

#[track_caller]
fn check(checks: &[QueryCheck], files: &[(&str, &str)], expected: Expect) {
    let loaded = load(files);
    let answers = answer(&Report::of(&loaded), checks, &AnnotationFilter::default(), &[]);
    let mut shown = Vec::new();
    text::write(&Report::of(&loaded), &answers, true, &mut shown).unwrap();
    expected.assert_eq(&String::from_utf8(shown).unwrap());
}

/// Loads a project with the specification above.
#[track_caller]
fn load(files: &[(&str, &str)]) -> Model {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), files)
}

#[track_caller]
pub fn open(folder: &Path, files: &[(&str, &str)]) -> Model {
    for (path, text) in [(".duvet/config.toml", CONFIG), ("spec.md", SPEC)].iter().chain(files) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let options = Options { root: folder.to_owned(), ..Options::default() };
    let loaded = Project::open(options, &|_| None).unwrap().load(None, &mut |_, _| {});
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics());
    loaded
}

/// Answers with coverage reports, or says what is wrong with them.
pub fn answer_with(loaded: &Model, check: QueryCheck, patterns: &[&str]) -> String {
    let patterns: Vec<String> = patterns.iter().map(|pattern| pattern.to_string()).collect();
    let mut shown = Vec::new();
    match measure(&Report::of(loaded), &patterns) {
        Ok((measurements, warnings)) => {
            for warning in warnings {
                shown.extend(format!("warning: {}\n", warning.message).into_bytes());
            }
            let answers = answer(&Report::of(loaded), &[check], &AnnotationFilter::default(), &measurements);
            text::write(&Report::of(loaded), &answers, true, &mut shown).unwrap();
        }
        Err(problems) => {
            for problem in problems {
                shown.extend(format!("error: {}\n", problem.message).into_bytes());
            }
        }
    }
    String::from_utf8(shown).unwrap()
}
