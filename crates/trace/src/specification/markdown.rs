//! Splits Markdown into sections at its headings.
//!
//! The ids and the lines of sections are those of existing annotations and reports, including where the
//! items of lists begin and end, as `pulldown-cmark` determines.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{Format, Line, Section, Specification};
use crate::text::{Lines, Span};

/// Reads a document.
pub fn parse(text: Arc<str>, lines: Lines) -> Specification {
    let mut reader =
        Reader { text: &text, title: None, ids: Ids::default(), sections: Vec::new(), open: None };
    tokens(&text, &lines, |token| reader.on_token(token));
    reader.close();
    let (title, sections) = (reader.title, reader.sections);
    Specification::new(text, lines, Format::Markdown, title, sections)
}

struct Heading {
    depth: u8,
    id: Option<String>,
    title: Span,
}

enum Token {
    Heading(Heading),
    Line(Span),
    Break,
}

struct Reader<'a> {
    text: &'a str,
    title: Option<String>,
    ids: Ids,
    sections: Vec<Section>,
    open: Option<(Heading, Vec<Line>)>,
}

impl Reader<'_> {
    fn on_token(&mut self, token: Token) {
        let line = match token {
            Token::Heading(heading) => {
                self.close();
                self.open = Some((heading, Vec::new()));
                return;
            }
            Token::Line(span) => Line::Text(span),
            Token::Break => Line::Break,
        };
        if let Some((_, lines)) = &mut self.open {
            let is_repeated_break = line == Line::Break && lines.last() == Some(&Line::Break);
            let is_blank_start = lines.is_empty() && is_blank(self.text, &line);
            if !is_repeated_break && !is_blank_start {
                lines.push(line);
            }
        }
    }

    fn close(&mut self) {
        let Some((heading, mut lines)) = self.open.take() else {
            return;
        };
        while lines.last().is_some_and(|line| is_blank(self.text, line)) {
            lines.pop();
        }
        let title = heading.title.of_text(self.text).replace('\n', " ");
        if self.title.is_none() && heading.depth == 1 {
            self.title = Some(title.clone());
        }
        let base = heading.id.unwrap_or_else(|| slug::slugify(heading.title.of_text(self.text)));
        let id = self.ids.next(base);
        self.sections.push(Section::new(id, title, heading.title, heading.depth, lines));
    }
}

/// The ids of sections so far.
#[derive(Default)]
struct Ids {
    taken: HashSet<String, RandomState>,
    /// For each duplicate id the next number to try. All lower numbers are taken; without
    /// this many equal headings would take quadratic time.
    numbers: HashMap<String, u32, RandomState>,
}

impl Ids {
    /// Takes an id: the wanted one, or the first free one with a number.
    fn next(&mut self, wanted: String) -> String {
        if self.taken.insert(wanted.clone()) {
            return wanted;
        }
        let number = self.numbers.entry(wanted.clone()).or_insert(1);
        loop {
            let id = format!("{wanted}-{number}");
            *number += 1;
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

fn is_blank(text: &str, line: &Line) -> bool {
    match line {
        Line::Text(span) => span.of_text(text).trim().is_empty(),
        Line::Break => true,
    }
}

/// The heading that is being read.
struct Buffered {
    span: Range<usize>,
    id: Option<String>,
    title: Option<Range<usize>>,
}

/// Iterates over the lines and the events of the Markdown parser that start in them.
fn tokens(text: &str, lines: &Lines, mut emit: impl FnMut(Token)) {
    let mut events = Parser::new_ext(text, Options::ENABLE_HEADING_ATTRIBUTES).into_offset_iter().peekable();
    let mut lines = lines.each(text).map(|line| Span::of(line, text).range()).peekable();
    let mut heading: Option<Buffered> = None;

    'lines: while let Some(line) = lines.next() {
        let mut ends_item = false;
        while let Some((event, range)) = events.next_if(|(_, range)| range.start < line.end) {
            match event {
                Event::Start(Tag::Heading { id, .. }) => {
                    let id = id.filter(|id| Span::of_slice(id, text).is_some());
                    let id = id.map(|id| id.to_string());
                    heading = Some(Buffered { span: line.clone(), id, title: None });
                }
                Event::End(TagEnd::Heading(level)) => {
                    while lines.next_if(|line| line.start < range.end).is_some() {}
                    let Some(Buffered { span, id, title }) = heading.take() else {
                        continue;
                    };
                    let whole = line.start.min(span.start)..line.end.max(span.end);
                    let title = Span::from(title.unwrap_or(whole));
                    emit(Token::Heading(Heading { depth: level as u8, id, title }));
                    continue 'lines;
                }
                Event::Start(Tag::Item) => {
                    emit(Token::Break);
                    ends_item = false;
                }
                Event::End(TagEnd::Item) => ends_item = true,
                Event::Text(part) if heading.is_some() => {
                    // What an entity stands for (`&amp;`) is not in the document.
                    if let (Some(heading), Some(part)) = (&mut heading, Span::of_slice(&part, text)) {
                        let part = part.range();
                        let title = heading.title.get_or_insert(part.clone());
                        *title = title.start.min(part.start)..title.end.max(part.end);
                    }
                }
                _ => {
                    if let Some(title) = heading.as_mut().and_then(|heading| heading.title.as_mut()) {
                        title.end = range.end;
                    }
                }
            }
        }
        if heading.is_none() {
            emit(Token::Line(Span::from(line)));
            if ends_item {
                emit(Token::Break);
            }
        }
    }
}
