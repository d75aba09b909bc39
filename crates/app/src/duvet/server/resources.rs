//! The resources: specifications, sections, requirements and citations by path.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use mcp::{Completion, CompletionReference, Failure, Kind, Resource};
use serde_json::{Map, Value, json};
use trace::model::{Citation, Model, SpecificationEntry, percent_decode, percent_encode};
use trace::project::Changes;

use super::paths::{Code, LINE_CHARACTERS_MAX};
use super::tools::level;

/// How many resources a page has.
pub const PAGE_SIZE: usize = 100;
/// How much code a citation shows around it.
const CONTEXT_LINES: usize = 3;

/// What a path means.
enum Node<'a> {
    Specifications,
    Specification(&'a SpecificationEntry),
    Sections(&'a SpecificationEntry),
    Section(u32),
    Requirements(u32),
    Requirement(u32),
    CitationsOf(u32),
    SectionCitations(u32),
    Citation(Citation, String),
    AllRequirements,
    AllCitations,
}

/// Understands a URI or bare path.
fn parse<'a>(model: &'a Model, uri: &str) -> Option<Node<'a>> {
    let path = uri.strip_prefix("duvet://").unwrap_or(uri);
    let path = path.strip_prefix('/')?.trim_end_matches('/');
    let mut parts = path.split('/');
    match parts.next()? {
        "requirements" => return parts.next().is_none().then_some(Node::AllRequirements),
        "citations" => return parts.next().is_none().then_some(Node::AllCitations),
        "specifications" => {}
        _ => return None,
    }
    let Some(id) = parts.next() else {
        return Some(Node::Specifications);
    };
    let specification = model.catalogue.specification(&percent_decode(id))?;
    match parts.next() {
        None => return Some(Node::Specification(specification)),
        Some("sections") => {}
        Some(_) => return None,
    }
    let rest: Vec<&str> = parts.collect();
    if rest.is_empty() {
        return Some(Node::Sections(specification));
    }
    // An id may have slashes, and so has a path in a citation.
    let cut = rest.iter().skip(1).position(|part| matches!(*part, "requirements" | "citations"));
    let (name, rest) = rest.split_at(cut.map_or(rest.len(), |cut| cut + 1));
    let section = model.catalogue.section(specification, &name.join("/"))?;
    match rest {
        [] => Some(Node::Section(section)),
        ["requirements"] => Some(Node::Requirements(section)),
        ["requirements", identifier, rest @ ..] => {
            let mut found = model.catalogue.identified(identifier);
            found.retain(|number| model.requirement(*number).section == section);
            let number = *found.first().filter(|_| found.len() == 1)?;
            match rest {
                [] => Some(Node::Requirement(number)),
                ["citations"] => Some(Node::CitationsOf(number)),
                ["citations", id @ ..] => {
                    let citation = citation(model, id)?;
                    model.citations_of(number).any(|other| *other == citation).then(|| {
                        let path = format!("{}/citations", model.catalogue.requirement_path(number));
                        Node::Citation(citation, path)
                    })
                }
                _ => None,
            }
        }
        ["citations"] => Some(Node::SectionCitations(section)),
        ["citations", id @ ..] => {
            let citation = citation(model, id).filter(|citation| citation.section == section)?;
            Some(Node::Citation(citation, format!("{}/citations", model.catalogue.section_path(section))))
        }
        _ => None,
    }
}

fn citation(model: &Model, id: &[&str]) -> Option<Citation> {
    let id = id.join("/");
    model.citation(&id).or_else(|| model.citation(&percent_decode(&id)))
}

fn not_found(uri: &str) -> Failure {
    Failure::new(Kind::NotFound, format!("Resource not found: {}", mcp::shown(uri)))
}

