//! The web application in a real browser: people work in it, and everybody can read it.

use std::fs;
use std::path::Path;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::tools;

/// Signs in with the administrator's token.
pub fn sign_in(browser: &Browser, backend: &Backend) {
    browser.visit(&format!("{}/sign-in", backend.url));
    browser.click("details summary");
    browser.write("#token", &backend.token);
    browser.click("details button");
    browser.wait_until("location.pathname === '/'");
}

/// Fails on anything that the console says: a script that fails, a file that is not there, a policy that was broken.
#[track_caller]
pub fn check_console(browser: &Browser) {
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// Makes a page believe that nobody sees it, or that somebody does again. One that nobody sees follows no changes.
#[track_caller]
pub fn hide(browser: &Browser, is_hidden: bool) {
    browser.evaluate(&format!(
        "(Object.defineProperty(document, 'hidden', {{value: {is_hidden}, configurable: true}}), document.dispatchEvent(new Event('visibilitychange')))"
    ));
}

/// Writes into a field in place of what is there.
#[track_caller]
pub fn fill(browser: &Browser, selector: &str, text: &str) {
    let (selector, text) = (json!(selector), json!(text));
    let script = format!(
        "(field => {{ field.focus(); field.value = {text}; field.dispatchEvent(new Event('input', {{bubbles: true}})); }})(document.querySelector({selector}))"
    );
    browser.evaluate(&script);
}

#[test]
fn a_person_finds_changes_and_discusses_a_requirement() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT", backend.url));
    // By keys alone: to the list, down to the second row, and into it.
    browser.press("g");
    browser.press("l");
    browser.wait_until("location.pathname === '/p/DEFAULT/list/requirement'");
    browser.press("j");
    browser.press("j");
    browser.press("\u{e007}");
    browser.wait_until("location.pathname === '/r/REQ-002'");
    browser.wait_until("document.title.startsWith('REQ-002 ')");
    // A choice is saved when it is made.
    browser.evaluate(
        "(s => { s.value = 'Obsolete'; s.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector('select[name=status]'))",
    );
    browser.wait_until("document.querySelector('select[name=status]').value === 'Obsolete'");
    browser.wait_until("document.querySelector('[data-live]').dataset.live.startsWith('REQ-002@')");
    browser.press("m");
    browser.press("Is this still *wanted*?");
    browser.click("#comments > form p.actions button");
    browser.wait_until("document.querySelector('.comment .prose em')?.innerText === 'wanted'");
    let stored = backend.ask("GET", "/requirements/REQ-002", "");
    assert_eq!(stored["status"], "Obsolete");
    // What somebody else changes is shown without asking for it.
    let title = json!({"title": "Only the owner sees cards"}).to_string();
    backend.ask("PATCH", "/requirements/REQ-002", &title);
    browser.wait_until("document.querySelector('h1').innerText === 'Only the owner sees cards'");
    // What was done on the page is no page of its own: reloading shows it, and one step back is the list.
    browser.reload();
    assert_eq!(browser.texts("h1"), "Only the owner sees cards");
    // Times are exact in the reader's own zone.
    assert_eq!(
        browser.evaluate("(time => time.title === new Date(time.dateTime).toLocaleString())(document.querySelector('time'))"),
        true
    );
    browser.go_back();
    browser.wait_until("location.pathname === '/p/DEFAULT/list/requirement'");
    browser.press("jjk");
    assert_eq!(browser.texts("tr.here td.id a"), "REQ-001");
    browser.press("/");
    assert_eq!(browser.evaluate("document.activeElement.id"), "search");
    check_console(&browser);
}

/// The demonstration asks for no password, and its project is what people come for.
#[test]
fn the_link_of_the_demonstration_needs_no_click() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    let link = backend.create("/auth/sign-in-links", &json!({"sign_in_only": true}).to_string());
    browser.visit(link["url"].as_str().expect("a URL"));
    browser.wait_until("location.pathname === '/p/DEFAULT'");
    check_console(&browser);
}

