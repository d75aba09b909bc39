//! Specifications: documents split into sections, each with the lines of its text.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;

use crate::annotation::Unknown;
use crate::managed::ManagedDocument;
use crate::meaning;
use crate::quote::View;
use crate::text::{Lines, Span};

pub mod ietf;
pub mod markdown;

/// A document, split into sections.
#[derive(Debug)]
pub struct Specification {
    /// The first heading of the first level, in Markdown.
    pub title: Option<String>,
    /// Its format.
    pub format: Format,
    /// All of the document.
    pub text: Arc<str>,
    /// Its lines.
    pub lines: Lines,
    /// In the order of the document.
    pub sections: Vec<Section>,
    /// The data of a managed requirement.
    pub managed: Option<Box<ManagedDocument>>,
    by_id: HashMap<String, usize, RandomState>,
}

/// A part of a document with a title.
#[derive(Debug)]
pub struct Section {
    /// Its id in annotations.
    pub id: String,
    /// Its title in one line.
    pub title: String,
    /// The position of the title.
    pub title_span: Span,
    /// How deep it is: 1 for the outermost.
    pub depth: u8,
    /// Its own text, up to the next title.
    pub lines: Vec<Line>,
    view: OnceLock<View>,
}

/// A line of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Text, maybe empty.
    Text(Span),
    /// The end of a sentence without a full stop: around the items of lists.
    Break,
}

impl Specification {
    /// Parses a document. The path determines the format if nothing else does.
    pub fn parse(text: Arc<str>, path: &str, format: Format) -> Specification {
        let lines = Lines::new(&text);
        match format.detect(&text, path) {
            Format::Markdown => markdown::parse(text, lines),
            _ => ietf::parse(text, lines),
        }
    }

    fn new(
        text: Arc<str>,
        lines: Lines,
        format: Format,
        title: Option<String>,
        mut sections: Vec<Section>,
    ) -> Self {
        sections.sort_by(|first, second| {
            (first.title_span.start, &first.id).cmp(&(second.title_span.start, &second.id))
        });
        let by_id = sections.iter().enumerate().map(|(index, section)| (section.id.clone(), index));
        let by_id = by_id.collect();
        Specification { title, format, lines, text, sections, managed: None, by_id }
    }

    /// Finds a section by its id, with or without the prefix of IETF documents. Returns its index.
    pub fn section(&self, id: &str) -> Option<usize> {
        if let Some(index) = self.by_id.get(id) {
            return Some(*index);
        }
        if self.format != Format::Ietf {
            return None;
        }
        let bare = id.trim_start_matches("section-").trim_start_matches("appendix-");
        let find = |prefix: &str| self.by_id.get(&[prefix, bare].concat()).copied();
        find("section-").or_else(|| find("appendix-"))
    }

    /// Returns the text of a section for matching: its trimmed lines, joined by single spaces.
    pub fn view(&self, section: usize) -> &View {
        let section = &self.sections[section];
        section.view.get_or_init(|| View::new(&self.text, section.spans()))
    }
}

impl Specification {
    /// Returns the same without list markers.
    pub fn unmarked_view(&self, section: usize) -> View {
        let lines: Vec<Span> = self.sections[section].spans().collect();
        let unmarked = lines.iter().map(|line| meaning::unmarked(&self.text, *line));
        View::new(&self.text, unmarked)
    }
}

impl Section {
    fn new(id: String, title: String, title_span: Span, depth: u8, lines: Vec<Line>) -> Section {
        Section { id, title, title_span, depth, lines, view: OnceLock::new() }
    }

    /// Lists its lines of text.
    pub fn spans(&self) -> impl Iterator<Item = Span> + Clone {
        self.lines.iter().filter_map(|line| match line {
            Line::Text(span) => Some(*span),
            Line::Break => None,
        })
    }
}

/// The format of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// To be detected.
    #[default]
    Auto,
    /// The plain text of RFCs and drafts.
    Ietf,
    /// Markdown.
    Markdown,
}

impl Format {
    /// Detects the format of a document.
    pub fn detect(self, text: &str, path: &str) -> Format {
        if self != Format::Auto {
            return self;
        }
        let start = text.trim_start();
        // Some start with a licence, written as a link that goes nowhere.
        let extension = Path::new(path).extension();
        let is_markdown = extension.is_some_and(|extension| extension == "md" || extension == "markdown")
            || start.starts_with('#')
            || start.starts_with("[//]:");
        if is_markdown { Format::Markdown } else { Format::Ietf }
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Auto => "auto",
            Format::Ietf => "ietf",
            Format::Markdown => "markdown",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Format, Unknown> {
        match text {
            "AUTO" | "auto" => Ok(Format::Auto),
            "IETF" | "ietf" => Ok(Format::Ietf),
            "MARKDOWN" | "markdown" | "md" => Ok(Format::Markdown),
            _ => Err(Unknown { allowed: &["auto", "ietf", "markdown"] }),
        }
    }
}
