//! How far requirements are, with all spellings of a document taken together.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use trace::model::Model;
use trace::project::{Options, Project};

const COFFEE: &str = "\
# Coffee

## Brewing

The pot MUST accept BREW. The pot SHOULD be
clean.
";

#[test]
fn a_requirement_is_done_when_all_of_it_is_cited_and_tested() {
    let cite = |kind: &str, quote: &str| format!("//= coffee.md#brewing\n//= type={kind}\n//# {quote}\n\n");
    let all = "The pot MUST accept BREW.";
    let half = "The pot MUST accept";
    for (annotations, expected) in [
        (vec![], expect!["not started, not started, 0/21 0/21"]),
        (vec![("todo", all)], expect!["not started, Not started, 0/21 0/21"]),
        (vec![("citation", all)], expect!["needs tests, Missing test, 21/21 0/21"]),
        (vec![("citation", all), ("test", half)], expect!["needs tests, Missing test, 21/21 16/21"]),
        (vec![("citation", all), ("test", all)], expect!["done, Complete, 21/21 21/21"]),
        (vec![("test", all)], expect!["in progress, Missing citation, 0/21 21/21"]),
        (vec![("citation", half)], expect!["in progress, Partial coverage, 16/21 0/21"]),
        (vec![("citation", half), ("todo", all)], expect!["in progress, Not started, 16/21 0/21"]),
        (vec![("implication", all)], expect!["done, Complete, 21/21 21/21"]),
        (vec![("exception", all)], expect!["done, Exception, 21/21 21/21"]),
        // Two that meet are as good as one, whatever stands between them.
        (
            vec![("citation", half), ("citation", "BREW."), ("test", all)],
            expect!["done, Complete, 21/21 21/21"],
        ),
        (vec![("implication", half), ("exception", "BREW.")], expect!["done, Complete, 21/21 21/21"]),
    ] {
        let source: String = annotations.iter().map(|(kind, quote)| cite(kind, quote)).collect();
        let found = describe(&[("coffee.md", COFFEE), ("lib.rs", &source)], "coffee.md");
        let first = found.lines().find(|line| line.contains("BREW")).unwrap_or_default();
        let (_, state) = first.split_once(" | ").unwrap_or_default();
        expected.assert_eq(state);
    }
}

