//! A specification in a real browser: read, edited and talked about in its place, by one person and by two.

use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{check_console, fill, sign_in};

fn at_document() -> Option<(Browser, Backend)> {
    let browser = Browser::start()?;
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT/document", backend.url));
    // Whatever replaces the page as a whole loses this.
    browser.evaluate("(window.stayed = true)");
    Some((browser, backend))
}

/// Opens the form of a section.
#[track_caller]
fn edit(browser: &Browser, reference: &str) {
    browser.evaluate(&format!("document.querySelector('#{reference} [data-key=e]').click()"));
    browser.wait_until(&format!("document.querySelector('#{reference} #edit [name=description]') !== null"));
}

/// Presses Save, wherever on the page it is.
#[track_caller]
fn save(browser: &Browser) {
    browser.evaluate("document.querySelector('#edit button.primary').click()");
}

/// [spec web] A document marks in its outline where one is.
#[test]
fn the_outline_of_a_document_follows_the_reader() {
    let Some((browser, _backend)) = at_document() else { return };
    let marked = "document.querySelector('.outline [aria-current]').hash";
    browser.wait_until(&format!("{marked} === '#EP-001'"));
    browser.evaluate("document.querySelector('.outline a[href=\"#EP-002\"]').click()");
    browser.wait_until(&format!("{marked} === '#EP-002' && location.hash === '#EP-002'"));
    // On paper there is the text alone.
    browser.show_as_print();
    for gone in [".top", ".outline", ".section-actions", ".actions"] {
        assert!(!browser.shows(gone), "{gone} is printed");
    }
    assert!(browser.shows("#REQ-001 .prose") && browser.shows("#EP-002"));
    check_console(&browser);
}

#[test]
fn a_section_is_edited_in_its_place() {
    let Some((browser, backend)) = at_document() else { return };
    edit(&browser, "REQ-002");
    assert_eq!(browser.evaluate("document.activeElement.closest('section').id"), "REQ-002");
    assert!(!browser.shows("#REQ-002 .text > .prose"), "the form stands in the place of the text");
    fill(&browser, "#edit [name=description]", "Cards are **never** shown to others.");
    let place = browser.evaluate("scrollY");
    browser.press_with_control('\u{e007}');
    browser.wait_until("document.querySelector('#REQ-002 .prose strong')?.innerText === 'never'");
    assert_eq!(browser.evaluate("document.querySelector('#edit')"), json!(null));
    assert_eq!(browser.evaluate("location.pathname + location.search"), "/p/DEFAULT/document");
    assert_eq!(browser.evaluate("scrollY"), place, "the reader stays where they are");
    let stored = backend.ask("GET", "/requirements/REQ-002", "");
    assert_eq!(stored["description"], "Cards are **never** shown to others.");
    // One section at a time. What was typed in another is kept, and is there when it is opened again.
    edit(&browser, "REQ-001");
    fill(&browser, "#edit [name=description]", "Half a thought");
    edit(&browser, "AC-001");
    assert_eq!(browser.evaluate("document.querySelectorAll('#edit').length"), 1);
    edit(&browser, "REQ-001");
    browser.wait_until("document.querySelector('#edit [name=description]').value === 'Half a thought'");
    // Keys work on the section that they have gone to.
    browser.evaluate("document.querySelector('#edit [data-cancel]').click()");
    browser.wait_until("document.querySelector('#edit') === null");
    browser.evaluate("document.activeElement.blur()");
    browser.press("j");
    browser.press("j");
    browser.press("e");
    browser.wait_until("document.querySelector('#US-001 #edit') !== null");
    assert_eq!(browser.evaluate("window.stayed"), true);
    check_console(&browser);
}

