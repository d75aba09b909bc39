//! The instructions of the requirements servers: the active prompt, with a guide to the tools and resources.

use mcp::Tool;
use ops::Effect;
use serde_json::Value;

use super::tools::Tools;

impl Tools {
    /// The tools of the caller and the resources, a line each.
    //@= spexus://REQ-024
    //@# 001 R3.3: instructions guide to the tools
    //@= spexus://REQ-026
    //@# 001 R3.5: instructions change when the tools do
    pub fn guide(&self, is_usable: impl Fn(Effect) -> bool) -> String {
        let (listed, unlisted) = self.usable(is_usable);
        let listed: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
        let mut guide = format!("Tools: {}.", listed.join(", "));
        let unlisted: Vec<String> = unlisted.iter().map(|tool| signature(tool)).collect();
        if !unlisted.is_empty() {
            guide += &format!(" Also callable: {}.", unlisted.join(", "));
        }
        guide += " Lists end at `max_tokens` (2000); go on with `cursor`. `include` adds `text` to lists, and `details` (UUIDs, times, \
                  people) to any answer.";
        format!("{guide}\n\n{RESOURCES}")
    }
}

/// A tool with its required arguments: `get_history(reference)`.
fn signature(tool: &Tool) -> String {
    let required = tool.input_schema.as_json()["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let required: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
    format!("{}({})", tool.name, required.join(", "))
}

/// The resources.
const RESOURCES: &str = "Resources: epic://{id}, user-story://{id}, requirement://{id}, acceptance-criteria://{id}, \
    steering-document://{id}, prompt://{id}; epic://{id}/hierarchy, user-story://{id}/requirements, \
    user-story://{id}/acceptance-criteria, requirement://{id}/relationships; epics://list, user-stories://list, \
    requirements://search?query={query}.";

/// A prompt as instructions, with the guide at its placeholder.
//@= spexus://REQ-003
//@# 000 instructions: instructions are description and content of the active prompt, and empty without one
pub fn instructions(prompt: &Value, guide: &str) -> String {
    let text = |name: &str| prompt[name].as_str().unwrap_or_default();
    let content = with_guide(text("content"), guide);
    match text("description") {
        "" => content,
        description => format!("{description}\n\n{content}"),
    }
}

/// The placeholder for the guide in a prompt.
const PLACE: &str = "{{capabilities}}";

/// A prompt's text with the guide at its placeholder, or at the end.
pub fn with_guide(content: &str, guide: &str) -> String {
    if content.contains(PLACE) { content.replace(PLACE, guide) } else { format!("{content}\n\n{guide}") }
}

/// A prompt's text with the guide only at a placeholder.
pub fn with_guide_if_wanted(content: &str, guide: impl FnOnce() -> String) -> String {
    if content.contains(PLACE) { content.replace(PLACE, &guide()) } else { content.to_owned() }
}
