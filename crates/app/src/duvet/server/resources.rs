//! The resources: specifications, sections, requirements and citations by path.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use mcp::{Completion, CompletionReference, Contents, Failure, FailureKind, Resource};
use serde_json::{Map, Value, json};
use trace::model::{Citation, Model, percent_encode};
use trace::project::Changes;

use super::advice;
use super::list::{Cut, ListWindow};
use super::paths::{Code, LINE_CHARACTERS_MAX};
use super::rows::level;
use super::tree::{Node, children, count_children, described, parse, path};

/// The number of resources on a page.
pub const PAGE_SIZE: usize = 100;
/// The maximal number of tokens of a collection.
const COLLECTION_TOKENS_MAX: usize = 8_000;
/// How much code around a citation is shown.
const CONTEXT_LINES: usize = 3;

fn not_found(model: &Model, uri: &str) -> Failure {
    let hint = advice::resource(model, uri).map(|path| format!("; did you mean duvet://{path}?"));
    let message = format!("Resource not found: {}{}", mcp::shown(uri), hint.unwrap_or_default());
    Failure::new(FailureKind::NotFound, message)
}

/// Reads a resource. A longer collection continues at another URI.
pub fn read(root: &Path, model: &Model, uri: &str) -> Result<Contents, Failure> {
    let (path, cursor) = split_cursor(uri);
    let node = parse(model, path).ok_or_else(|| not_found(model, uri))?;
    if let Some(n_items) = count_children(model, &node) {
        return collection(model, &node, n_items, (uri, path, cursor));
    }
    let value = match node {
        Node::Specification(specification) => Value::Object(described(specification)),
        Node::Section(section) => {
            let (specification, entry) = model.catalogue.document(section);
            let lines: Vec<&str> =
                entry.spans().map(|span| span.of_text(&specification.document.text)).collect();
            json!({"id": entry.id, "title": entry.title, "content": lines.join("\n")})
        }
        Node::Requirement(number) => {
            let (requirement, state) = (model.requirement(number), model.state(number));
            json!({
                "identifier": model.catalogue.identifier(number),
                "text": model.catalogue.text(number),
                "status": state.status.name(),
                "detail": state.label.name(),
                "level": level(requirement.level),
            })
        }
        Node::Citation(citation, _) => cited(root, &citation)?,
        _ => return Err(not_found(model, uri)),
    };
    Ok(Contents::json(uri, value.to_string()))
}

/// Reads as much of a collection as fits. The second content has the URI of the rest.
fn collection(
    model: &Model,
    node: &Node<'_>,
    n_items: usize,
    (uri, path, cursor): (&str, &str, Option<&str>),
) -> Result<Contents, Failure> {
    let window = ListWindow::new(cursor, COLLECTION_TOKENS_MAX)?;
    let starts = (window.start..n_items).step_by(PAGE_SIZE);
    let items = starts.flat_map(|start| children(model, node, start..start + PAGE_SIZE));
    let Cut { text, rest, .. } = window.cut(n_items, items.map(|(_, item)| Value::Object(item)));
    let Some(rest) = rest else { return Ok(Contents::json(uri, text)) };
    let next = format!("{path}{CURSOR}{}", rest.cursor);
    let note = json!({"nextCursor": rest.cursor, "remaining": rest.n_items, "uri": next});
    let content = |uri: &str, text: String| json!({"uri": uri, "mimeType": "application/json", "text": text});
    Ok(Contents::Values(vec![content(uri, text), content(&next, note.to_string())]))
}

/// Precedes the cursor in the URI of a collection.
const CURSOR: &str = "?cursor=";

/// Takes the cursor off a URI.
fn split_cursor(uri: &str) -> (&str, Option<&str>) {
    match uri.rsplit_once(CURSOR) {
        // The path of a citation may contain any text.
        Some((path, cursor)) if is_collection(path) => (path, Some(cursor)),
        _ => (uri, None),
    }
}

fn cited(root: &Path, citation: &Citation) -> Result<Value, Failure> {
    let code = Code::of(root, citation)?;
    Ok(json!({
        "file_path": code.path,
        "line_number": code.line,
        "comment_text": code.comment(citation.annotation()),
        "context_lines": code.lines(CONTEXT_LINES, LINE_CHARACTERS_MAX),
        "type": citation.kind().name(),
    }))
}

