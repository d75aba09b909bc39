//! Requirements of specifications, and the code that cites them, as lines of text.

use mcp::{Failure, FailureKind};
use store::model::DEFAULT_PROJECT_KEY;
use trace::managed::{self, ManagedName};
use trace::model::{Citation, Model, SpecificationEntry, TraceStatus};

use super::lines::{Row, brief, one_line};
use crate::duvet::server::{Code, TraceServer, level};

/// How many places of each kind are listed.
const PLACES_MAX: usize = 5;
/// How many sentences of one requirement are shown with their citations.
const UNITS_MAX: usize = 8;
/// How much code is shown before and after a citation.
const LINES_BEFORE: usize = 2;
const LINES_AFTER: usize = 12;
/// Problems of a project in a report.
const PROBLEMS_MAX: usize = 5;

/// A requirement in a row, under its section.
pub fn row(model: &Model, number: u32) -> Row {
    let section = model.requirement(number).section;
    let (_, title) = model.catalogue.document(section);
    let heading = format!("{} {}", model.catalogue.target(section), one_line(&title.title));
    Row { heading, line: format!("{}: {}", head(model, number), model.catalogue.text(number)) }
}

/// The id, the level and the state of a requirement: `1a2b3c4d MUST not started`.
fn head(model: &Model, number: u32) -> String {
    let (requirement, state) = (model.requirement(number), model.state(number));
    let todo = if state.n_todos > 0 { ", todo" } else { "" };
    let level = level(requirement.level);
    format!("{} {level} {}{todo}", model.catalogue.short_id(number), state.status.name())
}

/// A requirement with the lines that cite it, and where its code is or belongs.
pub fn requirement(model: &Model, number: u32) -> String {
    let section = model.requirement(number).section;
    let (specification, entry) = model.catalogue.document(section);
    let near = model.nearby(number, PLACES_MAX);
    let file = near.first().map(|citation| &**citation.path());
    let mut lines = vec![head(model, number), model.lines_for(number, file)];
    lines.push(format!("in {}, section {}", specification.name, one_line(&entry.title)));
    let cited: Vec<String> = model.citations_of(number).take(PLACES_MAX).map(place).collect();
    let n_more = model.state(number).citations.len() - cited.len();
    if !cited.is_empty() {
        let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
        lines.push(format!("cited at {}{more}", cited.join(", ")));
    }
    if matches!(model.state(number).status, TraceStatus::InProgress) {
        lines.push(format!("not cited yet: {}", model.rest(number, trace::model::IMPLEMENTED)));
    }
    if cited.is_empty() && !near.is_empty() {
        let near: Vec<String> = near.into_iter().take(3).map(place).collect();
        lines.push(format!("code nearby: {}", near.join(", ")));
    }
    lines.join("\n")
}

/// The citation for an entity in the store, and the places that cite it: nothing if the project cannot cite it.
pub fn managed(trace: &TraceServer, model: &Model, reference_id: &str) -> Option<String> {
    let name = ManagedName::parse(&managed::bare_reference(reference_id)?).ok()?.within(DEFAULT_PROJECT_KEY);
    let known = model.catalogue.specification(&name.reference_id());
    let document = known.map(|known| known.document.clone()).or_else(|| trace.managed(&name))?;
    let mut lines = vec!["cited in code so:".to_owned()];
    let citations = model.lines_for_units(&document, None);
    for (index, citation) in citations.iter().enumerate().take(UNITS_MAX) {
        lines.push(citation.clone());
        let number = known.and_then(|known| model.catalogue.requirements_of(known).nth(index));
        if let Some(number) = number {
            let state = model.state(number);
            let places: Vec<String> = model.citations_of(number).take(PLACES_MAX).map(place).collect();
            let at = if places.is_empty() { String::new() } else { format!(", at {}", places.join(", ")) };
            lines.push(format!("  {}{at}", state.status.name()));
        }
    }
    if citations.len() > UNITS_MAX {
        lines.push(format!("and {} more sentences", citations.len() - UNITS_MAX));
    }
    Some(lines.join("\n"))
}

/// The place of a citation, and its type unless it cites as code.
fn place(citation: &Citation) -> String {
    match citation.kind() {
        trace::AnnotationKind::Citation => citation.id(),
        kind => format!("{} ({kind})", citation.id()),
    }
}

/// A section with its text and its requirements.
pub fn section(model: &Model, section: u32) -> String {
    let (specification, entry) = model.catalogue.document(section);
    let mut lines = vec![format!("{} {}", model.catalogue.target(section), one_line(&entry.title))];
    for number in model.catalogue.sections[section as usize].requirements() {
        let number = number as u32;
        lines.push(format!("  {}: {}", head(model, number), brief(model.catalogue.text(number), 60)));
    }
    let text = entry.spans().map(|span| span.of_text(&specification.document.text));
    lines.extend(text.map(str::to_owned));
    lines.join("\n")
}

