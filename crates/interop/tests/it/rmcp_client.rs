//! The Rust SDK's client, which needs no tool installed, and which can ask for each revision by itself.

use std::process::Stdio;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest, Implementation,
    PingRequest, ProtocolVersion,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};

use crate::clients::{compare, no_ping, unknown_tool};
use crate::server::{self, CONTEXT};

const TIME_MAX: Duration = Duration::from_secs(30);

#[test]
fn rmcp_by_handshake() {
    for revision in [
        ProtocolVersion::V_2024_11_05,
        ProtocolVersion::V_2025_03_26,
        ProtocolVersion::V_2025_06_18,
        ProtocolVersion::V_2025_11_25,
    ] {
        check(revision, ClientLifecycleMode::Initialize, json!("ok"));
    }
}

#[test]
fn rmcp_stateless() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
    check(ProtocolVersion::V_2026_07_28, lifecycle, no_ping());
}

#[track_caller]
fn check(revision: ProtocolVersion, lifecycle: ClientLifecycleMode, ping: Value) {
    let date = revision.to_string();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let conversation = async { tokio::time::timeout(TIME_MAX, converse(revision, lifecycle)).await };
    let seen = runtime.block_on(conversation).expect("the conversation takes no longer than it may");
    compare(&seen, &date, &unknown_tool(), &ping);
}

async fn converse(revision: ProtocolVersion, lifecycle: ClientLifecycleMode) -> Value {
    let [program, arguments @ ..] = server::command();
    let mut command = tokio::process::Command::new(program);
    // Without a log only what does not fit is written to stderr.
    command.args(arguments).env("LOG_LEVEL", "off");
    let builder = TokioChildProcess::builder(command).stderr(Stdio::inherit());
    let (transport, _) = builder.spawn().expect("the server can be started");
    let config = ClientConfig::new(ClientCapabilities::default(), Implementation::new("interop", "1.0.0"))
        .with_protocol_version(revision);
    let client = config.serve_with_lifecycle(transport, lifecycle).await.expect("client and server agree");

    let peer = client.peer_info().expect("the server has said who it is");
    let tools = client.list_all_tools().await.expect("the server lists its tools");
    let good = call(&client, "tmkb_query", json!({"context": CONTEXT})).await.expect("a good call succeeds");
    let bad = call(&client, "tmkb_query", json!({"context": CONTEXT, "language": "java"}))
        .await
        .expect("a bad argument is the tool's error, not the protocol's");
    let unknown = call(&client, "no_such_tool", json!({})).await;
    let ping = client.send_request(ClientRequest::PingRequest(PingRequest::default())).await;
    let seen = json!({
        "protocolVersion": peer.protocol_version,
        "serverInfo": peer.server_info,
        "tools": tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(),
        "call": first_text(&good, false),
        "error": first_text(&bad, true),
        "unknown": outcome(unknown),
        "ping": outcome(ping),
    });
    client.cancel().await.expect("the client ends well");
    seen
}

async fn call(
    client: &RunningService<RoleClient, ClientConfig>,
    tool: &'static str,
    arguments: Value,
) -> Result<CallToolResult, ServiceError> {
    let arguments = arguments.as_object().expect("arguments are an object").clone();
    client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await
}

fn first_text(result: &CallToolResult, is_error: bool) -> String {
    assert_eq!(result.is_error.unwrap_or(false), is_error, "{result:?}");
    result.content[0].as_text().expect("the first block is text").text.clone()
}

/// Returns "ok", or the error that came instead of a result.
fn outcome<T>(result: Result<T, ServiceError>) -> Value {
    match result {
        Ok(_) => json!("ok"),
        Err(ServiceError::McpError(error)) => json!({"code": error.code, "message": error.message}),
        Err(error) => panic!("expected an answer, found {error}"),
    }
}
