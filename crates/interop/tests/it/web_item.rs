//! One item in a real browser: edited in its place, talked about, changed by two people at once, and with a server that comes and goes.

use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{check_console, sign_in};

/// Enter, Tab and Escape, as WebDriver writes them.
const ENTER: char = '\u{e007}';
const ESCAPE: &str = "\u{e00c}";

/// A browser that looks at REQ-002.
fn at_item() -> Option<(Browser, Backend)> {
    let browser = Browser::start()?;
    let backend = Backend::start();
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/r/REQ-002", backend.url));
    // Whatever replaces the page as a whole loses this.
    browser.evaluate("(window.stayed = true)");
    Some((browser, backend))
}

/// Writes into a field in place of what is there.
#[track_caller]
fn fill(browser: &Browser, selector: &str, text: &str) {
    let (selector, text) = (json!(selector), json!(text));
    let script = format!(
        "(field => {{ field.focus(); field.value = {text}; field.dispatchEvent(new Event('input', {{bubbles: true}})); }})(document.querySelector({selector}))"
    );
    browser.evaluate(&script);
}

#[track_caller]
fn edit(browser: &Browser) {
    browser.press("e");
    browser.wait_until("document.querySelector('#edit textarea[name=description]') !== null");
}

#[test]
fn a_text_is_edited_previewed_and_quoted_in_its_place() {
    let Some((browser, backend)) = at_item() else { return };
    edit(&browser);
    fill(&browser, "#edit [name=description]", "The pot MUST be **very hot**.");
    browser.click("#edit .preview-button");
    browser.wait_until("document.querySelector('#edit .preview strong')?.innerText === 'very hot'");
    browser.click("#edit .preview-button");
    browser.press_with_control(ENTER);
    browser.wait_until("document.querySelector('[data-quotable] strong')?.innerText === 'very hot'");
    assert_eq!(
        backend.ask("GET", "/requirements/REQ-002", "")["description"],
        "The pot MUST be **very hot**."
    );
    // What is selected in the text is what a comment is about, markup or not.
    browser.evaluate("getSelection().selectAllChildren(document.querySelector('[data-quotable] p'))");
    browser.wait_until("document.querySelector('.quote-button') !== null");
    browser.press("m");
    browser.press("How hot?");
    browser.press_with_control(ENTER);
    browser.wait_until(
        "document.querySelector('.comment blockquote')?.innerText === 'The pot MUST be very hot.'",
    );
    browser.wait_until("CSS.highlights.get('commented').size === 1");
    assert_eq!(browser.evaluate("document.querySelector('#comment-new').value"), "");
    assert_eq!(browser.evaluate("window.stayed"), true);
    check_console(&browser);
}

#[test]
fn fields_are_changed_beside_the_text_and_refusals_are_said_there() {
    let Some((browser, backend)) = at_item() else { return };
    fill(&browser, "#comment-new", "half a thought");
    fill(&browser, "[name=labels]", "kitchen, safety");
    browser.press(&ENTER.to_string());
    browser.wait_until("document.querySelector('[name=labels]').defaultValue === 'kitchen, safety'");
    assert_eq!(backend.ask("GET", "/requirements/REQ-002", "")["labels"], json!(["kitchen", "safety"]));
    check_console(&browser);
    fill(&browser, "[name=assignee_id]", "nobody-of-that-name");
    browser.press(&ENTER.to_string());
    browser.wait_until("document.querySelector('.facts .error')?.innerText.includes('no user')");
    assert_eq!(browser.evaluate("document.activeElement.name"), "assignee_id");
    // The browser itself writes a line about each refused request.
    assert_eq!(browser.console().len(), 1);
    // What is typed elsewhere is never touched.
    assert_eq!(browser.evaluate("document.querySelector('#comment-new').value"), "half a thought");
    assert_eq!(browser.evaluate("window.stayed"), true);
}

#[test]
fn a_draft_outlives_the_page_and_a_save_ends_it() {
    let Some((browser, backend)) = at_item() else { return };
    edit(&browser);
    fill(&browser, "#edit [name=title]", "Only owners see saved cards");
    fill(&browser, "#comment-new", "a half comment");
    browser.visit(&format!("{}/r/REQ-003", backend.url));
    assert_eq!(browser.evaluate("document.querySelector('#comment-new').value"), "");
    browser.visit(&format!("{}/r/REQ-002", backend.url));
    assert_eq!(browser.evaluate("document.querySelector('#comment-new').value"), "a half comment");
    edit(&browser);
    browser
        .wait_until("document.querySelector('#edit [name=title]').value === 'Only owners see saved cards'");
    browser.click("#edit button.primary");
    browser.wait_until("document.querySelector('h1').innerText === 'Only owners see saved cards'");
    browser.visit(&format!("{}/r/REQ-002/edit", backend.url));
    assert_eq!(browser.evaluate("document.querySelectorAll('.draft-note').length"), 0);
    check_console(&browser);
}

