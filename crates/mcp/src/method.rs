//! The methods of the protocol: in which era each exists and which capability it belongs to.

use crate::{profile::Capabilities, revision::Era};

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
    GetResource,
    Subscribe,
    Unsubscribe,
    ListPrompts,
    GetPrompt,
    Complete,
}

/// Each with the only era in which it exists; `None` means both.
const METHODS: [(&str, Method, Option<Era>); 16] = [
    ("initialize", Method::Initialize, Some(Era::Handshake)),
    ("ping", Method::Ping, Some(Era::Handshake)),
    ("shutdown", Method::Shutdown, Some(Era::Handshake)),
    ("server/discover", Method::Discover, None),
    ("subscriptions/listen", Method::Listen, Some(Era::Stateless)),
    ("tools/list", Method::ListTools, None),
    ("tools/call", Method::CallTool, None),
    ("resources/list", Method::ListResources, None),
    ("resources/templates/list", Method::ListTemplates, None),
    ("resources/read", Method::ReadResource, None),
    ("resources/get", Method::GetResource, Some(Era::Handshake)),
    ("resources/subscribe", Method::Subscribe, Some(Era::Handshake)),
    ("resources/unsubscribe", Method::Unsubscribe, Some(Era::Handshake)),
    ("prompts/list", Method::ListPrompts, None),
    ("prompts/get", Method::GetPrompt, None),
    ("completion/complete", Method::Complete, None),
];

/// The name itself if any revision has such a method, for counters; otherwise `unknown`.
pub fn method_name(name: &str) -> &'static str {
    METHODS.into_iter().find(|(known, ..)| *known == name).map_or("unknown", |(known, ..)| known)
}

impl Method {
    /// Returns the method with this name, if a server with these capabilities serves it in this era.
    pub fn find(name: &str, era: Era, capabilities: &Capabilities) -> Option<Self> {
        let (_, method, only_in) = METHODS.into_iter().find(|(known, ..)| *known == name)?;
        let exists = only_in.is_none_or(|only| only == era);
        (exists && method.is_served(capabilities)).then_some(method)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        METHODS.into_iter().find(|(_, method, _)| *method == self).map_or("", |(name, ..)| name)
    }

    fn is_served(self, capabilities: &Capabilities) -> bool {
        match self {
            Self::Initialize | Self::Ping | Self::Shutdown | Self::Discover | Self::Listen => true,
            Self::ListTools | Self::CallTool => capabilities.tools.is_some(),
            Self::ListResources | Self::ListTemplates | Self::ReadResource => {
                capabilities.resources.is_some()
            }
            Self::GetResource => capabilities.has_paths(),
            Self::Subscribe | Self::Unsubscribe => capabilities.can_subscribe(),
            Self::ListPrompts | Self::GetPrompt => capabilities.prompts.is_some(),
            Self::Complete => capabilities.completions,
        }
    }

    /// Returns whether 2026-07-28 lets a client cache the result.
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