#[test]
fn the_mark_of_a_list_counts_as_covered_with_its_sentence() {
    let specification = "# Card\n\n* A card number MUST have 13 digits.\n  2) It MAY\n     have 19.\n\n\
        A kiosk MUST\n- open\n- close\n";
    let cite = |quote: &str| format!("//= coffee.md#card\n//# {quote}\n\n");
    let quotes = ["A card number MUST have 13 digits.", "It MAY have 19.", "A kiosk MUST", "open", "close"];
    let source: String = quotes.map(cite).concat();
    check(
        &[("coffee.md", specification), ("lib.rs", &source)],
        "coffee.md",
        &expect![[r#"
            coffee-md: Card (coffee.md)
              card MUST A card number MUST have 13 digits. | needs tests, Missing test, 28/28 0/28
              card MAY It MAY have 19. | needs tests, Missing test, 12/12 0/12
              card MUST A kiosk MUST | needs tests, Missing test, 10/10 0/10
        "#]],
    );
    let source = cite("* A card number MUST have 13 digits.");
    check(
        &[("coffee.md", specification), ("lib.rs", &source)],
        "coffee.md",
        &expect![[r#"
            coffee-md: Card (coffee.md)
              card MUST A card number MUST have 13 digits. | needs tests, Missing test, 28/28 0/28
              card MAY It MAY have 19. | not started, not started, 0/12 0/12
              card MUST A kiosk MUST | not started, not started, 0/10 0/10
        "#]],
    );
}

#[test]
fn a_cell_of_a_table_is_a_requirement() {
    let specification = "# Card\n\nThese MUST hold:\n\n| Field | Rule | Why |\n|:---|----|---|\n\
        | number | A number MUST have 13 digits | habit |\n\
        | pin | A pin MUST have 4 digits. It MAY be hidden. | It SHOULD be safe |\n\nA lid MUST fit.\n";
    let source =
        "//= coffee.md#card\n//# A number MUST have 13 digits\n\n//= coffee.md#card\n//# It MAY be hidden.\n";
    check(
        &[("coffee.md", specification), ("lib.rs", source)],
        "coffee.md",
        &expect![[r#"
            coffee-md: Card (coffee.md)
              card MUST These MUST hold: | not started, not started, 0/14 0/14
              card MUST A number MUST have 13 digits | needs tests, Missing test, 23/23 0/23
              card MUST A pin MUST have 4 digits. | not started, not started, 0/20 0/20
              card MAY It MAY be hidden. | needs tests, Missing test, 14/14 0/14
              card SHOULD It SHOULD be safe | not started, not started, 0/14 0/14
              card MUST A lid MUST fit. | not started, not started, 0/12 0/12
        "#]],
    );
}

#[test]
fn a_cell_of_a_drawn_table_is_a_requirement() {
    let table = "\
        \u{20}  +--------+----------------+-------+\n\
        \u{20}  | Field  | Rule           | Why   |\n\
        \u{20}  +========+================+=======+\n\
        \u{20}  | number | A number MUST  | habit |\n\
        \u{20}  |        | have 13 digits |       |\n\
        \u{20}  +--------+----------------+-------+\n\
        \u{20}  | pin    | It SHOULD be 4 |       |\n\
        \u{20}  +--------+----------------+-------+\n";
    // The columns of a picture are not those of its rule.
    let picture = "   +-+-+-+-+-+-+-+\n   | It MUST be 1  |\n   +-+-+-+-+-+-+-+\n";
    let specification = format!("1.  Card\n\n{table}\n{picture}\n   A lid MUST fit.\n");
    let source = "//= card.txt#1\n//# A number MUST\n\n//= card.txt#1\n//# have 13 digits\n";
    check(
        &[("card.txt", &specification), ("lib.rs", source)],
        "card.txt",
        &expect![[r#"
        card-txt: card.txt (card.txt)
          section-1 MUST A number MUST have 13 digits | needs tests, Missing test, 23/23 0/23
          section-1 SHOULD It SHOULD be 4 | not started, not started, 0/11 0/11
          section-1 MUST +-+-+-+-+-+-+-+ | It MUST be 1 | +-+-+-+-+-+-+-+ | not started, not started, 0/41 0/41
          section-1 MUST A lid MUST fit. | not started, not started, 0/12 0/12
    "#]],
    );
}

#[test]
fn spellings_of_one_document_are_one() {
    let copy = ".duvet/specifications/www.rfc-editor.org/rfc/rfc2324.txt";
    let text = "1.  Brewing\n\n   The pot MUST accept BREW.  The pot MAY\n   be blue.\n";
    let source = "\
//= https://datatracker.ietf.org/doc/html/rfc2324#section-1
//# The pot MUST accept BREW.

//= http://www.rfc-editor.org/rfc/rfc2324.txt#1
//= type=test
//# The pot MUST accept BREW.

//= https://www.rfc-editor.org/rfc/rfc2324#section-1
//= type=spec
//= level=SHOULD
//# The pot MUST accept BREW.
";
    check(
        &[(copy, text), ("lib.rs", source)],
        "https://tools.ietf.org/rfc/rfc2324",
        &expect![[r#"
            rfc2324: RFC 2324 (https://tools.ietf.org/rfc/rfc2324)
              section-1 MUST The pot MUST accept BREW. | done, Complete, 21/21 21/21
              section-1 MAY The pot MAY be blue. | not started, not started, 0/16 0/16
        "#]],
    );
    check(
        &[
            ("a/coffee.md", COFFEE),
            ("lib.rs", "//= ./a/../a/coffee.md#brewing\n//# The pot MUST accept BREW.\n"),
        ],
        "a/coffee.md",
        &expect![[r#"
            a-coffee-md: Coffee (a/coffee.md)
              brewing MUST The pot MUST accept BREW. | needs tests, Missing test, 21/21 0/21
              brewing SHOULD The pot SHOULD be clean. | not started, not started, 0/20 0/20
        "#]],
    );
}

#[test]
fn documents_of_one_name_keep_apart() {
    let source = "//= a-b.md#brewing\n//# The pot MUST accept BREW.\n\n//= a/b.md#brewing\n//# The pot MUST accept BREW.\n";
    let found = describe(&[("a-b.md", COFFEE), ("a/b.md", COFFEE), ("lib.rs", source)], "a-b.md");
    let ids: Vec<&str> = found.lines().filter(|line| !line.starts_with(' ')).collect();
    expect![[r#"
        [
            "a-b-md: Coffee (a-b.md)",
            "a-b-md-5d7a9548: Coffee (a/b.md)",
        ]
    "#]]
    .assert_debug_eq(&ids);
}

#[track_caller]
fn check(files: &[(&str, &str)], specification: &str, expected: &Expect) {
    expected.assert_eq(&describe(files, specification));
}

fn describe(files: &[(&str, &str)], specification: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (_, model) = load(folder.path(), files, specification);
    let catalogue = &model.catalogue;
    let mut text = String::new();
    for specification in &catalogue.specifications {
        let _ = writeln!(text, "{}: {} ({})", specification.id, specification.name, specification.target);
        for number in catalogue.requirements_of(specification) {
            let (requirement, state) = (model.requirement(number), model.state(number));
            let (_, section) = catalogue.document(requirement.section);
            let _ = writeln!(
                text,
                "  {} {} {} | {}, {}, {}/{size} {}/{size}",
                section.id,
                requirement.level,
                catalogue.text(number),
                state.status.name(),
                state.label.name(),
                state.n_implemented,
                state.n_tested,
                size = state.size,
            );
        }
    }
    text
}

/// Makes a project with one specification configured, and loads it.
pub fn load(root: &Path, files: &[(&str, &str)], specification: &str) -> (Project, Model) {
    let config = format!(
        "'$schema' = \"{}\"\n[[source]]\npattern = \"*.rs\"\n[[specification]]\nsource = \"{specification}\"\n",
        trace::config::SCHEMA
    );
    for (path, text) in files.iter().copied().chain([(".duvet/config.toml", config.as_str())]) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
    let options = Options { root: root.to_owned(), ..Options::default() };
    let project = Project::open(options, &|_| None).expect("the configuration is right");
    let model = project.load(None, &mut |_, _| {});
    (project, model)
}
