//! The web application in a real browser: people work in it, and everybody can read it.

use std::fs;

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
    let mut found = barriers(&browser, &axe, "/sign-in");
    let link = backend.create("/auth/sign-in-links", "{}");
    browser.visit(link["url"].as_str().expect("a URL"));
    found.extend(barriers(&browser, &axe, "/welcome"));
    sign_in(&browser, &backend);
    // The steps of an import need a file, and have a test of their own.
    let is_step = |page: &&web::Page| page.path.contains("{file}") || page.path.contains("{import}");
    for page in web::PAGES.iter().filter(|page| !is_step(page)) {
        let path = page
            .path
            .replace("{key}", "DEFAULT")
            .replace("{kind}", "requirement")
            .replace("{epic}", "EP-001");
        let path = path.replace("{reference}", "REQ-005").replace("{name}", "delete_entity");
        let path = path.replace("{spec}", "payment-md").replace("{pattern}", "TMKB-AUTHZ-001");
        for (width, is_dark) in [(1440, false), (1440, true), (390, false), (390, true)] {
            browser.look(width, is_dark);
            browser.visit(&format!("{}{path}", backend.url));
            let place = format!("{path} at {width}, dark: {is_dark}");
            let overflow = browser
                .evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            if overflow != 0 {
                found.push(format!("{place} scrolls sideways"));
            }
            found.extend(barriers(&browser, &axe, &place));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    check_console(&browser);
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

/// [spec web] A document marks in its outline where one is.
#[test]
fn the_outline_of_a_document_follows_the_reader() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT/document", backend.url));
    let marked = "document.querySelector('.outline [aria-current]').hash";
    browser.wait_until(&format!("{marked} === '#EP-001'"));
    browser.evaluate("document.querySelector('.outline a[href=\"#EP-002\"]').click()");
    browser.wait_until(&format!("{marked} === '#EP-002' && location.hash === '#EP-002'"));
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
        found.extend(barriers(&browser, &axe, "columns"));
        browser.evaluate("document.querySelector('select[name=c0]').value = 'title'");
        browser.click("main form button");
        browser.wait_until("document.querySelector('h1').innerText === 'What would happen'");
        found.extend(barriers(&browser, &axe, "check"));
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
    found.extend(barriers(&browser, &axe, "imported"));
    let stored = backend.ask("GET", "/search?query=fade", "");
    assert_eq!(stored["data"][0]["title"], "Links fade", "{stored}");
    browser.click("main .card button");
    browser.wait_until("document.querySelector('h1').innerText === 'The import was taken back'");
    assert_eq!(found, Vec::<String>::new());
    check_console(&browser);
}

/// What people with other eyes, hands or screens would stumble over.
#[track_caller]
fn barriers(browser: &Browser, axe: &str, place: &str) -> Vec<String> {
    browser.evaluate(&format!("(() => {{ {axe} }})()"));
    let found = browser.promised(
        "axe.run().then(found => found.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).slice(0, 5).join(', ')))",
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
