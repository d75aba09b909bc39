//! The page of `duvet report`, in a real browser.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use tempfile::TempDir;
use trace::project::{Options, Project};
use trace::report::html::Page;

use crate::browser::Browser;

mod text;

const SPECIFICATION: &str = "\
# Kettles

Kettles talk to each other.

## Boiling

The kettle MUST boil water. It SHOULD whistle when it boils.
It MAY glow.

## Pouring

The kettle MUST NOT pour
before it has boiled. The lid MUST be closed.
";

const SOURCE: &str = "\
//= kettle.md#boiling
//# The kettle MUST boil water.

//= kettle.md#boiling
//= type=test
//# The kettle MUST boil water.

//= kettle.md#boiling
//# It SHOULD whistle when it boils.

//= kettle.md#pouring
//# The kettle MUST NOT pour

//= kettle.md#pouring
//= type=todo
//= feature=safety
//= tracking-issue=12
//# The lid MUST be closed.

//= kettle.md#kettles
//# Kettles talk to each other.
";

const CONFIG: &str = r###"
'$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"
[[source]]
pattern = "*.rs"
[[source]]
pattern = "*.py"
comment-style = { meta = "##=", content = "##%" }
[[specification]]
source = "kettle.md"
[report.html]
blob-link = "https://example.com/blob/main/"
issue-link = "https://example.com/issues"
"###;

/// The key, as browsers are told of it.
const ESCAPE: &str = "\u{e00c}";

/// A folder with a project and its page.
struct Made {
    _folder: TempDir,
    page: PathBuf,
}

fn kettle() -> Made {
    make(&[("kettle.md", SPECIFICATION), ("lib.rs", SOURCE), (".duvet/config.toml", CONFIG)])
}

fn make(files: &[(&str, &str)]) -> Made {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
    let options = Options { root: folder.path().to_owned(), ..Options::default() };
    let project = Project::open(options, &|_| None).expect("the configuration is right");
    let model = project.load(None, &mut |_, _| {});
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).ok();
    let mut page = Page::new("kettle".to_owned(), &model);
    page.read = Some(&read);
    let mut html = Vec::new();
    page.write(&mut html).expect("memory can be written");
    let path = folder.path().join("report.html");
    fs::write(&path, html).expect("the page can be written");
    Made { _folder: folder, page: path }
}

