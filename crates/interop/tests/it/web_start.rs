//! From the first start of a server to an agent's edit in an open page, as somebody does it who has just installed the program.

use std::fs::File;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::pty::openpty;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::Browser;
use crate::server;
use crate::web::check_console;

const TIME_MAX: Duration = Duration::from_secs(30);
const PASSWORD: &str = "a password of my own";

/// A server that was started in a terminal for the first time.
struct FirstStart {
    child: Child,
    /// The link that it printed.
    link: String,
    _folder: TempDir,
}

impl FirstStart {
    fn new() -> FirstStart {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let pty = openpty(None, None).expect("a terminal");
        let database = format!("sqlite:{}", folder.path().join("spexus.db").display());
        let mut command = Command::new(server::spexus());
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", &database]).env("LOG_LEVEL", "off");
        let child = command.stdin(Stdio::null()).stdout(pty.slave).stderr(Stdio::null()).spawn();
        let child = child.expect("the server can be started");
        // It holds the terminal open as well.
        drop(command);
        let (mut terminal, mut printed, mut buffer) = (File::from(pty.master), String::new(), [0; 4096]);
        while !printed.contains("Stop it") {
            let length = terminal.read(&mut buffer).expect("the server prints");
            printed.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
        thread::spawn(move || while terminal.read(&mut buffer).is_ok_and(|length| length > 0) {});
        let link = printed.lines().map(str::trim).find(|line| line.contains("/welcome?code="));
        FirstStart { child, link: link.expect("a link").to_owned(), _folder: folder }
    }

    fn url(&self) -> &str {
        self.link.split("/welcome").next().expect("a link has a beginning")
    }
}

impl Drop for FirstStart {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// [spec web] First start, password, token, configuration, an MCP client with that token edits, the page shows it.
#[test]
fn a_first_start_ends_with_an_agent_whose_edit_the_open_page_shows() {
    let Some(browser) = Browser::start() else { return };
    let server = FirstStart::new();
    let url = server.url();
    browser.visit(&server.link);
    browser.write("#new_password", PASSWORD);
    browser.click("main button");
    browser.wait_until("location.pathname === '/'");
    // The password is the one to sign in with from now on.
    browser.evaluate("document.querySelector('form[action=\"/do/logout\"] button').click()");
    browser.wait_until("location.pathname === '/sign-in'");
    // The browser itself notes that it has forgotten everything.
    assert!(browser.console().iter().all(|line| line.contains("Clear-Site-Data")));
    browser.write("#username", "admin");
    browser.write("#password", PASSWORD);
    browser.click("button.primary");
    browser.wait_until("location.pathname === '/'");
    // Something to work on.
    browser.visit(&format!("{url}/p/DEFAULT/new/epic"));
    browser.write("#field-title", "Kettles");
    browser.evaluate("document.querySelector('#field-priority').selectedIndex = 2");
    browser.click("main form button.primary");
    browser.wait_until("location.pathname === '/r/EP-001'");
    // A token, and what the host is told.
    browser.visit(&format!("{url}/connect"));
    browser.click("main button.primary");
    browser.wait_until("document.querySelector('h1').innerText === 'Keep this token'");
    assert_eq!(browser.texts("[role=status]"), "Waiting for the agent to connect…");
    let configuration = browser.evaluate(
        "[...document.querySelectorAll('details')].find(host => host.innerText.startsWith('Cursor')).querySelector('code').textContent",
    );
    let first = browser.open_window();
    browser.visit(&format!("{url}/r/EP-001"));
    browser.evaluate("(window.stayed = true)");
    edit_as_agent(configuration.as_str().expect("a text"));
    browser.wait_until("document.querySelector('h1').innerText === 'Kettles that whistle'");
    assert_eq!(browser.evaluate("window.stayed"), true);
    browser.wait_until("document.querySelector('.history .via')?.innerText === 'agent · my agent'");
    check_console(&browser);
    browser.switch_window(first);
    browser.wait_until("document.querySelector('.connected')?.innerText.startsWith('Connected')");
    check_console(&browser);
}

/// A host reads its configuration, and its model changes a title.
fn edit_as_agent(configuration: &str) {
    let configuration: Value = serde_json::from_str(configuration).expect("JSON");
    let server = &configuration["mcpServers"]["spexus"];
    let header = server["headers"]["Authorization"].as_str().expect("a header");
    let token = header.strip_prefix("Bearer ").expect("a token").to_owned();
    let endpoint = server["url"].as_str().expect("a URL").to_owned();
    // Its HTTP client asks for one even where it speaks no TLS; another test may have been faster.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let conversation = async {
        let config = StreamableHttpClientTransportConfig::with_uri(endpoint).auth_header(token);
        let transport = StreamableHttpClientTransport::from_config(config);
        let me = ClientConfig::new(ClientCapabilities::default(), Implementation::new("interop", "1.0.0"));
        let lifecycle =
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        let client = me.serve_with_lifecycle(transport, lifecycle).await.expect("client and server agree");
        let arguments = json!({"epic_id": "EP-001", "title": "Kettles that whistle"});
        let call = CallToolRequestParams::new("update_epic")
            .with_arguments(arguments.as_object().cloned().unwrap_or_default());
        let done = client.call_tool(call).await.expect("a call succeeds");
        assert_ne!(done.is_error, Some(true), "{done:?}");
        client.cancel().await.expect("the client ends well");
    };
    let in_time = async { tokio::time::timeout(TIME_MAX, conversation).await };
    runtime.block_on(in_time).expect("it takes no longer than it may");
}