#[test]
fn a_passage_of_a_section_is_commented_on() {
    let Some((browser, backend)) = at_document() else { return };
    let n_marked = browser.evaluate("CSS.highlights.get('commented').size").as_u64().expect("a number");
    let description = json!({"description": "A card is shown to *nobody* else."}).to_string();
    backend.ask("PATCH", "/requirements/REQ-002", &description);
    browser.wait_until("document.querySelector('#REQ-002 .prose em') !== null");
    browser.evaluate("getSelection().selectAllChildren(document.querySelector('#REQ-002 .prose p'))");
    browser.wait_until("document.querySelector('.quote-button') !== null");
    browser.click(".quote-button");
    browser.wait_until("document.activeElement.id === 'comment-new'");
    assert_eq!(
        browser.evaluate("document.querySelector('#REQ-002 #comment-quote').value"),
        "A card is shown to nobody else."
    );
    browser.press("Not even to support?");
    browser.press_with_control('\u{e007}');
    browser.wait_until("document.querySelector('#REQ-002 [data-comments]').innerText === '1 comment'");
    browser.wait_until(&format!("CSS.highlights.get('commented').size === {}", n_marked + 1));
    let comments = backend.ask("GET", "/requirements/REQ-002/comments", "");
    assert_eq!(comments["data"][0]["content"], "Not even to support?");
    assert_eq!(browser.evaluate("location.pathname"), "/p/DEFAULT/document");
    // The thread is read, answered and settled where it is.
    browser.evaluate("document.querySelector('#REQ-002 [data-comments]').click()");
    browser.wait_until(
        "document.querySelector('#REQ-002 .comment .prose')?.innerText === 'Not even to support?'",
    );
    browser.evaluate("document.querySelector('#REQ-002 .comment-actions button').click()");
    browser.wait_until("document.querySelector('#REQ-002 [data-comments]').innerText === 'Comment'");
    assert_eq!(browser.evaluate("window.stayed"), true);
    check_console(&browser);
}

/// [spec web] Two people at once: other fields go together, the same field is a question, and the text stays.
#[test]
fn two_people_edit_one_document() {
    let Some((browser, backend)) = at_document() else { return };
    let change = |reference: &str, fields: serde_json::Value| {
        backend.ask("PATCH", &format!("/requirements/{reference}"), &fields.to_string())
    };
    browser.wait_until("stream?.readyState === EventSource.OPEN");
    // A section that somebody else changes is shown anew, and nothing else of the page.
    edit(&browser, "REQ-001");
    fill(&browser, "#edit [name=rationale]", "My reason");
    change("REQ-002", json!({"description": "Changed by somebody else."}));
    browser.wait_until("document.querySelector('#REQ-002 .prose').innerText === 'Changed by somebody else.'");
    assert_eq!(browser.evaluate("document.querySelector('#edit [name=rationale]').value"), "My reason");
    // The section that is being edited stays; who edits is told, and both changes are kept.
    change("REQ-001", json!({"title": "Their title"}));
    browser.wait_until("document.querySelector('[data-bar=edited]')?.innerText.includes('REQ-001')");
    save(&browser);
    browser.wait_until("document.querySelector('#REQ-001 h4').innerText.includes('Their title') && document.querySelector('#REQ-001 .rationale').innerText.includes('My reason')");
    // What was saved here is no news.
    assert_eq!(browser.evaluate("document.querySelector('[data-bar=news]')"), json!(null));
    // Both change the same text: both are shown, and saving leads back to the document.
    edit(&browser, "REQ-001");
    fill(&browser, "#edit [name=description]", "mine");
    change("REQ-001", json!({"description": "theirs"}));
    save(&browser);
    browser.wait_until("document.querySelector('#mine-description')?.value === 'mine'");
    browser.click("main button.primary");
    browser.wait_until("location.pathname === '/p/DEFAULT/document' && document.querySelector('#REQ-001 .prose')?.innerText === 'mine'");
    // What is new is announced, for it would move everything below it.
    let new = json!({"user_story_id": "US-001", "title": "New", "type_id": "Functional", "priority": 1});
    backend.create("/requirements", &new.to_string());
    browser
        .wait_until("document.querySelector('[data-bar=news]')?.innerText.startsWith('1 thing has changed')");
}
