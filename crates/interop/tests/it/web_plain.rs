//! The web application in a browser whose scripts are off: everything is read, and what matters is done by plain links and forms.

use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{check_console, page_paths};

/// Somebody with the role User, signed in by the form, in a browser without scripts.
fn without_scripts() -> Option<(Browser, Backend)> {
    let browser = Browser::start()?;
    let backend = Backend::start();
    browser.allow_scripts(false);
    browser.visit(&format!("{}/sign-in", backend.url));
    let user = json!({"username": "erin", "email": "erin@x.org", "password": "a long password", "role": "Administrator"});
    backend.create("/users", &user.to_string());
    browser.write("#username", "erin");
    browser.write("#password", "a long password");
    browser.click("button.primary");
    browser.wait_for_text("h1", "Home");
    Some((browser, backend))
}

/// [spec web] Reading works without JavaScript, on every page, and nothing is offered that would do nothing.
#[test]
fn every_page_is_read_without_scripts() {
    let Some((browser, backend)) = without_scripts() else { return };
    let mut found = Vec::new();
    for path in page_paths() {
        browser.visit(&format!("{}{path}", backend.url));
        let source = browser.source();
        let mut wrong = |what: &str| found.push(format!("{path}: {what}"));
        if !browser.shows("main :is(h1, .kind)") {
            wrong("has no heading");
        }
        if browser.shows("button[type=button], .scripted-only") {
            wrong("offers what needs a script");
        }
        // A choice that is saved when it is made has a button otherwise.
        if browser.shows("main select[data-submit]") && !browser.shows("main form button:not([type=button])")
        {
            wrong("has a choice that cannot be sent");
        }
        for form in source.split("<form").skip(1).filter_map(|rest| rest.split('>').next()) {
            if !form.contains("action=\"") {
                wrong(&format!("has a form that goes nowhere: {form}"));
            }
        }
        for link in source.split("<a ").skip(1).filter_map(|rest| rest.split('>').next()) {
            if !link.contains("href=\"") {
                wrong(&format!("has a link that goes nowhere: {link}"));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    check_console(&browser);
}

#[test]
fn an_item_is_commented_on_and_edited_without_scripts() {
    let Some((browser, backend)) = without_scripts() else { return };
    browser.visit(&format!("{}/r/REQ-002", backend.url));
    browser.wait_for_text("h1", "Only the owner sees saved cards");
    browser.write("#comment-new", "without scripts");
    browser.click("#comments > form p.actions button:not([type=button])");
    browser.wait_for_text(".comment .prose", "without scripts");
    browser.click(".item-head .actions a");
    browser.write("#field-title", " at all");
    browser.click("#edit button.primary");
    browser.wait_for_text("h1", "Only the owner sees saved cards at all");
    check_console(&browser);
}

#[test]
fn tables_boards_trees_and_documents_are_worked_in_without_scripts() {
    let Some((browser, backend)) = without_scripts() else { return };
    let stored = |reference: &str| backend.ask("GET", &format!("/requirements/{reference}"), "");
    let visit = |path: &str| browser.visit(&format!("{}{path}", backend.url));
    backend.ask("PATCH", "/requirements/REQ-001", &json!({"status": "Draft"}).to_string());
    // A cell of a table has a button beside it.
    visit("/p/DEFAULT/list/requirement");
    browser.write("#row-REQ-001 select[name=priority]", "Low");
    browser.click("#row-REQ-001 .row-edit button");
    // The page before has the same heading, but not this choice.
    browser.wait_for_text("#row-REQ-001 select[name=priority] option[selected]", "Low");
    assert_eq!(stored("REQ-001")["priority"], 4);
    // A card of a board.
    visit("/p/DEFAULT/board/requirement");
    browser.write("#card-REQ-001 select[name=status]", "Active");
    browser.click("#card-REQ-001 button");
    browser.wait_for_text(".board-column[data-status=Active] #card-REQ-001 .reference", "REQ-001");
    assert_eq!(stored("REQ-001")["status"], "Active");
    // A tree is opened by links.
    visit("/p/DEFAULT/tree");
    browser.click("#node-EP-001 .twist");
    browser.click("#node-US-001 .twist");
    browser.click("#node-REQ-001 .entry");
    browser.wait_for_text("#item .kind .reference", "REQ-001");
    // A section of a document has a form of its own, which leads back to it.
    visit("/p/DEFAULT/document");
    browser.click("#REQ-002 a[data-key=e]");
    browser.wait_for_text("h1", "Edit REQ-002");
    browser.write("#field-title", " alone");
    browser.click("#edit button.primary");
    browser.wait_for_text("#REQ-002 h4", "1.1.2 Only the owner sees saved cards alone REQ-002");
    assert_eq!(browser.address(), format!("{}/p/DEFAULT/document#REQ-002", backend.url));
    browser.click("#REQ-002 a[data-key=m]");
    browser.write("#comment-new", "From the document");
    browser.click("#comments > form p.actions button:not([type=button])");
    browser.wait_for_text("#REQ-002 a[data-key=m]", "1 comment");
    // A missing link is added in its cell.
    visit("/p/DEFAULT/matrix?against=relations");
    browser.click("a.add[aria-label='Add: REQ-001 relates to …']");
    browser.write(".cell-form input[name=target_requirement_id]", "REQ-003");
    browser.click(".cell-form button");
    browser.wait_for_text("h1", "Matrix");
    // A search.
    browser.write("#search", "owner\u{e007}");
    browser.wait_for_text("h1", "Search");
    assert!(browser.shows(".hits a[href='/r/REQ-002']"));
    check_console(&browser);
}
