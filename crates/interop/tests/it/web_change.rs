//! Change and its consequences in a real browser: by keyboard, by dragging, and in a cell.

use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{check_console, sign_in};

/// How many links of the demonstration are suspect.
fn n_suspects(backend: &Backend) -> u64 {
    backend.ask("GET", "/suspect-links", "")["total_count"].as_u64().expect("a number")
}

#[test]
fn suspect_links_are_confirmed_by_keyboard() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    // Two links that lead to one requirement, which changes.
    for source in ["REQ-001", "REQ-002"] {
        let link = json!({"source_requirement_id": source, "target_requirement_id": "REQ-003", "relationship_type_id": "relates_to"});
        backend.create("/relationships", &link.to_string());
    }
    backend.ask(
        "PATCH",
        "/requirements/REQ-003",
        &json!({"description": "Something else entirely."}).to_string(),
    );
    let before = n_suspects(&backend);
    assert!(before >= 2, "{before}");
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT", backend.url));
    browser.press("gs");
    browser.wait_until("location.pathname === '/p/DEFAULT/suspects'");
    browser.wait_until(&format!("document.querySelectorAll('.suspects > li').length === {before}"));
    browser.press("J");
    browser.wait_until("document.querySelector('.suspects > li:first-child').matches('.here')");
    let first = browser.evaluate("document.querySelector('.suspects > .here').id");
    browser.press("c");
    browser.wait_until(&format!("document.querySelectorAll('.suspects > li').length === {}", before - 1));
    // Keys go on with what took its place.
    browser.wait_until(&format!("document.querySelector('.suspects > .here')?.id !== {first}"));
    browser.wait_until("document.querySelector('.suspects > li:first-child').matches('.here')");
    assert_eq!(n_suspects(&backend), before - 1);
    let source = browser.evaluate("document.querySelector('.suspects > .here a').innerText");
    browser.press("\u{e007}");
    browser.wait_until(&format!("location.pathname === '/r/' + {source}"));
    check_console(&browser);
}

#[test]
fn a_card_is_dragged_and_a_stale_one_is_refused() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    sign_in(&browser, &backend);
    backend.ask("PATCH", "/requirements/REQ-001", &json!({"status": "Draft"}).to_string());
    browser.visit(&format!("{}/p/DEFAULT/board/requirement", backend.url));
    browser.drag("#card-REQ-001 p:nth-child(2)", ".board-column[data-status=Active] h2");
    browser.wait_until(
        "document.querySelector('#card-REQ-001').closest('.board-column').dataset.status === 'Active'",
    );
    assert_eq!(backend.ask("GET", "/requirements/REQ-001", "")["status"], "Active");
    check_console(&browser);
    // Somebody else changes it meanwhile.
    backend.ask("PATCH", "/requirements/REQ-001", &json!({"status": "Obsolete"}).to_string());
    browser.drag("#card-REQ-001 p:nth-child(2)", ".board-column[data-status=Draft] h2");
    browser.wait_until("!!document.querySelector('#card-REQ-001 .error')");
    assert_eq!(backend.ask("GET", "/requirements/REQ-001", "")["status"], "Obsolete");
    // The browser itself tells of the answer 409.
    let told = browser.console();
    assert!(told.iter().all(|line| line.contains("409")), "{told:?}");
}

#[test]
fn a_missing_link_is_added_in_its_cell() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT/matrix?against=relations", backend.url));
    let count = || backend.ask("GET", "/requirements/REQ-001/relationships", "")["total_count"].clone();
    let before = count().as_u64().expect("a number");
    browser.click("a.add[aria-label='Add: REQ-001 relates to …']");
    browser.wait_until("document.activeElement.name === 'target_requirement_id'");
    browser.press("REQ-003");
    browser.press("\u{e007}");
    browser.wait_until("!document.querySelector('.cell-form')");
    assert_eq!(count().as_u64(), Some(before + 1));
    check_console(&browser);
}