#[test]
fn a_link_sets_a_password_and_says_when_it_is_used_up() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    let link = backend.create("/auth/sign-in-links", "{}");
    let url = link["url"].as_str().expect("a URL");
    browser.visit(url);
    browser.write("#new_password", "another long one");
    browser.click("main button");
    browser.wait_until("location.pathname === '/p/DEFAULT'");
    check_console(&browser);
    browser.visit(url);
    browser.wait_until("document.querySelector('[role=alert]').innerText.includes('was used')");
    let login = json!({"username": "admin", "password": "another long one"}).to_string();
    assert_eq!(backend.ask("POST", "/auth/login", &login)["user"]["username"], "admin");
}

/// The addresses of all pages, in the demonstration.
pub fn page_paths() -> Vec<String> {
    // The steps of an import need a file, and have a test of their own.
    let is_step = |page: &&web::Page| page.path.contains("{file}") || page.path.contains("{import}");
    let filled = |page: &web::Page| {
        let mut path = page.path.to_owned();
        for (parameter, value) in [
            ("{key}", "DEFAULT"),
            ("{kind}", "requirement"),
            ("{epic}", "EP-001"),
            ("{reference}", "REQ-005"),
            ("{name}", "delete_entity"),
            ("{spec}", "payment-md"),
            ("{pattern}", "TMKB-AUTHZ-001"),
        ] {
            path = path.replace(parameter, value);
        }
        path
    };
    web::PAGES.iter().filter(|page| !is_step(page)).map(filled).collect()
}

#[test]
fn everybody_can_read_every_page() {
    let Some(browser) = Browser::start() else { return };
    let axe = tools::folder().join("node/node_modules/axe-core/axe.min.js");
    if tools::is_missing(&axe) {
        return;
    }
    let axe = fs::read_to_string(axe).expect("axe can be read");
    let backend = Backend::start();
    browser.visit(&format!("{}/sign-in", backend.url));
    let mut found = every_look(&browser, &axe, "/sign-in");
    let link = backend.create("/auth/sign-in-links", "{}");
    browser.visit(link["url"].as_str().expect("a URL"));
    found.extend(every_look(&browser, &axe, "/welcome"));
    sign_in(&browser, &backend);
    for path in page_paths() {
        browser.visit(&format!("{}{path}", backend.url));
        found.extend(every_look(&browser, &axe, &path));
        found.extend(hidden_focus(&browser).into_iter().map(|lost| format!("{path}: {lost}")));
    }
    assert_eq!(found, Vec::<String>::new());
    check_console(&browser);
}

/// Looks at a page wide and narrow, light and dark. Whoever wants to look, too, names a folder for pictures in `TEST_PICTURES`.
#[track_caller]
pub fn every_look(browser: &Browser, axe: &str, place: &str) -> Vec<String> {
    let pictures = std::env::var_os("TEST_PICTURES");
    let mut found = Vec::new();
    for (width, is_dark) in [(1440, false), (1440, true), (390, true), (390, false)] {
        browser.look(width, is_dark);
        let look = format!("{place} at {width}, dark: {is_dark}");
        let overflow =
            browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        if overflow != 0 {
            found.push(format!("{look} scrolls sideways"));
        }
        found.extend(barriers(browser, axe, &look));
        if let Some(folder) = &pictures {
            let name = place.trim_matches('/').replace(['/', '?', '=', ' '], "-");
            let theme = if is_dark { "dark" } else { "light" };
            let file = Path::new(folder).join(format!("{name}-{width}-{theme}.png"));
            fs::write(file, browser.picture(width, is_dark)).expect("a picture can be written");
        }
    }
    browser.look(1440, false);
    found
}

/// What can have the focus without showing it.
#[track_caller]
fn hidden_focus(browser: &Browser) -> Vec<String> {
    // Browsers show the focus to those who use the keyboard.
    browser.press("\u{e004}");
    let lost = browser.evaluate(
        "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex=\"0\"]')]
            .filter(one => one.checkVisibility() && !one.disabled)
            .filter(one => {
                one.focus({preventScroll: true, focusVisible: true});
                // A node of a tree shows it around its line, and not around all that is below.
                const styles = [one, ...one.children].map(shown => getComputedStyle(shown));
                const isHidden = style => style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 1;
                return document.activeElement === one && styles.every(isHidden);
            })
            .map(one => 'the focus on ' + one.outerHTML.slice(0, 120) + ' is hidden')",
    );
    lost.as_array().expect("a list").iter().map(|one| one.as_str().unwrap_or_default().to_owned()).collect()
}

