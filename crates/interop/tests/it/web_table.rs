//! The table and the tree in a real browser, by keys and clicks.

use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{check_console, fill, sign_in};

const ENTER: &str = "\u{e007}";
const UP: &str = "\u{e013}";
const DOWN: &str = "\u{e015}";
const LEFT: &str = "\u{e012}";
const RIGHT: &str = "\u{e014}";

/// A browser that looks at a page, signed in.
fn at(path: &str) -> Option<(Browser, Backend)> {
    let browser = Browser::start()?;
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}{path}", backend.url));
    Some((browser, backend))
}

#[test]
fn rows_are_selected_by_keys_tried_and_changed_together() {
    let Some((browser, backend)) = at("/p/DEFAULT/list/requirement") else { return };
    assert_eq!(browser.evaluate("document.querySelector('.bulk').checkVisibility()"), false);
    for key in ["j", "j", "j", "x", "j", "x"] {
        browser.press(key);
    }
    assert_eq!(browser.texts("[data-selected]"), "2 selected");
    assert_eq!(browser.texts("tr.selected td.id a"), "REQ-003\nREQ-004");
    browser.press("x");
    assert_eq!(browser.texts("[data-selected]"), "1 selected");
    browser.press("x");
    browser.evaluate("document.querySelector('.bulk [name=status]').value = 'Active'");
    browser.click(".bulk .primary");
    browser.wait_until("document.querySelector('h1')?.innerText === 'Change 2 requirements'");
    assert!(
        browser.texts(".plan tbody tr").contains("REQ-003 Expired cards are marked Status Draft → Active")
    );
    assert_eq!(backend.ask("GET", "/requirements/REQ-003", "")["status"], "Draft");
    browser.click(".plan ~ .actions .primary");
    browser.wait_until("document.querySelector('.notice')?.innerText === '2 were changed.'");
    browser.wait_until("location.search === ''");
    for reference in ["REQ-003", "REQ-004"] {
        assert_eq!(backend.ask("GET", &format!("/requirements/{reference}"), "")["status"], "Active");
    }
    check_console(&browser);
}

/// Keys of a row work once the row was chosen; until then, `c` creates and the others do nothing.
#[test]
fn keys_work_in_the_row_that_was_chosen() {
    let Some((browser, backend)) = at("/p/DEFAULT/list/requirement") else { return };
    let focused = || browser.evaluate("document.activeElement.name ?? ''");
    browser.press("p");
    assert_eq!(focused(), "");
    browser.press("j");
    browser.press("j");
    for (key, field) in [("p", "priority"), ("a", "assignee_id")] {
        browser.press(key);
        browser.wait_until(&format!("document.activeElement.name === '{field}'"));
        assert_eq!(browser.evaluate("document.activeElement.closest('tr').id"), "row-REQ-002");
        browser.evaluate("document.activeElement.blur()");
    }
    browser.evaluate("(navigator.clipboard.writeText = async text => { window.copied = text; }, null)");
    browser.press("y");
    let copied = json!(format!("REQ-002 Only the owner sees saved cards {}/r/REQ-002", backend.url));
    browser.wait_until(&format!("window.copied === {copied}"));
    browser.press("e");
    browser.wait_until("document.activeElement.name === 'title'");
    // Among suspect links `c` confirms one, but only the one that was chosen.
    browser.visit(&format!("{}/p/DEFAULT/suspects", backend.url));
    let n_links = browser.evaluate("document.querySelectorAll('.suspects > li').length");
    browser.press("c");
    browser.wait_until("location.pathname === '/p/DEFAULT/new/requirement'");
    browser.visit(&format!("{}/p/DEFAULT/suspects", backend.url));
    assert_eq!(browser.evaluate("document.querySelectorAll('.suspects > li').length"), n_links);
    check_console(&browser);
}

#[test]
fn a_click_with_shift_selects_a_range() {
    let Some((browser, _backend)) = at("/p/DEFAULT/list/requirement") else { return };
    browser.click("#row-REQ-002 .pick input");
    browser.evaluate(
        "document.querySelector('#row-REQ-005 .pick input').dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true}))",
    );
    assert_eq!(browser.texts("[data-selected]"), "4 selected");
    browser.click("[data-unselect]");
    assert_eq!(browser.evaluate("document.querySelectorAll('tr.selected').length"), 0);
    browser.click(".pick-all");
    let n_rows = browser.evaluate("document.querySelectorAll('.entities tbody tr').length");
    assert_eq!(browser.texts("[data-selected]"), format!("{n_rows} selected"));
    check_console(&browser);
}

