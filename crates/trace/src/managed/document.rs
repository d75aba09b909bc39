//! A managed requirement as a document: a heading with the id `text`, then its text.
//!
//! The same text is what `spexus pull` writes. Duvet reads it as Markdown with one section, and so do we.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::annotation::Level;
use crate::specification::{Format, Specification};
use crate::text::Span;

use super::unit::{self, Unit};
use super::{Gone, ManagedKind, ManagedName, ManagedText};

/// The id of its single section.
pub const SECTION: &str = "text";

/// Escaping a heading may turn the lines around it into another one; the repetition is limited.
const PASSES_MAX: usize = 8;

/// The data of a managed requirement, in addition to its document.
#[derive(Debug)]
pub struct ManagedDocument {
    /// Its name, with the project.
    pub name: ManagedName,
    /// Its kind.
    pub kind: ManagedKind,
    /// Its title.
    pub title: String,
    /// The version in which its text last changed.
    pub content_version: u64,
    /// Its newest version.
    pub version: u64,
    /// Why it no longer applies, if so.
    pub gone: Option<Gone>,
    /// The target for new citations.
    pub target: String,
    /// The positions and levels of its units.
    pub units: Vec<(Arc<[Span]>, Level)>,
    earlier: Vec<EarlierText>,
}

/// An earlier text.
#[derive(Debug)]
pub(super) struct EarlierText {
    /// The version in which it was written.
    pub version: u64,
    text: String,
    specification: OnceLock<Specification>,
}

impl EarlierText {
    /// Its document.
    pub fn specification(&self) -> &Specification {
        self.specification.get_or_init(|| parse("", &self.text))
    }
}

impl ManagedDocument {
    /// Creates a document from a text. New citations name it by `target`.
    pub fn specification(text: &ManagedText, target: String) -> Specification {
        let mut specification = parse(&heading(text), &text.text);
        let units = match text.gone {
            None => unit::placed(&specification, text.kind.granularity()),
            Some(_) => Vec::new(),
        };
        let earlier = text.earlier.iter().map(|(version, text)| EarlierText {
            version: *version,
            text: text.clone(),
            specification: OnceLock::new(),
        });
        specification.managed = Some(Box::new(ManagedDocument {
            name: text.name(),
            kind: text.kind,
            title: text.title.clone(),
            content_version: text.content_version,
            version: text.version,
            gone: text.gone,
            target,
            units,
            earlier: earlier.collect(),
        }));
        specification
    }

    /// Earlier texts, oldest first.
    pub(super) fn earlier(&self) -> &[EarlierText] {
        &self.earlier
    }

    /// The quotes of its units, in the order of the text.
    pub fn quotes(&self, specification: &Specification) -> Vec<String> {
        self.units.iter().map(|(spans, _)| unit::quote(specification, spans)).collect()
    }

    /// Describes its units, in the order of the text.
    pub fn units(&self, specification: &Specification) -> Vec<Unit> {
        self.units.iter().map(|(spans, level)| Unit::new(specification, spans, *level)).collect()
    }
}

/// Whether two documents have the same texts and versions.
impl PartialEq for ManagedDocument {
    fn eq(&self, other: &ManagedDocument) -> bool {
        let earlier = |document: &ManagedDocument| -> Vec<(u64, String)> {
            document.earlier.iter().map(|text| (text.version, text.text.clone())).collect()
        };
        (&self.name, self.kind, &self.title, self.content_version, self.version, self.gone, &self.target)
            == (
                &other.name,
                other.kind,
                &other.title,
                other.content_version,
                other.version,
                other.gone,
                &other.target,
            )
            && self.units == other.units
            && earlier(self) == earlier(other)
    }
}

/// Writes the file of `spexus pull`.
pub fn render(text: &ManagedText) -> String {
    written(&heading(text), &text.text)
}

/// Returns the text in a file that [`render`] wrote, without its heading.
pub fn body(file: &str) -> &str {
    let rest = file.split_once('\n').map_or("", |(_, rest)| rest);
    rest.trim_start_matches(['\n', '\r']).trim_end()
}

fn heading(text: &ManagedText) -> String {
    let name = text.name().reference_id();
    let title: Vec<&str> = text.title.split_whitespace().collect();
    if title.is_empty() { name } else { format!("{name} {}", title.join(" ")) }
}

/// Parses a text as the single section of a document.
pub(super) fn parse(heading: &str, text: &str) -> Specification {
    Specification::parse(written(heading, text).into(), "", Format::Markdown)
}

fn written(heading: &str, text: &str) -> String {
    let text = without_headings(text.trim());
    let text = text.trim_end();
    // An attribute names the section, whatever the title is.
    let separator = if heading.is_empty() { "" } else { " " };
    let end = if text.is_empty() { "" } else { "\n" };
    format!("# {heading}{separator}{{#{SECTION}}}\n\n{text}{end}")
}

/// Escapes the headings of a text, which would start another section: `\## Limits`, in a separate paragraph.
fn without_headings(text: &str) -> Cow<'_, str> {
    let mut text: Cow<'_, str> = match text.contains('\r') {
        true => text.replace("\r\n", "\n").replace('\r', "\n").into(),
        false => text.into(),
    };
    for _ in 0..PASSES_MAX {
        // Few descriptions have any.
        if !text.contains(['#', '=', '-']) {
            break;
        }
        let headings = headings(&text);
        if headings.is_empty() {
            break;
        }
        text = escaped(&text, &headings).into();
    }
    text
}

/// Finds headings: where the mark of each stands, and the heading.
fn headings(text: &str) -> Vec<(usize, std::ops::Range<usize>)> {
    let events = Parser::new_ext(text, Options::ENABLE_HEADING_ATTRIBUTES).into_offset_iter();
    let found = events.filter_map(|(event, range)| {
        if !matches!(event, Event::Start(Tag::Heading { .. })) {
            return None;
        }
        let heading = &text[range.clone()];
        let mark = match heading.starts_with('#') {
            true => 0,
            // A line of `=` or `-` below a paragraph makes it a heading.
            false => {
                let heading = heading.trim_end();
                heading.trim_end_matches(['=', '-']).len()
            }
        };
        Some((range.start + mark, range))
    });
    found.collect()
}

fn escaped(text: &str, headings: &[(usize, std::ops::Range<usize>)]) -> String {
    let mut escaped = String::with_capacity(text.len() + 4 * headings.len());
    let mut done = 0;
    for (mark, range) in headings {
        let is_below = *mark != range.start;
        let line_start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
        if !is_below && line_start > done {
            escaped.push_str(&text[done..line_start]);
            escaped.push('\n');
            done = line_start;
        }
        escaped.push_str(&text[done..*mark]);
        escaped.push('\\');
        let end = text[*mark..].find('\n').map_or(text.len(), |end| mark + end + 1);
        escaped.push_str(&text[*mark..end]);
        escaped.push('\n');
        done = end;
    }
    escaped.push_str(&text[done..]);
    escaped
}