/// The sections of a specification with requirements, or all if none has any.
pub fn sections(model: &Model, specification: &SpecificationEntry) -> Vec<Row> {
    let heading = about(model, specification);
    let is_bare = model.catalogue.requirements_of(specification).is_empty();
    let rows = specification.sections().filter_map(|position| {
        let numbers = model.catalogue.sections[position as usize].requirements();
        let n_all = numbers.len();
        let [.., done] = model.count(numbers.map(|number| number as u32));
        let (_, section) = model.catalogue.document(position);
        let name = format!("#{} {}", section.id, one_line(&section.title));
        let line = match n_all {
            0 => is_bare.then_some(name)?,
            n_all => format!("{name}: {done} of {n_all} done"),
        };
        Some(Row { heading: heading.clone(), line })
    });
    rows.collect()
}

/// A specification as a line, with the progress of its requirements.
pub fn about(model: &Model, specification: &SpecificationEntry) -> String {
    let numbers = model.catalogue.requirements_of(specification);
    let n_all = numbers.len();
    let [not_started, in_progress, needs_tests, done] = model.count(numbers);
    let title = specification.title.as_deref().unwrap_or(&specification.name);
    let states = [
        (done, "done"),
        (needs_tests, "need tests"),
        (in_progress, "in progress"),
        (not_started, "not started"),
    ];
    let states: Vec<String> = states
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    match n_all {
        0 => format!("{} {title}: no requirements", specification.id),
        _ => format!("{} {title}: {}", specification.id, states.join(", ")),
    }
}

/// How many requirements of a specification are not done.
pub fn n_open(model: &Model, specification: &SpecificationEntry) -> usize {
    let numbers = model.catalogue.requirements_of(specification);
    let n_all = numbers.len();
    let [.., done] = model.count(numbers);
    n_all - done
}

/// The first invalid citations, a line each, after a line with their number.
pub fn problems(model: &Model) -> Vec<String> {
    let wrong: Vec<_> = model.problems().filter(|problem| problem.is_error()).collect();
    let mut lines: Vec<String> = model.general.iter().map(crate::duvet::server::line).collect();
    if !wrong.is_empty() {
        lines.push(format!("{} wrong citations:", wrong.len()));
        let shown = wrong.iter().take(PROBLEMS_MAX);
        lines.extend(shown.map(|problem| format!("  {}", crate::duvet::server::line(problem))));
    }
    lines
}

/// A citation with the code behind it, and what it cites.
pub fn citation(trace: &TraceServer, model: &Model, citation: &Citation) -> Result<String, Failure> {
    let code = Code::of(trace.root(), citation)?;
    let mut lines = vec![place(citation)];
    for number in model.requirements_of(citation).take(PLACES_MAX) {
        lines.push(format!("cites {}: {}", head(model, number), brief(model.catalogue.text(number), 100)));
    }
    let annotation = citation.annotation();
    let first = (annotation.line as usize).saturating_sub(LINES_BEFORE).max(1);
    let last = annotation.last_line as usize + LINES_AFTER;
    lines.extend(code.numbered(first, last).map(|(number, line)| format!("{number} {line}")));
    Ok(lines.join("\n"))
}

/// Reports an unknown name, with suggestions.
pub fn not_found(model: Option<&Model>, reference: &str) -> Failure {
    let mut message = format!("nothing is called {}", mcp::shown(reference));
    match model.and_then(|model| meant(model, reference)) {
        Some(meant) => message += &format!("; did you mean {meant}?"),
        None => {
            message += "; expected a reference such as REQ-027, a short id, spec#section, path:line or a URI"
        }
    }
    Failure::new(FailureKind::NotFound, message)
}

/// The name that was probably meant: of a section, of a place in the code, or of a specification.
fn meant(model: &Model, reference: &str) -> Option<String> {
    let catalogue = &model.catalogue;
    if let Some((name, section)) = reference.split_once('#')
        && let Some(specification) = model.resolve(name)
    {
        let ids = specification.document.sections.iter().map(|section| &*section.id);
        let id = nearest::nearest(section, ids)?;
        return Some(format!("{}#{id}", specification.target));
    }
    if reference.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok()) {
        let ids: Vec<String> = model.all_citations().map(|citation| citation.id()).collect();
        return nearest::nearest(reference, ids.iter().map(String::as_str)).map(str::to_owned);
    }
    let ids = catalogue.specifications.iter().map(|specification| specification.id.as_str());
    nearest::nearest(reference, ids).map(str::to_owned)
}
