//! `resolve_spec_id`: a specification with its sections, a section with its text, or the list of specifications.

use mcp::{Failure, ToolOutput};
use serde_json::{Value, json};
use trace::model::{Model, Named, SpecificationEntry};

use super::advice;
use super::list::{ListWindow, tokens_max_or};
use super::rows::level;

/// The default lengths of an overview, and of a section with its text.
const OVERVIEW_TOKENS_DEFAULT: u64 = 1_000;
const SECTION_TOKENS_DEFAULT: u64 = 2_000;

/// Resolves a URL, path, id or target; lists all specifications without one.
//@= spexus://REQ-196
//@# 003 §4.7: resolve_spec_id finds a specification by any of its addresses
pub fn resolve(model: &Model, arguments: &Value) -> Result<ToolOutput, Failure> {
    let window = |default| ListWindow::read_or(arguments, tokens_max_or(arguments, default));
    let Some(name) = arguments.get("url").and_then(Value::as_str) else {
        return Ok(ToolOutput::json(all(model, json!({}), window(OVERVIEW_TOKENS_DEFAULT)?)));
    };
    let section = match model.named(name) {
        Some(Named::Specification(specification)) => {
            let answer = overview(model, specification, window(OVERVIEW_TOKENS_DEFAULT)?);
            return Ok(ToolOutput::json(answer));
        }
        Some(Named::Section(section)) => Some(section),
        Some(Named::Requirements(numbers)) => {
            numbers.first().map(|number| model.requirement(*number).section)
        }
        Some(Named::Citation(citation)) => Some(citation.section),
        None => None,
    };
    if let Some(section) = section {
        return Ok(ToolOutput::json(with_text(model, section, window(SECTION_TOKENS_DEFAULT)?)));
    }
    let answer = match model.resolve(name) {
        // The specification exists, but the section does not.
        Some(specification) => {
            let mut answer = json!({"spec_id": specification.id, "error": "Section not found"});
            add_nearest(&mut answer, advice::section(model, name));
            sections(model, specification, answer, window(OVERVIEW_TOKENS_DEFAULT)?)
        }
        None => {
            let mut answer = json!({"error": "Specification not found"});
            add_nearest(&mut answer, advice::specification(model, name));
            all(model, answer, window(OVERVIEW_TOKENS_DEFAULT)?)
        }
    };
    Ok(ToolOutput::json(answer))
}

fn add_nearest(answer: &mut Value, nearest: Option<String>) {
    if let Some(nearest) = nearest {
        answer["nearest"] = json!([nearest]);
    }
}

/// Adds all specifications to an answer, those with the most open requirements first.
fn all(model: &Model, answer: Value, window: ListWindow) -> Value {
    let by_open = by_open(model);
    let row = |index: usize| {
        let (n_open, specification) = by_open[index];
        let n_requirements = model.catalogue.requirements_of(specification).len();
        let title = specification.title.as_ref().unwrap_or(&specification.name);
        let mut row = json!({"spec_id": specification.id, "title": title});
        if n_requirements > 0 {
            row["requirements"] = json!(n_requirements);
            row["open"] = json!(n_open);
        }
        row
    };
    window.fill(answer, "specifications", by_open.len(), row)
}

/// The specifications with their numbers of open requirements, most first.
pub fn by_open(model: &Model) -> Vec<(usize, &SpecificationEntry)> {
    let open = |specification: &SpecificationEntry| {
        let numbers = model.catalogue.requirements_of(specification);
        let [.., done] = model.count(numbers.clone());
        numbers.len() - done
    };
    let all = model.catalogue.specifications.iter();
    let mut by_open: Vec<(usize, &SpecificationEntry)> = all.map(|one| (open(one), one)).collect();
    // The sort is stable: equal ones stay in the order of their ids.
    by_open.sort_by_key(|(n_open, _)| std::cmp::Reverse(*n_open));
    by_open
}

/// A specification: its progress, and its sections.
fn overview(model: &Model, specification: &SpecificationEntry, window: ListWindow) -> Value {
    let numbers = model.catalogue.requirements_of(specification);
    let [not_started, in_progress, needs_tests, done] = model.count(numbers);
    let mut answer = json!({
        "spec_id": specification.id,
        "title": specification.title.as_ref().unwrap_or(&specification.name),
        "url": specification.url,
        "target": specification.target,
        "requirements": {
            "done": done,
            "needs tests": needs_tests,
            "in progress": in_progress,
            "not started": not_started,
        },
    });
    if specification.url == specification.target {
        answer.as_object_mut().map(|answer| answer.shift_remove("target"));
    }
    sections(model, specification, answer, window)
}

/// Adds the sections of a specification to an answer, with numbers where there are requirements.
fn sections(model: &Model, specification: &SpecificationEntry, answer: Value, window: ListWindow) -> Value {
    let row = |index: usize| {
        let section = &specification.document.sections[index];
        let position = specification.first_section as usize + index;
        let numbers = model.catalogue.sections[position].requirements();
        let mut row = json!({"id": section.id, "title": section.title});
        if !numbers.is_empty() {
            let [.., done] = model.count(numbers.clone().map(|number| number as u32));
            row["requirements"] = json!(numbers.len());
            row["open"] = json!(numbers.len() - done);
        }
        row
    };
    window.fill(answer, "sections", specification.document.sections.len(), row)
}

/// A section: its text and its requirements. The rest continues at a line, or at a requirement.
fn with_text(model: &Model, section: u32, window: ListWindow) -> Value {
    let (specification, entry) = model.catalogue.document(section);
    let lines: Vec<&str> = entry.spans().map(|span| span.of_text(&specification.document.text)).collect();
    let lines = without_blank_ends(&lines);
    let first = model.catalogue.sections[section as usize].first_requirement;
    let n_requirements = model.catalogue.sections[section as usize].n_requirements as usize;
    let mut answer = json!({
        "spec_id": specification.id,
        "section_id": entry.id,
        "title": entry.title,
        "target": model.catalogue.target(section),
    });
    let item = |index: usize| match lines.get(index) {
        Some(line) => json!(line),
        None => {
            let number = first + (index - lines.len()) as u32;
            json!({
                "short_id": model.catalogue.short_id(number),
                "level": level(model.requirement(number).level),
                "status": model.state(number).status.name(),
                "text": model.catalogue.text(number),
            })
        }
    };
    let n_items = lines.len() + n_requirements;
    let start = window.start;
    let cut = window.less(&answer).cut(n_items, (start..n_items).map(item));
    cut.add_note(&mut answer);
    let (text, requirements): (Vec<Value>, Vec<Value>) = cut.items.into_iter().partition(Value::is_string);
    let text: Vec<&str> = text.iter().filter_map(Value::as_str).collect();
    answer["content"] = json!(text.join("\n"));
    answer["requirements"] = json!(requirements);
    answer
}

fn without_blank_ends<'a, 'b>(lines: &'a [&'b str]) -> &'a [&'b str] {
    let is_full = |line: &&str| !line.trim().is_empty();
    let Some(first) = lines.iter().position(is_full) else { return &[] };
    let last = lines.iter().rposition(is_full).unwrap_or(first);
    &lines[first..=last]
}
