//! The thread in a real browser: a repository pushes what it cites and what its tests showed, and a person reads it, closes a gap by
//! hand, pins the state and sees what changed since.

use std::fs;

use serde_json::{Value, json};

use crate::backend::Backend;
use crate::browser::Browser;
use crate::tools;
use crate::web::{barriers, check_console, sign_in};

/// Pushes code and a test that cite the first sentence of a requirement; the test has passed.
fn push(backend: &Backend) {
    let text = json!({"description": "A card number MUST be masked. It MUST NOT be logged."});
    backend.ask("PATCH", "/requirements/REQ-005", &text.to_string());
    backend.create("/repositories", &json!({"name": "shop", "projects": ["DEFAULT"]}).to_string());
    let thread = backend.ask("GET", "/thread?from=REQ-005", "");
    let unit = thread["data"][0]["units"][0]["hash"].as_str().expect("a hash");
    let cited = |line: u32, kind: &str, symbol: &str| -> Value {
        json!({"line": line, "last_line": line, "kind": kind, "reference": "DEFAULT-REQ-005", "units": [unit], "symbol": symbol})
    };
    let files = [
        json!({"path": "src/pay.rs", "blob": "aaaaaaaa", "citations": [cited(4, "code", "mask")]}),
        json!({"path": "tests/pay.rs", "blob": "bbbbbbbb", "citations": [cited(7, "test", "masks")]}),
    ];
    let content = files.map(|file| file.to_string()).join("\n");
    backend.ask(
        "POST",
        "/repositories/shop/trace",
        &json!({"content": content, "commit": "0123456789abcdef"}).to_string(),
    );
    let executed = json!({"reference": "DEFAULT-REQ-005", "unit": unit, "path": "src/pay.rs", "blob": "aaaaaaaa", "how": "proven"});
    let test = json!({"path": "tests/pay.rs", "blob": "bbbbbbbb", "symbol": "masks", "outcome": "passed", "attempts": 1, "executes": [executed]});
    let run = json!({"content": test.to_string(), "tool": "nextest", "exit_status": 0});
    backend.ask("POST", "/repositories/shop/evidence", &run.to_string());
}

#[test]
fn a_person_follows_the_thread_and_closes_a_gap() {
    let Some(browser) = Browser::start() else { return };
    let axe = tools::folder().join("node/node_modules/axe-core/axe.min.js");
    if tools::is_missing(&axe) {
        return;
    }
    let axe = fs::read_to_string(axe).expect("axe can be read");
    let backend = Backend::start();
    push(&backend);
    sign_in(&browser, &backend);
    browser.visit(&format!("{}/p/DEFAULT", backend.url));
    // The number of stale citations comes when the page is shown.
    browser.wait_until("document.body.innerText.includes('Every citation quotes the present text.')");
    browser.press("gh");
    browser.wait_until("location.pathname === '/p/DEFAULT/thread'");
    browser.visit(&format!("{}/r/REQ-005", backend.url));
    browser.click("a[href='/r/REQ-005/code']");
    browser.wait_until("document.querySelector('h1').innerText.startsWith('Code of')");
    browser.wait_until("document.querySelector('.place code').innerText === 'src/pay.rs:4'");
    assert_eq!(browser.evaluate("document.querySelectorAll('.unit .gap').length"), 1);
    browser.click(".tabs a[href='/r/REQ-005/tests']");
    browser.wait_until("document.querySelector('.run')?.innerText.includes('nextest on main')");
    browser.write("#field-what", "Read the log of a day");
    browser.evaluate("document.querySelector('#field-unit').value = '2'");
    browser.click(".card button.primary");
    browser.wait_until("document.querySelectorAll('.unit-head .mark.done').length === 2");
    assert_eq!(browser.evaluate("document.querySelectorAll('.gap').length"), 0);
    // The state gets a name, the text changes, and the two are compared.
    browser.visit(&format!("{}/p/DEFAULT/baselines", backend.url));
    browser.write("#field-name", "Release 1");
    browser.click(".card button.primary");
    browser.wait_until("document.querySelector('.records td b')?.innerText === 'Release 1'");
    let text = json!({"description": "A card number MUST be hidden. It MUST NOT be logged."});
    backend.ask("PATCH", "/requirements/REQ-005", &text.to_string());
    browser.click(".compare button");
    browser.wait_until("document.querySelector('#compared .diff ins')?.innerText === 'hidden.'");
    browser.wait_until("document.querySelector('#compared').innerText.includes('no longer verified')");
    let mut found = Vec::new();
    let baselines = browser.evaluate("location.pathname + location.search");
    let baselines = baselines.as_str().expect("an address").to_owned();
    for path in [
        baselines.as_str(),
        "/p/DEFAULT/stale",
        "/p/DEFAULT",
        "/p/DEFAULT/matrix",
        "/r/REQ-005/code",
        "/r/REQ-005/tests",
        "/p/DEFAULT/thread?from=src/pay.rs:4",
        "/p/DEFAULT/thread/REQ-005?view=list",
        "/admin/repositories?repository=shop",
    ] {
        for (width, is_dark) in [(1440, true), (390, false)] {
            browser.look(width, is_dark);
            browser.visit(&format!("{}{path}", backend.url));
            let overflow = browser
                .evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            if overflow != 0 {
                found.push(format!("{path} at {width} scrolls sideways"));
            }
            found.extend(barriers(&browser, &axe, &format!("{path} at {width}, dark: {is_dark}")));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    browser.visit(&format!("{}/p/DEFAULT/stale", backend.url));
    browser.wait_until("document.querySelector('.stale .diff del').innerText === 'masked.'");
    check_console(&browser);
}
