//! Tools: their descriptions, and the results of calls.

use serde_json::{Map, Value, json};

use crate::{
    failure::Failure,
    listed::{insert_text, title_in},
    members::Members,
    profile::{Profile, ToolErrors},
    revision::Revision,
    schema::Schema,
};

/// The key in `_meta` under which the result of a failed tool carries the error for programs.
pub const ERROR_META: &str = "spexus/error";

/// A tool as `tools/list` shows it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name.
    pub name: String,
    /// The title, for people (from 2025-06-18 on).
    pub title: Option<String>,
    /// The description, for agents.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Schema,
    /// The listed part of the schema, if not all of it: each listed argument costs the agent tokens.
    pub listed_schema: Option<Value>,
    /// The schema of its structured result (from 2025-06-18 on). Without one there is no structured result: a client that did
    /// not ask
    /// for the schema reads the text, and would pay for the same content twice.
    pub output_schema: Option<Value>,
    /// Hints such as `readOnlyHint` (from 2025-03-26 on).
    pub annotations: Option<Value>,
    /// The capabilities that a client must declare before it may call the tool, such as `sampling`. Only in 2026-07-28 clients
    /// declare
    /// them in each request; in other revisions the tool is called regardless.
    pub requires: Vec<String>,
    /// Further data for programs (from 2025-06-18 on).
    pub meta: Map<String, Value>,
}

impl Tool {
    /// A tool without optional members.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema: Schema::new(input_schema),
            listed_schema: None,
            output_schema: None,
            annotations: None,
            requires: Vec::new(),
            meta: Map::new(),
        }
    }

    pub(crate) fn to_json(&self, revision: Revision) -> Value {
        let mut tool = Map::new();
        tool.insert("name".into(), json!(self.name));
        insert_text(&mut tool, "title", title_in(revision, &self.title));
        tool.insert("description".into(), json!(self.description));
        let input_schema = self.listed_schema.as_ref().unwrap_or_else(|| self.input_schema.as_json());
        tool.insert("inputSchema".into(), input_schema.clone());
        if let Some(schema) = self.output_schema.as_ref().filter(|_| revision >= Revision::V2025_06_18) {
            tool.insert("outputSchema".into(), schema.clone());
        }
        if let Some(annotations) = self.annotations.as_ref().filter(|_| revision >= Revision::V2025_03_26) {
            tool.insert("annotations".into(), annotations.clone());
        }
        if !self.meta.is_empty() && revision >= Revision::V2025_06_18 {
            tool.insert("_meta".into(), Value::Object(self.meta.clone()));
        }
        Value::Object(tool)
    }
}

/// The result of a tool that succeeded.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// Content blocks in the form of the protocol.
    pub content: Vec<Value>,
    /// The same as a value, for programs (from 2025-06-18 on, where the tool has an output schema).
    pub structured: Option<Structured>,
    /// Metadata about the answer.
    pub meta: Map<String, Value>,
}

impl ToolOutput {
    /// One block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![text_block(&text.into())], ..Self::default() }
    }

    /// A value, as compact JSON in a text block and as structured content.
    pub fn json(value: Value) -> Self {
        Self::json_text(value.to_string())
    }

    /// The same for JSON text, which is not parsed.
    pub fn json_text(text: String) -> Self {
        Self { structured: Some(Structured::Text(text)), ..Self::default() }
    }

    /// The result as the revision represents it; `has_schema` says whether the tool has an output schema.
    pub(crate) fn into_outcome(self, revision: Revision, has_schema: bool) -> Outcome {
        let mut outcome = Outcome::default();
        // Up to 2025-11-25 structured content is an object; later it may be anything.
        let is_shown = has_schema && revision >= Revision::V2025_06_18;
        let fits = |is_object: bool| revision.is_stateless() || is_object;
        match self.structured {
            Some(Structured::Text(text)) => {
                let more = &mut outcome.more;
                more.text_in("content", r#"{"type":"text""#, &text, &self.content);
                match is_shown {
                    false => {}
                    true if fits(text.starts_with('{')) => more.json("structuredContent", &[&text]),
                    true => more.json("structuredContent", &["{\"result\":", &text, "}"]),
                }
                more.json("isError", &["false"]);
            }
            structured => {
                outcome.members.insert("content".into(), Value::Array(self.content));
                if let Some(Structured::Value(value)) = structured.filter(|_| is_shown) {
                    let value = if fits(value.is_object()) { value } else { json!({ "result": value }) };
                    outcome.members.insert("structuredContent".into(), value);
                }
                outcome.members.insert("isError".into(), json!(false));
            }
        }
        if !self.meta.is_empty() {
            outcome.members.insert("_meta".into(), Value::Object(self.meta));
        }
        outcome
    }
}

/// The result of a tool, for programs.
#[derive(Clone, Debug)]
pub enum Structured {
    /// A value.
    Value(Value),
    /// JSON text, which is sent unchanged, and also as text before the content.
    Text(String),
}

impl From<Value> for Structured {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// The result of a request, before serialization.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub members: Map<String, Value>,
    /// Further members that are already JSON.
    pub more: Members,
}

impl From<Map<String, Value>> for Outcome {
    fn from(members: Map<String, Value>) -> Self {
        Self { members, more: Members::default() }
    }
}

/// The result of a failed tool, if the failure is a result and not a JSON-RPC error.
pub(crate) fn failed_result(
    profile: &Profile,
    revision: Revision,
    failure: &Failure,
    request_id: &str,
) -> Option<Map<String, Value>> {
    if profile.refuses_by_status && failure.kind.is_refusal() {
        return None;
    }
    let mut result = Map::new();
    result.insert("content".into(), json!([text_block(&failure.message)]));
    match profile.tool_errors {
        ToolErrors::Text => {}
        ToolErrors::ByRevision if revision <= Revision::V2025_06_18 => return None,
        ToolErrors::ByRevision => {
            // Tells programs which failure it is. It is not structured content: that would have to match the output
            // schema, and clients that check this would report a mismatch instead of the error.
            result.insert("_meta".into(), json!({ ERROR_META: failure.data(request_id) }));
        }
    }
    result.insert("isError".into(), json!(true));
    Some(result)
}

pub(crate) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::RawValue};

    use super::ToolOutput;
    use crate::{error::outcome_bytes, id::Id, revision::Revision};

    #[test]
    fn json_that_is_text_already_reads_the_same() {
        let raw: &RawValue = serde_json::from_str("7").expect("JSON");
        let id = Id::parse(raw).expect("an id");
        let read = |output: ToolOutput, revision| -> Value {
            serde_json::from_slice(&outcome_bytes(&id, &output.into_outcome(revision, true))).expect("JSON")
        };
        for value in [json!({"a": "\"ё\n"}), json!({}), json!([1, {"b": null}]), json!("text")] {
            for revision in Revision::ALL {
                let note = super::text_block("a note");
                let mut as_text = ToolOutput::json_text(value.to_string());
                as_text.content.push(note.clone());
                let as_value = ToolOutput {
                    content: vec![super::text_block(&value.to_string()), note],
                    structured: Some(value.clone().into()),
                    ..ToolOutput::default()
                };
                assert_eq!(read(as_text, revision), read(as_value, revision), "{revision:?}");
            }
        }
    }
}