/// The file that readers get opens from the disk, without a server.
#[test]
fn an_exported_specification_needs_nothing_but_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let axe = tools::folder().join("node/node_modules/axe-core/axe.min.js");
    if tools::is_missing(&axe) {
        return;
    }
    let axe = fs::read_to_string(axe).expect("axe can be read");
    let backend = Backend::start();
    let hostile = "</style><script>document.title = 'hacked'</script> <img src=x onerror=\"document.title = 'hacked'\"> [x](javascript:alert(1)) REQ-001";
    backend.ask("PATCH", "/requirements/REQ-002", &json!({ "description": hostile }).to_string());
    sign_in(&browser, &backend);
    let exported =
        browser.promised("fetch('/api/v1/export?format=html&project=DEFAULT').then(answer => answer.text())");
    let exported = exported.as_str().expect("a text").to_owned();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("specification.html");
    fs::write(&file, exported).expect("a file");
    let mut found = Vec::new();
    for (width, is_dark) in [(1440, false), (1440, true), (390, false), (390, true)] {
        browser.look(width, is_dark);
        browser.visit(&format!("file://{}", file.display()));
        let place = format!("the file at {width}, dark: {is_dark}");
        let overflow =
            browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        if overflow != 0 {
            found.push(format!("{place} scrolls sideways"));
        }
        found.extend(barriers(&browser, &axe, &place));
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(browser.evaluate("document.title"), "Default project");
    assert_eq!(browser.evaluate("document.querySelectorAll('script, img, iframe, [onerror]').length"), 0);
    // Every link within the file leads to a section.
    let lost = "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.getElementById(a.hash.slice(1))).map(a => a.hash)";
    assert_eq!(browser.evaluate(lost), json!([]));
    assert_eq!(
        browser.evaluate("document.querySelector('#REQ-002 .prose a[href=\"#REQ-001\"]') !== null"),
        true
    );
    check_console(&browser);
}

/// A table with a mistake is mapped, checked, corrected, imported and taken back.
#[test]
fn a_person_imports_a_table_with_mistakes() {
    let Some(browser) = Browser::start() else { return };
    let axe = tools::folder().join("node/node_modules/axe-core/axe.min.js");
    if tools::is_missing(&axe) {
        return;
    }
    let axe = fs::read_to_string(axe).expect("axe can be read");
    let backend = Backend::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let wrong = file("list.csv", "What;Details;Prio\nLinks fade;Soon;High\n;Nothing;Low\n");
    let right = file("right.csv", "What;Details;Prio\nLinks fade;Soon;High\nLinks are short;;Low\n");
    sign_in(&browser, &backend);
    let mut found = Vec::new();
    let mut choose = |path: &str| {
        browser.visit(&format!("{}/p/DEFAULT/import", backend.url));
        browser.write("input[type=file]", path);
        browser.click("main form button");
        browser.wait_until("document.querySelector('h1').innerText === 'What the columns are'");
        found.extend(every_look(&browser, &axe, "import columns"));
        browser.evaluate("document.querySelector('select[name=c0]').value = 'title'");
        browser.click("main form button");
        browser.wait_until("document.querySelector('h1').innerText === 'What would happen'");
        found.extend(every_look(&browser, &axe, "import check"));
    };
    choose(&wrong);
    browser
        .wait_until("document.querySelector('tr.wrong .error')?.innerText.startsWith('What: expected text')");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('main form').length"),
        0,
        "nothing can be imported"
    );
    browser.click("nav.kinds a:nth-of-type(4)");
    browser.wait_until("location.search.includes('show=wrong') && !document.querySelector('tr.created')");
    choose(&right);
    browser.click("main form button");
    browser.wait_until("document.querySelector('h1').innerText === 'Imported'");
    found.extend(every_look(&browser, &axe, "imported"));
    let stored = backend.ask("GET", "/search?query=fade", "");
    assert_eq!(stored["data"][0]["title"], "Links fade", "{stored}");
    browser.click("main .card button");
    browser.wait_until("document.querySelector('main').innerText.includes('Nothing was changed yet')");
    found.extend(every_look(&browser, &axe, "import taken back"));
    browser.click("main form button.primary");
    browser.wait_until("document.querySelector('h1').innerText === 'The import was taken back'");
    assert_eq!(found, Vec::<String>::new());
    check_console(&browser);
}

