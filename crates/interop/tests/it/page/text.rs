//! The text of a specification in the page: where it opens, its marks, and the lines of code that cite it.

use expect_test::expect;

use super::{CONFIG, SOURCE, SPECIFICATION, check, make, open};

#[test]
fn the_lines_of_a_citation_are_shown_with_links() {
    let code = "mod a {\n    //= kettle.md#boiling\n    //# The kettle MUST boil water.\n    fn boil() {\n        heat();\n    }\n\n    fn other() {}\n}\n";
    let made = make(&[("kettle.md", SPECIFICATION), ("lib.rs", code), (".duvet/config.toml", CONFIG)]);
    let Some((browser, _made)) = open(made, "") else { return };
    browser.click(".piece.needs-tests");
    check(
        browser.evaluate("document.querySelector('.source').innerText").as_str().unwrap_or_default(),
        &expect![[r#"
            2 //= kettle.md#boiling
            3 //# The kettle MUST boil water.
            4 fn boil() {
            5     heat();
            6 }
        "#]],
    );
    check(
        browser
            .evaluate("[...document.querySelectorAll('.source a')].map(a => a.href).join('\\n')")
            .as_str()
            .unwrap_or_default(),
        &expect![[r#"
            https://example.com/blob/main/lib.rs#L2
            https://example.com/blob/main/lib.rs#L3
            https://example.com/blob/main/lib.rs#L4
            https://example.com/blob/main/lib.rs#L5
            https://example.com/blob/main/lib.rs#L6"#]],
    );
}

#[test]
fn todo_and_exception_are_visible_in_the_text() {
    let source = format!(
        "{SOURCE}\n//= kettle.md#boiling\n//= type=exception\n//= reason=no lamp\n//# It MAY glow.\n"
    );
    let made = make(&[("kettle.md", SPECIFICATION), ("lib.rs", &source), (".duvet/config.toml", CONFIG)]);
    let Some((browser, _made)) = open(made, "") else { return };
    let badges = "[...document.querySelectorAll('#text .badge')].map(b => \
        `${b.innerText} (${b.title}): ${b.nextElementSibling.innerText}`).join('\\n')";
    check(
        browser.evaluate(badges).as_str().unwrap_or_default(),
        &expect![[r#"
        exception (no lamp): It MAY glow.
        todo (12): The lid MUST be closed."#]],
    );
}

#[test]
fn the_page_opens_on_a_specification_that_requires_something() {
    let config = format!("{CONFIG}[[specification]]\nsource = 'about.md'\n")
        .replace("\n[report.html]", "")
        .replace("blob-link = \"https://example.com/blob/main/\"\n", "")
        .replace("issue-link = \"https://example.com/issues\"\n", "");
    let made = make(&[
        ("about.md", "# About\n\nNothing is required.\n"),
        ("kettle.md", SPECIFICATION),
        ("lib.rs", SOURCE),
        (".duvet/config.toml", &config),
    ]);
    let Some((browser, _made)) = open(made, "") else { return };
    check(&browser.texts("#text h1, #text .depth-0"), &expect!["Kettles"]);
}

#[test]
fn marks_stay_within_the_margin() {
    let line = (0..12).map(|number| format!("K{number} MUST boil. ")).collect::<String>();
    let specification = format!("# Kettles\n\n{line}\n");
    let made = make(&[("kettle.md", &specification), ("lib.rs", ""), (".duvet/config.toml", CONFIG)]);
    let Some((browser, _made)) = open(made, "") else { return };
    let outside = "(() => { const left = document.getElementById('text').getBoundingClientRect().left; \
        const marks = [...document.querySelectorAll('.gutter')].map(mark => mark.getBoundingClientRect().left); \
        return `${marks.length} marks, ${marks.filter(mark => mark < left).length} outside`; })()";
    check(browser.evaluate(outside).as_str().unwrap_or_default(), &expect!["12 marks, 0 outside"]);
}
