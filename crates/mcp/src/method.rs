//! The methods of the protocol: in which era each exists and which capability it belongs to.

use crate::profile::Capabilities;

/// A request method. Notifications are in `session.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Ping,
    Shutdown,
    Discover,
    Listen,
    ListTools,
    CallTool,
    ListResources,
    ListTemplates,
    ReadResource,
    Subscribe,
    Unsubscribe,
    ListPrompts,
    GetPrompt,
    Complete,
}

/// The revisions in which a method exists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Handshake,
    Stateless,
    Both,
}

const METHODS: [(&str, Method, Era); 15] = [
    ("initialize", Method::Initialize, Era::Handshake),
    ("ping", Method::Ping, Era::Handshake),
    ("shutdown", Method::Shutdown, Era::Handshake),
    ("server/discover", Method::Discover, Era::Both),
    ("subscriptions/listen", Method::Listen, Era::Stateless),
    ("tools/list", Method::ListTools, Era::Both),
    ("tools/call", Method::CallTool, Era::Both),
    ("resources/list", Method::ListResources, Era::Both),
    ("resources/templates/list", Method::ListTemplates, Era::Both),
    ("resources/read", Method::ReadResource, Era::Both),
    ("resources/subscribe", Method::Subscribe, Era::Handshake),
    ("resources/unsubscribe", Method::Unsubscribe, Era::Handshake),
    ("prompts/list", Method::ListPrompts, Era::Both),
    ("prompts/get", Method::GetPrompt, Era::Both),
    ("completion/complete", Method::Complete, Era::Both),
];

impl Method {
    /// Returns the method of that name, if a server with these capabilities serves it in that era.
    pub fn find(name: &str, is_stateless: bool, capabilities: &Capabilities) -> Option<Self> {
        let (_, method, era) = METHODS.into_iter().find(|(known, ..)| *known == name)?;
        let exists = match era {
            Era::Both => true,
            Era::Handshake => !is_stateless,
            Era::Stateless => is_stateless,
        };
        (exists && method.is_served(capabilities)).then_some(method)
    }

    fn is_served(self, capabilities: &Capabilities) -> bool {
        match self {
            Self::Initialize | Self::Ping | Self::Shutdown | Self::Discover | Self::Listen => true,
            Self::ListTools | Self::CallTool => capabilities.tools.is_some(),
            Self::ListResources | Self::ListTemplates | Self::ReadResource => {
                capabilities.resources.is_some()
            }
            Self::Subscribe | Self::Unsubscribe => capabilities.can_subscribe(),
            Self::ListPrompts | Self::GetPrompt => capabilities.prompts.is_some(),
            Self::Complete => capabilities.completions,
        }
    }

    /// Tells whether 2026-07-28 lets a client keep the result.
    pub fn is_cacheable(self) -> bool {
        matches!(
            self,
            Self::Discover
                | Self::ListTools
                | Self::ListResources
                | Self::ListTemplates
                | Self::ReadResource
                | Self::ListPrompts
        )
    }
}
