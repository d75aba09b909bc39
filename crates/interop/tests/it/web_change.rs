//! Change and its consequences in a real browser: by keyboard, by dragging, and in a cell.

use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{check_console, hide, sign_in};

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
    // By keys, too.
    browser.evaluate("document.querySelector('#card-REQ-001 a').focus()");
    browser.press("s");
    browser.wait_until("document.activeElement.matches('#card-REQ-001 select')");
    browser.press("\u{e00c}");
    browser.evaluate("document.activeElement.blur()");
    check_console(&browser);
    // Somebody else changes its title meanwhile, which is in nobody's way.
    hide(&browser, true);
    backend.ask("PATCH", "/requirements/REQ-001", &json!({"title": "Theirs"}).to_string());
    browser.drag("#card-REQ-001 p:nth-child(2)", ".board-column[data-status=Obsolete] h2");
    browser.wait_until(
        "document.querySelector('#card-REQ-001').closest('.board-column').dataset.status === 'Obsolete'",
    );
    browser.drag("#card-REQ-001 p:nth-child(2)", ".board-column[data-status=Active] h2");
    browser.wait_until(
        "document.querySelector('#card-REQ-001').closest('.board-column').dataset.status === 'Active'",
    );
    check_console(&browser);
    // Somebody else changes its status.
    backend.ask("PATCH", "/requirements/REQ-001", &json!({"status": "Obsolete"}).to_string());
    browser.drag("#card-REQ-001 p:nth-child(2)", ".board-column[data-status=Draft] h2");
    browser.wait_until("!!document.querySelector('#card-REQ-001 .error')");
    assert_eq!(backend.ask("GET", "/requirements/REQ-001", "")["status"], "Obsolete");
    // The browser itself tells of the answer 409.
    let told = browser.console();
    assert!(told.iter().all(|line| line.contains("409")), "{told:?}");
}

/// More cards than a column shows at first stay when one is moved, by whomever.
#[test]
fn cards_that_were_asked_for_stay_when_two_people_move_some() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    let steps: Vec<_> = (0..120)
        .map(|number| json!({"operation": "create_requirement", "arguments": {
            "user_story_id": "US-001", "title": format!("Card {number}"), "type_id": "Functional", "priority": 3}}))
        .collect();
    for some in steps.chunks(60) {
        backend.ask("POST", "/bulk", &json!({ "operations": some }).to_string());
    }
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT/board/requirement", backend.url));
    browser.evaluate("(window.stayed = true)");
    let n_drafts = "document.querySelectorAll('[data-status=Draft] .board-card').length";
    assert_eq!(browser.evaluate(n_drafts), 50);
    browser.evaluate("document.querySelector('[data-status=Draft] .more a').click()");
    browser.wait_until(&format!("{n_drafts} === 100"));
    // A card of the second page is moved here, another one by somebody else.
    let last = "document.querySelector('[data-status=Draft] .board-card:nth-child(99)')";
    let moved = browser.evaluate(&format!("{last}.id.replace('card-', '')"));
    let moved = moved.as_str().expect("a reference").to_owned();
    browser.wait_until("stream?.readyState === EventSource.OPEN");
    browser.evaluate(&format!(
        "(choice => {{ choice.value = 'Active'; choice.dispatchEvent(new Event('change', {{bubbles: true}})); }})({last}.querySelector('select'))"
    ));
    browser.wait_until(&format!(
        "document.querySelector('#card-{moved}').closest('.board-column').dataset.status === 'Active'"
    ));
    assert_eq!(browser.evaluate(n_drafts), 100, "the cards that were asked for are still there");
    assert_eq!(backend.ask("GET", &format!("/requirements/{moved}"), "")["status"], "Active");
    let theirs =
        "document.querySelector('[data-status=Draft] .board-card:nth-child(60)').id.replace('card-', '')";
    let theirs = browser.evaluate(theirs).as_str().expect("a reference").to_owned();
    backend.ask("PATCH", &format!("/requirements/{theirs}"), &json!({"status": "Active"}).to_string());
    browser
        .wait_until("document.querySelector('[data-bar=news]')?.innerText.startsWith('1 thing has changed')");
    // Nothing jumps until it is asked for; then their move is shown beside the own, with as many cards as before.
    assert_eq!(browser.evaluate("window.stayed"), true);
    browser.click("[data-bar=news] button");
    browser.wait_until(&format!(
        "document.querySelector('#card-{theirs}')?.closest('.board-column').dataset.status === 'Active'"
    ));
    assert_eq!(browser.evaluate(n_drafts), 100);
    // More than twenty changes at once are not counted.
    browser.wait_until("stream?.readyState === EventSource.OPEN");
    let steps: Vec<_> = (20..50)
        .map(|number| {
            json!({"operation": "update_requirement", "arguments": {
            "requirement_id": format!("REQ-{number:03}"), "priority": 4}})
        })
        .collect();
    backend.ask("POST", "/bulk", &json!({ "operations": steps }).to_string());
    browser.wait_until(
        "document.querySelector('[data-bar=news]')?.innerText.startsWith('Many things have changed')",
    );
    check_console(&browser);
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