/// Whatever somebody writes, what a page makes of it in the browser does nothing: parsed anew, it has no script, no attribute that
/// runs or that htmx reads, and leads nowhere but to the web and to mail.
#[test]
fn any_markdown_is_a_page_that_does_nothing() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    sign_in(&browser, &backend);
    let pieces = "< > ( ) [ ] ! ` * _ # - = \" ' & ; | / \\ : \n \t a on onerror= onclick= javascript: data: vbscript: file: script style img src=                   href= hx-get= hx-on: data-x= id= svg math iframe form details <!-- --> <![CDATA[ ]]> </div> <a <img <svg/onload=alert(1)>                   <script>alert(1)</script> [x](javascript:alert(1)) ![x](https://x.org/x.png) REQ-001 &#106; &Tab; &lt; \u{0} \u{2028} é";
    let pieces: Vec<&str> = pieces.split(' ').collect();
    let strategy = proptest::collection::vec(proptest::sample::select(pieces), 0..40);
    let mut runner = TestRunner::deterministic();
    let texts: Vec<String> =
        (0..TEXTS).map(|_| strategy.new_tree(&mut runner).expect("a text").current().concat()).collect();
    let found = browser.promised(&format!(
        "(async () => {{
            const found = [];
            for (const text of {}) {{
                const answer = await fetch('/preview', {{method: 'POST', body: new URLSearchParams({{text}})}});
                const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
                if (!answer.ok) found.push([text, answer.status]);
                for (const one of page.body.querySelectorAll('*')) {{
                    const isForeign = one.matches('script, style, img, iframe, object, embed, form, svg, math, base, meta, link, template');
                    const names = one.getAttributeNames().filter(name => /^(on|hx-|data-)|^(style|id|src|srcset|action|formaction)$/.test(name));
                    const scheme = one.href && !/^(https?|mailto):$/.test(new URL(one.href, location.href).protocol);
                    if (isForeign || names.length || scheme) found.push([text, one.outerHTML]);
                }}
            }}
            return found;
        }})()",
        json!(texts)
    ));
    assert_eq!(found, json!([]));
    check_console(&browser);
}

/// How many texts are tried.
const TEXTS: usize = 300;

/// More guesses than a minute allows.
const GUESSES_MAX: usize = 30;

/// Whoever has guessed too often sees for how long to wait.
#[test]
fn too_many_attempts_count_down() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    browser.visit(&format!("{}/sign-in", backend.url));
    let guess = "fetch('/api/v1/auth/login', {method: 'POST', headers: {'content-type': 'application/json'},
        body: JSON.stringify({username: 'admin', password: 'a guess'})}).then(answer => answer.status)";
    assert!((0..GUESSES_MAX).any(|_| browser.promised(guess) == 429), "nobody is slowed down");
    browser.write("#username", "admin");
    browser.write("#password", "another guess");
    browser.click("button.primary");
    // On a slow machine the count may be over as soon as it was seen.
    let seconds = "Number(document.querySelector('[role=alert]')?.innerText.match(/([0-9]+) s/)?.[1] ?? 0)";
    browser.wait_until(&format!("(window.first = {seconds}) > 0"));
    browser.wait_until(&format!("{seconds} < window.first"));
}

/// What people with other eyes, hands or screens would stumble over; on phones also what is too small for a finger.
#[track_caller]
pub fn barriers(browser: &Browser, axe: &str, place: &str) -> Vec<String> {
    if browser.evaluate("typeof axe") == "undefined" {
        browser.evaluate(&format!("(() => {{ {axe} }})()"));
    }
    let found = browser.promised(
        "axe.run({resultTypes: ['violations'], rules: {'target-size': {enabled: innerWidth < 600}}}).then(found => found.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).slice(0, 5).join(', ')))",
    );
    let found = found.as_array().unwrap_or_else(|| panic!("{place}: {found}"));
    found.iter().map(|one| format!("{place}: {one}")).collect()
}

/// What is shipped as htmx is what its authors published.
#[test]
fn htmx_is_that_of_its_package() {
    let package = tools::folder().join("node/node_modules/htmx.org/dist/htmx.min.js");
    if tools::is_missing(&package) {
        return;
    }
    assert!(fs::read_to_string(package).expect("htmx can be read") == web::assets::HTMX, "htmx was changed");
}
