//! XML as a tree with limits, without entity declarations.

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::text::Lines;

/// Outlines nest two elements per level, and XHTML a few more; anything much deeper is not ReqIF.
const DEPTH_MAX: usize = 256;
/// Limited because each attribute of an element is compared with all others.
const ATTRIBUTES_MAX: usize = 100;

/// An element. Names have no prefix, because each tool chooses its own prefix for ReqIF.
#[derive(Default)]
pub struct Element {
    pub name: String,
    pub line: u64,
    pub nodes: Vec<Node>,
    attributes: Vec<(String, String)>,
}

pub enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    /// Parses a document and returns its root, or the line and the message of the first mistake.
    pub fn parse(text: &str) -> Result<Element, (u64, String)> {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        let mut lines = Lines::new(text.as_bytes());
        // The bottom entry is not an element; it receives the root.
        let mut open = vec![Element::default()];
        loop {
            let start = reader.buffer_position() as usize;
            let event = reader.read_event();
            let step = match event {
                Ok(Event::Eof) if open.len() > 1 => {
                    Err(format!("ends inside <{}>", open[open.len() - 1].name))
                }
                Ok(Event::Eof) => break,
                Ok(event) => open_or_close(event, lines.at(start), &mut open),
                Err(error) => Err(error.to_string()),
            };
            step.map_err(|message| (lines.at(start), message))?;
        }
        let roots = open.pop().into_iter().flat_map(|bottom| bottom.nodes);
        let mut elements = roots.filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        });
        elements.next().ok_or((1, "found no element".to_owned()))
    }

    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }

    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    pub fn child(&self, name: &str) -> Option<&Element> {
        self.elements().find(|element| element.name == name)
    }

    /// The text of the only element inside the child with this name, which is how ReqIF writes references.
    pub fn referred(&self, name: &str) -> Option<&str> {
        self.child(name)?.elements().next()?.nodes.iter().find_map(|node| match node {
            Node::Text(text) if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        })
    }
}

fn open_or_close(event: Event<'_>, line: u64, open: &mut Vec<Element>) -> Result<(), String> {
    let text = match event {
        Event::Start(start) if open.len() <= DEPTH_MAX => {
            open.push(element(&start, line)?);
            return Ok(());
        }
        Event::Start(_) => return Err(format!("elements are nested deeper than {DEPTH_MAX}")),
        Event::End(_) => {
            // The reader has matched the names, so there is an element to close above the bottom.
            if let Some(closed) = open.pop()
                && let Some(parent) = open.last_mut()
            {
                parent.nodes.push(Node::Element(closed));
            }
            return Ok(());
        }
        Event::Text(text) => text.xml10_content().into_owned(),
        Event::CData(text) => text.xml10_content().into_owned(),
        Event::GeneralRef(reference) => {
            match reference.resolve_char_ref().map_err(|error| error.to_string())? {
                Some(char) => char.to_string(),
                None => match resolve_predefined_entity(&reference) {
                    Some(text) => text.to_owned(),
                    None => return Err(format!("unknown entity &{};", &*reference)),
                },
            }
        }
        _ => return Ok(()),
    };
    // Character references arrive separately and are joined with the text.
    if let Some(parent) = open.last_mut() {
        match parent.nodes.last_mut() {
            Some(Node::Text(before)) => before.push_str(&text),
            _ => parent.nodes.push(Node::Text(text)),
        }
    }
    Ok(())
}

fn element(start: &BytesStart<'_>, line: u64) -> Result<Element, String> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| error.to_string())?;
        if attributes.len() == ATTRIBUTES_MAX {
            return Err(format!("an element has more than {ATTRIBUTES_MAX} attributes"));
        }
        attributes.push((attribute.key.local_name().into_inner().to_owned(), value.into_owned()));
    }
    let name = start.local_name().into_inner().to_owned();
    Ok(Element { name, line, nodes: Vec::new(), attributes })
}
