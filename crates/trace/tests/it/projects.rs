//! Whole projects on disk: which files count, what they are called, and where requirements are said to stand.

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use trace::project::{Options, Project};
use trace::report::{Report, snapshot};

const POT: &str = "# Pot\n\n## Brewing\n\nA pot MUST brew. It MAY whistle.\n";
const CITED: &str = "//= pot.md#brewing\n//# A pot MUST brew.\n";
const SOURCE: &str = "[[source]]\npattern = 'src/*.rs'\n";

#[test]
fn requirements_stand_in_files_named_after_their_specification() {
    let files = [("pot.md", POT), ("src/a.rs", CITED)];
    check(
        &files,
        &format!("{SOURCE}[[specification]]\nsource = 'pot.md'\n"),
        expect![[r#"
            .duvet/requirements/pot/brewing.toml:7 SPEC pot.md
            .duvet/requirements/pot/brewing.toml:13 SPEC pot.md
            src/a.rs:1 CITATION pot.md
            SPECIFICATION: [Pot](pot.md)
              SECTION: [Brewing](#brewing)
                TEXT[!MUST,implementation]: A pot MUST brew.
                TEXT[!MAY]: It MAY whistle.
        "#]],
    );
}

#[test]
fn a_specification_kept_beside_the_configuration_keeps_its_whole_path() {
    for folder in [".duvet/specifications", ".duvet/requirements"] {
        let path = format!("{folder}/pot.v1.md");
        let source = format!("//= {path}#brewing\n//# A pot MUST brew.\n");
        let files = [(&*path, POT), ("src/a.rs", &source)];
        let config = format!("{SOURCE}[[specification]]\nsource = '{path}'\n");
        let found = annotations(&files, &config, ".duvet", None);
        assert!(found.starts_with(&format!(".duvet/requirements/{folder}/pot.v1/brewing.toml:")), "{found}");
    }
}

#[test]
fn the_id_of_a_section_does_not_lead_out_of_the_requirements() {
    let config = "[[specification]]\nsource = 'pot.md'\n";
    check(
        &[("pot.md", "# Pot {#../tea}\n\nIt MUST brew.\n")],
        config,
        expect![[r#"
        .duvet/requirements/tea.toml:7 SPEC pot.md
        SPECIFICATION: [Pot](pot.md)
          SECTION: [Pot](#../tea)
            TEXT[!MUST]: It MUST brew.
    "#]],
    );
    check(&[("pot.md", "# Pot {#../../../tea}\n\nIt MUST brew.\n")], config, expect![""]);
}

#[test]
fn a_configuration_may_be_named_in_any_way() {
    let files = [("pot.md", POT), ("src/a.rs", CITED)];
    let config = format!("{SOURCE}[[specification]]\nsource = 'pot.md'\n");
    let usual = annotations(&files, &config, ".duvet", None);
    for name in
        [".duvet/config.toml", "./.duvet/config.toml", "src/../.duvet/config.toml", "ROOT/.duvet/config.toml"]
    {
        assert_eq!(annotations(&files, &config, ".duvet", Some(name)), usual, "{name}");
    }
}

#[test]
fn specifications_are_kept_beside_the_configuration_as_it_is_named() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join(".duvet")).unwrap();
    let downloads = |config_path: Option<&str>, specification_path: Option<&str>| {
        let options = Options {
            root: root.path().to_owned(),
            config_path: config_path.map(Into::into),
            specification_path: specification_path.map(Into::into),
            ..Options::default()
        };
        Project::open(options, &|_| None).unwrap().named_downloads()
    };
    assert_eq!(downloads(None, None), Path::new("specs"));
    assert_eq!(downloads(None, Some("kept")), Path::new("kept/specs"));
    let schema = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.json'\n";
    fs::write(root.path().join(".duvet/config.toml"), schema).unwrap();
    assert_eq!(downloads(None, Some("kept")), root.path().join(".duvet/specifications"));
    assert_eq!(downloads(Some("./.duvet/config.toml"), None), Path::new("./.duvet/specifications"));
}

#[test]
fn requirements_beside_another_configuration_count_if_a_pattern_finds_them() {
    let files = [("pot.md", POT), ("src/a.rs", CITED)];
    let config = format!("{SOURCE}[[specification]]\nsource = 'pot.md'\n");
    for (pattern, n_requirements) in [
        ("", 0),
        ("other/requirements/*.toml", 0),
        ("other/requirements/*/*.toml", 2),
        ("./other/**/*.toml", 2),
        ("other/requirements/pot/brewing.toml", 2),
    ] {
        let config = format!("{config}[[requirement]]\npattern = '{pattern}'\n");
        let found = annotations(&files, &config, "other", Some("other/config.toml"));
        assert_eq!(found.matches(" SPEC ").count(), n_requirements, "{pattern}: {found}");
    }
}

#[test]
fn a_file_found_by_two_patterns_counts_once_for_each_way_of_reading_it() {
    let files = [("pot.md", POT), ("src/a.rs", CITED)];
    let twice = format!("{SOURCE}[[source]]\npattern = './src/**/*.rs'\n");
    check(
        &files,
        &twice,
        expect![[r#"
            src/a.rs:1 CITATION pot.md
            SPECIFICATION: [Pot](pot.md)
              SECTION: [Brewing](#brewing)
                TEXT[implementation]: A pot MUST brew.
        "#]],
    );
    check(
        &files,
        &format!("{twice}type = 'test'\n"),
        expect![[r#"
            src/a.rs:1 TEST pot.md
            src/a.rs:1 CITATION pot.md
            SPECIFICATION: [Pot](pot.md)
              SECTION: [Brewing](#brewing)
                TEXT[implementation,test]: A pot MUST brew.
        "#]],
    );
}

#[test]
fn a_target_in_a_requirement_file_is_looked_for_in_the_folders_above_it() {
    let files = [
        ("docs/pot.md", POT),
        (
            "docs/deep/er/r.toml",
            "target = 'pot.md#brewing'\n[[spec]]\nlevel = 'MAY'\nquote = 'It MAY whistle.'\n",
        ),
    ];
    check(
        &files,
        "[[requirement]]\npattern = 'docs/**/*.toml'\n",
        expect![[r#"
            docs/deep/er/r.toml:2 SPEC docs/pot.md
            SPECIFICATION: [Pot](docs/pot.md)
              SECTION: [Brewing](#brewing)
                TEXT[!MAY]: It MAY whistle.
        "#]],
    );
}

#[test]
fn what_is_wrong_with_extracted_requirements_is_told_where_they_would_be_written() {
    // Read as Markdown by the configuration, but as plain text by whoever names it without a format.
    let files = [("pot.txt", "Pot\n===\n\nA pot MUST brew.\n")];
    let config = "[[specification]]\nsource = 'pot.txt'\nformat = 'markdown'\n";
    check(
        &files,
        config,
        expect![[r#"
            .duvet/requirements/pot/pot.toml:7 SPEC pot.txt
            unknown-section at .duvet/requirements/pot/pot.toml:1:10: pot.txt has no section `pot`
        "#]],
    );
}

#[test]
fn every_broken_annotation_is_told() {
    let source = "//= pot.md\n//= type=test\n\n//= pot.md#nothing\n\n//= pot.md#brewing\n//# A cup MUST\n//# break.\n\n\
                  //= tea.md#a\n\n//= https://\n\n//= pot.md#pot\n//# nothing is here\n";
    check(
        &[("pot.md", POT), ("src/a.rs", source)],
        SOURCE,
        expect![[r#"
            src/a.rs:1 TEST pot.md
            src/a.rs:4 CITATION pot.md
            src/a.rs:6 CITATION pot.md
            src/a.rs:10 CITATION 
            src/a.rs:12 CITATION 
            src/a.rs:14 CITATION pot.md
            missing-section at src/a.rs:1:5: the target pot.md names no section
            unknown-section at src/a.rs:4:5: pot.md has no section `nothing`
            unknown-quote at src/a.rs:7:5: section `brewing` of pot.md does not have this text
            missing-specification at src/a.rs:10:5: specification not found: tea.md
            invalid-url at src/a.rs:12:5: invalid URL: empty host
            empty-section at src/a.rs:15:5: section `pot` of pot.md has no text
        "#]],
    );
}

#[test]
fn patterns_that_find_nothing_or_folders_are_told_apart() {
    let files = [("pot.md", POT), ("src/a.rs", CITED)];
    check(&files, "[[source]]\npattern = ''\n[[source]]\npattern = 'none/*'\n", expect![""]);
    check(
        &files,
        "[[source]]\npattern = 'src'\n[[source]]\npattern = '***'\n",
        expect![[r#"
            pattern at : `***` is not a glob: wildcards are either regular `*` or recursive `**`
            unreadable at src: src is a folder
        "#]],
    );
}

#[track_caller]
fn check(files: &[(&str, &str)], config: &str, expected: Expect) {
    expected.assert_eq(&annotations(files, config, ".duvet", None));
}

/// Lists the annotations, the problems and the snapshot of a project.
fn annotations(files: &[(&str, &str)], config: &str, folder: &str, config_path: Option<&str>) -> String {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let config = format!("'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.json'\n{config}");
    for (path, text) in files.iter().copied().chain([(&*format!("{folder}/config.toml"), &*config)]) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let named = config_path.map(|path| path.replace("ROOT", &root.to_string_lossy()));
    let options = Options {
        root: root.clone(),
        config_path: named.map(|path| Path::new(&path).to_owned()),
        ..Options::default()
    };
    let model = Project::open(options, &|_| None).unwrap().load(None, &mut |_, _| {});

    let report = &Report::of(&model);
    let mut shown = String::new();
    for numbered in &report.annotations {
        let annotation = numbered.annotation;
        let path = &report.files[numbered.file as usize].path;
        let target = numbered.target_path();
        shown += &format!("{path}:{} {} {target}\n", annotation.line, annotation.kind.upper_name());
    }
    for problem in &model.diagnostics() {
        let places: Vec<String> = problem.places.iter().map(ToString::to_string).collect();
        shown += &format!("{} at {}: {}\n", problem.code, places.join(", "), problem.message);
    }
    let mut text = Vec::new();
    snapshot::write(report, &mut text).unwrap();
    shown + &String::from_utf8(text).unwrap()
}