#[test]
fn two_people_change_one_item_and_nothing_is_lost() {
    let Some((browser, backend)) = at_item() else { return };
    let change =
        |fields: serde_json::Value| backend.ask("PATCH", "/requirements/REQ-002", &fields.to_string());
    change(json!({"description": "one\n\ntwo\n\nthree"}));
    browser.wait_until("document.querySelector('#text').innerText.includes('three')");
    // Different fields go together, without a question.
    edit(&browser);
    change(json!({"title": "Their title"}));
    browser.wait_until("document.querySelector('[data-bar=news]') !== null");
    fill(&browser, "#edit [name=rationale]", "My reason");
    browser.click("#edit button.primary");
    browser.wait_until("document.querySelector('h1').innerText === 'Their title' && document.querySelector('#text').innerText.includes('My reason')");
    // Different lines of one text are put together, and shown once more.
    edit(&browser);
    fill(&browser, "#edit [name=description]", "ONE\n\ntwo\n\nthree");
    change(json!({"description": "one\n\ntwo\n\nTHREE"}));
    browser.click("#edit button.primary");
    browser.wait_until("document.querySelector('#mine-description')?.value === 'ONE\\n\\ntwo\\n\\nTHREE'");
    browser.click("main button.primary");
    browser.wait_until(
        "location.pathname === '/r/REQ-002' && document.querySelector('#text')?.innerText.includes('ONE')",
    );
    assert_eq!(backend.ask("GET", "/requirements/REQ-002", "")["description"], "ONE\n\ntwo\n\nTHREE");
    // The same line is a question.
    edit(&browser);
    fill(&browser, "#edit [name=description]", "mine");
    change(json!({"description": "theirs"}));
    browser.click("#edit button.primary");
    browser.wait_until("document.querySelector('#mine-description')?.value === 'mine'");
    browser.evaluate(
        "[...document.querySelectorAll('[data-fill]')].find(button => button.innerText === 'Both').click()",
    );
    assert_eq!(browser.evaluate("document.querySelector('#mine-description').value"), "theirs\n\nmine");
    browser.click("main button.primary");
    browser.wait_until("document.querySelector('#text')?.innerText.includes('mine')");
    assert_eq!(backend.ask("GET", "/requirements/REQ-002", "")["description"], "theirs\n\nmine");
    // What is deleted under an editor is said, and the text stays.
    edit(&browser);
    fill(&browser, "#edit [name=title]", "Too late");
    backend.ask("DELETE", "/requirements/REQ-002?force=true", "");
    browser.click("#edit button.primary");
    browser.wait_until("document.querySelector('#edit .error')?.innerText.includes('deleted')");
    assert_eq!(browser.evaluate("document.querySelector('#edit [name=title]').value"), "Too late");
    browser.visit(&format!("{}/r/REQ-002", backend.url));
    browser.click(".notice button");
    browser.wait_until("document.querySelector('.notice') === null");
}

#[test]
fn a_window_shows_what_is_done_in_another() {
    let Some((browser, backend)) = at_item() else { return };
    let first = browser.open_window();
    browser.visit(&format!("{}/r/REQ-002", backend.url));
    browser.press("m");
    browser.press("Seen from *here*");
    browser.press_with_control(ENTER);
    browser.wait_until("document.querySelector('.comment em')?.innerText === 'here'");
    browser.switch_window(first);
    browser.wait_until("document.querySelector('.comment em')?.innerText === 'here'");
    assert_eq!(browser.evaluate("window.stayed"), true);
    check_console(&browser);
}

#[test]
fn a_server_that_comes_and_goes_loses_nothing() {
    let Some((browser, mut backend)) = at_item() else { return };
    fill(&browser, "#comment-new", "written while it was away");
    backend.restart(|| {
        browser.click("#comments > form button:not([type=button])");
        browser.wait_until("document.querySelector('[data-bar=offline]') !== null");
        assert_eq!(
            browser.evaluate("document.querySelector('#comment-new').value"),
            "written while it was away"
        );
    });
    browser.click("#comments > form button:not([type=button])");
    browser
        .wait_until("document.querySelector('.comment .prose')?.innerText === 'written while it was away'");
    browser.wait_until("document.querySelector('[data-bar=offline]') === null");
    // The stream of changes is picked up again.
    let title = json!({"title": "After the restart"}).to_string();
    backend.ask("PATCH", "/requirements/REQ-002", &title);
    browser.wait_until("document.querySelector('h1').innerText === 'After the restart'");
    assert_eq!(browser.evaluate("window.stayed"), true);
}

#[test]
fn a_session_that_has_ended_is_begun_again_over_the_page() {
    let Some((browser, backend)) = at_item() else { return };
    let user =
        json!({"username": "erin", "email": "erin@x.org", "password": "a long password", "role": "User"});
    backend.create("/users", &user.to_string());
    fill(&browser, "#comment-new", "kept");
    browser.promised("fetch('/api/v1/auth/logout', {method: 'POST'})");
    browser.click("#comments > form button:not([type=button])");
    browser.wait_until("document.querySelector('dialog #again-username') !== null");
    browser.write("#again-username", "erin");
    browser.write("#again-password", "a long password");
    browser.click("dialog button.primary");
    browser.wait_until("document.querySelector('.comment .prose')?.innerText === 'kept'");
    assert_eq!(browser.texts(".comment b"), "erin");
}

