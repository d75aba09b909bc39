//! One item in a real browser: edited in its place, talked about, changed by two people at once, and with a server that comes and goes.

use serde_json::json;

use crate::backend::Backend;
use crate::browser::Browser;
use crate::web::{check_console, fill, hide, sign_in};

/// Keys as WebDriver writes them.
const ENTER: char = '\u{e007}';
const ESCAPE: &str = "\u{e00c}";
const TAB: &str = "\u{e004}";
const DOWN: &str = "\u{e015}";

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

#[track_caller]
fn edit(browser: &Browser) {
    browser.press("e");
    browser.wait_until("document.querySelector('#edit textarea[name=description]') !== null");
}

#[test]
fn a_text_is_edited_previewed_and_quoted_in_its_place() {
    let Some((browser, backend)) = at_item() else { return };
    edit(&browser);
    // Cells of a spreadsheet become a table.
    fill(&browser, "#edit [name=description]", "");
    browser.evaluate(
        "(cells => document.querySelector('#edit [name=description]').dispatchEvent(new ClipboardEvent('paste', {clipboardData: cells, bubbles: true, cancelable: true})))
            ((cells => (cells.setData('text/plain', 'Pot\\tHeat\\r\\nbig|round\\t90\\r\\n'), cells))(new DataTransfer()))",
    );
    assert_eq!(
        browser.evaluate("document.querySelector('#edit [name=description]').value"),
        "\n| Pot | Heat |\n| --- | --- |\n| big\\|round | 90 |\n"
    );
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
    // Two who change different fields do not disturb each other; who changes the same is told, and sees what it is now.
    browser.wait_until("stream?.readyState === EventSource.OPEN");
    hide(&browser, true);
    let change =
        |fields: serde_json::Value| backend.ask("PATCH", "/requirements/REQ-002", &fields.to_string());
    let choose = |name: &str, value: &str| {
        browser.evaluate(&format!(
            "(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('change', {{bubbles: true}})); }})(document.querySelector('.facts [name={name}]'))"
        ));
    };
    change(json!({"title": "Their title"}));
    choose("priority", "4");
    browser.wait_until("document.querySelector('h1').innerText === 'Their title' && document.querySelector('.facts [name=priority]').value === '4'");
    change(json!({"status": "Obsolete"}));
    choose("status", "Draft");
    browser
        .wait_until("document.querySelector('.facts .error')?.innerText.includes('to Obsolete meanwhile')");
    assert_eq!(backend.ask("GET", "/requirements/REQ-002", "")["status"], "Obsolete");
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
    // Signing out leaves nothing for who comes next, even where the browser does not clear it because there is no TLS.
    assert_ne!(browser.evaluate("sessionStorage.length"), 0);
    browser.evaluate(
        "(form => (form.addEventListener('submit', event => event.preventDefault()), form.requestSubmit()))(document.querySelector('[data-forget]'))",
    );
    assert_eq!(browser.evaluate("sessionStorage.length"), 0);
    check_console(&browser);
}

#[test]
fn an_editor_that_is_opened_while_a_change_arrives_stays_open() {
    let Some((browser, backend)) = at_item() else { return };
    // What the page fetches to show a change is held back until the editor is open.
    browser.evaluate(
        "(window.fetchNow = window.fetch, window.held = 0, window.fetch = async (address, ...rest) => {
            const answer = await window.fetchNow(address, ...rest);
            if (!String(address).includes('/edit')) {
                window.held = 1;
                while (!document.querySelector('#edit')) await new Promise(next => setTimeout(next, 10));
                setTimeout(() => { window.held = 2 }, 500);
            }
            return answer;
        }, true)",
    );
    backend.ask("PATCH", "/requirements/REQ-002", &json!({"title": "Their title"}).to_string());
    browser.wait_until("window.held === 1");
    edit(&browser);
    browser.wait_until("window.held === 2");
    assert_eq!(browser.evaluate("document.querySelector('#edit') !== null"), true);
    assert_eq!(browser.evaluate("document.querySelector('[data-bar=news]') !== null"), true);
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
    // A page that nobody sees follows nothing, and catches up when it is seen again.
    hide(&browser, true);
    assert_eq!(browser.evaluate("stream"), json!(null));
    backend.ask("PATCH", "/requirements/REQ-002", &json!({"title": "While nobody looked"}).to_string());
    hide(&browser, false);
    browser.wait_until("document.querySelector('h1').innerText === 'While nobody looked'");
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