#[test]
fn cells_are_saved_where_they_are() {
    let Some((browser, backend)) = at("/p/DEFAULT/list/requirement?status=Draft") else { return };
    browser.evaluate("window.isSamePage = true");
    browser.press("j");
    browser.press("x");
    let first = browser.texts("tr.here td.id a");
    let stored = || backend.ask("GET", &format!("/requirements/{first}"), "");
    browser.evaluate(
        "(s => { s.value = 'Active'; s.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector('tr.here [name=status]'))",
    );
    // The row stays, with its mark and selected as before, though the filter would not show it any more.
    browser.wait_until("document.querySelector('tr.here .mark')?.classList.contains('needs-tests')");
    assert_eq!(browser.texts("tr.here.selected td.id a"), first);
    assert_eq!(stored()["status"], "Active");
    // A title is edited after asking for it, and saved with Enter.
    browser.evaluate("document.querySelector('tr.here .pencil').click()");
    browser.wait_until("document.activeElement.name === 'title'");
    browser.press(" at once");
    browser.press(ENTER);
    browser.wait_until("document.querySelector('tr.here .name')?.innerText.includes('at once')");
    assert!(stored()["title"].as_str().is_some_and(|title| title.contains("at once")));
    // What is refused is told, and stays to be corrected.
    browser
        .evaluate("(f => { f.focus(); f.select(); })(document.querySelector('tr.here [name=assignee_id]'))");
    browser.press("nobody-here");
    browser.press(ENTER);
    browser.wait_until("document.querySelector('tr.here .error')?.innerText.includes('There is no user')");
    assert_eq!(browser.evaluate("document.querySelector('tr.here [aria-invalid]').value"), "nobody-here");
    assert_eq!(browser.evaluate("window.isSamePage"), true);
    // The browser itself notes an answer of 400; nothing else may be there.
    let told = browser.console();
    assert!(told.iter().all(|line| line.contains("status of 400")), "{told:?}");
}

#[test]
fn a_view_is_saved_from_what_is_shown() {
    let Some((browser, _backend)) = at("/p/DEFAULT/list/requirement") else { return };
    browser.click(".toolbar .choose summary");
    browser.evaluate("document.querySelector('.fields [name=status]').value = 'Draft'");
    browser.click(".fields button");
    browser.wait_until("location.search === '?status=Draft'");
    assert_eq!(browser.texts(".chip"), "Status Draft ×");
    browser.click(".save summary");
    browser.write(".save [name=name]", "Drafts");
    browser.click(".save .primary");
    browser.wait_until("document.querySelector('.tabs [aria-current]')?.innerText === 'Drafts'");
    browser.click(".tabs a");
    browser.wait_until("location.search === ''");
    browser.click(".tabs a:nth-child(2)");
    browser.wait_until("location.search === '?status=Draft'");
    browser.click(".chip .remove");
    browser.wait_until("location.search === ''");
    check_console(&browser);
}

#[test]
fn a_tree_is_walked_by_arrows() {
    let Some((browser, backend)) = at("/p/DEFAULT/tree") else { return };
    let here = || browser.evaluate("document.activeElement.dataset.reference ?? ''");
    browser.evaluate("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()");
    assert_eq!(here(), "EP-001");
    browser.press(RIGHT);
    browser
        .wait_until("document.querySelector('#node-US-001') !== null && location.search === '?open=EP-001'");
    browser.press(RIGHT);
    assert_eq!(here(), "US-001");
    browser.press(RIGHT);
    browser.wait_until("location.search === '?open=EP-001,US-001'");
    for _ in 0..3 {
        browser.press(DOWN);
    }
    assert_eq!(here(), "REQ-001");
    browser.press(ENTER);
    browser.wait_until("document.querySelector('#item [data-live]')?.dataset.reference === 'REQ-001'");
    browser.wait_until("location.search === '?item=REQ-001&open=EP-001,US-001'");
    // The address shows the same without a script having to open anything.
    let shown = browser.texts("[role=treeitem] > .node .reference");
    browser.visit(&format!("{}/p/DEFAULT/tree?item=REQ-001&open=EP-001,US-001", backend.url));
    assert_eq!(browser.texts("[role=treeitem] > .node .reference"), shown);
    browser.evaluate("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()");
    assert_eq!(here(), "REQ-001");
    browser.press(LEFT);
    assert_eq!(here(), "US-001");
    browser.press(LEFT);
    browser.wait_until("location.search === '?item=REQ-001&open=EP-001'");
    browser.press(DOWN);
    assert_eq!(here(), "US-002");
    browser.press(UP);
    assert_eq!(here(), "US-001");
    // An item is moved from beside the tree.
    browser.click(".move summary");
    browser.write(".move [name=user_story_id]", "US-002");
    browser.click(".move .primary");
    browser.wait_until("document.querySelector('.way')?.innerText.includes('US-002')");
    assert_eq!(backend.ask("GET", "/requirements/REQ-001", "")["user_story"], "US-002");
    check_console(&browser);
}