#[test]
fn the_outline_says_how_far_each_section_is() {
    let Some((browser, _made)) = open(kettle(), "") else { return };
    check(&browser.texts("#summary"), &expect!["20 % of 5 requirements done in 1 specification"]);
    let rows = "[...document.querySelectorAll('#outline a')].map(a => \
        a.querySelector('.name').innerText + ': ' + (a.querySelector('[role=img]')?.getAttribute('aria-label') ?? '-')).join('\\n')";
    check(
        browser.evaluate(rows).as_str().unwrap_or_default(),
        &expect![[r#"
            Kettles: 1 done, 1 needs tests, 1 in progress, 2 not started
            Kettles: -
            Boiling: 1 done, 1 needs tests, 0 in progress, 1 not started
            Pouring: 0 done, 0 needs tests, 1 in progress, 1 not started"#]],
    );
    check(
        &browser.texts("#states .chip, #levels .chip"),
        &expect![[r#"
            done 1
            needs tests 1
            in progress 1
            not started 2
            MUST 3
            SHOULD 1
            MAY 1"#]],
    );
}

#[test]
fn text_is_underlined_by_state_and_not_by_colour_alone() {
    let Some((browser, _made)) = open(kettle(), "") else { return };
    let pieces = "[...document.querySelectorAll('#text .piece')].map(p => \
        getComputedStyle(p).textDecorationStyle + ': ' + p.innerText).join('\\n')";
    check(
        browser.evaluate(pieces).as_str().unwrap_or_default(),
        &expect![[r#"
            solid: Kettles talk to each other.
            solid: The kettle MUST boil water.
            double: It SHOULD whistle when it boils.
            dotted: It MAY glow.
            double: The kettle MUST NOT pour
            dotted: before it has boiled.
            dotted: The lid MUST be closed."#]],
    );
    check(
        browser.evaluate("[...document.querySelectorAll('.gutter')].map(a => a.getAttribute('aria-label')).join('\\n')")
            .as_str()
            .unwrap_or_default(),
        &expect![[r#"
            MUST requirement, done
            SHOULD requirement, needs tests
            MAY requirement, not started
            MUST requirement, in progress
            MUST requirement, not started"#]],
    );
}

#[test]
fn filters_and_search_leave_what_matches() {
    let Some((browser, _made)) = open(kettle(), "") else { return };
    browser.click("#states .chip:nth-child(4)");
    check(
        &browser.texts("#requirements .excerpt"),
        &expect![[r#"
            It MAY glow.
            The lid MUST be closed."#]],
    );
    browser.click("#levels .chip:nth-child(1)");
    check(
        &browser.texts("#requirements .excerpt, #count"),
        &expect![[r#"
        1 of 5
        The lid MUST be closed."#]],
    );
    browser.press(ESCAPE);
    check(&browser.texts("#count"), &expect!["5"]);

    // Searching goes through citing files too, and takes phrases.
    for (words, expected) in [
        ("whistle boil", expect!["It SHOULD whistle when it boils."]),
        ("\"must not\"", expect!["The kettle MUST NOT pour before it has boiled."]),
        ("pour lib.rs closed", expect!["The lid MUST be closed."]),
        ("tea", expect![""]),
    ] {
        browser.press("/");
        browser.press(words);
        check(&browser.texts("#requirements .excerpt"), &expected);
        browser.press(ESCAPE);
    }
}

#[test]
fn a_click_shows_who_cites_the_text() {
    let Some((browser, _made)) = open(kettle(), "") else { return };
    browser.click(".piece.done");
    check(
        &browser.texts("#detail .state, #detail blockquote, #detail .citations, #detail .meter"),
        &expect![[r#"
            done MUST
            The kettle MUST boil water.
            implemented 100 %
            tested 100 %
            Implementation 1 lib.rs:1 1 //= kettle.md#boiling 2 //# The kettle MUST boil water. Test 1 lib.rs:4 4 //= kettle.md#boiling 5 //= type=test 6 //# The kettle MUST boil water."#]],
    );
    check(
        &links(&browser),
        &expect![[r#"
        https://example.com/blob/main/lib.rs#L1
        https://example.com/blob/main/lib.rs#L4"#]],
    );

    browser.evaluate("[...document.querySelectorAll('#text .piece')].at(-1).click()");
    browser.wait_until("document.querySelector('#detail .state').innerText.includes('not started')");
    check(
        &browser.texts("#detail .citations"),
        &expect![
            "To do 1 lib.rs:14 14 //= kettle.md#pouring 15 //= type=todo 16 //= feature=safety 17 //= tracking-issue=12 18 //# The lid MUST be closed. feature safety issue 12"
        ],
    );
    check(
        &links(&browser),
        &expect![[r#"
        https://example.com/blob/main/lib.rs#L14
        https://example.com/issues/12"#]],
    );

    // Text may be cited without being a requirement.
    browser.click(".piece.quoted");
    check(
        &browser.texts("#detail .state, #detail .citations"),
        &expect![[r#"
            cited, no requirement
            Implementation 1 lib.rs:20 20 //= kettle.md#kettles 21 //# Kettles talk to each other."#]],
    );
}

fn links(browser: &Browser) -> String {
    let links =
        "[...document.querySelectorAll('#detail a[target]:not(.number)')].map(a => a.href).join('\\n')";
    browser.evaluate(links).as_str().expect("links are joined").to_owned()
}

#[test]
fn a_citation_is_copied_in_the_style_of_the_project() {
    let Some((browser, _made)) = open(kettle(), "") else { return };
    for _ in 0..4 {
        browser.press("j");
    }
    browser.press("c");
    browser.wait_until("toast.innerText === 'Copied'");
    check(
        &browser.clipboard(),
        &expect![[r#"
        //= kettle.md#pouring
        //# The kettle MUST NOT pour
        //# before it has boiled.
    "#]],
    );

    let choose = |position: usize, value: &str| {
        browser.evaluate(&format!(
            "(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('change')); }})(document.querySelectorAll('#detail select')[{position}])"
        ));
    };
    choose(0, "test");
    choose(1, "1");
    browser.click("#detail .copy");
    browser.wait_until("toast.innerText === 'Copied'");
    check(
        &browser.clipboard(),
        &expect![[r###"
        ##= kettle.md#pouring
        ##= type=test
        ##% The kettle MUST NOT pour
        ##% before it has boiled.
    "###]],
    );
}

#[test]
fn everything_can_be_reached_by_keys() {
    let Some((browser, _made)) = open(kettle(), "") else { return };
    let mut seen = String::new();
    for key in ["j", "j", "k", "k", "j", "j", "j", "j", "j", "j"] {
        browser.press(key);
        let _ = writeln!(
            seen,
            "{key}: {}",
            browser.texts("#detail .steps .muted, #detail blockquote").replace('\n', " ")
        );
    }
    check(
        &seen,
        &expect![[r#"
        j: 1 of 5 The kettle MUST boil water.
        j: 2 of 5 It SHOULD whistle when it boils.
        k: 1 of 5 The kettle MUST boil water.
        k: 1 of 5 The kettle MUST boil water.
        j: 2 of 5 It SHOULD whistle when it boils.
        j: 3 of 5 It MAY glow.
        j: 4 of 5 The kettle MUST NOT pour before it has boiled.
        j: 5 of 5 The lid MUST be closed.
        j: 5 of 5 The lid MUST be closed.
        j: 5 of 5 The lid MUST be closed.
    "#]],
    );
    browser.press("o");
    assert_eq!(browser.evaluate("document.activeElement.innerText.includes('Pouring')"), true);
    browser.press("?");
    assert_eq!(browser.evaluate("help.open"), true);
    browser.press(ESCAPE);
    assert_eq!(browser.evaluate("help.open"), false);
    browser.press("/");
    browser.press("jk?");
    assert_eq!(browser.evaluate("document.activeElement.value"), "jk?", "typing is not a command");
}

#[test]
fn a_fragment_leads_to_its_requirement() {
    let made = kettle();
    let Some((browser, made)) = open(made, "") else { return };
    browser.press("j");
    browser.press("j");
    let fragment = browser.evaluate("location.hash");
    let fragment = fragment.as_str().expect("a fragment is text");
    assert!(fragment.starts_with("#kettle-md/boiling/"), "{fragment}");
    browser.open(&made.page, fragment);
    check(
        &browser.texts("#detail blockquote, .piece.selected"),
        &expect![[r#"
        It SHOULD whistle when it boils.
        It SHOULD whistle when it boils."#]],
    );
    browser.open(&made.page, "#kettle-md/kettles/@lib.rs:20");
    check(&browser.texts(".piece.selected"), &expect!["Kettles talk to each other."]);
    for wrong in
        ["#kettle-md/%E0%A4%A/nothing", "#kettle-md/nowhere/@lib.rs:20", "#kettle-md/boiling/@no.rs:1", "#//"]
    {
        browser.open(&made.page, wrong);
        check(&browser.texts("#summary"), &expect!["20 % of 5 requirements done in 1 specification"]);
        assert_eq!(browser.console(), [""; 0], "{wrong} is no error");
    }
}

#[test]
fn what_is_wrong_stands_on_top_and_hides_nothing() {
    let source = format!(
        "{SOURCE}\n//= kettle.md#boling\n//# It MAY glow.\n\n//= kettle.md#boiling\n//# The kettle MUST fly.\n"
    );
    let made = make(&[("kettle.md", SPECIFICATION), ("lib.rs", &source), (".duvet/config.toml", CONFIG)]);
    let Some((browser, _made)) = open(made, "") else { return };
    check(&browser.texts("#problems summary"), &expect!["2 errors what they concern is missing below"]);
    check(
        &browser.texts("#problems li .file, #problems li em"),
        &expect![[r#"
        lib.rs:23:5
        kettle.md#boling
        lib.rs:27:5
        The kettle MUST fly."#]],
    );
    check(&browser.texts("#count"), &expect!["5"]);
}

#[test]
fn all_spellings_of_a_document_are_one() {
    let text = "\
1.  Brewing

   The pot MUST accept BREW.  The pot SHOULD
   accept POST.
";
    let source = "\
//= https://www.rfc-editor.org/rfc/rfc9999.txt#section-1
//= type=spec
//= level=MUST
//# The pot MUST accept BREW.

//= https://datatracker.ietf.org/doc/html/rfc9999#section-1
//# The pot MUST accept

//= https://tools.ietf.org/rfc/rfc9999#1
//# BREW.

//= https://www.rfc-editor.org/rfc/rfc9999#section-1
//= type=test
//# The pot MUST accept BREW.
";
    let config = CONFIG.replace("[[specification]]\nsource = \"kettle.md\"\n", "");
    let made = make(&[
        (".duvet/specifications/www.rfc-editor.org/rfc/rfc9999.txt", text),
        ("lib.rs", source),
        (".duvet/config.toml", &config),
    ]);
    let Some((browser, _made)) = open(made, "#rfc9999/section-1") else { return };
    check(
        &browser.texts("#outline .name"),
        &expect![[r#"
        RFC 9999
        1 Brewing"#]],
    );
    browser.press("j");
    // Two quotes that meet cover all of it.
    check(
        &browser.texts("#detail .state, #detail .citations"),
        &expect![[r#"
            done MUST
            Implementation 2 lib.rs:6 6 //= https://datatracker.ietf.org/doc/html/rfc9999#section-1 7 //# The pot MUST accept lib.rs:9 9 //= https://tools.ietf.org/rfc/rfc9999#1 10 //# BREW. Test 1 lib.rs:12 12 //= https://www.rfc-editor.org/rfc/rfc9999#section-1 13 //= type=test 14 //# The pot MUST accept BREW."#]],
    );
}

#[test]
fn hostile_text_does_nothing() {
    let specification = "\
# A </script><script>owned=1</script><!-- <img src=x onerror=owned=1>

## A <b>bold</b> title

The page MUST NOT run `<script>owned=1</script>` or `</script>`.
It MUST keep {{data}}, \u{2028} and <img src=x onerror=\"owned=1\"> as text, &lt; too.
";
    let source = "\
//= hostile.md#a-b-bold-b-title
//= type=todo
//= tracking-issue=javascript:owned=1
//= feature=<img src=x onerror=owned=1>
//# The page MUST NOT run `<script>owned=1</script>` or `</script>`.

//= hostile.md#a-b-bold-b-title
//= type=exception
//= reason=</script><script>owned=1</script>
//# It MUST keep {{data}},

//= source=hostile.md#<script>owned=1</script>
";
    let config = CONFIG
        .replace("kettle.md", "hostile.md")
        .replace("https://example.com/blob/main/", "javascript:owned=1//");
    let made = make(&[
        ("hostile.md", specification),
        ("<img src=x onerror=owned=1>.rs", source),
        (".duvet/config.toml", &config),
    ]);
    let Some((browser, _made)) = open(made, "") else { return };
    for _ in 0..3 {
        browser.press("j");
        assert_eq!(browser.evaluate("document.querySelectorAll('#detail a[href^=javascript]').length"), 0);
    }
    check(
        &browser.texts("#text section:last-of-type .chunk, #detail .reason"),
        &expect![[r#"
            todoThe page MUST NOT run `<script>owned=1</script>` or `</script>`. exceptionIt MUST keep {{data}}, and <img src=x onerror="owned=1"> as text, &lt; too.
            </script><script>owned=1</script>"#]],
    );
    check(
        &browser.texts("#text h2, #text h3, #problems summary strong, #problems li em"),
        &expect![[r#"
        1 error
        hostile.md#<script>owned=1</script>
        A </script><script>owned=1</script><!-- <img src=x onerror=owned=1>
        A <b>bold</b> title"#]],
    );
    assert_eq!(browser.evaluate("typeof owned"), "undefined");
    assert_eq!(browser.evaluate("document.querySelectorAll('img, b').length"), 0);
}

/// Faster than one notices: first paint with everything in place, and a filter.
const TIME_MAX_MS: f64 = 1000.0;
const ATTEMPTS: usize = 3;

#[test]
fn ten_thousand_requirements_are_shown_and_filtered_within_a_second() {
    let (mut specification, mut source) = ("# Large\n".to_owned(), String::new());
    for section in 0..500 {
        let _ = write!(specification, "\n## Section {section}\n\n");
        for sentence in 0..20 {
            let text =
                format!("The part {sentence} of section {section} MUST do all that it can do, and no more.");
            let _ = writeln!(specification, "{text}");
            if sentence % 2 == 0 {
                let _ = writeln!(source, "//= large.md#section-{section}\n//# {text}\n");
            }
        }
    }
    let config = CONFIG.replace("kettle.md", "large.md");
    let made = make(&[("large.md", &specification), ("lib.rs", &source), (".duvet/config.toml", &config)]);
    let Some((browser, made)) = Browser::start_alone().map(|browser| open_in(browser, made, "")) else {
        return;
    };
    check(&browser.texts("#summary"), &expect!["0 % of 10000 requirements done in 1 specification"]);
    let n_elements = browser.evaluate("document.querySelectorAll('*').length").as_u64();
    assert!(n_elements < Some(5000), "only what can be seen is there, found {n_elements:?} elements");

    // The machine may be busy with something else.
    let best = |measure: &dyn Fn() -> f64| (0..ATTEMPTS).map(|_| measure()).fold(f64::INFINITY, f64::min);
    let paint = best(&|| {
        browser.open(&made.page, "");
        browser.wait_until("performance.getEntriesByName('first-contentful-paint').length === 1");
        let time = "Math.max(performance.getEntriesByName('first-contentful-paint')[0].startTime, \
            performance.getEntriesByName('shown')[0].startTime)";
        browser.evaluate(time).as_f64().expect("a time")
    });
    assert!(paint < TIME_MAX_MS, "the first paint took {paint} ms");
    for action in [
        "document.querySelectorAll('#states .chip')[3].click()",
        "(search.value = '\"part 19 of section 77\"', search.dispatchEvent(new Event('input')))",
        "location.hash = '#large-md/section-400'",
    ] {
        let time = best(&|| {
            // Layout counts too.
            let timed = format!(
                "(() => {{ const start = performance.now(); {action}; document.body.offsetHeight; return performance.now() - start; }})()"
            );
            browser.evaluate(&timed).as_f64().expect("a time")
        });
        assert!(time < TIME_MAX_MS, "{action} took {time} ms");
    }
    check(&browser.texts("#count"), &expect!["1 of 10000"]);
}

/// Opens a page, which must have nothing to complain about.
#[track_caller]
fn open(made: Made, fragment: &str) -> Option<(Checked, Made)> {
    Some(open_in(Browser::start()?, made, fragment))
}

fn open_in(browser: Browser, made: Made, fragment: &str) -> (Checked, Made) {
    browser.open(&made.page, fragment);
    let loaded: &Path = &made.page;
    assert!(loaded.is_file(), "the page is there");
    (Checked(browser), made)
}

/// A browser whose console must be empty in the end, and which must not have asked for anything.
struct Checked(Browser);

impl std::ops::Deref for Checked {
    type Target = Browser;

    fn deref(&self) -> &Browser {
        &self.0
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        assert_eq!(self.0.console(), [""; 0], "the console says nothing");
        let asked = "performance.getEntriesByType('resource').map(entry => entry.name).filter(name => !name.startsWith('data:')).join()";
        assert_eq!(self.0.evaluate(asked), "", "nothing is loaded from anywhere");
    }
}

#[track_caller]
fn check(found: &str, expected: &Expect) {
    expected.assert_eq(found);
}
