//! Reads ReqIF: our own exports exactly, and the supported part of other tools' files.

use std::collections::HashMap;

use super::foreign::Foreign;
use super::text::{reference, unescape};
use super::xml::{Element, Node};
use crate::kind::RecordKind;
use crate::reading::{Draft, Gathering, Given, Value};
use crate::record::Place;

/// Inside an element with this style white space is significant; elsewhere in XHTML it is layout.
pub const EXACT_STYLE: &str = "white-space: pre-wrap";

pub fn read(text: &str, reading: &mut Gathering<'_>) {
    let root = match Element::parse(text) {
        Ok(root) => root,
        Err((line, cause)) => {
            let message = format!("expected XML, found a mistake: {cause}");
            return reading.problem(&Place::line(line), None, message);
        }
    };
    let content = root.child("CORE-CONTENT").and_then(|core| core.child("REQ-IF-CONTENT"));
    let Some(content) = content.filter(|_| root.name == "REQ-IF") else {
        let message = format!("expected <REQ-IF> with <CORE-CONTENT>, found <{}>", root.name);
        return reading.problem(&Place::line(root.line), None, message);
    };
    let file = File { content, names: names(content) };
    let mut identifiers = Identifiers::default();

    let mut foreign = Foreign::default();
    for object in file.section("SPEC-OBJECTS") {
        if !identifiers.add(object, reading) {
            continue;
        }
        match file.kind(object) {
            Some(kind) => read_own(&file, object, kind, Vec::new(), reading),
            None => foreign.add_object(&file, object),
        }
    }
    foreign.read_outline(&file, &root, &identifiers, reading);
    for relation in file.section("SPEC-RELATIONS") {
        if !identifiers.add(relation, reading) {
            continue;
        }
        match file.kind(relation) {
            Some(kind) => {
                let ends =
                    [("source", "SOURCE"), ("target", "TARGET")].into_iter().filter_map(|(name, tag)| {
                        let value = Value::Spelled(reference(relation.referred(tag)?));
                        Some(Given { name: name.to_owned(), value, line: None })
                    });
                read_own(&file, relation, kind, ends.collect(), reading);
            }
            None => foreign.read_relation(&file, relation, reading),
        }
    }
    foreign.say_what_was_left_out(reading);
}

/// Reads an object of one of our own types, which another tool may have changed.
fn read_own(
    file: &File<'_>,
    object: &Element,
    kind: RecordKind,
    mut values: Vec<Given>,
    reading: &mut Gathering<'_>,
) {
    let place = place(object);
    for value in object.child("VALUES").into_iter().flat_map(Element::elements) {
        let definition = value.referred("DEFINITION").unwrap_or_default();
        let own = definition.strip_prefix("field.").and_then(|rest| rest.strip_prefix(kind.name()));
        match (own.and_then(|rest| rest.strip_prefix('.')), file.value(value)) {
            (Some(name), Some(text)) => {
                let value = Value::Spelled(text);
                values.push(Given { name: name.to_owned(), value, line: Some(object.line) });
            }
            _ => {
                let name = file.name(definition).unwrap_or(definition);
                reading.note(&place, Some(name), "left out: this attribute is not one of ours");
            }
        }
    }
    reading.check(Draft { values, ..Draft::new(place, kind.name()) });
}

/// The identifiers of objects and relations, each with its line.
#[derive(Default)]
pub struct Identifiers<'a> {
    lines: HashMap<&'a str, u64>,
}

impl<'a> Identifiers<'a> {
    /// Adds an element, and returns whether it is the only one with its name; without a name it is.
    fn add(&mut self, element: &'a Element, reading: &mut Gathering<'_>) -> bool {
        let Some(identifier) = element.attribute("IDENTIFIER") else { return true };
        let Some(line) = self.lines.insert(identifier, element.line) else { return true };
        reading.is_incomplete = true;
        let message = format!("expected each identifier once, found this one in line {line} too");
        reading.problem(&place(element), Some("IDENTIFIER"), message);
        false
    }

    pub fn contains(&self, identifier: &str) -> bool {
        self.lines.contains_key(identifier)
    }
}

