//! Notifications of changed lists and resources.
//!
//! In handshake revisions clients are notified about every declared list and the resources they subscribed
//! to. In 2026-07-28 they are notified only about what a `subscriptions/listen` requested, tagged with that request's id.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    error::{notification_bytes, result_bytes},
    failure::FieldError,
    id::Id,
    profile::{Capabilities, Profile},
    request::optional_object,
    revision::Revision,
    wording::mismatch,
};

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Tools were added or removed.
    Tools,
    /// Prompts were added or removed.
    Prompts,
    /// Resources were added or removed.
    Resources,
    /// The contents of this resource changed.
    Resource(String),
    /// Everything may have changed: the list of resources, and each of them.
    EveryResource,
}

impl Change {
    /// The notification for a handshake session.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes(None)
    }

    /// The notification, tagged for one subscription or untagged for a handshake session.
    pub(crate) fn bytes(&self, subscription: Option<&Id>) -> Vec<u8> {
        #[derive(Serialize)]
        struct Params<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            uri: Option<&'a str>,
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            meta: Option<SubscriptionMeta<'a>>,
        }
        let (method, uri) = match self {
            Self::Tools => ("notifications/tools/list_changed", None),
            Self::Prompts => ("notifications/prompts/list_changed", None),
            Self::Resources | Self::EveryResource => ("notifications/resources/list_changed", None),
            Self::Resource(uri) => ("notifications/resources/updated", Some(uri.as_str())),
        };
        let meta = subscription.map(SubscriptionMeta::new);
        let has_params = uri.is_some() || meta.is_some();
        notification_bytes(method, has_params.then_some(&Params { uri, meta }))
    }

    /// Returns whether the server declared this notification.
    pub(crate) fn is_declared(&self, capabilities: &Capabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some_and(|tools| tools.list_changed),
            Self::Prompts => capabilities.prompts.is_some_and(|prompts| prompts.list_changed),
            Self::Resources | Self::EveryResource => {
                capabilities.resources.is_some_and(|resources| resources.list_changed)
            }
            Self::Resource(_) => capabilities.can_subscribe(),
        }
    }
}

/// The changes that a client is interested in, for a server that has to subscribe elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Whether lists matter.
    pub lists: bool,
    /// The resources that matter.
    pub uris: BTreeSet<String>,
}

/// The number of resources that one subscription or session may watch.
pub(crate) const WATCHED_URIS_MAX: usize = 10_000;

/// The changes that an open `subscriptions/listen` is notified about.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListenFilter {
    tools: bool,
    prompts: bool,
    resources: bool,
    /// The canonical URI of each, with the URI that was requested.
    uris: Vec<(String, String)>,
}

impl ListenFilter {
    /// Parses the request and keeps what the server supports.
    pub fn parse(params: &mut Map<String, Value>, profile: &Profile) -> Result<Self, FieldError> {
        let capabilities = &profile.capabilities;
        if !params.contains_key("notifications") {
            return Err(FieldError::new("notifications", "is required (an object)"));
        }
        let mut wanted = optional_object(params, "notifications")?;
        let mut flag = |key: &str| match wanted.remove(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(mismatch(&format!("notifications.{key}"), "true or false", &other)),
        };
        let mut filter = Self {
            tools: flag("toolsListChanged")? && Change::Tools.is_declared(capabilities),
            prompts: flag("promptsListChanged")? && Change::Prompts.is_declared(capabilities),
            resources: flag("resourcesListChanged")? && Change::Resources.is_declared(capabilities),
            uris: Vec::new(),
        };
        match wanted.remove("resourceSubscriptions") {
            None => {}
            Some(Value::Array(uris)) if uris.len() > WATCHED_URIS_MAX => {
                let problem = format!("at most {WATCHED_URIS_MAX} URIs, found {}", uris.len());
                return Err(FieldError::new("notifications.resourceSubscriptions", problem));
            }
            Some(Value::Array(uris)) => {
                let mut seen = BTreeSet::new();
                for (index, uri) in uris.into_iter().enumerate() {
                    let Value::String(uri) = uri else {
                        let field = format!("notifications.resourceSubscriptions[{index}]");
                        return Err(mismatch(&field, "a string", &uri));
                    };
                    if seen.insert(uri.clone()) {
                        filter.uris.push(((profile.canonical)(&uri), uri));
                    }
                }
            }
            Some(other) => {
                return Err(mismatch("notifications.resourceSubscriptions", "an array of URIs", &other));
            }
        }
        if !capabilities.can_subscribe() {
            filter.uris = Vec::new();
        }
        Ok(filter)
    }

