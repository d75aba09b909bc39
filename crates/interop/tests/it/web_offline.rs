//! Pages whose server cannot be reached for a while, or has forgotten what happened meanwhile: nothing typed is lost, and what was
//! missed is shown afterwards.

use std::thread;
use std::time::Duration;

use private_postgres::{Options, Server as Postgres};
use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{fill, sign_in};

/// Longer than anything that a page waits for, and than many attempts of the browser to reach the server again. How long changes
/// are remembered is in [`what_the_server_has_forgotten_is_read_anew`].
const GAP: Duration = Duration::from_secs(31);

const IS_OFFLINE: &str = "document.querySelector('[data-bar=offline]') !== null";
const IS_ONLINE: &str = "document.querySelector('[data-bar=offline]') === null";

fn at(path: &str) -> Option<(Browser, Backend)> {
    let browser = Browser::start()?;
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}{path}", backend.url));
    // Whatever replaces the page as a whole loses this.
    browser.evaluate("(window.stayed = true)");
    Some((browser, backend))
}

/// [spec web] Offline is a bar, and not a page.
#[test]
fn an_item_offline_keeps_what_is_typed_and_catches_up() {
    let Some((browser, backend)) = at("/r/REQ-002") else { return };
    browser.wait_until("stream?.readyState === EventSource.OPEN");
    browser.go_offline(true);
    browser.wait_until(IS_OFFLINE);
    fill(&browser, "#comment-new", "written without a network");
    browser.click("#comments > form button:not([type=button])");
    browser
        .wait_until("document.querySelector('[data-bar=offline]').innerText.includes('cannot be reached')");
    for title in ["Changed once", "Changed twice"] {
        backend.ask("PATCH", "/requirements/REQ-002", &json!({ "title": title }).to_string());
    }
    thread::sleep(GAP);
    assert_eq!(browser.evaluate("document.querySelector('#comment-new').value"), "written without a network");
    assert_eq!(browser.texts("h1"), "Only the owner sees saved cards");
    browser.go_offline(false);
    browser.wait_until("document.querySelector('h1').innerText === 'Changed twice'");
    browser.wait_until(IS_ONLINE);
    assert_eq!(browser.evaluate("document.querySelector('#comment-new').value"), "written without a network");
    browser.click("#comments > form button:not([type=button])");
    browser
        .wait_until("document.querySelector('.comment .prose')?.innerText === 'written without a network'");
    assert_eq!(browser.evaluate("window.stayed"), true);
}

#[test]
fn tables_boards_and_documents_offline_keep_what_is_typed() {
    let Some((browser, backend)) = at("/p/DEFAULT/list/requirement") else { return };
    let stored = |reference: &str| backend.ask("GET", &format!("/requirements/{reference}"), "");
    // A cell.
    browser.evaluate("document.querySelector('#row-REQ-003 .pencil').click()");
    browser.wait_until("document.activeElement.name === 'title'");
    browser.go_offline(true);
    browser.wait_until(IS_OFFLINE);
    fill(&browser, "#row-REQ-003 [name=title]", "Typed offline");
    browser.press("\u{e007}");
    browser
        .wait_until("document.querySelector('[data-bar=offline]').innerText.includes('cannot be reached')");
    assert_eq!(
        browser.evaluate("document.querySelector('#row-REQ-003 [name=title]').value"),
        "Typed offline"
    );
    browser.go_offline(false);
    browser.wait_until(IS_ONLINE);
    browser.evaluate("document.querySelector('#row-REQ-003 [name=title]').focus()");
    browser.press("\u{e007}");
    browser.wait_until("document.querySelector('#row-REQ-003 .name')?.innerText === 'Typed offline'");
    assert_eq!(stored("REQ-003")["title"], "Typed offline");
    // A card that could not be moved is where it was, and can be moved again.
    backend.ask("PATCH", "/requirements/REQ-001", &json!({"status": "Draft"}).to_string());
    browser.visit(&format!("{}/p/DEFAULT/board/requirement", backend.url));
    browser.go_offline(true);
    browser.drag("#card-REQ-001 p:nth-child(2)", ".board-column[data-status=Active] h2");
    browser.wait_until(IS_OFFLINE);
    browser.wait_until("document.querySelector('#card-REQ-001 select').value === 'Draft'");
    browser.go_offline(false);
    browser.drag("#card-REQ-001 p:nth-child(2)", ".board-column[data-status=Active] h2");
    browser.wait_until(
        "document.querySelector('#card-REQ-001').closest('.board-column').dataset.status === 'Active'",
    );
    // A section of a document.
    browser.visit(&format!("{}/p/DEFAULT/document", backend.url));
    browser.evaluate("document.querySelector('#REQ-002 [data-key=e]').click()");
    browser.wait_until("document.querySelector('#REQ-002 #edit [name=title]') !== null");
    browser.go_offline(true);
    fill(&browser, "#REQ-002 #edit [name=title]", "Written on a train");
    browser.click("#REQ-002 #edit button.primary");
    browser.wait_until(IS_OFFLINE);
    browser.evaluate("document.querySelector('#REQ-002 #edit .preview-button').click()");
    browser.wait_until("document.querySelector('.toast')?.innerText === 'The preview could not be made'");
    assert_eq!(
        browser.evaluate("document.querySelector('#REQ-002 #edit [name=title]').value"),
        "Written on a train"
    );
    browser.go_offline(false);
    browser.click("#REQ-002 #edit button.primary");
    browser.wait_until("document.querySelector('#REQ-002 h4').innerText.includes('Written on a train')");
    assert_eq!(stored("REQ-002")["title"], "Written on a train");
}

