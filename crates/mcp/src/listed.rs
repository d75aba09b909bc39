//! What `resources/list`, `resources/templates/list` and `prompts/list` show.

use serde_json::{Map, Value, json};

use crate::revision::Revision;

/// Something that can be read, or a family of such things.
#[derive(Clone, Debug)]
pub struct Resource {
    /// What it is read by; for a family, the RFC 6570 template.
    pub uri: String,
    /// What programs call it.
    pub name: String,
    /// What people call it (from 2025-06-18 on).
    pub title: Option<String>,
    /// What it holds.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// What else is said of it.
    pub more: Map<String, Value>,
}

impl Resource {
    /// `uri_key` is `uri` for one resource and `uriTemplate` for a family.
    pub(crate) fn to_json(&self, uri_key: &str, revision: Revision) -> Value {
        let mut resource = Map::new();
        resource.insert(uri_key.into(), json!(self.uri));
        resource.insert("name".into(), json!(self.name));
        insert_text(&mut resource, "title", title_in(revision, &self.title));
        insert_text(&mut resource, "description", self.description.as_ref());
        insert_text(&mut resource, "mimeType", self.mime_type.as_ref());
        for (key, value) in &self.more {
            resource.entry(key.as_str()).or_insert_with(|| value.clone());
        }
        Value::Object(resource)
    }
}

/// A prompt that can be filled in.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What it is called by.
    pub name: String,
    /// What people call it (from 2025-06-18 on).
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it is filled in with.
    pub arguments: Vec<PromptArgument>,
}

/// A gap in a prompt.
#[derive(Clone, Debug)]
pub struct PromptArgument {
    /// What it is called by.
    pub name: String,
    /// What belongs there.
    pub description: String,
    /// Whether the prompt makes no sense without.
    pub required: bool,
}

impl Prompt {
    pub(crate) fn to_json(&self, revision: Revision) -> Value {
        let mut prompt = Map::new();
        prompt.insert("name".into(), json!(self.name));
        insert_text(&mut prompt, "title", title_in(revision, &self.title));
        insert_text(&mut prompt, "description", self.description.as_ref());
        let argument = |argument: &PromptArgument| json!({"name": argument.name, "description": argument.description, "required": argument.required});
        prompt.insert("arguments".into(), self.arguments.iter().map(argument).collect());
        Value::Object(prompt)
    }
}

pub(crate) fn title_in(revision: Revision, title: &Option<String>) -> Option<&String> {
    title.as_ref().filter(|_| revision >= Revision::V2025_06_18)
}

pub(crate) fn insert_text(object: &mut Map<String, Value>, key: &str, text: Option<&String>) {
    if let Some(text) = text {
        object.insert(key.into(), json!(text));
    }
}