/// Reads a resource.
pub fn read(root: &Path, model: &Model, uri: &str) -> Result<Value, Failure> {
    let node = parse(model, uri).ok_or_else(|| not_found(uri))?;
    Ok(match node {
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
        collection => {
            let items = children(model, &collection, 0..usize::MAX).into_iter();
            items.map(|(_, item)| Value::Object(item)).collect()
        }
    })
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

fn described(specification: &SpecificationEntry) -> Map<String, Value> {
    object(json!({
        "id": specification.id,
        "name": specification.name,
        "url": specification.url,
        "description": specification.description,
    }))
}

/// Whether a URI is that of a collection, judged by its looks.
pub fn is_collection(uri: &str) -> bool {
    let last = uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    matches!(last, "specifications" | "sections" | "requirements" | "citations")
}

/// How many items are under a collection. `None` for what is not a collection.
fn count_children(model: &Model, node: &Node<'_>) -> Option<usize> {
    let catalogue = &model.catalogue;
    Some(match node {
        Node::Specifications => catalogue.specifications.len(),
        Node::Sections(specification) => specification.document.sections.len(),
        Node::Requirements(section) => catalogue.sections[*section as usize].requirements().len(),
        Node::CitationsOf(number) => model.citations_of(*number).count(),
        Node::SectionCitations(section) => model.citations(*section).len(),
        Node::AllRequirements => catalogue.requirements.len(),
        Node::AllCitations => model.all_citations().count(),
        _ => return None,
    })
}

/// Some of what is under a collection: the path of each item and what is said of it.
fn children(model: &Model, node: &Node<'_>, range: Range<usize>) -> Vec<(String, Map<String, Value>)> {
    let catalogue = &model.catalogue;
    let (start, n_items) = (range.start, range.len());
    let within = |n_there: usize| range.start.min(n_there)..range.end.min(n_there);
    let path_of = |specification: &SpecificationEntry| format!("/specifications/{}", specification.id);
    let citation = |parent: &str, citation: &Citation| {
        let id = citation.id();
        (format!("{parent}/{}", percent_encode(&id)), object(json!({"id": id})))
    };
    match node {
        Node::Specifications => catalogue.specifications[within(catalogue.specifications.len())]
            .iter()
            .map(|specification| (path_of(specification), described(specification)))
            .collect(),
        Node::Sections(specification) => {
            let sections = specification.document.sections.iter().enumerate().skip(start).take(n_items);
            let item = |(index, section): (usize, &trace::Section)| {
                let position = specification.first_section + index as u32;
                (catalogue.section_path(position), object(json!({"id": section.id, "title": section.title})))
            };
            sections.map(item).collect()
        }
        Node::Requirements(section) => {
            let numbers = catalogue.sections[*section as usize].requirements();
            let item = |number: usize| {
                let number = number as u32;
                let (identifier, text) = (catalogue.identifier(number), catalogue.text(number));
                (catalogue.requirement_path(number), object(json!({"identifier": identifier, "text": text})))
            };
            numbers.skip(start).take(n_items).map(item).collect()
        }
        Node::CitationsOf(number) => {
            let parent = format!("{}/citations", catalogue.requirement_path(*number));
            let citations = model.citations_of(*number).skip(start).take(n_items);
            citations.map(|one| citation(&parent, one)).collect()
        }
        Node::SectionCitations(section) => {
            let parent = format!("{}/citations", catalogue.section_path(*section));
            let citations = model.citations(*section);
            citations[within(citations.len())].iter().map(|one| citation(&parent, one)).collect()
        }
        Node::AllRequirements => within(catalogue.requirements.len())
            .map(|number| {
                let number = number as u32;
                let path = catalogue.requirement_path(number);
                let (identifier, text) = (catalogue.identifier(number), catalogue.text(number));
                let value = json!({"full_path": path, "identifier": identifier, "text": text});
                (path, object(value))
            })
            .collect(),
        Node::AllCitations => model
            .all_citations()
            .skip(start)
            .take(n_items)
            .map(|one| {
                let parent = citation_parent(model, &one);
                let (path, _) = citation(&parent, &one);
                let value = json!({"full_path": format!("{parent}/{}", one.id()), "id": one.id()});
                (path, object(value))
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Where a citation lives: under the first requirement that it touches, or under its section.
fn citation_parent(model: &Model, citation: &Citation) -> String {
    match model.requirements_of(citation).next() {
        Some(number) => format!("{}/citations", model.catalogue.requirement_path(number)),
        None => format!("{}/citations", model.catalogue.section_path(citation.section)),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// What is under a path.
pub struct Under<'a> {
    model: &'a Model,
    node: Node<'a>,
}

impl<'a> Under<'a> {
    /// Finds the path.
    pub fn find(model: &'a Model, path: &str) -> Result<Under<'a>, Failure> {
        let node = match parse(model, path).ok_or_else(|| not_found(path))? {
            Node::Specification(specification) => Node::Sections(specification),
            Node::Section(section) => Node::Requirements(section),
            Node::Requirement(number) => Node::CitationsOf(number),
            node => node,
        };
        Ok(Under { model, node })
    }

    /// How much there is.
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

/// How many collections there are.
const N_COLLECTIONS: usize = 3;

/// How much there is to read at first: the collections, the specifications and their sections.
pub fn count(model: &Model) -> usize {
    N_COLLECTIONS + model.catalogue.specifications.len() + model.catalogue.sections.len()
}

/// Lists some of it. A page costs what is on it, not what is before it.
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

/// Lists the families of resources.
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

/// Says whether a resource may be subscribed to: under its own name, since changes are told by that.
pub fn check_subscription(model: &Model, uri: &str) -> Result<(), Failure> {
    let node = parse(model, uri).ok_or_else(|| not_found(uri))?;
    let own = path(model, &node);
    let bare = uri.strip_prefix("duvet://").unwrap_or(uri);
    if bare == own {
        return Ok(());
    }
    let problem = format!("changes are told of duvet://{own}; subscribe to that");
    Err(super::list::invalid("uri", &problem))
}

fn path(model: &Model, node: &Node<'_>) -> String {
    let catalogue = &model.catalogue;
    match node {
        Node::Specifications => "/specifications".into(),
        Node::Specification(specification) => format!("/specifications/{}", specification.id),
        Node::Sections(specification) => format!("/specifications/{}/sections", specification.id),
        Node::Section(section) => catalogue.section_path(*section),
        Node::Requirements(section) => format!("{}/requirements", catalogue.section_path(*section)),
        Node::Requirement(number) => catalogue.requirement_path(*number),
        Node::CitationsOf(number) => format!("{}/citations", catalogue.requirement_path(*number)),
        Node::SectionCitations(section) => format!("{}/citations", catalogue.section_path(*section)),
        Node::Citation(citation, parent) => format!("{parent}/{}", percent_encode(&citation.id())),
        Node::AllRequirements => "/requirements".into(),
        Node::AllCitations => "/citations".into(),
    }
}

/// Lists the paths that read differently after a change.
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
