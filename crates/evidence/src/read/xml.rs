//! XML with limited depth and attributes, without entity declarations and external references.

use quick_xml::escape::{EscapeError, resolve_predefined_entity};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::DEPTH_MAX;
use crate::refusal::{Read, Wrong};

/// Limited because each attribute of an element is compared with all others.
const ATTRIBUTES_MAX: usize = 100;
/// How much text inside an element is kept; parsers cut messages further.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// An event for a parser.
pub enum Part<'a> {
    /// An element begins.
    Start(Element<'a>),
    /// The element of this name ends; with its own text, cut to a bound.
    End(&'a str, String),
    Comment(&'a str),
}

pub struct Element<'a> {
    pub name: &'a str,
    attributes: Vec<(String, String)>,
}

impl Element<'_> {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    pub fn required(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or_else(|| format!("<{}> has no `{name}`", self.name))
    }

    pub fn number(&self, name: &str) -> Result<u32, String> {
        let value = self.required(name)?;
        value.parse().map_err(|_| format!("{name}: expected a number, found {value:.100}"))
    }
}

/// The name of the root element.
pub fn root(text: &str) -> Read<String> {
    let mut reader = Reader::from_str(text);
    loop {
        let offset = reader.buffer_position() as usize;
        match reader.read_event() {
            Ok(Event::Start(start) | Event::Empty(start)) => {
                return Ok(start.local_name().into_inner().to_owned());
            }
            Ok(Event::Eof) => return Err(Wrong::at(text.len(), "the report ends before its first element")),
            Ok(_) => {}
            Err(error) => return Err(wrong(text, offset, &reader, &error)),
        }
    }
}

/// Calls a parser with every element, in order. The report must be complete: each element ends.
pub fn each(text: &str, mut take: impl FnMut(Part<'_>) -> Result<(), String>) -> Read<()> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<(String, String)> = Vec::new();
    let mut had_root = false;
    loop {
        let before = reader.buffer_position() as usize;
        let event = reader.read_event();
        // An element begins at its bracket, not at the white space before it.
        let offset = before + text.get(before..).map_or(0, |rest| rest.len() - rest.trim_start().len());
        let step = match event {
            Ok(Event::Start(start)) => {
                if open.is_empty() && std::mem::replace(&mut had_root, true) {
                    return Err(Wrong::at(offset, "expected the end of the report after its root element"));
                }
                if open.len() == DEPTH_MAX {
                    return Err(Wrong::at(offset, format!("elements are nested deeper than {DEPTH_MAX}")));
                }
                open.push((start.local_name().into_inner().to_owned(), String::new()));
                element(&start).and_then(|element| take(Part::Start(element)))
            }
            Ok(Event::Empty(start)) => {
                if open.is_empty() && std::mem::replace(&mut had_root, true) {
                    return Err(Wrong::at(offset, "expected the end of the report after its root element"));
                }
                let name = start.local_name();
                element(&start)
                    .and_then(|element| take(Part::Start(element)))
                    .and_then(|()| take(Part::End(name.into_inner(), String::new())))
            }
            Ok(Event::End(_)) => match open.pop() {
                Some((name, text)) => take(Part::End(&name, text)),
                None => Err("an element ends that did not begin".to_owned()),
            },
            Ok(Event::Text(part)) => keep(&mut open, &part.xml10_content()),
            Ok(Event::CData(part)) => keep(&mut open, &part.xml10_content()),
            Ok(Event::GeneralRef(reference)) => match resolved(&reference) {
                Ok(part) => keep(&mut open, &part),
                Err(reason) => Err(reason),
            },
            Ok(Event::Comment(comment)) => take(Part::Comment(&comment.xml10_content())),
            Ok(Event::DocType(doctype)) if doctype.xml10_content().contains('[') => {
                Err("a DOCTYPE with declarations of its own is not read".to_owned())
            }
            // Any other DOCTYPE names a file, which is never fetched.
            Ok(Event::DocType(_) | Event::Decl(_) | Event::PI(_)) => Ok(()),
            Ok(Event::Eof) => {
                return match open.last() {
                    Some((name, _)) => Err(Wrong::at(
                        text.len(),
                        format!("the report is truncated: it ends inside <{name}>"),
                    )),
                    None if !had_root => Err(Wrong::at(text.len(), "the report has no element")),
                    None => Ok(()),
                };
            }
            Err(error) => return Err(wrong(text, offset, &reader, &error)),
        };
        step.map_err(|reason| Wrong::at(offset, reason))?;
    }
}

fn keep(open: &mut [(String, String)], part: &str) -> Result<(), String> {
    if let Some((_, kept)) = open.last_mut() {
        let mut end = part.len().min(TEXT_BYTES_MAX.saturating_sub(kept.len()));
        while !part.is_char_boundary(end) {
            end -= 1;
        }
        kept.push_str(&part[..end]);
    } else if !part.trim_matches(['\u{FEFF}', ' ', '\n', '\r', '\t']).is_empty() {
        return Err("expected an element, found text".to_owned());
    }
    Ok(())
}

fn resolved(reference: &quick_xml::events::BytesRef<'_>) -> Result<String, String> {
    match reference.resolve_char_ref() {
        Ok(Some(char)) => Ok(char.to_string()),
        Ok(None) => match resolve_predefined_entity(reference) {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("unknown entity &{:.100};", &**reference)),
        },
        // Some tools write control characters as references, which XML does not allow; they are only in messages.
        Err(_) => Ok('\u{FFFD}'.to_string()),
    }
}

fn element<'a>(start: &'a BytesStart<'_>) -> Result<Element<'a>, String> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if attributes.len() == ATTRIBUTES_MAX {
            return Err(format!("an element has more than {ATTRIBUTES_MAX} attributes"));
        }
        let value = match attribute.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => value,
            Err(quick_xml::Error::Escape(EscapeError::UnrecognizedEntity(_, name))) => {
                return Err(format!("unknown entity &{name:.100};"));
            }
            Err(error) => return Err(error.to_string()),
        };
        attributes.push((attribute.key.local_name().into_inner().to_owned(), value.into_owned()));
    }
    Ok(Element { name: start.local_name().into_inner(), attributes })
}

fn wrong(text: &str, offset: usize, reader: &Reader<&[u8]>, error: &quick_xml::Error) -> Wrong {
    let offset = offset.max(reader.error_position() as usize).min(text.len());
    match error {
        quick_xml::Error::Syntax(_) => Wrong::at(text.len(), format!("the report is truncated: {error}")),
        _ => Wrong::at(offset, error.to_string()),
    }
}