/// Two people in one row: other cells go together, the same cell is refused with a word, and what was typed stays.
#[test]
fn two_people_edit_cells_of_one_row() {
    let Some((browser, backend)) = at("/p/DEFAULT/list/requirement") else { return };
    browser.wait_until("stream?.readyState === EventSource.OPEN");
    let change =
        |fields: serde_json::Value| backend.ask("PATCH", "/requirements/REQ-003", &fields.to_string());
    change(json!({"priority": 4}));
    browser
        .wait_until("document.querySelector('[data-bar=news]')?.innerText.startsWith('1 thing has changed')");
    browser.evaluate(
        "(s => { s.value = 'Active'; s.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector('#row-REQ-003 [name=status]'))",
    );
    browser.wait_until("document.querySelector('#row-REQ-003 .mark')?.classList.contains('needs-tests')");
    let stored = backend.ask("GET", "/requirements/REQ-003", "");
    assert_eq!((&stored["status"], &stored["priority"]), (&json!("Active"), &json!(4)), "both are kept");
    browser.evaluate("document.querySelector('#row-REQ-003 .pencil').click()");
    browser.wait_until("document.activeElement.name === 'title'");
    change(json!({"title": "Theirs"}));
    browser.press(" and mine");
    browser.press(ENTER);
    browser.wait_until("document.querySelector('.toast')?.innerText.includes('Somebody else')");
    assert!(
        browser
            .evaluate("document.querySelector('#row-REQ-003 [name=title]').value")
            .as_str()
            .is_some_and(|typed| typed.ends_with("and mine")),
        "what was typed stays"
    );
    assert_eq!(backend.ask("GET", "/requirements/REQ-003", "")["title"], "Theirs");
    // The browser itself tells of the answer 409.
    let told = browser.console();
    assert!(told.iter().all(|line| line.contains("409")), "{told:?}");
}

/// What is changed beside the tree stays beside the tree.
#[test]
fn an_item_is_edited_beside_the_tree() {
    let Some((browser, backend)) = at("/p/DEFAULT/tree?open=EP-001,US-001&item=REQ-001") else { return };
    // What is copied leads to the item and not to the tree.
    browser.evaluate("(navigator.clipboard.writeText = async text => { window.copied = text; }, null)");
    browser.press("y");
    let address =
        json!(format!("REQ-001 Card numbers are kept by the provider alone {}/r/REQ-001", backend.url));
    browser.wait_until(&format!("window.copied === {address}"));
    browser.press("e");
    browser.wait_until("document.querySelector('#item #edit [name=title]') !== null");
    fill(&browser, "#item #edit [name=title]", "Edited beside the tree");
    browser.click("#item #edit button.primary");
    browser
        .wait_until("document.querySelector('#node-REQ-001 .name')?.innerText === 'Edited beside the tree'");
    assert_eq!(browser.evaluate("location.pathname"), "/p/DEFAULT/tree");
    assert_eq!(browser.texts("#item h1"), "Edited beside the tree");
    assert_eq!(backend.ask("GET", "/requirements/REQ-001", "")["title"], "Edited beside the tree");
    check_console(&browser);
}

/// [spec web] A page never holds more than 500 rows, however often somebody asks for the next hundred.
#[test]
fn a_table_that_is_full_goes_on_with_another_page() {
    let Some((browser, backend)) = at("/p/DEFAULT/list/requirement") else { return };
    let steps: Vec<_> = (0..600)
        .map(|number| json!({"operation": "create_requirement", "arguments": {
            "user_story_id": "US-001", "title": format!("Row {number}"), "type_id": "Functional", "priority": 3}}))
        .collect();
    for some in steps.chunks(100) {
        backend.ask("POST", "/bulk", &json!({ "operations": some }).to_string());
    }
    browser.visit(&format!("{}/p/DEFAULT/list/requirement", backend.url));
    let rows = "document.querySelectorAll('.entities tbody tr').length";
    for n_rows in [200, 300, 400, 500] {
        browser.evaluate("document.querySelector('[data-more] a').click()");
        browser.wait_until(&format!("{rows} === {n_rows}"));
    }
    assert_eq!(browser.evaluate("location.search"), "");
    browser.evaluate("document.querySelector('[data-more] a').click()");
    browser.wait_until(&format!("location.search.includes('cursor=') && {rows} === 100"));
    assert_eq!(browser.evaluate("document.querySelector('.entities tbody tr').id"), "row-REQ-501");
    check_console(&browser);
}