#[test]
fn everything_can_be_found_and_opened_with_keys() {
    let Some((browser, backend)) = at_item() else { return };
    browser.press_with_control('k');
    browser.wait_until("document.querySelectorAll('.palette-options li').length > 5");
    browser.press("REQ-005");
    browser.wait_until("document.querySelector('[aria-selected=true] .reference')?.innerText === 'REQ-005'");
    browser.press(&ENTER.to_string());
    browser.wait_until("location.pathname === '/r/REQ-005'");
    browser.press("?");
    browser.wait_until("document.querySelector('dialog #keys') !== null");
    browser.press(ESCAPE);
    browser.wait_until("document.querySelector('dialog') === null");
    browser.press("s");
    browser.wait_until("document.activeElement.name === 'status'");
    browser.press(ESCAPE);
    browser.evaluate("document.activeElement.blur()");
    // A reference is looked at without leaving the page.
    browser.visit(&format!("{}/p/DEFAULT/list/requirement", backend.url));
    browser.press("j");
    browser.press(" ");
    browser.wait_until("document.querySelector('.peek')?.innerText.includes('REQ-0')");
    check_console(&browser);
    // Whoever wants no single keys has none.
    browser.visit(&format!("{}/account", backend.url));
    browser.evaluate("(s => { s.value = 'off'; s.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector('select[name=keys]'))");
    browser.wait_until("document.documentElement.dataset.keys === 'off'");
    browser.visit(&format!("{}/r/REQ-005", backend.url));
    browser.press("e");
    browser.press_with_control('k');
    browser.wait_until("document.querySelector('dialog.palette') !== null");
    assert_eq!(browser.evaluate("document.querySelector('#edit')"), json!(null));
    check_console(&browser);
}

/// A new epic, a story, two requirements and the link between them, and never a mouse.
#[test]
fn a_project_is_begun_with_keys_alone() {
    let Some((browser, backend)) = at_item() else { return };
    let create = |path: &str, title: &str| {
        browser.visit(&format!("{}{path}", backend.url));
        browser.press("c");
        browser.wait_until("document.querySelector('#field-title') !== null");
        browser.evaluate("document.querySelector('#field-title').focus()");
        browser.press(title);
        browser.evaluate("(s => { if (s) s.selectedIndex = 2 })(document.querySelector('#field-type_id'))");
        browser.evaluate("(s => { s.selectedIndex = 2 })(document.querySelector('#field-priority'))");
        browser.press_with_control(ENTER);
        browser.wait_until(&format!("document.querySelector('h1')?.innerText === {}", json!(title)));
        browser.evaluate("location.pathname").as_str().expect("a path").to_owned()
    };
    let epic = create("/p/DEFAULT", "Kettles");
    let story = create(&epic, "Boil water");
    let under = format!("/p/DEFAULT/new/requirement?under={}", story.trim_start_matches("/r/"));
    let requirement = |title: &str| {
        browser.visit(&format!("{}{under}", backend.url));
        browser.evaluate("document.querySelector('#field-title').focus()");
        browser.press(title);
        browser.evaluate("(s => { s.selectedIndex = 2 })(document.querySelector('#field-type_id'))");
        browser.evaluate("(s => { s.selectedIndex = 2 })(document.querySelector('#field-priority'))");
        browser.press_with_control(ENTER);
        browser.wait_until(&format!("document.querySelector('h1')?.innerText === {}", json!(title)));
        browser.evaluate("location.pathname").as_str().expect("a path").trim_start_matches("/r/").to_owned()
    };
    let first = requirement("A kettle whistles");
    requirement("A kettle stops by itself");
    browser.press("r");
    browser.press(&first);
    browser.press(&ENTER.to_string());
    browser.wait_until(&format!("document.querySelector('#links')?.innerText.includes({})", json!(first)));
    check_console(&browser);
}

#[test]
fn everything_that_matters_works_without_scripts() {
    let Some(browser) = Browser::start() else { return };
    let backend = Backend::start();
    browser.allow_scripts(false);
    browser.visit(&format!("{}/sign-in", backend.url));
    let user =
        json!({"username": "erin", "email": "erin@x.org", "password": "a long password", "role": "User"});
    backend.create("/users", &user.to_string());
    browser.write("#username", "erin");
    browser.write("#password", "a long password");
    browser.click("button.primary");
    browser.wait_for_text("h1", "Home");
    browser.visit(&format!("{}/r/REQ-002", backend.url));
    browser.wait_for_text("h1", "Only the owner sees saved cards");
    browser.write("#comment-new", "without scripts");
    browser.click("#comments > form p.actions button");
    browser.wait_for_text(".comment .prose", "without scripts");
    browser.click(".item-head .actions a");
    browser.write("#field-title", " at all");
    browser.click("#edit button.primary");
    browser.wait_for_text("h1", "Only the owner sees saved cards at all");
    check_console(&browser);
}
