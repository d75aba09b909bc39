//! A real browser that tests look at pages with: two at a time, and alone where a test measures time.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::common::capabilities::firefox::LoggingPrefsLogLevel;
use thirtyfour::prelude::*;
use tokio::runtime::Runtime;

use crate::tools;

/// The rest of a longer page is not in its picture.
const PICTURE_HEIGHT_MAX: u64 = 2_000;
/// How long something may take to appear.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Without these it asks the network for things; as root it does not start at all without the first.
const FLAGS: &[&str] = &[
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1440,900",
];

/// More browsers than this would only wait for a processor.
const BROWSERS_MAX: usize = 2;
static FREE: Mutex<usize> = Mutex::new(BROWSERS_MAX);
static FREED: Condvar = Condvar::new();

/// The right to have a browser, or all of them, until it is dropped.
struct Turn(usize);

impl Turn {
    fn take(count: usize) -> Turn {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = FREED.wait_while(free, |free| *free < count).unwrap_or_else(PoisonError::into_inner);
        *free -= count;
        Turn(count)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        FREED.notify_all();
    }
}

/// A browser with one window.
pub struct Browser {
    runtime: Runtime,
    session: Option<WebDriver>,
    driver: Child,
    _profile: TempDir,
    _turn: Turn,
}

/// The driver takes any port of IPv4, and gives up when something else has the same one of IPv6.
const DRIVER_STARTS_MAX: usize = 5;

/// Starts the driver, and returns it with its port.
fn start_driver(program: &Path) -> Option<(Child, u16)> {
    let mut driver = Command::new(program)
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the driver can be started");
    let stdout = BufReader::new(driver.stdout.take().expect("stdout is piped"));
    let port = stdout.lines().map_while(Result::ok).find_map(|line| {
        let port = line.split_once("started successfully on port ")?.1;
        port.trim_end_matches('.').parse::<u16>().ok()
    });
    if port.is_none() {
        let _ = driver.wait();
    }
    Some((driver, port?))
}

impl Browser {
    /// Starts a browser, if there is one.
    #[track_caller]
    pub fn start() -> Option<Browser> {
        Browser::start_in_turn(1)
    }

    /// Starts a browser beside which no other runs, to measure time.
    #[track_caller]
    pub fn start_alone() -> Option<Browser> {
        Browser::start_in_turn(BROWSERS_MAX)
    }

    #[track_caller]
    fn start_in_turn(turns: usize) -> Option<Browser> {
        let folder = tools::folder().join("browser");
        if tools::is_missing(&folder.join("chromedriver")) || tools::is_missing(&folder.join("chromium")) {
            return None;
        }
        let turn = Turn::take(turns);
        let started = (0..DRIVER_STARTS_MAX).find_map(|_| start_driver(&folder.join("chromedriver")));
        let (driver, port) = started.expect("the driver tells its port");

        let profile = tempfile::tempdir().expect("a temporary folder");
        let mut capabilities = DesiredCapabilities::chrome();
        let binary = folder.join("chromium");
        capabilities.set_binary(binary.to_str().expect("a path in UTF-8")).expect("a binary can be named");
        let profile_flag = format!("--user-data-dir={}", profile.path().display());
        for flag in FLAGS.iter().copied().chain([profile_flag.as_str()]) {
            capabilities.add_arg(flag).expect("flags are accepted");
        }
        capabilities.set_browser_log_level(LoggingPrefsLogLevel::All).expect("logging is accepted");
        // Built beside our programs, the client of the driver wants to be told how to encrypt, though it never does.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let session = runtime
            .block_on(WebDriver::new(format!("http://127.0.0.1:{port}"), capabilities))
            .expect("the browser starts");
        Some(Browser { runtime, session: Some(session), driver, _profile: profile, _turn: turn })
    }

    fn session(&self) -> &WebDriver {
        self.session.as_ref().expect("the browser is open until it is dropped")
    }

    /// Opens a file, at a fragment such as `#rfc2324`.
    pub fn open(&self, file: &Path, fragment: &str) {
        // The same page at another fragment would not be loaded again.
        self.run(self.session().goto("about:blank"));
        self.run(self.session().goto(format!("file://{}{fragment}", file.display())));
    }

