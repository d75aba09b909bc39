//! What makes one server different from another before it does anything: its name, what it
//! declares, and its policies.

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
    /// The first revision that is sent the title. The protocol has it from 2025-06-18 on.
    pub title_since: Revision,
    /// The first revision that is sent the description. The protocol has it from 2025-11-25 on.
    pub description_since: Revision,
    /// What is served. A method of a capability that is not here does not exist.
    pub capabilities: Capabilities,
    /// What an `initialize` with an unknown version gets.
    pub versions: VersionPolicy,
    /// How a failing tool says so.
    pub tool_errors: ToolErrors,
    /// A request without the right, or over the rate limit, is rejected by the status of the answer, as over HTTP, and never by the result of a
    /// tool.
    pub refuses_by_status: bool,
    /// The canonical URI that change notifications use, where a resource has several.
    pub canonical: fn(&str) -> String,
    /// How long a client may keep what it was told (2026-07-28).
    pub cache: Cache,
}

impl Profile {
    /// A server that declares nothing yet, negotiates versions and reports tool errors as text.
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

/// How a server introduces itself.
#[derive(Serialize)]
pub(crate) struct ServerInfo<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

/// What a server declares, and therefore serves.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    /// Tools to call.
    pub tools: Option<ListCapability>,
    /// Prompts to fill in.
    pub prompts: Option<ListCapability>,
    /// Resources to read.
    pub resources: Option<ResourceCapability>,
    /// Completion of arguments.
    pub completions: bool,
}

/// What is served about a list beside the list.
#[derive(Clone, Copy, Debug)]
pub struct ListCapability {
    /// Clients are notified when an item is added or removed.
    pub list_changed: bool,
}

/// What is served about resources beside reading them.
#[derive(Clone, Copy, Debug)]
pub struct ResourceCapability {
    /// Clients are notified when resources are added or removed.
    pub list_changed: bool,
    /// Clients may ask to be told when one changes.
    pub subscribe: bool,
    /// Resources are also served by path, for clients written to that form: after a handshake `resources/list` takes
    /// a `path`, and there is `resources/get`. Such clients also call a tool by `tool` instead of `name`.
    pub by_path: bool,
}

impl Capabilities {
    /// Everything there is: tools, prompts and resources, told of when they change, and completion.
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

/// What an `initialize` with a version that is not spoken gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The newest version that has a handshake; the client decides whether it can live with it.
    Negotiate,
    /// An error that lists the versions.
    Strict {
        /// The server ends after that answer.
        terminate: bool,
    },
}

/// How a failing tool says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolErrors {
    /// A result with `isError` and the text, in every revision.
    Text,
    /// A JSON-RPC error up to 2025-06-18; from then on `isError` with the error's data as `structuredContent`.
    ByRevision,
}

/// How long, and by whom, an answer of 2026-07-28 may be kept.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// Milliseconds; 0 means that it is stale at once.
    pub ttl_ms: u64,
    /// Who may keep it.
    pub scope: CacheScope,
}

/// Who may keep an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    /// Only the client that asked: the answer depends on who it is.
    Private,
    /// Anyone on the way.
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
