//! Finds the requirements of a specification: the sentences with MUST, SHOULD, MAY and the like.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::annotation::Level;
use crate::quote::{exact, normalize};
use crate::specification::{Line, Section, Specification};
use crate::text::Span;

pub mod render;
mod sentence;

use sentence::{SentenceBound, Sentences};

/// A requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractedRequirement {
    /// The line of the section, and the byte in it, where the sentence starts.
    start: (usize, usize),
    /// Its level.
    pub level: Level,
    /// The positions of its lines in the document, trimmed.
    pub spans: Vec<Span>,
}

impl ExtractedRequirement {
    /// Lists its lines.
    pub fn lines<'a>(&self, document: &'a str) -> impl Iterator<Item = &'a str> {
        self.spans.iter().map(|span| span.of_text(document))
    }

    /// Returns its lines joined by single spaces, as in a quote.
    pub fn quote(&self, document: &str) -> String {
        let mut quote = String::with_capacity(self.spans.iter().map(|span| span.len() + 1).sum());
        for line in self.lines(document) {
            if !quote.is_empty() {
                quote.push(' ');
            }
            quote.push_str(line);
        }
        quote
    }
}

/// The keywords, and what may stand before or after them.
const KEYWORDS: &[(&str, &str, &str, Level)] = &[
    ("", "MUST", " NOT", Level::Must),
    ("", "SHALL", " NOT", Level::Must),
    ("", "REQUIRED", "", Level::Must),
    ("", "SHOULD", " NOT", Level::Should),
    ("NOT ", "RECOMMENDED", "", Level::Should),
    ("", "MAY", "", Level::May),
    ("", "OPTIONAL", "", Level::May),
];

/// Finds the requirements of a section, in order. A repeated sentence is one requirement, of the higher level.
pub fn requirements(spec: &Specification, section: &Section) -> Vec<ExtractedRequirement> {
    let mut candidates = candidates(spec, section).peekable();
    if candidates.peek().is_none() {
        return Vec::new();
    }
    let lines: Vec<Option<&str>> = section
        .lines
        .iter()
        .map(|line| match line {
            Line::Text(span) => Some(span.of_text(&spec.text)),
            Line::Break => None,
        })
        .collect();
    let mut sentences = Sentences::new(&lines);
    let mut found: Vec<ExtractedRequirement> = Vec::new();
    let mut by_text: HashMap<String, usize, RandomState> = HashMap::default();
    // A sentence may have as many keywords as words; its text is assembled once.
    let mut last: Option<((SentenceBound, SentenceBound), usize)> = None;
    for number in candidates {
        let Some(line) = lines[number] else {
            continue;
        };
        for (before, word, after, level) in KEYWORDS {
            for (start, end) in occurrences(line, before, word, after) {
                // A keyword right before a quotation mark is being defined.
                if line[end..].starts_with('"') {
                    continue;
                }
                let from = sentences.open(number, start);
                let to = sentences.close(number, end);
                let index = match last {
                    Some((sentence, index)) if sentence == (from, to) => index,
                    _ => {
                        let quote = between(&lines, from, to);
                        let key = normalize::normalize(&quote.join("\n"));
                        *by_text.entry(key).or_insert_with(|| {
                            let spans = quote.iter().map(|line| Span::of(line, &spec.text)).collect();
                            found.push(ExtractedRequirement { start: from, level: *level, spans });
                            found.len() - 1
                        })
                    }
                };
                found[index].level = found[index].level.max(*level);
                last = Some(((from, to), index));
            }
        }
    }
    found.sort_by(|first, second| {
        let order = (first.start, first.level).cmp(&(second.start, second.level));
        order.then_with(|| first.lines(&spec.text).cmp(second.lines(&spec.text)))
    });
    found
}

/// Returns the level of a text: the highest level of its keywords, if it has any.
pub fn level(text: &str) -> Option<Level> {
    let is_used = |(before, word, after, _): &&(&'static str, &'static str, &'static str, Level)| {
        occurrences(text, before, word, after).any(|(_, end)| !text[end..].starts_with('"'))
    };
    KEYWORDS.iter().filter(is_used).map(|(.., level)| *level).max()
}

/// Lists the lines of a section that may have a keyword: each keyword has an M, an L or a Q.
fn candidates<'a>(spec: &'a Specification, section: &'a Section) -> impl Iterator<Item = usize> + 'a {
    let mut spans = section.spans();
    let start = spans.next().map_or(0, |span| span.start as usize);
    let end = spans.last().map_or_else(|| section.spans().next().map_or(0, |span| span.end), |span| span.end);
    let end = (end as usize).max(start);
    let mut hits =
        memchr::memchr3_iter(b'M', b'L', b'Q', &spec.text.as_bytes()[start..end]).map(move |at| at + start);
    let mut hit = hits.next();
    section.lines.iter().enumerate().filter_map(move |(number, line)| {
        let Line::Text(span) = line else {
            return None;
        };
        while hit.is_some_and(|at| at < span.start as usize) {
            hit = hits.next();
        }
        hit.is_some_and(|at| at < span.end as usize).then_some(number)
    })
}

fn occurrences<'a>(
    line: &'a str,
    before: &'static str,
    word: &'static str,
    after: &'static str,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut position = 0;
    std::iter::from_fn(move || {
        loop {
            let start = position + exact::find(&line.as_bytes()[position..], word.as_bytes())?;
            let end = start + word.len();
            position = end;
            if !is_edge(line, end) {
                continue;
            }
            let long_end = end + after.len();
            let is_long = !after.is_empty() && line[end..].starts_with(after) && is_edge(line, long_end);
            let end = if is_long { long_end } else { end };
            let long_start = start.checked_sub(before.len());
            let long_start = long_start.filter(|long| {
                !before.is_empty() && line.get(*long..start) == Some(before) && is_edge(line, *long)
            });
            match long_start {
                Some(start) => return Some((start, end)),
                None if is_edge(line, start) => return Some((start, end)),
                None => {}
            }
        }
    })
}

/// Returns whether a word ends or starts at a position.
fn is_edge(line: &str, position: usize) -> bool {
    let is_word = |character: char| {
        if character.is_ascii() {
            character.is_ascii_alphanumeric() || character == '_'
        } else {
            regex_syntax::is_word_character(character)
        }
    };
    let before = line[..position].chars().next_back().is_some_and(is_word);
    let after = line[position..].chars().next().is_some_and(is_word);
    before != after
}

fn between<'a>(lines: &[Option<&'a str>], start: (usize, usize), end: (usize, usize)) -> Vec<&'a str> {
    let mut quote = Vec::new();
    let last = end.0.min(lines.len().saturating_sub(1));
    for (number, line) in lines.iter().enumerate().take(last + 1).skip(start.0) {
        let Some(mut line) = *line else {
            continue;
        };
        if number == end.0 {
            line = &line[..end.1];
        }
        if number == start.0 {
            line = line.get(start.1..).unwrap_or_default();
        }
        let line = line.trim();
        if !line.is_empty() {
            quote.push(line);
        }
    }
    quote
}
