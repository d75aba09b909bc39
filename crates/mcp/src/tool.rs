//! Tools: how they are described, and what calling one gives.

use serde_json::{Map, Value, json};

use crate::{
    failure::Failure,
    listed::{insert_text, title_in},
    members::Members,
    profile::{Profile, ToolErrors},
    revision::Revision,
    schema::Schema,
};

/// Where the result of a tool that failed carries what went wrong, for programs.
pub const ERROR_META: &str = "spexus/error";

/// A tool as `tools/list` shows it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// What it is called by.
    pub name: String,
    /// What people see (from 2025-06-18 on).
    pub title: Option<String>,
    /// What an agent reads before it decides.
    pub description: String,
    /// What its arguments must be.
    pub input_schema: Schema,
    /// What is listed of that, where it is not all: an agent pays for each argument that it is shown.
    pub listed_schema: Option<Value>,
    /// What its structured result is (from 2025-06-18 on). A tool without one has no structured result: who did not ask for the
    /// schema reads the text, and would pay for the same twice.
    pub output_schema: Option<Value>,
    /// Hints such as `readOnlyHint` (from 2025-03-26 on).
    pub annotations: Option<Value>,
    /// What a client must be able to do before it may call the tool, such as `sampling`. Only 2026-07-28 has clients say so
    /// in each request; in other revisions the tool is called.
    pub requires: Vec<String>,
    /// What programs may want to know of it beside that (from 2025-06-18 on).
    pub meta: Map<String, Value>,
}

impl Tool {
    /// A tool with nothing optional.
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

/// What a tool that worked gives back.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// Content blocks, each as the protocol has them.
    pub content: Vec<Value>,
    /// The same as a value, for programs (from 2025-06-18 on, where the tool has an output schema).
    pub structured: Option<Structured>,
    /// Details about the answer that are not part of it.
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

    /// The same for what the server has put into JSON already, which is not taken apart and put together again.
    pub fn json_text(text: String) -> Self {
        Self { structured: Some(Structured::Text(text)), ..Self::default() }
    }

    /// The result in the words of a revision; `has_schema` tells whether the tool has an output schema.
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

/// What a tool gives back for programs.
#[derive(Clone, Debug)]
pub enum Structured {
    /// A value.
    Value(Value),
    /// A value as JSON, which is sent as it is, and also as text, before the content.
    Text(String),
}

impl From<Value> for Structured {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// The result of a request, on its way out.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub members: Map<String, Value>,
    /// More of them, which are JSON already.
    pub more: Members,
}

impl From<Map<String, Value>> for Outcome {
    fn from(members: Map<String, Value>) -> Self {
        Self { members, more: Members::default() }
    }
}

/// What a tool that failed gives back where the failure is a result and not a JSON-RPC error.
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
            // Tells programs on the way which failure it is. It is not structured content: that would have to fit the output
            // schema, and clients that check this would report a mismatch in place of the error.
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
