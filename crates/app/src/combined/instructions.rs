//! The instructions of `spexus mcp`: the contents of the store and the project, and how the tools work together. They are
//! short, because
//! every word costs tokens.

use std::cmp::Reverse;

use mcp::Context;
use ops::known;
use serde_json::{Value, json};
use trace::model::Model;

use super::{Combined, Trace, daily};
use crate::requirements;

/// Why there is no traceability.
pub const NO_PROJECT: &str = "neither this folder nor one above it has a .duvet/config.toml or .spexus/project.toml; `duvet init` makes the first";

/// How many specifications are named: those with the most open requirements.
const SPECIFICATIONS_MAX: usize = 5;

/// Writes the instructions.
pub fn write(combined: &Combined, context: &Context<'_>) -> String {
    let mut lines = vec![match (&combined.local, &combined.trace) {
        (Some(_), Trace::Served(_)) => {
            "Requirements: those kept in a store (REQ-027 in a story US-004 of an epic EP-001) and those that specifications state \
             (short ids such as 1a2b3c4d), followed into code."
        }
        (Some(_), _) => "Requirements, kept in a store: REQ-027 in a story US-004 of an epic EP-001.",
        (None, _) => "Requirements stated by specifications, traced into code.",
    }
    .to_owned()];
    if combined.daily.is_some() {
        lines.push(the_loop(combined));
        lines.push("Lists that are cut end with a cursor; call again with it.".to_owned());
    }
    let stored = combined.local.as_ref().map(|_| stored(combined, context));
    let mut prompt = None;
    match stored {
        Some(Ok((counts, active))) => {
            lines.push(counts);
            prompt = active;
        }
        // A host must be able to connect nevertheless.
        Some(Err(failure)) => lines.push(format!("The store cannot be used: {}", failure.message)),
        None => {}
    }
    match &combined.trace {
        Trace::Served(trace) => {
            lines.extend(
                trace.known_soon().map(|model| about(&model)).unwrap_or_else(|problem| vec![problem]),
            );
        }
        Trace::NoProject => lines.push(format!("No traceability: {NO_PROJECT}.")),
        Trace::NotChosen | Trace::Chosen(_) => {}
    }
    let text = lines.join("\n");
    match prompt {
        Some(prompt) => requirements::instructions(&prompt, &text),
        None => text,
    }
}

/// How to combine the tools.
fn the_loop(combined: &Combined) -> String {
    let mut steps = vec!["`next` says what is open, `get` reads it and names the code to look at"];
    if combined.trace().is_some() {
        steps.push("`get` with that place shows the code, `check_citation` checks the comment that cites the requirement");
    }
    if combined.threats.is_some() {
        steps.push("`threats` before you write authorization code");
    }
    format!("Work so: {}.", steps.join("; "))
}

/// The contents of the store, and the prompt for agents if there is one.
fn stored(combined: &Combined, context: &Context<'_>) -> Result<(String, Option<Value>), mcp::Failure> {
    let store = combined.requirements()?;
    let report = store.call(known::STATUS_REPORT, json!({}), context)?;
    let kinds = report["kinds"].as_array().into_iter().flatten();
    let counts: Vec<String> =
        kinds.map(|kind| counted(&kind["total"], kind["kind"].as_str().unwrap_or_default())).collect();
    let prompt = store.call(known::GET_ACTIVE_PROMPT, json!({}), context).ok();
    let is_first = |prompt: &Value| prompt["name"] == ops::FIRST_PROMPT && prompt["version"] == 1;
    let written = prompt.filter(|prompt| !is_first(prompt));
    Ok((format!("In the store: {}.", counts.join(", ")), written))
}

/// `1 epic`, `2 user stories`.
fn counted(count: &Value, kind: &str) -> String {
    let name = kind.replace('_', " ");
    let many = match name.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if name.ends_with('a') => name.clone(),
        None => format!("{name}s"),
    };
    if *count == 1 { format!("1 {name}") } else { format!("{count} {many}") }
}

/// The contents of the project.
fn about(model: &Model) -> Vec<String> {
    let [not_started, in_progress, needs_tests, done] = model.counts();
    let n_all = model.catalogue.requirements.len();
    let mut open: Vec<_> =
        model.catalogue.specifications.iter().map(|one| (daily::n_open(model, one), &one.id)).collect();
    open.sort_by_key(|(count, _)| Reverse(*count));
    let named: Vec<String> = open
        .iter()
        .filter(|(count, _)| *count > 0)
        .take(SPECIFICATIONS_MAX)
        .map(|(count, id)| format!("{id} {count}"))
        .collect();
    let mut line = format!(
        "In {} specifications: {n_all} requirements, {done} done, {needs_tests} need tests, {in_progress} in progress, \
         {not_started} not started",
        open.len(),
    );
    if !named.is_empty() {
        line += &format!("; open by specification: {}", named.join(", "));
    }
    let mut lines = vec![line + "."];
    lines.extend(daily::problems(model).into_iter().take(3));
    lines
}