/// Whether a URI is that of a collection, by its form.
pub fn is_collection(uri: &str) -> bool {
    let uri = uri.rsplit_once(CURSOR).map_or(uri, |(path, _)| path);
    let last = uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    matches!(last, "specifications" | "sections" | "requirements" | "citations")
}

/// The resources under a path.
pub struct Under<'a> {
    model: &'a Model,
    node: Node<'a>,
}

impl<'a> Under<'a> {
    /// Finds the path.
    pub fn find(model: &'a Model, path: &str) -> Result<Under<'a>, Failure> {
        let node = match parse(model, path).ok_or_else(|| not_found(model, path))? {
            Node::Specification(specification) => Node::Sections(specification),
            Node::Section(section) => Node::Requirements(section),
            Node::Requirement(number) => Node::CitationsOf(number),
            node => node,
        };
        Ok(Under { model, node })
    }

    /// The number of resources.
    pub fn count(&self) -> usize {
        count_children(self.model, &self.node).unwrap_or(0)
    }

    /// Lists some of it.
    pub fn some(&self, range: Range<usize>) -> Vec<Resource> {
        let items = children(self.model, &self.node, range).into_iter();
        items.map(|(path, item)| resource(&path, item)).collect()
    }
}

fn resource(path: &str, more: Map<String, Value>) -> Resource {
    let text = |key: &str| more.get(key).and_then(Value::as_str).map(str::to_owned);
    Resource {
        uri: format!("duvet://{path}"),
        name: text("name").or(text("title")).or(text("id")).or(text("identifier")).unwrap_or_default(),
        title: text("title"),
        description: text("description").or(text("text")),
        mime_type: Some("application/json".into()),
        more,
    }
}

/// The number of collections.
const N_COLLECTIONS: usize = 3;

/// The number of top-level resources: the collections, the specifications and their sections.
pub fn count(model: &Model) -> usize {
    N_COLLECTIONS + model.catalogue.specifications.len() + model.catalogue.sections.len()
}

/// Lists some of it. The cost depends on the page, not on its position.
pub fn some(model: &Model, range: Range<usize>) -> Vec<Resource> {
    let collection = |path: &str, name: &str, description: &str| Resource {
        uri: format!("duvet://{path}"),
        name: name.into(),
        title: None,
        description: Some(description.into()),
        mime_type: Some("application/json".into()),
        more: Map::new(),
    };
    let collections: [Resource; N_COLLECTIONS] = [
        collection("/specifications", "specifications", "All specifications"),
        collection("/requirements", "requirements", "All requirements of all specifications"),
        collection("/citations", "citations", "All citations in the code"),
    ];
    let catalogue = &model.catalogue;
    let plain =
        |(path, item): (String, Map<String, Value>)| Resource { more: Map::new(), ..resource(&path, item) };
    // The part of the range that is in a list which begins at a place.
    let within = |first: usize, n_items: usize| {
        let start = range.start.clamp(first, first + n_items);
        start - first..range.end.clamp(start, first + n_items) - first
    };
    let mut resources = collections[within(0, N_COLLECTIONS)].to_vec();
    let specifications = within(N_COLLECTIONS, catalogue.specifications.len());
    resources.extend(children(model, &Node::Specifications, specifications).into_iter().map(plain));
    let first_section = N_COLLECTIONS + catalogue.specifications.len();
    for position in within(first_section, catalogue.sections.len()) {
        let entry = &catalogue.sections[position];
        let specification = &catalogue.specifications[entry.specification as usize];
        let index = entry.index as usize;
        let section = children(model, &Node::Sections(specification), index..index + 1);
        resources.extend(section.into_iter().map(plain));
    }
    resources
}

/// Lists the resource templates.
pub fn templates() -> Vec<Resource> {
    const SECTION: &str = "duvet:///specifications/{spec_id}/sections/{section_id}";
    let template = |path: String, name: &str, description: &str| Resource {
        uri: path,
        name: name.into(),
        title: None,
        description: Some(description.into()),
        mime_type: Some("application/json".into()),
        more: Map::new(),
    };
    vec![
        template("duvet:///specifications/{spec_id}".into(), "specification", "A specification"),
        template("duvet:///specifications/{spec_id}/sections".into(), "sections", "Its sections"),
        template(SECTION.into(), "section", "A section with its text"),
        template(format!("{SECTION}/requirements"), "section requirements", "The requirements of a section"),
        template(
            format!("{SECTION}/requirements/{{req_identifier}}"),
            "requirement",
            "A requirement with its status",
        ),
        template(
            format!("{SECTION}/requirements/{{req_identifier}}/citations"),
            "requirement citations",
            "The citations of a requirement",
        ),
        template(
            format!("{SECTION}/requirements/{{req_identifier}}/citations/{{+citation_id}}"),
            "citation",
            "A citation with the code around it",
        ),
        template(format!("{SECTION}/citations"), "section citations", "The citations of a section"),
        template(
            format!("{SECTION}/citations/{{+citation_id}}"),
            "section citation",
            "A citation, whether or not it touches a requirement",
        ),
    ]
}

/// Returns whether a resource can be subscribed to: only under its canonical name, which notifications use.
pub fn check_subscription(model: &Model, uri: &str) -> Result<(), Failure> {
    let node = parse(model, uri).ok_or_else(|| not_found(model, uri))?;
    let own = path(model, &node);
    let bare = uri.strip_prefix("duvet://").unwrap_or(uri);
    if bare == own {
        return Ok(());
    }
    let problem = format!("change notifications are sent for duvet://{own}; subscribe to that");
    Err(Failure::invalid_argument("uri", &problem))
}

/// Lists the paths whose contents a change affects.
pub fn changed(before: &Model, after: &Model, changes: &Changes) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for model in [before, after] {
        let catalogue = &model.catalogue;
        if changes.catalogue {
            paths.extend(["/specifications".to_owned(), "/requirements".into(), "/citations".into()]);
            for specification in &catalogue.specifications {
                let own = format!("/specifications/{}", specification.id);
                paths.insert(format!("{own}/sections"));
                paths.insert(own);
            }
        }
        let all = 0..catalogue.sections.len() as u32;
        let sections: Vec<u32> =
            if changes.catalogue { all.collect() } else { changes.sections.iter().copied().collect() };
        for section in sections {
            let own = catalogue.section_path(section);
            if changes.catalogue {
                paths.insert(own.clone());
                paths.insert(format!("{own}/requirements"));
            }
            paths.insert(format!("{own}/citations"));
            for number in catalogue.sections[section as usize].requirements() {
                let requirement = catalogue.requirement_path(number as u32);
                paths.insert(format!("{requirement}/citations"));
                paths.insert(requirement);
            }
            let cited =
                model.citations(section).iter().filter(|citation| changes.paths.contains(citation.path()));
            for citation in cited {
                let id = percent_encode(&citation.id());
                paths.insert(format!("{own}/citations/{id}"));
                for number in model.requirements_of(citation) {
                    paths.insert(format!("{}/citations/{id}", catalogue.requirement_path(number)));
                }
            }
        }
        if !changes.paths.is_empty() {
            paths.insert("/citations".into());
        }
    }
    paths
}