    /// Opens an address.
    #[track_caller]
    pub fn visit(&self, url: &str) {
        self.run(self.session().goto(url));
    }

    /// Looks at pages as on another screen: its width, and whether the reader prefers the dark.
    #[track_caller]
    pub fn look(&self, width: u32, is_dark: bool) {
        self.look_at(width, 900, is_dark);
    }

    fn look_at(&self, width: u32, height: u32, is_dark: bool) {
        let tools = self.session().cdp();
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.run(tools.send_raw("Emulation.setDeviceMetricsOverride", size));
        let scheme = if is_dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.run(tools.send_raw("Emulation.setEmulatedMedia", media));
    }

    /// Types into the first element that a selector finds.
    #[track_caller]
    pub fn write(&self, selector: &str, text: &str) {
        let element = self.run(self.session().find(By::Css(selector)));
        self.run(element.send_keys(text));
    }

    /// Runs a script and waits for what its promise gives.
    #[track_caller]
    pub fn promised(&self, script: &str) -> Value {
        let script =
            format!("const done = arguments[0]; ({script}).then(done, error => done(String(error)));");
        self.run(self.session().execute_async(script, Vec::new())).json().clone()
    }

    /// Evaluates an expression of JavaScript.
    #[track_caller]
    pub fn evaluate(&self, expression: &str) -> Value {
        let done = self.run(self.session().execute(format!("return ({expression});"), Vec::new()));
        done.json().clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait_until(&self, expression: &str) {
        let start = Instant::now();
        while self.evaluate(expression) != Value::Bool(true) {
            assert!(start.elapsed() < TIME_MAX, "waited in vain for {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks on the first element that a selector finds.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.run(self.session().find(By::Css(selector)));
        self.run(element.click());
    }

    /// Drags the first element that a selector finds to the first that another finds, with the mouse.
    #[track_caller]
    pub fn drag(&self, from: &str, to: &str) {
        let from = self.run(self.session().find(By::Css(from)));
        let to = self.run(self.session().find(By::Css(to)));
        let chain = self.session().action_chain().click_and_hold_element(&from);
        // The browser asks whether something may be dropped when the mouse moves over it.
        let chain = chain.move_by_offset(5, 5).move_to_element_center(&to).move_by_offset(3, 3);
        self.run(chain.release().perform());
    }

    /// Presses keys, wherever the focus is.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        self.run(self.session().action_chain().send_keys(keys).perform());
    }

    /// Presses a key together with Control.
    #[track_caller]
    pub fn press_with_control(&self, key: char) {
        let keys = self.session().action_chain().key_down(Key::Control).send_keys(key.to_string());
        self.run(keys.key_up(Key::Control).perform());
    }

    /// Goes back to the page before, as with the button of the browser.
    #[track_caller]
    pub fn go_back(&self) {
        self.run(self.session().back());
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        self.run(self.session().refresh());
    }

    /// Runs a script before those of each page that is loaded from now on.
    #[track_caller]
    pub fn run_before_pages(&self, script: &str) {
        let source = json!({"source": script});
        self.run(self.session().cdp().send_raw("Page.addScriptToEvaluateOnNewDocument", source));
    }

    /// Shows the page as it would be printed.
    #[track_caller]
    pub fn show_as_print(&self) {
        self.run(self.session().cdp().send_raw("Emulation.setEmulatedMedia", json!({"media": "print"})));
    }

    /// Switches scripts off, or on again, for pages that are loaded from now on.
    #[track_caller]
    pub fn allow_scripts(&self, is_allowed: bool) {
        let value = json!({"value": !is_allowed});
        self.run(self.session().cdp().send_raw("Emulation.setScriptExecutionDisabled", value));
    }

    /// Takes the browser off the network, or puts it back.
    #[track_caller]
    pub fn go_offline(&self, is_offline: bool) {
        let conditions =
            json!({"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.run(self.session().cdp().send_raw("Network.enable", json!({})));
        self.run(self.session().cdp().send_raw("Network.emulateNetworkConditions", conditions));
    }

    /// Takes a picture of the page from its top, as PNG.
    #[track_caller]
    pub fn picture(&self, width: u32, is_dark: bool) -> Vec<u8> {
        let height = self.evaluate("document.documentElement.scrollHeight").as_u64().unwrap_or_default();
        self.look_at(width, height.clamp(900, PICTURE_HEIGHT_MAX) as u32, is_dark);
        self.run(self.session().screenshot_as_png())
    }

    /// Whether any element that a selector finds can be seen, also where scripts are off.
    #[track_caller]
    pub fn shows(&self, selector: &str) -> bool {
        let elements = self.run(self.session().find_all(By::Css(selector)));
        elements.into_iter().any(|element| self.run(element.is_displayed()))
    }

    /// The address of the page, also where scripts are off.
    #[track_caller]
    pub fn address(&self) -> String {
        self.run(self.session().current_url()).to_string()
    }

    /// The page as it was sent, also where scripts are off.
    #[track_caller]
    pub fn source(&self) -> String {
        self.run(self.session().source())
    }

    /// Waits until the first element that a selector finds has a text, also where scripts are off.
    #[track_caller]
    pub fn wait_for_text(&self, selector: &str, expected: &str) {
        let start = Instant::now();
        loop {
            // While another page is loaded, there may be no element, or one that is gone.
            let found = self.runtime.block_on(async {
                let element = self.session().find(By::Css(selector)).await?;
                element.text().await
            });
            match found {
                Ok(text) if text == expected => return,
                found if start.elapsed() > TIME_MAX => panic!("waited in vain for {expected:?}: {found:?}"),
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Opens another window and goes on there. Returns the number of the one that was open.
    #[track_caller]
    pub fn open_window(&self) -> usize {
        let windows = self.run(self.session().windows());
        let window = self.run(self.session().new_window());
        self.run(self.session().switch_to_window(window));
        windows.len() - 1
    }

    /// Goes on in another window.
    #[track_caller]
    pub fn switch_window(&self, number: usize) {
        let windows = self.run(self.session().windows());
        self.run(self.session().switch_to_window(windows[number].clone()));
    }

    /// Returns the text of the elements that a selector finds, one for each line.
    #[track_caller]
    pub fn texts(&self, selector: &str) -> String {
        let selector = serde_json::to_string(selector).expect("a string is JSON");
        let texts = format!(
            "[...document.querySelectorAll({selector})].map(e => e.innerText.replace(/\\s+/g, ' ').trim()).join('\\n')"
        );
        self.evaluate(&texts).as_str().expect("texts are joined").to_owned()
    }

    /// Returns what is in the clipboard, by pasting it.
    #[track_caller]
    pub fn clipboard(&self) -> String {
        self.evaluate("(document.body.insertAdjacentHTML('beforeend', '<textarea id=pasted></textarea>'), pasted.focus())");
        let area = self.run(self.session().find(By::Id("pasted")));
        self.run(area.send_keys(Key::Control + "v"));
        let text = self.evaluate("pasted.value");
        self.evaluate("pasted.remove()");
        text.as_str().expect("a text area has text").to_owned()
    }

    /// Returns what the console says.
    #[track_caller]
    pub fn console(&self) -> Vec<String> {
        let entries = self.run(self.session().browser_log());
        entries.into_iter().map(|entry| entry.message).collect()
    }

    #[track_caller]
    fn run<T>(&self, command: impl Future<Output = WebDriverResult<T>>) -> T {
        self.runtime.block_on(command).expect("the browser does as it is told")
    }
}

/// What a browser itself notes of requests that were refused or lost, which many tests are about.
const NOTES: [&str; 4] = ["Failed to load resource", "net::ERR_", "Clear-Site-Data", "Failed to fetch"];

impl Drop for Browser {
    /// Fails a test whose pages have complained: a script that failed, or something that the policy forbids.
    fn drop(&mut self) {
        let mut complaints = Vec::new();
        if let Some(session) = self.session.take() {
            let entries = self.runtime.block_on(session.browser_log()).unwrap_or_default();
            complaints.extend(entries.into_iter().map(|entry| entry.message));
            let _ = self.runtime.block_on(session.quit());
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        complaints.retain(|line| !NOTES.iter().any(|note| line.contains(note)));
        assert!(std::thread::panicking() || complaints.is_empty(), "the console says {complaints:#?}");
    }
}