/// [spec web] The server answers, but its database does not: a bar as well, and not a page.
#[test]
fn a_store_that_is_away_is_a_bar_and_keeps_what_is_typed() {
    let Some(browser) = Browser::start() else { return };
    let Some(mut postgres) = Postgres::own(Options::default()) else { return };
    let database = postgres.database();
    let backend = Backend::start_on(&database);
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/r/REQ-002", backend.url));
    browser.evaluate("(window.stayed = true)");
    postgres.stop();
    fill(&browser, "#comment-new", "written without a database");
    browser.click("#comments > form button:not([type=button])");
    browser.wait_until(IS_OFFLINE);
    assert_eq!(browser.texts("[data-bar=offline] p"), "The database does not answer");
    assert_eq!(
        browser.evaluate("document.querySelector('#comment-new').value"),
        "written without a database"
    );
    postgres.start();
    browser.wait_until("fetch('/health/ready').then(answer => answer.ok)");
    browser.click("#comments > form button:not([type=button])");
    browser
        .wait_until("document.querySelector('.comment .prose')?.innerText === 'written without a database'");
    browser.wait_until(IS_ONLINE);
    assert_eq!(browser.evaluate("window.stayed"), true);
}

/// A server whose store was restored from a backup does not know what the page has heard last, and says `reset`.
#[test]
fn what_the_server_has_forgotten_is_read_anew() {
    let Some((browser, mut backend)) = at("/r/REQ-002") else { return };
    backend.restart_after(|files| files.save());
    let title = |text: &str| json!({ "title": text }).to_string();
    browser.wait_until("stream?.readyState === EventSource.OPEN");
    backend.ask("PATCH", "/requirements/REQ-002", &title("Not in the backup"));
    browser.wait_until("document.querySelector('h1').innerText === 'Not in the backup' && lastId !== null");
    // A list in another window has heard of it, too.
    let first = browser.open_window();
    browser.visit(&format!("{}/p/DEFAULT/list/requirement", backend.url));
    browser.wait_until("stream?.readyState === EventSource.OPEN");
    backend.ask("PATCH", "/requirements/REQ-003", &title("Not in the backup either"));
    browser
        .wait_until("document.querySelector('[data-bar=news]')?.innerText.startsWith('1 thing has changed')");
    backend.restart_after(|files| files.restore());
    browser.wait_until(
        "document.querySelector('[data-bar=news]').innerText.startsWith('Some things have changed')",
    );
    browser.click("[data-bar=news] button");
    browser
        .wait_until("document.querySelector('#row-REQ-003 .name')?.innerText === 'Expired cards are marked'");
    browser.switch_window(first);
    browser.wait_until("document.querySelector('h1').innerText === 'Only the owner sees saved cards'");
    assert_eq!(browser.evaluate("window.stayed"), true);
    // From here on it is told of changes as before.
    backend.ask("PATCH", "/requirements/REQ-002", &title("After the backup"));
    browser.wait_until("document.querySelector('h1').innerText === 'After the backup'");
}

/// What is changed after a page was made and before it listens is shown as well.
#[test]
fn a_page_misses_nothing_before_it_listens() {
    let Some((browser, backend)) = at("/r/REQ-002") else { return };
    // Streams of changes begin when the test says so.
    browser.run_before_pages(
        "window.EventSource = class extends EventTarget {
            static Stream = EventSource; static OPEN = 1; static CLOSED = 2;
            constructor(address) { super(); window.begin = () => {
                const stream = new EventSource.Stream(address);
                for (const name of ['change', 'reset']) stream.addEventListener(name, told => this.dispatchEvent(new MessageEvent(name, told)));
                stream.onopen = told => this.onopen?.(told);
            } }
            close() {}
        }",
    );
    browser.reload();
    browser.wait_until("window.begin !== undefined");
    backend.ask("PATCH", "/requirements/REQ-002", &json!({"title": "Nobody was listening"}).to_string());
    browser.evaluate("(window.begin(), 0)");
    browser.wait_until("document.querySelector('h1').innerText === 'Nobody was listening'");
    browser.visit(&format!("{}/p/DEFAULT/list/requirement", backend.url));
    browser.wait_until("window.begin !== undefined");
    backend.ask("PATCH", "/requirements/REQ-002", &json!({"title": "Nor then"}).to_string());
    browser.evaluate("(window.begin(), 0)");
    browser
        .wait_until("document.querySelector('[data-bar=news]')?.innerText.startsWith('1 thing has changed')");
}