/// Completes the parts of a template.
pub fn complete(model: &Model, reference: &CompletionReference, completion: &Completion) -> Vec<String> {
    let CompletionReference::Resource(_) = reference else {
        return Vec::new();
    };
    let decided = |name: &str| completion.arguments.get(name).and_then(Value::as_str);
    let specification = decided("spec_id").and_then(|id| model.catalogue.specification(id));
    let section = specification
        .zip(decided("section_id"))
        .and_then(|(specification, id)| model.catalogue.section(specification, id));
    let candidates: Vec<String> = match completion.name.as_str() {
        "spec_id" => model.catalogue.specifications.iter().map(|one| one.id.clone()).collect(),
        "section_id" => match specification {
            Some(specification) => {
                specification.document.sections.iter().map(|section| section.id.clone()).collect()
            }
            None => Vec::new(),
        },
        "req_identifier" => match section {
            Some(section) => {
                let numbers = model.catalogue.sections[section as usize].requirements();
                numbers.map(|number| model.catalogue.identifier(number as u32).to_owned()).collect()
            }
            None => Vec::new(),
        },
        "citation_id" => match section {
            Some(section) => model.citations(section).iter().map(|citation| citation.id()).collect(),
            None => model.all_citations().map(|citation| citation.id()).collect(),
        },
        _ => Vec::new(),
    };
    let typed = completion.value.to_lowercase();
    let (mut starting, containing): (Vec<String>, Vec<String>) = candidates
        .into_iter()
        .filter(|candidate| candidate.to_lowercase().contains(&typed))
        .partition(|candidate| candidate.to_lowercase().starts_with(&typed));
    starting.extend(containing);
    starting
}
