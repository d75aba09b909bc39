//! `/connect`: a token for an agent, and the finished configuration of its host.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, json};

use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View};
use crate::parts::{post, text};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/connect", nav: None, ask, show };

fn ask(_: &Asked, _: &Answers) -> Vec<Question> {
    Vec::new()
}

fn show(view: &View<'_>) -> Shown {
    let scopes = [("read", "Read"), ("comment", "Read and comment"), ("write", "Read and write")];
    let lifetimes = [("30d", "30 days"), ("90d", "90 days"), ("365d", "a year")];
    let choices = |all: &[(&str, &str)]| {
        all.iter().map(|(value, words)| ((*value).to_owned(), (*words).to_owned())).collect()
    };
    let fields = [
        Field::new("name"),
        Field::choosing("scopes", choices(&scopes)).labelled("What it may do"),
        Field::choosing("expires_in", choices(&lifetimes)).labelled("For how long"),
    ];
    let mut values = Map::new();
    values.insert("name".into(), json!("my agent"));
    values.insert("scopes".into(), json!("write"));
    values.insert("expires_in".into(), json!("90d"));
    let body = html! {
        div.page {
            h1 { "Connect an agent" }
            p { "Agents read and write requirements over MCP, with a token that says who they are and what they may do." }
            section.card {
                h2 { "1. Make a token" }
                (post(known::CREATE_TOKEN, "/connect", html! {
                    (form(known::CREATE_TOKEN, &fields, &values, None))
                    p.actions { button.primary { "Make a token" } }
                }))
            }
            section {
                h2 { "2. Tell the host" }
                (configurations(&view.site.url, "mcp_pat_…"))
            }
        }
    };
    Shown { title: "Connect an agent".to_owned(), project: None, body }
}

/// Whether an agent has come with a token. A script asks again and again while the token is shown.
pub const STATE: Page = Page { path: "/connect/{token}", nav: None, ask: ask_state, show: show_state };

fn ask_state(_: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("tokens") {
        return Vec::new();
    }
    vec![Question::needed("tokens", known::LIST_TOKENS, json!({"limit": 100}))]
}

fn show_state(view: &View<'_>) -> Shown {
    let id = view.asked.parameter("token");
    let token = view.answers.list("tokens").iter().find(|token| text(token, "id") == id);
    let body = match token.map(|token| text(token, "last_used_at")) {
        Some("") => waiting(id),
        Some(used) => html! { p.connected role="status" { "Connected " (ago(used, view.now)) "." } },
        None => html! { p.muted role="status" { "This token is revoked." } },
    };
    Shown { title: "Connection".to_owned(), project: None, body }
}

/// What is shown until an agent comes.
pub fn waiting(token: &str) -> Markup {
    html! {
        p.muted.scripted-only role="status" hx-get={ "/connect/" (token) } hx-trigger="every 2s" hx-swap="outerHTML" hx-target="this" hx-push-url="false" {
            "Waiting for the agent to connect…"
        }
    }
}

/// What hosts are told, with a token in its place.
pub fn configurations(url: &str, token: &str) -> Markup {
    let endpoint = format!("{url}/api/v1/mcp");
    let claude = format!(
        "claude mcp add --transport http spexus {endpoint} --header \"Authorization: Bearer {token}\""
    );
    let servers = json!({"mcpServers": {"spexus": {"url": endpoint, "headers": {"Authorization": format!("Bearer {token}")}}}});
    let code = json!({"servers": {"spexus": {"type": "http", "url": endpoint, "headers": {"Authorization": format!("Bearer {token}")}}}});
    // It connects to no address with a token by itself.
    let bridge = json!({"mcpServers": {"spexus": {
        "command": "requirements-mcp-server", "env": {"BACKEND_API_URL": url, "MCP_PAT_TOKEN": token}
    }}});
    let codex = format!(
        "[mcp_servers.spexus]\nurl = \"{endpoint}\"\nhttp_headers = {{ Authorization = \"Bearer {token}\" }}"
    );
    let shown = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let hosts = [
        ("Claude Code", "In a terminal:", claude),
        ("Cursor", "In .cursor/mcp.json:", shown(&servers)),
        ("VS Code", "In .vscode/mcp.json:", shown(&code)),
        ("Codex", "In ~/.codex/config.toml:", codex),
        (
            "Claude Desktop",
            "It starts the bridge of Spexus, a program. In claude_desktop_config.json:",
            shown(&bridge),
        ),
        ("Others", "In the configuration file of the host:", shown(&servers)),
    ];
    html! {
        @for (index, (name, place, text)) in hosts.iter().enumerate() {
            details open[index == 0] {
                summary { (name) }
                p.muted { (place) }
                pre { code { (text) } }
                button.quiet type="button" data-copy=(text) { "Copy" }
            }
        }
    }
}
