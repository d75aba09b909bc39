//! Annotations in comments: which lines count, where one annotation ends, what is wrong with it.

use expect_test::{Expect, expect};
use trace::comment::{Style, scan};
use trace::interner::Interner;
use trace::{Annotation, AnnotationKind, Diagnostic};

#[test]
fn an_annotation_is_meta_lines_then_content_lines() {
    check(
        "fn a() {\n    //= spec.md#a\n    //= type=test\n    //# The pot MUST\n    //#   brew. \n    brew();\n}\n",
        expect![[r#"
            2 test spec.md#a `The pot MUST brew.`
        "#]],
    );
}

#[test]
fn without_a_quote_it_points_at_the_section() {
    check(
        "//= spec.md#a\nfn a() {}\n",
        expect![[r#"
            1 implementation spec.md#a ``
        "#]],
    );
    check(
        "//= spec.md\n//#\n//#   \n",
        expect![[r#"
            1 implementation spec.md ``
        "#]],
    );
}

#[test]
fn a_gap_ends_it_and_the_rest_is_left() {
    check(
        "//= spec.md#a\n\n//# lost\n",
        expect![[r#"
            1 implementation spec.md#a ``
        "#]],
    );
    check(
        "//= spec.md#a\n//# kept\n   \n//# lost\n",
        expect![[r#"
            1 implementation spec.md#a `kept`
        "#]],
    );
    check(
        "//= spec.md#a\nx //# lost\n",
        expect![[r#"
            1 implementation spec.md#a ``
        "#]],
    );
    check(
        "//# lost\n//= spec.md#a\n",
        expect![[r#"
            2 implementation spec.md#a ``
        "#]],
    );
}

#[test]
fn a_meta_line_after_content_starts_the_next() {
    check(
        "//= a.md#a\n//# one\n//= b.md#b\n//# two\n",
        expect![[r#"
            1 implementation a.md#a `one`
            3 implementation b.md#b `two`
        "#]],
    );
}

#[test]
fn the_mark_counts_at_the_start_of_a_line_alone() {
    check(
        "let x = 1; //= spec.md#a\n\"//= spec.md#a\"\n\t \u{a0}//= spec.md#a\n",
        expect![[r#"
            3 implementation spec.md#a ``
        "#]],
    );
}

#[test]
fn lines_may_end_in_any_way() {
    check(
        "//= spec.md#a\r\n//# one\r\n//# two",
        expect![[r#"
            1 implementation spec.md#a `one two`
        "#]],
    );
    check(
        "\u{feff}//= spec.md#lost\n//= spec.md#a\n",
        expect![[r#"
            2 implementation spec.md#a ``
        "#]],
    );
}

#[test]
fn keys_are_cut_at_the_first_equals_sign() {
    check(
        "//= source = spec.md#a\n//= type = exception\n//= level=MAY\n//= format=md\n//= reason=one = 1,\n//= reason=two\n",
        expect![[r#"
            1 exception spec.md#a `` level=MAY format=markdown comment="one = 1, two"
        "#]],
    );
    check(
        "//= spec.md#a\n//= type=TODO\n//= feature=Steam\n//= tracking-issue=https://x/1?a=b\n",
        expect![[r#"
            1 todo spec.md#a `` feature="Steam" issue="https://x/1?a=b"
        "#]],
    );
}

#[test]
fn types_are_all_lower_or_all_upper() {
    for kind in ["spec", "TEST", "citation", "IMPLEMENTATION", "todo", "EXCEPTION", "implication"] {
        let (annotations, problems) = scan_default(&format!("//= s.md#a\n//= type={kind}\n"));
        assert_eq!((annotations.len(), problems.len()), (1, 0), "{kind}");
    }
    check(
        "//= s.md#a\n//= type=Test\n",
        expect![[r#"
            1 implementation s.md#a ``
            invalid-value at a:2:10: there is no type `Test`
        "#]],
    );
    check(
        "//= s.md#a\n//= level=must\n",
        expect![[r#"
            1 implementation s.md#a ``
            invalid-value at a:2:11: there is no level `must`
        "#]],
    );
    check(
        "//= s.md#a\n//= format=html\n",
        expect![[r#"
            1 implementation s.md#a ``
            invalid-value at a:2:12: there is no format `html`
        "#]],
    );
}

#[test]
fn every_problem_is_told_and_hides_no_other_annotation() {
    check(
        "//= type=test\n//# no target\n\n//= s.md#a\n//= s.md#b\n\n//= s.md#a\n//= typ=test\n\n//= s.md#fine\n",
        expect![[r#"
            4 implementation s.md#b ``
            7 implementation s.md#a ``
            10 implementation s.md#fine ``
            missing-target at a:1:10: the annotation names no specification
            duplicate-key at a:5:5, a:4:5: duplicate key `source`
            unknown-key at a:8:5: there is no key `typ`
        "#]],
    );
    check(
        "//= s.md#a\n//= type=test\n//= type=test\n",
        expect![[r#"
            1 test s.md#a ``
            duplicate-key at a:3:10, a:2:10: duplicate key `type`
        "#]],
    );
    check(
        "//= s.md#a\n//= feature=x\n\n//= s.md#a\n//= type=todo\n//= reason=fine\n",
        expect![[r#"
            misplaced-key at a:2:13: `feature` does not belong to type implementation
            misplaced-key at a:6:12: `reason` does not belong to type todo
        "#]],
    );
    check(
        "//= https://x/y?a=b#c\n",
        expect![[r#"
            unknown-key at a:1:5: there is no key `https://x/y?a`
            missing-target at a:1:19: the annotation names no specification
        "#]],
    );
    check(
        "//===========\n",
        expect![[r#"
            unknown-key at a:1:4: there is no key ``
            missing-target at a:1:5: the annotation names no specification
        "#]],
    );
    check(
        "//=\n",
        expect![[r#"
            1 implementation  ``
        "#]],
    );
}

#[test]
fn marks_may_be_anything() {
    for (meta, content) in
        [("*=", "*#"), ("##=", "##%"), ("# //=", "# //#"), ("(*=", "(*#"), ("é=", "é#"), ("//", "--")]
    {
        let text = format!("  {meta} s.md#a\n  {content} quote\n  */\n");
        let (annotations, problems) =
            scan(&"a".into(), &text, &style(meta, content), AnnotationKind::Test, &Interner::default());
        assert!(problems.is_empty());
        assert_eq!(show(&annotations, &problems), "1 test s.md#a `quote`\n", "{meta} {content}");
    }
}

#[test]
fn a_mark_that_starts_the_other_wins_if_it_is_the_meta_mark() {
    check_style(
        ("//", "//#"),
        "// s.md#a\n//# quote\n",
        expect![[r#"
            1 implementation # quote ``
            duplicate-key at a:2:3, a:1:4: duplicate key `source`
        "#]],
    );
    check_style(
        ("//=", "//"),
        "//= s.md#a\n// quote\n",
        expect![[r#"
            1 implementation s.md#a `quote`
        "#]],
    );
    check_style(
        ("=", "="),
        "= s.md#a\n= s.md#b\n",
        expect![[r#"
            1 implementation s.md#b ``
            duplicate-key at a:2:3, a:1:3: duplicate key `source`
        "#]],
    );
}

#[test]
fn empty_marks_take_every_line_but_blank_ones() {
    check_style(
        ("//=", ""),
        "//= s.md#a\nThe pot\n  brews.\n\nlost\n",
        expect![[r#"
            1 implementation s.md#a `The pot brews.`
        "#]],
    );
    check_style(
        ("", "#"),
        "\n\ns.md#a\n# quote\n\n",
        expect![[r#"
            3 implementation # quote ``
            duplicate-key at a:4:1, a:3:1: duplicate key `source`
        "#]],
    );
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let (annotations, problems) = scan_default(text);
    expected.assert_eq(&show(&annotations, &problems));
}

#[track_caller]
fn check_style((meta, content): (&str, &str), text: &str, expected: Expect) {
    let (annotations, problems) =
        scan(&"a".into(), text, &style(meta, content), AnnotationKind::Citation, &Interner::default());
    expected.assert_eq(&show(&annotations, &problems));
}

fn scan_default(text: &str) -> (Vec<Annotation>, Vec<Diagnostic>) {
    scan(&"a".into(), text, &Style::default(), AnnotationKind::Citation, &Interner::default())
}

fn style(meta: &str, content: &str) -> Style {
    Style { meta: meta.into(), content: content.into() }
}

/// Writes a line for each annotation and each problem; annotation without what is usual.
pub fn show(annotations: &[Annotation], problems: &[Diagnostic]) -> String {
    let mut text = String::new();
    for annotation in annotations {
        text +=
            &format!("{} {} {} `{}`", annotation.line, annotation.kind, annotation.target, annotation.quote);
        if annotation.level != trace::Level::Auto {
            text += &format!(" level={}", annotation.level);
        }
        if annotation.format != trace::Format::Auto {
            text += &format!(" format={}", annotation.format);
        }
        if let Some(notes) = &annotation.notes {
            for (key, value) in
                [("comment", &notes.comment), ("feature", &notes.feature), ("issue", &notes.tracking_issue)]
            {
                if !value.is_empty() {
                    text += &format!(" {key}={value:?}");
                }
            }
            if !notes.tags.is_empty() {
                text += &format!(" tags={:?}", notes.tags);
            }
        }
        text.push('\n');
    }
    for problem in problems {
        let places: Vec<String> = problem.places.iter().map(ToString::to_string).collect();
        text += &format!("{} at {}: {}\n", problem.code, places.join(", "), problem.message);
    }
    text
}
