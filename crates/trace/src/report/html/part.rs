//! Parts of the page as JSON, for a server with its own pages, with the same states and underlined text.
//!
//! Hidden files are left out, because a server shows them to people without access to the folder.

use std::ops::Range;
use std::path::{Component, Path};

use serde_json::{Value, json};

use super::data::{Numbers, percent};
use super::section::{Cutter, references};
use crate::model::{Citation, Model, SpecificationEntry, TraceStatus};
use crate::specification::Format;

/// How many sections an outline has, and how many uncovered requirements are listed.
const OUTLINE_MAX: usize = 5_000;
const UNCOVERED_MAX: usize = 5_000;
/// How many citations of a requirement are listed.
const CITATIONS_MAX: usize = 50;

/// Whether a path is that of a hidden file, or leads through a hidden folder or upwards.
pub fn is_hidden(path: &Path) -> bool {
    path.components().any(|part| match part {
        Component::Normal(name) => name.to_string_lossy().starts_with('.'),
        Component::CurDir => false,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => true,
    })
}

/// Whether a specification may be shown: it is not hidden, or is in the project's folder for specifications.
pub fn is_shown(model: &Model, entry: &SpecificationEntry) -> bool {
    let kept = entry.path.strip_prefix(&model.setting.downloads);
    entry.document.managed.is_some() || !is_hidden(kept.unwrap_or(&entry.path))
}

/// All specifications with the numbers of requirements in each state.
pub fn specifications(model: &Model) -> Value {
    let shown = model.catalogue.specifications.iter().filter(|entry| is_shown(model, entry));
    let one = |entry: &SpecificationEntry| {
        json!({
            "id": entry.id, "name": entry.name, "about": entry.title, "target": entry.target,
            "counts": counts(model, model.catalogue.requirements_of(entry)),
        })
    };
    json!({
        "specifications": shown.map(one).collect::<Vec<_>>(),
        "n_problems": model.diagnostics().iter().filter(|problem| problem.is_error()).count(),
    })
}

/// A specification: its outline, and the text and requirements of some sections, up to a number of lines.
pub fn specification(
    model: &Model,
    entry: &SpecificationEntry,
    from: Option<&str>,
    lines_max: usize,
) -> Value {
    let sections = &entry.document.sections;
    let first = from.and_then(|id| entry.document.section(id)).unwrap_or(0);
    let mut n_lines = 0;
    let fitting = sections[first..].iter().take_while(|section| {
        let is_first = n_lines == 0;
        n_lines += section.spans().count() + 1;
        is_first || n_lines <= lines_max
    });
    let end = first + fitting.count();
    let numbers = Numbers::of_all(model);
    let references = references(model, entry, &numbers);
    let mut cutter = Cutter::new(&entry.document, &references);
    let cut: Vec<Value> = sections[..end]
        .iter()
        .map(|section| cutter.section(section))
        .skip(first)
        .map(|cut| json!(cut))
        .collect();
    let all = model.catalogue.requirements_of(entry);
    let is_in = |number: &u32| {
        (first..end).contains(&((model.requirement(*number).section - entry.first_section) as usize))
    };
    let requirements = all.clone().filter(is_in).map(|number| requirement(model, entry, number, &all));
    let uncovered = all.clone().filter(|number| model.state(*number).status == TraceStatus::NotStarted);
    let uncovered = uncovered.take(UNCOVERED_MAX).map(|number| {
        json!([
            model.catalogue.short_id(number),
            model.catalogue.document(model.requirement(number).section).1.id
        ])
    });
    let outline = sections.iter().zip(entry.sections()).take(OUTLINE_MAX).map(|(section, number)| {
        let own = model.catalogue.sections[number as usize].requirements();
        json!({
            "id": section.id, "title": section.title,
            "depth": section.depth, "counts": counts(model, own.start as u32..own.end as u32),
        })
    });
    json!({
        "id": entry.id, "name": entry.name, "about": entry.title, "target": entry.target,
        "is_markdown": entry.document.format == Format::Markdown,
        "counts": counts(model, all.clone()),
        "outline": outline.collect::<Vec<_>>(),
        "sections": cut,
        "requirements": requirements.collect::<Vec<_>>(),
        "uncovered": uncovered.collect::<Vec<_>>(),
        "before": (first > 0).then(|| &sections[first.saturating_sub(1)].id),
        "after": sections.get(end).map(|section| &section.id),
    })
}

/// A requirement with its citations, and the comment that would cite it. `n` is its number in pieces of text.
fn requirement(model: &Model, entry: &SpecificationEntry, number: u32, all: &Range<u32>) -> Value {
    let (state, own) = (model.state(number), model.requirement(number));
    let citations = model.citations_of(number).take(CITATIONS_MAX).map(cited);
    json!({
        "n": number - all.start,
        "id": model.catalogue.short_id(number),
        "section": model.catalogue.document(own.section).1.id,
        "text": own.text(&entry.document),
        "level": own.level.name(),
        "state": state.status.name(),
        "label": state.label.name(),
        "implemented": percent(state, state.n_implemented),
        "tested": percent(state, state.n_tested),
        "n_citations": state.citations.len(),
        "citations": citations.collect::<Vec<_>>(),
        "comment": comment(model, entry, number),
    })
}

/// A citation; of one in a hidden file, only its type.
fn cited(citation: &Citation) -> Value {
    let annotation = citation.annotation();
    if is_hidden(Path::new(&**citation.path())) {
        return json!({"kind": citation.kind().name()});
    }
    json!({
        "kind": citation.kind().name(), "path": &**citation.path(), "line": annotation.line, "reason": annotation.comment(),
    })
}

/// The comment that cites a requirement, in the first style of the project.
fn comment(model: &Model, entry: &SpecificationEntry, number: u32) -> String {
    let style = model.setting.styles.first().map(|used| &used.style);
    let (meta, content) = style.map_or(("//=", "//#"), |style| (&*style.meta, &*style.content));
    let requirement = model.requirement(number);
    let mut text = format!("{meta} {}\n", model.catalogue.target(requirement.section));
    for span in requirement.spans.iter() {
        for line in entry.document.text.get(span.range()).unwrap_or_default().lines().map(str::trim) {
            if !line.is_empty() {
                text += &format!("{content} {line}\n");
            }
        }
    }
    text
}

/// The number of requirements in each state, from done to not started.
fn counts(model: &Model, numbers: Range<u32>) -> Value {
    let counted = model.count(numbers);
    let pair = |status: TraceStatus| (status.name().to_owned(), json!(counted[status as usize]));
    Value::Object(TraceStatus::ALL.into_iter().map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_paths_are_known() {
        for path in [".env", "src/.secret/x.rs", "../x", "/etc/passwd", "a/../../b"] {
            assert!(is_hidden(Path::new(path)), "{path}");
        }
        for path in ["src/main.rs", "./src/main.rs", "a.b/c..d"] {
            assert!(!is_hidden(Path::new(path)), "{path}");
        }
    }
}
