//! The tree of resources: what a path means, what is under it, and what it is called.

use std::ops::Range;

use serde_json::{Map, Value, json};
use trace::model::{Citation, Model, SpecificationEntry, percent_decode, percent_encode};

/// What a path means.
pub enum Node<'a> {
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
//@= spexus://REQ-183
//@# 003 §3: all resources are listed, with templates and completions
pub fn parse<'a>(model: &'a Model, uri: &str) -> Option<Node<'a>> {
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

/// How many items are under a collection. `None` for what is not a collection.
pub fn count_children(model: &Model, node: &Node<'_>) -> Option<usize> {
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
pub fn children(model: &Model, node: &Node<'_>, range: Range<usize>) -> Vec<(String, Map<String, Value>)> {
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

/// Describes a specification.
pub fn described(specification: &SpecificationEntry) -> Map<String, Value> {
    object(json!({
        "id": specification.id,
        "name": specification.name,
        "url": specification.url,
        "description": specification.description,
    }))
}

/// The own path of a resource.
pub fn path(model: &Model, node: &Node<'_>) -> String {
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