    /// The requested resources.
    pub fn uris(&self) -> Vec<String> {
        self.uris.iter().map(|(_, given)| given.clone()).collect()
    }

    /// Removes all other resources.
    pub fn keep(&mut self, watched: &BTreeSet<String>) {
        self.uris.retain(|(_, given)| watched.contains(given));
    }

    /// Adds the interest of this subscription.
    pub fn add_to(&self, interest: &mut Interest) {
        interest.lists |= self.tools || self.prompts || self.resources;
        interest.uris.extend(self.uris.iter().map(|(_, uri)| uri.clone()));
    }

    /// The changes that match, with URIs as the client requested them.
    pub fn wanted(&self, change: &Change) -> Vec<Change> {
        let is_wanted = match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => {
                let same = self.uris.iter().filter(|(canonical, _)| canonical == uri);
                return same.map(|(_, given)| Change::Resource(given.clone())).collect();
            }
            Change::EveryResource => {
                let list = self.resources.then_some(Change::Resources);
                let each = self.uris.iter().map(|(_, given)| Change::Resource(given.clone()));
                return list.into_iter().chain(each).collect();
            }
        };
        if is_wanted { vec![change.clone()] } else { Vec::new() }
    }

    fn to_json(&self) -> Value {
        let mut honoured = Map::new();
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (key, _) in flags.into_iter().filter(|(_, flag)| *flag) {
            honoured.insert(key.into(), json!(true));
        }
        if !self.uris.is_empty() {
            let given: Vec<&String> = self.uris.iter().map(|(_, given)| given).collect();
            honoured.insert("resourceSubscriptions".into(), json!(given));
        }
        Value::Object(honoured)
    }
}

/// The first notification of a subscription: its accepted filter.
pub(crate) fn acknowledged(id: &Id, filter: &ListenFilter) -> Vec<u8> {
    #[derive(Serialize)]
    struct Params<'a> {
        notifications: Value,
        #[serde(rename = "_meta")]
        meta: SubscriptionMeta<'a>,
    }
    let params = Params { notifications: filter.to_json(), meta: SubscriptionMeta::new(id) };
    notification_bytes("notifications/subscriptions/acknowledged", Some(&params))
}

/// The last message of a subscription, when the server ends it.
pub(crate) fn listen_result(id: &Id, profile: &Profile) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Ended<'a> {
        result_type: &'static str,
        #[serde(rename = "_meta")]
        meta: SubscriptionMeta<'a>,
    }
    let server_info = Some(json!(profile.server_info(Revision::V2026_07_28)));
    let meta = SubscriptionMeta { server_info, ..SubscriptionMeta::new(id) };
    result_bytes(id, &Ended { result_type: "complete", meta })
}

/// Typed, because an id must be returned byte for byte and may not be representable as a value.
#[derive(Serialize)]
struct SubscriptionMeta<'a> {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: &'a Id,
    #[serde(rename = "io.modelcontextprotocol/serverInfo", skip_serializing_if = "Option::is_none")]
    server_info: Option<Value>,
}

impl<'a> SubscriptionMeta<'a> {
    fn new(subscription: &'a Id) -> Self {
        Self { subscription, server_info: None }
    }
}
