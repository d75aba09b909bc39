//! What an agent is told when it connects: what is here, and how the parts go together.

use mcp::Context;
use ops::known;
use serde_json::json;

use super::{Combined, Trace, search};
use crate::requirements;

/// Why there is no traceability.
pub const NO_PROJECT: &str =
    "neither this folder nor one above it has a .duvet/config.toml; `duvet init` makes one";

/// Writes the instructions.
pub fn write(combined: &Combined, context: &Context<'_>) -> String {
    let mut parts = Vec::new();
    let has_all = combined.local.is_some() && combined.trace().is_some() && combined.threats.is_some();
    if has_all {
        parts.push(format!(
            "Before you build something, find the requirement that asks for it ({}), look at the threats against it (tmkb_query), \
             cite what you implement and test in the code, and check the citation (validate_citation).",
            search::NAME
        ));
    }
    if combined.local.is_some() {
        parts.push(about_requirements(combined, context));
    }
    match &combined.trace {
        Trace::Served(trace) => parts.push(format!("## Traceability\n\n{}", trace.about().trim_end())),
        Trace::NoProject => parts
            .push(format!("## Traceability\n\nThere is none: {NO_PROJECT}, and the next session has it.")),
        Trace::NotChosen | Trace::Chosen(_) => {}
    }
    if combined.threats.is_some() {
        parts.push(
            "## Threats\n\nBefore you write code that decides who may do what, ask tmkb_query with a sentence about what you are \
             building, and keep to what it answers."
                .to_owned(),
        );
    }
    parts.join("\n\n")
}

fn about_requirements(combined: &Combined, context: &Context<'_>) -> String {
    let guide = format!(
        "Lists and searches are cut at `max_tokens` (2000); go on with `cursor`. {}",
        requirements::RESOURCES
    );
    let prompt =
        combined.requirements().and_then(|server| server.call(known::GET_ACTIVE_PROMPT, json!({}), context));
    let text = match prompt {
        Ok(prompt) => requirements::instructions(&prompt, &guide),
        // A host must be able to connect all the same.
        Err(failure) if failure.kind == mcp::Kind::Unavailable => {
            format!("The store cannot be opened: {}", failure.message)
        }
        Err(_) => guide,
    };
    format!("## Requirements\n\n{text}")
}
