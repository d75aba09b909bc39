//! Configurations: what is accepted, what each part means, and what is wrong with the others.

use expect_test::{Expect, expect};
use trace::Config;

const SCHEMA: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n";

#[test]
fn a_schema_is_needed_and_two_are_known() {
    for version in ["v0.4.0", "v0.4"] {
        for end in ["", "#"] {
            let text = format!("'$schema' = 'https://awslabs.github.io/duvet/config/{version}.json{end}'\n");
            assert!(parse(&text).is_ok(), "{text}");
        }
    }
    fails(
        "",
        expect![[r#"
            config.toml:1:1: the configuration names no schema
        "#]],
    );
    fails(
        "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json##'\n",
        expect![[r#"
            config.toml:1:13: this schema is not known
        "#]],
    );
    fails(
        "'$schema' = 'https://awslabs.github.io/duvet/config/v9.json'\n",
        expect![[r#"
            config.toml:1:13: this schema is not known
        "#]],
    );
}

#[test]
fn an_empty_configuration_writes_the_page_alone() {
    check(
        "",
        expect![[r#"
            requirements .duvet/requirements/**/*.toml .duvet/todos/**/*.toml .duvet/exceptions/**/*.toml
            html Some(".duvet/reports/report.html") json None snapshot None
            blob None issue None
        "#]],
    );
}

#[test]
fn marks_and_types_have_defaults_of_their_own() {
    check(
        "[[source]]\npattern = 'src/*.rs'\n[[source]]\npattern = '*.py'\ncomment-style = { meta = '##=', content = '##%' }\n\
         type = 'test'\nblob-link = 'b'\n[[source]]\npattern = '*.c'\ncomment-style = { content = '*#' }\ntype = 'todo'\n",
        expect![[r#"
            source src/*.rs //= //# implementation None
            source *.py ##= ##% test Some("b")
            source *.c //= *# todo None
            requirements .duvet/requirements/**/*.toml .duvet/todos/**/*.toml .duvet/exceptions/**/*.toml
            html Some(".duvet/reports/report.html") json None snapshot None
            blob None issue None
        "#]],
    );
}

#[test]
fn specifications_and_requirements_are_listed_in_order() {
    check(
        "[[specification]]\nsource = 'a.md'\n[[specification]]\nsource = 'b'\nformat = 'md'\n[[specification]]\n\
         source = 'c'\nformat = 'IETF'\n[[requirement]]\npattern = 'reqs/*.toml'\n",
        expect![[r#"
            specification a.md auto config.toml:2:1
            specification b markdown config.toml:4:1
            specification c ietf config.toml:7:1
            requirements .duvet/requirements/**/*.toml .duvet/todos/**/*.toml .duvet/exceptions/**/*.toml reqs/*.toml
            html Some(".duvet/reports/report.html") json None snapshot None
            blob None issue None
        "#]],
    );
}

#[test]
fn reports_are_switched_on_and_moved() {
    check(
        "[report.html]\nenabled = false\nissue-link = 'i'\n[report.json]\nenabled = true\n\
         [report.snapshot]\nenabled = true\npath = 'here.txt'\n",
        expect![[r#"
            requirements .duvet/requirements/**/*.toml .duvet/todos/**/*.toml .duvet/exceptions/**/*.toml
            html None json Some(".duvet/reports/report.json") snapshot Some("here.txt")
            blob None issue Some("i")
        "#]],
    );
}

#[test]
fn templates_take_the_first_value_there_is() {
    for (template, expected) in [
        ("a${{ SHA }}b", "aabcb"),
        ("${{ NONE || SHA || 'x' }}", "abc"),
        ("${{ NONE || 'main' }}/${{SHA}}", "main/abc"),
        ("${{ '' }}", ""),
        ("${{ 'it's' }}", "it's"),
        ("}}", "}}"),
    ] {
        let text = format!("{SCHEMA}[report.html]\nblob-link = \"{template}\"\n");
        let found = parse(&text).map(|config| config.report.blob_link);
        assert_eq!(found, Ok(Some(expected.to_owned())), "{template}");
    }
    fails(
        &format!("{SCHEMA}[report.html]\nblob-link = '${{{{ NONE }}}}'\n"),
        expect![[r#"
            config.toml:3:13: no part of `NONE` has a value
        "#]],
    );
    fails(
        &format!("{SCHEMA}[[source]]\npattern = 'x'\nblob-link = 'a${{{{ SHA'\n"),
        expect![[r#"
            config.toml:4:13: `${{` without `}}`
        "#]],
    );
}

#[test]
fn what_is_unknown_is_an_error() {
    for (text, expected) in [
        (
            "[other]\n",
            expect![[r#"
                config.toml:2:2: unknown field `other`, expected one of `$schema`, `source`, `requirement`, `specification`, `report`
            "#]],
        ),
        (
            "[[source]]\n",
            expect![[r#"
                config.toml:2:1: missing field `pattern`
            "#]],
        ),
        (
            "[[source]]\npattern = 'x'\ntype = 'TEST'\n",
            expect![[r#"
                config.toml:4:8: unknown variant `TEST`, expected one of `implementation`, `spec`, `test`, `exception`, `todo`, `implication`
            "#]],
        ),
        (
            "[[source]]\npattern = 'x'\nexclude = 'y'\n",
            expect![[r#"
                config.toml:4:1: unknown field `exclude`, expected one of `pattern`, `comment-style`, `type`, `blob-link`
            "#]],
        ),
        (
            "[[specification]]\nsource = 'x'\nformat = 'auto'\n",
            expect![[r#"
                config.toml:4:10: unknown variant `auto`, expected one of `IETF`, `ietf`, `markdown`, `md`
            "#]],
        ),
        (
            "[report.html]\nenabled = 'yes'\n",
            expect![[r#"
                config.toml:3:11: invalid type: string "yes", expected a boolean
            "#]],
        ),
        (
            "[source]\npattern = 'x'\n",
            expect![[r#"
                config.toml:2:1: invalid type: map, expected a sequence
            "#]],
        ),
        (
            "[[source]\n",
            expect![[r#"
                config.toml:2:10: unclosed array table, expected `]`
            "#]],
        ),
    ] {
        fails(&format!("{SCHEMA}{text}"), expected);
    }
}

fn parse(text: &str) -> Result<Config, String> {
    let environment = |name: &str| (name == "SHA").then(|| "abc".to_owned());
    Config::parse(&"config.toml".into(), text, &environment).map_err(|problems| {
        let lines = problems.iter().map(|problem| {
            let places: Vec<String> = problem.places.iter().map(ToString::to_string).collect();
            format!("{}: {}\n", places.join(", "), problem.message)
        });
        lines.collect()
    })
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let config = parse(&format!("{SCHEMA}{text}")).unwrap();
    let mut shown = String::new();
    for source in &config.sources {
        shown += &format!(
            "source {} {} {} {} {:?}\n",
            source.pattern, source.style.meta, source.style.content, source.default_kind, source.blob_link
        );
    }
    for specification in &config.specifications {
        let place = &specification.place;
        shown += &format!("specification {} {} {place}\n", specification.source, specification.format);
    }
    shown += &format!("requirements {}\n", config.requirements.join(" "));
    let report = &config.report;
    shown += &format!("html {:?} json {:?} snapshot {:?}\n", report.html, report.json, report.snapshot);
    shown += &format!("blob {:?} issue {:?}\n", report.blob_link, report.issue_link);
    expected.assert_eq(&shown);
}

#[track_caller]
fn fails(text: &str, expected: Expect) {
    expected.assert_eq(&parse(text).unwrap_err());
}
