//! What a server says of its own accord: that lists or resources changed.
//!
//! Handshake revisions hear of every list they were promised and of the resources they subscribed
//! to. 2026-07-28 hears only what a `subscriptions/listen` asked for, tagged with that request's id.

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Tools appeared or went.
    Tools,
    /// Prompts appeared or went.
    Prompts,
    /// Resources appeared or went.
    Resources,
    /// This resource reads differently now.
    Resource(String),
}

impl Change {
    /// The notification, tagged for one subscription or untagged for a handshake session.
    pub(crate) fn bytes(&self, subscription: Option<&Id>) -> Vec<u8> {
        let mut params = Map::new();
        if let Self::Resource(uri) = self {
            params.insert("uri".into(), json!(uri));
        }
        if let Some(id) = subscription {
            params.insert("_meta".into(), subscription_meta(id));
        }
        let method = match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        };
        let params = if params.is_empty() { Value::Null } else { Value::Object(params) };
        notification_bytes(method, &params)
    }

    /// Tells whether the server promised to say this.
    pub(crate) fn is_declared(&self, capabilities: &Capabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some_and(|tools| tools.list_changed),
            Self::Prompts => capabilities.prompts.is_some_and(|prompts| prompts.list_changed),
            Self::Resources => capabilities.resources.is_some_and(|resources| resources.list_changed),
            Self::Resource(_) => capabilities.can_subscribe(),
        }
    }
}

/// How many resources one subscription or session may watch.
pub(crate) const WATCHED_URIS_MAX: usize = 10_000;

/// What an open `subscriptions/listen` hears of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<String>,
}

impl Filter {
    /// Reads what the client asks for and keeps what the server can honour.
    pub fn parse(params: &mut Map<String, Value>, capabilities: &Capabilities) -> Result<Self, FieldError> {
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
                for (index, uri) in uris.into_iter().enumerate() {
                    let Value::String(uri) = uri else {
                        let field = format!("notifications.resourceSubscriptions[{index}]");
                        return Err(mismatch(&field, "a string", &uri));
                    };
                    filter.uris.push(uri);
                }
            }
            Some(other) => {
                return Err(mismatch("notifications.resourceSubscriptions", "an array of URIs", &other));
            }
        }
        if !capabilities.can_subscribe() {
            filter.uris.clear();
        }
        Ok(filter)
    }

    /// Tells whether a change is to be heard.
    pub fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.uris.contains(uri),
        }
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
            honoured.insert("resourceSubscriptions".into(), json!(self.uris));
        }
        Value::Object(honoured)
    }
}

/// The first thing a subscription hears: what it will hear.
pub(crate) fn acknowledged(id: &Id, filter: &Filter) -> Vec<u8> {
    let params = json!({"notifications": filter.to_json(), "_meta": subscription_meta(id)});
    notification_bytes("notifications/subscriptions/acknowledged", &params)
}

/// The last thing a subscription hears, when the server ends it.
pub(crate) fn listen_result(id: &Id, profile: &Profile) -> Vec<u8> {
    let mut meta = subscription_meta(id);
    meta[crate::stateless::SERVER_INFO] = profile.server_info(Revision::V2026_07_28);
    result_bytes(id, &json!({"resultType": "complete", "_meta": meta}))
}

fn subscription_meta(id: &Id) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": id})
}
