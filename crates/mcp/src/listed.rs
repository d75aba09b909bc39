//! The items of `resources/list`, `resources/templates/list` and `prompts/list`.

use serde_json::{Map, Value, json};

use crate::revision::Revision;

/// A resource, or a template of resources.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The URI; for a template, an RFC 6570 URI template.
    pub uri: String,
    /// The name, for programs.
    pub name: String,
    /// The title, for people (from 2025-06-18 on).
    pub title: Option<String>,
    /// A description.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Further members.
    pub more: Map<String, Value>,
}

impl Resource {
    /// `uri_key` is `uri` for a resource and `uriTemplate` for a template.
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

/// A prompt with arguments.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The name, for programs.
    pub name: String,
    /// The title, for people (from 2025-06-18 on).
    pub title: Option<String>,
    /// The purpose.
    pub description: Option<String>,
    /// The arguments.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug)]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// Whether the argument is required.
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
