//! The static differences between servers: name, declared
//! capabilities, and policies.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{members::Members, revision::Revision};

/// The description of a server.
#[derive(Clone, Debug)]
pub struct Profile {
    /// `serverInfo.name`.
    pub name: String,
    /// `serverInfo.title`, from [`Profile::title_since`] on.
    pub title: Option<String>,
    /// `serverInfo.version`.
    pub version: String,
    /// `serverInfo.description`, from [`Profile::description_since`] on.
    pub description: Option<String>,
    /// The first revision with the title. The protocol has it from 2025-06-18 on.
    pub title_since: Revision,
    /// The first revision with the description. The protocol has it from 2025-11-25 on.
    pub description_since: Revision,
    /// The capabilities. Methods of other capabilities do not exist.
    pub capabilities: Capabilities,
    /// The answer to an `initialize` with an unknown version.
    pub versions: VersionPolicy,
    /// How failures of tools are reported.
    pub tool_errors: ToolErrors,
    /// Missing rights and exceeded rate limits are reported by the status of the answer, as over HTTP, not by the result of a
    /// tool.
    pub refuses_by_status: bool,
    /// The canonical URI for change notifications, if a resource has several.
    pub canonical: fn(&str) -> String,
    /// How long a client may cache answers (2026-07-28).
    pub cache: Cache,
}

impl Profile {
    /// A server without capabilities that negotiates versions and reports tool errors as text.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            version: version.into(),
            description: None,
            title_since: Revision::V2025_06_18,
            description_since: Revision::V2025_11_25,
            capabilities: Capabilities::default(),
            versions: VersionPolicy::Negotiate,
            tool_errors: ToolErrors::Text,
            refuses_by_status: false,
            canonical: str::to_owned,
            cache: Cache { ttl_ms: 0, scope: CacheScope::Private },
        }
    }

    pub(crate) fn server_info(&self, revision: Revision) -> ServerInfo<'_> {
        ServerInfo {
            name: &self.name,
            title: self.title.as_deref().filter(|_| revision >= self.title_since),
            version: &self.version,
            description: self.description.as_deref().filter(|_| revision >= self.description_since),
        }
    }
}

/// The identity of a server.
#[derive(Serialize)]
pub(crate) struct ServerInfo<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

/// The capabilities that a server declares, and therefore serves.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    /// Tools.
    pub tools: Option<ListCapability>,
    /// Prompts.
    pub prompts: Option<ListCapability>,
    /// Resources.
    pub resources: Option<ResourceCapability>,
    /// Completion of arguments.
    pub completions: bool,
}

/// The features of a list.
#[derive(Clone, Copy, Debug)]
pub struct ListCapability {
    /// Clients are notified when an item is added or removed.
    pub list_changed: bool,
}

/// The features of resources.
#[derive(Clone, Copy, Debug)]
pub struct ResourceCapability {
    /// Clients are notified when resources are added or removed.
    pub list_changed: bool,
    /// Clients can subscribe to changes of a resource.
    pub subscribe: bool,
    /// Resources are also served by path, for clients written to that form: after a handshake `resources/list` takes
    /// a `path`, and there is `resources/get`. Such clients also call a tool by `tool` instead of `name`.
    pub by_path: bool,
}

impl Capabilities {
    /// Everything: tools, prompts and resources with change notifications, and completion.
    pub fn all() -> Self {
        Self {
            tools: Some(ListCapability { list_changed: true }),
            prompts: Some(ListCapability { list_changed: true }),
            resources: Some(ResourceCapability { list_changed: true, subscribe: true, by_path: false }),
            completions: true,
        }
    }

    pub(crate) fn to_json(&self, revision: Revision) -> Value {
        let mut capabilities = Map::new();
        if let Some(prompts) = self.prompts {
            capabilities.insert("prompts".into(), json!({"listChanged": prompts.list_changed}));
        }
        if let Some(resources) = self.resources {
            let value = json!({"listChanged": resources.list_changed, "subscribe": resources.subscribe});
            capabilities.insert("resources".into(), value);
        }
        if let Some(tools) = self.tools {
            capabilities.insert("tools".into(), json!({"listChanged": tools.list_changed}));
        }
        if self.completions && revision >= Revision::V2025_03_26 {
            capabilities.insert("completions".into(), json!({}));
        }
        Value::Object(capabilities)
    }

    pub(crate) fn has_paths(&self) -> bool {
        self.resources.is_some_and(|resources| resources.by_path)
    }

    pub(crate) fn can_subscribe(&self) -> bool {
        self.resources.is_some_and(|resources| resources.subscribe)
    }
}

/// The answer to an `initialize` with an unsupported version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The newest version with a handshake; the client decides whether it supports it.
    Negotiate,
    /// An error that lists the versions.
    Strict {
        /// The same, and the server ends after that answer.
        terminate: bool,
    },
}

/// How failures of tools are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolErrors {
    /// A result with `isError` and the text, in every revision.
    Text,
    /// A JSON-RPC error up to 2025-06-18; from then on `isError` with the error's data as `structuredContent`.
    ByRevision,
}

/// How long, and by whom, an answer of 2026-07-28 may be cached.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// Milliseconds; 0 means that it is stale immediately.
    pub ttl_ms: u64,
    /// Who may cache it.
    pub scope: CacheScope,
}

/// Who may cache an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    /// Only the client itself, because the answer depends on the caller.
    Private,
    /// Any intermediary.
    Public,
}

impl Cache {
    pub(crate) fn write_to(self, result: &mut Members) {
        let scope = match self.scope {
            CacheScope::Private => "\"private\"",
            CacheScope::Public => "\"public\"",
        };
        result.json("ttlMs", &[&self.ttl_ms.to_string()]);
        result.json("cacheScope", &[scope]);
    }
}
