//! Running a server in a real browser: people and statuses, what was deleted, and the traces of a folder.

use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{check_console, sign_in};

#[test]
fn an_administrator_adds_a_user_and_renames_a_status() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/admin/users", backend.url));
    browser.write("#field-username", "ann");
    browser.write("#field-email", "ann@example.org");
    browser.evaluate("document.querySelector('#field-role').value = 'User'");
    browser.click(".card button.primary");
    browser.wait_until("document.querySelector('[aria-label=\"Role of ann\"]')?.value === 'User'");
    // A choice is saved when it is made.
    browser.evaluate(
        "(s => { s.value = 'Commenter'; s.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector('[aria-label=\"Role of ann\"]'))",
    );
    browser.wait_until(
        "document.querySelector('[aria-label=\"Role of ann\"] option[value=Commenter]').defaultSelected",
    );
    assert_eq!(backend.ask("GET", "/users/ann", "")["role"], "Commenter");
    // What is wrong is said at the field.
    browser.write("#field-username", "ann");
    browser.write("#field-email", "other@example.org");
    browser.evaluate("document.querySelector('#field-role').value = 'User'");
    browser.click(".card button.primary");
    browser.wait_until("document.querySelector('.card .error')?.innerText.includes('taken')");
    browser.visit(&format!("{}/admin/statuses?change=requirement", backend.url));
    browser.evaluate("document.querySelector('[name=\"statuses.1.name\"]').value = 'Agreed'");
    browser.evaluate("document.querySelector('[name=\"renamed.0.from\"]').value = 'Active'");
    browser.evaluate("document.querySelector('[name=\"renamed.0.to\"]').value = 'Agreed'");
    browser.evaluate("document.querySelector('[aria-label=\"From Draft to Active\"]').click()");
    browser.click("main form button.primary");
    browser
        .wait_until("location.search === '' && document.querySelector('main').innerText.includes('Agreed')");
    let model = backend.ask("GET", "/config/status-models/requirement", "");
    assert_eq!(model["transitions"], json!([{"from": "Draft", "to": "Agreed"}]));
}

#[test]
fn what_was_deleted_is_restored() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    backend.ask("DELETE", "/user-stories/US-002?force=true", "");
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT/deleted", backend.url));
    browser.wait_until("document.querySelector('.deletion').innerText.includes('with 2 more')");
    browser.click(".deletion button.danger");
    browser.wait_until("document.querySelector('main').innerText.includes('Nothing was changed yet')");
    browser.visit(&format!("{}/p/DEFAULT/deleted", backend.url));
    browser.click(".deletion form:first-of-type button");
    browser.wait_until("document.querySelector('main').innerText.includes('Nothing is deleted')");
    assert_eq!(backend.ask("GET", "/user-stories/US-002", "")["reference_id"], "US-002");
    check_console(&browser);
}

#[test]
fn a_reader_goes_from_a_specification_to_the_code_and_back() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT/trace", backend.url));
    browser.wait_until("document.querySelector('.specifications a')?.innerText === 'Payment'");
    browser.click(".specifications a");
    browser.wait_until(
        "document.querySelector('.traced.needs-tests')?.innerText.includes('MUST NOT be stored')",
    );
    // The next requirement that nothing cites, and the comment that would.
    browser.click("[data-key=n]");
    browser.wait_until(
        "document.querySelector('li:target')?.innerText.includes('checked before it is charged')",
    );
    assert_eq!(
        browser.evaluate("document.querySelector('li:target [data-copy]').dataset.copy"),
        "//= payment.md#cards\n//# A card SHOULD be checked before it is charged.\n"
    );
    browser.click("[data-key=n]");
    browser.wait_until("document.querySelector('li:target')?.innerText.includes('A receipt MUST be sent')");
    browser.visit(&format!("{}/p/DEFAULT/trace/payment-md", backend.url));
    browser.click(".requirements-below a[href*='/code?']");
    browser.wait_until("document.querySelector('tr:target')?.innerText.includes('payment.md#cards')");
    browser.click("tr:target a");
    browser.wait_until("location.pathname.endsWith('/trace/payment-md')");
    check_console(&browser);
    browser.visit(&format!("{}/r/REQ-002", backend.url));
    browser.click("a[href$='/threats']");
    browser.wait_until("document.querySelector('.threat dd') !== null");
    check_console(&browser);
}
