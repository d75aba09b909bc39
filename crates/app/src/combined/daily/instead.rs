//! Finds the tool that an agent meant when it calls an unknown one: `get_requirement` means `get`.

use mcp::{Instead, Tool};
use serde_json::json;

use super::DailyTools;
use super::tools::{DailyTool, TOOLS};
use crate::requirements::instead::Spoken;

/// Returns the tool to use instead of an unknown one. Unlisted tools can be called, too.
pub fn instead_of(tools: &DailyTools, others: &[impl AsRef<Tool>], name: &str) -> Option<Instead> {
    let plain = nearest::plain(&name.replace(['.', '/'], "_"));
    let spoken = Spoken::read(&plain);
    let is_there = |name: &str| tools.find(name).is_some();
    let fits = |verb: &str| {
        TOOLS.iter().find(|tool| is_there(tool.name) && (tool.name == verb || tool.also.contains(&verb)))
    };
    let others = others.iter().map(|tool| tool.as_ref().name.as_str());
    let names = || TOOLS.iter().map(|tool| tool.name).filter(|name| is_there(name)).chain(others.clone());
    if names().any(|known| known == name) {
        return None;
    }
    let use_it = |tool: &DailyTool| {
        let takes_kind = tool.required.contains(&"kind") || tool.name == "find";
        let how = match spoken.kind {
            Some(kind) if takes_kind => format!(" with {}", json!({ "kind": kind })),
            _ => format!(", such as {}", tool.example),
        };
        Instead { tool: Some(tool.name.to_owned()), advice: format!("use {}{how}", tool.name) }
    };
    if let Some(same) = names().find(|known| nearest::is_same(known, &plain)) {
        return Some(Instead { tool: Some(same.to_owned()), advice: format!("use {same}") });
    }
    if let Some(tool) = fits(&plain).or_else(|| fits(&spoken.verb)) {
        return Some(use_it(tool));
    }
    let near = nearest::nearest(name, names())?;
    Some(Instead { tool: Some(near.to_owned()), advice: format!("did you mean {near}?") })
}
