//! Requirement files: every spelling that is accepted, and what is wrong with the others.

use expect_test::{Expect, expect};
use trace::interner::Interner;
use trace::requirement_file::read;

use crate::comment_scanner::show;

#[test]
fn tables_of_each_kind_make_annotations() {
    check(
        "target = 's.md#a'\n\n[[spec]]\nlevel = 'MUST'\nquote = '''\nThe pot MUST\n   brew.\n'''\n\n\
         [[exception]]\nquote = 'No tea.'\nreason = 'not wanted'\n\n\
         [[todo]]\nquote = 'Steam.'\nfeature = 'f'\ntracking-issue = '#1'\nreason = 'later'\ntags = ['b', 'a', 'b']\n",
        expect![[r##"
            3 spec s.md#a `The pot MUST brew.` level=MUST comment="The pot MUST\n   brew.\n"
            10 exception s.md#a `No tea.` comment="not wanted"
            14 todo s.md#a `Steam.` comment="later" feature="f" issue="#1" tags={"a", "b"}
        "##]],
    );
}

#[test]
fn names_have_aliases() {
    for name in ["spec", "specs"] {
        check_line(
            &format!("[[{name}]]\ntarget = 's.md#a'\nquote = 'q'\n"),
            "1 spec s.md#a `q` comment=\"q\"",
        );
    }
    for name in ["exception", "exceptions"] {
        check_line(
            &format!("[[{name}]]\ntarget = 's.md#a'\nquote = 'q'\nreason = 'r'\n"),
            "1 exception s.md#a `q` comment=\"r\"",
        );
    }
    for name in ["todo", "todos", "TODO"] {
        for issue in ["tracking-issue", "tracking_issue"] {
            check_line(
                &format!("[[{name}]]\ntarget = 's.md#a'\nquote = 'q'\n{issue} = 'i'\n"),
                "1 todo s.md#a `q` issue=\"i\"",
            );
        }
    }
}

#[test]
fn inline_tables_are_tables() {
    check(
        "target = 's.md#a'\nspec = [{ quote = 'one' },\n  { quote = 'two', level = 'MAY', target = 's.md#b' }]\n",
        expect![[r#"
            2 spec s.md#a `one` comment="one"
            3 spec s.md#b `two` level=MAY comment="two"
        "#]],
    );
}

#[test]
fn lines_of_a_quote_are_joined_by_single_spaces() {
    check(
        "[[spec]]\ntarget = 's.md#a'\nquote = \"\"\"\n  * one\n\n\ttwo   three \\\n   four\n\"\"\"\n",
        expect![[r#"
            1 spec s.md#a `* one two   three four` comment="  * one\n\n\ttwo   three four\n"
        "#]],
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    check(
        "[[spec]]\nquote = 'q'\n\n[[spec]]\ntarget = 's.md#a'\nquote = 'fine'\n",
        expect![[r#"
            4 spec s.md#a `fine` comment="fine"
            missing-target at r.toml:1:1: the entry names no specification
        "#]],
    );
    check(
        "target = 's.md#a'\n[[spec]]\nquote = 'q'\nlevel = 'must'\n",
        expect![[r#"
            invalid-value at r.toml:4:9: there is no level `must`
        "#]],
    );
    check(
        "target = 's.md#a'\n[[spec]]\nquote = 'q'\nformat = 'html'\n",
        expect![[r#"
            invalid-value at r.toml:4:10: there is no format `html`
        "#]],
    );
    check(
        "target = 's.md#a'\n[[exception]]\nquote = 'q'\n",
        expect![[r#"
            requirement-file at r.toml:2:1: missing field `reason`
        "#]],
    );
    check(
        "target = 's.md#a'\n[[spec]]\nquote = 'q'\nreason = 'r'\n",
        expect![[r#"
            requirement-file at r.toml:4:1: unknown field `reason`, expected one of `target`, `level`, `format`, `quote`
        "#]],
    );
    check(
        "[[rule]]\n",
        expect![[r#"
            requirement-file at r.toml:1:3: unknown field `rule`, expected one of `target`, `spec`, `specs`, `exception`, `exceptions`, `TODO`, `todo`, `todos`
        "#]],
    );
    check(
        "target = 's.md#a\n",
        expect![[r#"
            requirement-file at r.toml:1:17: invalid literal string, expected `'`
        "#]],
    );
    check(
        "target = 1\n",
        expect![[r#"
            requirement-file at r.toml:1:10: invalid type: integer `1`, expected a string
        "#]],
    );
    check("", expect![""]);
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let (annotations, problems) = read(&"r.toml".into(), text, &Interner::default());
    expected.assert_eq(&show(&annotations, &problems));
}

#[track_caller]
fn check_line(text: &str, expected: &str) {
    let (annotations, problems) = read(&"r.toml".into(), text, &Interner::default());
    assert_eq!(show(&annotations, &problems).trim_end(), expected, "{text}");
}