/// A piece of a page that somebody must sign in for leaves the page where it is.
#[test]
fn a_session_that_has_ended_takes_nothing_from_a_page() {
    let Some((browser, backend)) = at_item() else { return };
    let user =
        json!({"username": "erin", "email": "erin@x.org", "password": "a long password", "role": "User"});
    backend.create("/users", &user.to_string());
    let text = browser.texts("#text .prose");
    browser.promised("fetch('/api/v1/auth/logout', {method: 'POST'})");
    browser.press("e");
    browser.wait_until("document.querySelector('dialog #again-username') !== null");
    assert_eq!(browser.texts("#text .prose"), text);
    browser.write("#again-username", "erin");
    browser.write("#again-password", "not this one");
    browser.click("dialog button.primary");
    browser.wait_until("document.querySelector('dialog .error')?.innerText.includes('password is wrong')");
    fill(&browser, "#again-password", "a long password");
    browser.click("dialog button.primary");
    browser.wait_until("document.querySelector('#edit [name=title]') !== null");
}

#[test]
fn a_comment_is_changed_and_deleted_by_its_author() {
    let Some((browser, backend)) = at_item() else { return };
    fill(&browser, "#comment-new", "First thuoght");
    browser.click("#comments > form button:not([type=button])");
    browser.wait_until("document.querySelector('.comment .prose')?.innerText === 'First thuoght'");
    browser.click(".comment-actions details:last-of-type summary");
    fill(&browser, ".comment-actions details:last-of-type textarea", "First thought");
    // What somebody else changes meanwhile takes nothing from whoever writes.
    let title = json!({"title": "Changed meanwhile"}).to_string();
    backend.ask("PATCH", "/requirements/REQ-002", &title);
    browser.wait_until("document.querySelector('h1').innerText === 'Changed meanwhile'");
    browser.wait_until("document.querySelector('.comment-actions details:last-of-type').open");
    browser.click(".comment-actions details:last-of-type .actions button:not([type=button])");
    browser.wait_until("document.querySelector('.comment .prose')?.innerText === 'First thought'");
    browser.click(".comment-actions button.danger");
    browser.wait_until("document.querySelector('main').innerText.includes('Nothing was changed yet')");
    browser.click("main button.primary");
    browser.wait_until("document.querySelector('#comments') && !document.querySelector('.comment')");
    check_console(&browser);
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

/// Goes on with Tab until something has the focus.
#[track_caller]
fn tab_to(browser: &Browser, is_there: &str) {
    for _ in 0..80 {
        if browser.evaluate(&format!("(one => {is_there})(document.activeElement)")) == true {
            return;
        }
        browser.press(TAB);
    }
    panic!("Tab never leads to {is_there}");
}

/// Writes a title into the form that has just been opened, chooses what has no default, and saves.
#[track_caller]
fn create(browser: &Browser, title: &str) -> String {
    // Keys work once the scripts of a page do.
    browser.wait_until("document.readyState === 'complete' && document.activeElement.id === 'field-title'");
    browser.press(title);
    for field in ["field-type_id", "field-priority"] {
        if browser.evaluate(&format!("document.querySelector('#{field}') !== null")) == true {
            tab_to(browser, &format!("one.id === '{field}'"));
            browser.press(DOWN);
        }
    }
    browser.press_with_control(ENTER);
    browser.wait_until(&format!("document.querySelector('h1')?.innerText === {}", json!(title)));
    browser.evaluate("document.title.split(' ')[0]").as_str().expect("a reference").to_owned()
}

/// [spec web] A new epic, a story, two requirements and the link between them, by keyboard alone.
#[test]
fn a_project_is_begun_with_keys_alone() {
    let Some((browser, _backend)) = at_item() else { return };
    browser.press("go");
    browser.wait_until("document.readyState === 'complete' && location.pathname === '/p/DEFAULT'");
    browser.press("c");
    create(&browser, "Kettles");
    browser.press("c");
    let story = create(&browser, "Boil water");
    let requirement = |title: &str| {
        tab_to(&browser, "one.innerText === 'Add requirement'");
        browser.press(&ENTER.to_string());
        create(&browser, title)
    };
    let first = requirement("A kettle whistles");
    browser.press_with_control('k');
    browser.press(&story);
    browser.wait_until(&format!(
        "document.querySelector('[aria-selected=true] .reference')?.innerText === {}",
        json!(story)
    ));
    browser.press(&ENTER.to_string());
    browser.wait_until(
        "document.readyState === 'complete' && document.querySelector('h1')?.innerText === 'Boil water'",
    );
    requirement("A kettle stops by itself");
    browser.press("r");
    browser.press(&first);
    browser.press(&ENTER.to_string());
    browser.wait_until(&format!("document.querySelector('#links')?.innerText.includes({})", json!(first)));
    check_console(&browser);
}

/// Whoever types words of a title and Enter means the requirement that has them, unless several do.
#[test]
fn a_requirement_is_linked_by_its_title() {
    let Some((browser, backend)) = at_item() else { return };
    let link_with = |words: &str| {
        browser.evaluate("document.activeElement.blur()");
        browser.press("r");
        browser.wait_until("document.activeElement.name === 'target_requirement_id'");
        browser.press(words);
        browser.press(&ENTER.to_string());
    };
    let said = |words: &str| {
        browser
            .wait_until(&format!("document.querySelector('#links .error')?.innerText === {}", json!(words)));
    };
    link_with("expired cards");
    browser.wait_until("document.querySelector('#links .row')?.innerText.includes('REQ-003')");
    link_with("card");
    browser.wait_until("document.querySelector('#links .error')?.innerText.endsWith('choose one')");
    assert_eq!(browser.evaluate("document.activeElement.name"), "target_requirement_id");
    link_with("nothing that anybody wrote");
    said("Nothing has these words");
    assert_eq!(backend.ask("GET", "/requirements/REQ-002/relationships", "")["total_count"], 1);
    assert_eq!(browser.evaluate("window.stayed"), true);
    check_console(&browser);
}

/// The bar of a project has one line: what does not fit is in a menu, and its keys work all the same.
#[test]
fn pages_behind_the_bar_are_in_a_menu() {
    let Some((browser, _backend)) = at_item() else { return };
    for width in [1440, 1280] {
        browser.look(width, false);
        let hidden = "(nav => nav.scrollWidth - nav.clientWidth)(document.querySelector('.top .pages'))";
        assert_eq!(browser.evaluate(hidden), 0, "{width}");
    }
    browser.look(1440, false);
    browser.click(".more-pages summary");
    assert!(browser.shows(".more-pages a[href='/p/DEFAULT/activity']"));
    browser.press(ESCAPE);
    browser.wait_until("!document.querySelector('.more-pages').open");
    browser.press("ga");
    browser.wait_until("location.pathname === '/p/DEFAULT/activity' && document.readyState === 'complete'");
    assert_eq!(browser.texts(".more-pages summary"), "Activity");
    // Letters of pages in the menu mean something else without g.
    browser.press("c");
    browser.wait_until("location.pathname === '/p/DEFAULT/new/requirement'");
    check_console(&browser);
}