pub fn place(element: &Element) -> Place {
    match element.attribute("IDENTIFIER") {
        Some(identifier) => Place::item(identifier, element.line),
        None => Place::line(element.line),
    }
}

/// The content of a file, and the names of its definitions.
pub struct File<'a> {
    content: &'a Element,
    names: HashMap<&'a str, &'a str>,
}

impl<'a> File<'a> {
    pub fn section(&self, name: &str) -> impl Iterator<Item = &'a Element> + use<'a> {
        self.content.child(name).into_iter().flat_map(Element::elements)
    }

    /// The name of the type, attribute or value with this identifier.
    pub fn name(&self, identifier: &str) -> Option<&'a str> {
        self.names.get(identifier).copied()
    }

    /// The kind of an object or relation, if it is one of ours.
    fn kind(&self, element: &Element) -> Option<RecordKind> {
        let name = element.referred("TYPE")?.strip_prefix("type.")?;
        RecordKind::all().find(|kind| kind.name() == name)
    }

    /// An attribute's value as text, whatever its type.
    pub fn value(&self, value: &Element) -> Option<String> {
        if let Some(simple) = value.attribute("THE-VALUE") {
            return Some(unescape(simple));
        }
        match &*value.name {
            "ATTRIBUTE-VALUE-XHTML" => value.child("THE-VALUE").map(|xhtml| unescape(&plain_text(xhtml))),
            "ATTRIBUTE-VALUE-ENUMERATION" => {
                let chosen =
                    value.child("VALUES")?.elements().filter_map(|reference| match reference.nodes.first() {
                        Some(Node::Text(identifier)) => self.name(identifier.trim()),
                        _ => None,
                    });
                Some(chosen.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty())
            }
            _ => None,
        }
    }
}

/// The names of all definitions: types, attributes, enumeration values.
fn names(content: &Element) -> HashMap<&str, &str> {
    let sections = ["DATATYPES", "SPEC-TYPES"].iter().filter_map(|name| content.child(name));
    let mut waiting: Vec<&Element> = sections.collect();
    let mut names = HashMap::new();
    while let Some(element) = waiting.pop() {
        if let (Some(identifier), Some(name)) =
            (element.attribute("IDENTIFIER"), element.attribute("LONG-NAME"))
        {
            names.insert(identifier, name);
        }
        waiting.extend(element.elements());
    }
    names
}

/// The text of XHTML: exact if we wrote it, with lines and list markers if another tool did.
fn plain_text(xhtml: &Element) -> String {
    let mut elements = xhtml.elements();
    let mut text = String::new();
    match (elements.next(), elements.next()) {
        (Some(only), None) if only.attribute("style") == Some(EXACT_STYLE) => {
            add_exact(only, &mut text);
            text
        }
        _ => {
            add_loose(xhtml, &mut text);
            text.trim().to_owned()
        }
    }
}

fn add_exact(element: &Element, text: &mut String) {
    for node in &element.nodes {
        match node {
            Node::Text(piece) => text.push_str(piece),
            Node::Element(child) if child.name == "br" => text.push('\n'),
            Node::Element(child) => add_exact(child, text),
        }
    }
}

fn add_loose(element: &Element, text: &mut String) {
    const BLOCKS: [&str; 14] =
        ["p", "div", "ul", "ol", "li", "table", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre"];
    for node in &element.nodes {
        match node {
            Node::Text(piece) => {
                for char in piece.chars() {
                    match char {
                        ' ' | '\t' | '\r' | '\n' if text.ends_with([' ', '\n']) || text.is_empty() => {}
                        '\t' | '\r' | '\n' => text.push(' '),
                        _ => text.push(char),
                    }
                }
            }
            Node::Element(child) => {
                let is_block = BLOCKS.contains(&&*child.name);
                if is_block {
                    end_line(text);
                }
                match &*child.name {
                    "br" => text.push('\n'),
                    "li" => text.push_str("- "),
                    "td" | "th" if !text.is_empty() && !text.ends_with('\n') => text.push_str(" | "),
                    _ => {}
                }
                add_loose(child, text);
                if is_block {
                    end_line(text);
                }
            }
        }
    }
}

fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    // A list marker whose text is in a separate paragraph.
    if text.ends_with("\n-") || text == "-" {
        text.push(' ');
    } else if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
