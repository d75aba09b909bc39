//! Splits the plain text of RFCs and drafts into sections.
//!
//! The text has no markup for headings, page headers or the table of contents, so each line is
//! classified by its form and by the numbers before it. The classification is that of existing annotations and
//! reports.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::{Format, Line, Section, Specification};
use crate::text::{Lines, Span};

mod heading;

/// Reads a document.
pub fn parse(text: Arc<str>, lines: Lines) -> Specification {
    let mut reader = Reader::new(&text);
    for (number, line) in lines.each(&text).enumerate() {
        let line = if number == 0 { line.trim_start_matches('\u{feff}') } else { line };
        reader.on_line(line);
    }
    let sections = reader.finish();
    Specification::new(text, lines, Format::Ietf, None, sections)
}

/// Headings without a number.
const NAMES: &[&str] = &[
    "Abstract",
    "Acknowledgement",
    "Acknowledgements",
    "Acknowledgments",
    "Appendix",
    "AUTHORS' ADDRESSES",
    "Author's Address",
    "Authors' Addresses",
    "Contributors",
    "Copyright Notice",
    "Editors' Addresses",
    "Full Copyright Statement",
    "IANA Considerations",
    "Index",
    "Informative References",
    "Intellectual Property",
    "Intellectual Property Statement",
    "Normative References",
    "REFERENCES",
    "References",
    "Security Considerations",
    "Status of This Memo",
    "Status of this Memo",
    "Table of Contents",
    "Working Group Information",
];

/// The class of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    NumberedHeading(heading::NumberedHeading<'a>),
    Named(&'a str),
    PageBreak(&'a str),
    Blank(&'a str),
    Header,
    Text(&'a str),
}

impl Token<'_> {
    fn is_break(&self) -> bool {
        matches!(self, Token::PageBreak(_) | Token::Blank(_))
    }
}

struct Reader<'a> {
    text: &'a str,
    headings: heading::Headings<'a>,
    /// Lines that may be an unnumbered heading: a blank line, and the name after it.
    waiting: (Option<Token<'a>>, Option<&'a str>),
    /// What was skipped or read just before, if it was a break.
    last_break: Option<Token<'a>>,
    sections: HashMap<String, Section, RandomState>,
    /// The id, the title and the depth of the section that is being read.
    open: Option<(String, &'a str, u8)>,
    /// Its lines.
    lines: Vec<Line>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Reader {
            text,
            headings: heading::Headings::default(),
            waiting: (None, None),
            last_break: None,
            sections: HashMap::default(),
            open: None,
            lines: Vec::new(),
        }
    }

    fn on_line(&mut self, line: &'a str) {
        // Most lines are text that follows text.
        if is_plain(line) && self.waiting.0.is_none() && self.last_break.is_none() {
            self.headings.after_break = false;
            self.push_text(line);
            return;
        }
        let token = if line == "\u{c}" {
            Token::PageBreak(line)
        } else if line.trim().is_empty() {
            Token::Blank(line)
        } else if let Some(numbered) = self.headings.read(line) {
            Token::NumberedHeading(numbered)
        } else if is_header(line) {
            Token::Header
        } else {
            Token::Text(line)
        };
        // A header is no break for a heading after it, though it is one for the text.
        self.headings.after_break = token.is_break();

        // An unnumbered heading is between blank lines.
        match (std::mem::take(&mut self.waiting), token) {
            ((None, _), Token::Blank(_)) => self.waiting = (Some(token), None),
            ((None, _), _) => self.on_token(token),
            ((Some(blank), None), Token::Text(line)) if NAMES.contains(&line) => {
                self.waiting = (Some(blank), Some(line));
            }
            ((Some(blank), None), Token::Blank(_)) => {
                self.on_token(blank);
                self.waiting = (Some(token), None);
            }
            ((Some(blank), None), _) => {
                self.on_token(blank);
                self.on_token(token);
            }
            ((Some(blank), Some(name)), _) => {
                self.on_token(blank);
                let is_heading = matches!(token, Token::Blank(_));
                self.on_token(if is_heading { Token::Named(name) } else { Token::Text(name) });
                self.on_token(token);
            }
        }
    }

    /// Skips page headers and what surrounds them.
    fn on_token(&mut self, token: Token<'a>) {
        let last_break = self.last_break.take();
        match token {
            Token::NumberedHeading(heading) => {
                let depth = heading.id.split('.').count().min(u8::MAX.into()) as u8;
                self.start(heading.section_id(), heading.title, depth);
            }
            Token::Named(title) => self.start(format!("name-{}", slug::slugify(title)), title, 1),
            Token::PageBreak(line) | Token::Blank(line) => {
                self.last_break = Some(token);
                if last_break.is_none() {
                    self.push(&line[..0]);
                }
            }
            // After a page break comes a header, whatever it looks like.
            Token::Text(_) if matches!(last_break, Some(Token::PageBreak(_))) => {
                self.last_break = Some(Token::Blank(""));
            }
            Token::Text(line) => self.push(line),
            Token::Header => self.last_break = Some(Token::Blank("")),
        }
    }

    fn start(&mut self, id: String, title: &'a str, depth: u8) {
        self.close();
        self.open = Some((id, title, depth));
    }

    fn push(&mut self, line: &'a str) {
        if !(self.lines.is_empty() && line.trim().is_empty()) {
            self.push_text(line);
        }
    }

    fn push_text(&mut self, line: &'a str) {
        if self.open.is_some() {
            self.lines.push(Line::Text(Span::of(line, self.text)));
        }
    }

    fn close(&mut self) {
        let Some((id, title, depth)) = self.open.take() else {
            return;
        };
        while let Some(Line::Text(span)) = self.lines.last()
            && span.of_text(self.text).trim().is_empty()
        {
            self.lines.pop();
        }
        // Exactly as many as there are, and the memory of the list is used again.
        let lines = self.lines.to_vec();
        self.lines.clear();
        let span = Span::of(title, self.text);
        // Of two with one id the later counts: the first is an entry of a table of contents.
        self.sections.insert(id.clone(), Section::new(id, title.to_owned(), span, depth, lines));
    }

    fn finish(mut self) -> Vec<Section> {
        if let (Some(blank), name) = std::mem::take(&mut self.waiting) {
            self.on_token(blank);
            name.into_iter().for_each(|name| self.on_token(Token::Text(name)));
        }
        self.close();
        self.sections.into_values().collect()
    }
}

/// Tells quickly that a line is indented text, and neither blank, a heading, a header nor a footer.
fn is_plain(line: &str) -> bool {
    let bytes = line.as_bytes();
    let text = bytes.iter().find(|byte| **byte != b' ');
    bytes.first() == Some(&b' ') && text.is_some_and(u8::is_ascii_graphic) && bytes.last() != Some(&b']')
}

/// Recognises the headers and footers of pages: `RFC 2324  …` and `… [Page 7]`.
fn is_header(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("RFC ")
        && after_number(rest).is_some_and(|rest| rest.starts_with("  "))
    {
        return true;
    }
    if let Some(rest) = line.strip_prefix("[Page ")
        && after_number(rest).is_some_and(|rest| rest.starts_with(']'))
    {
        return true;
    }
    line.ends_with(']')
        && line.rfind(" [Page ").is_some_and(|start| after_number(&line[start + 7..]) == Some("]"))
}

/// Returns what follows a number that does not start with 0.
fn after_number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    (text.len() > rest.len() && !text.starts_with('0')).then_some(rest)
}
