//! Finds a quote in the text of a section: exactly, with normalized white space and punctuation, or with one edit.

use std::ops::Range;
use std::sync::OnceLock;

use crate::text::Span;

pub(crate) mod exact;
pub mod near;
pub mod normalize;
mod one_edit;

use normalize::Normalized;

/// The text of a section for matching: its trimmed lines, joined by single spaces.
#[derive(Debug)]
pub struct View {
    /// The joined text.
    pub text: String,
    lines: Vec<Part>,
    normalized: OnceLock<Normalized>,
}

/// A line in a view.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where it starts in the view.
    view: u32,
    /// Where it stands in the document.
    source: Span,
}

/// More occurrences than this are meaningless.
const OCCURRENCES_MAX: usize = 100;

/// How closely a quote matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// Equal except for white space and punctuation.
    Same,
    /// Equal except for one byte that was added, removed or replaced.
    OneEdit,
}

impl View {
    /// Joins lines of a document.
    pub fn new(document: &str, lines: impl Iterator<Item = Span> + Clone) -> View {
        let (n_lines, n_bytes) =
            lines.clone().fold((0, 0), |(n, bytes), line| (n + 1, bytes + line.len() + 1));
        let mut text = String::with_capacity(n_bytes);
        let mut parts = Vec::with_capacity(n_lines);
        for line in lines {
            let line = line.of_text(document).trim();
            if line.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push(' ');
            }
            parts.push(Part { view: text.len() as u32, source: Span::of(line, document) });
            text.push_str(line);
        }
        View { text, lines: parts, normalized: OnceLock::new() }
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Finds a quote.
    pub fn find(&self, quote: &str) -> Option<(Range<usize>, Likeness)> {
        if quote.is_empty() {
            return None;
        }
        if let Some(start) = exact::find(self.text.as_bytes(), quote.as_bytes()) {
            return Some((start..start + quote.len(), Likeness::Same));
        }
        let haystack = self.normalized.get_or_init(|| Normalized::new(&self.text));
        let needle = normalize::normalize(quote);
        if let Some(start) = exact::find(haystack.text.as_bytes(), needle.as_bytes()) {
            return Some((self.original(haystack, start..start + needle.len()), Likeness::Same));
        }
        let range = one_edit::find(needle.as_bytes(), haystack.text.as_bytes())?;
        Some((self.original(haystack, range), Likeness::OneEdit))
    }

    /// Finds all occurrences of a quote, ignoring white space and punctuation.
    pub fn find_all(&self, quote: &str) -> Vec<Range<usize>> {
        let needle = normalize::normalize(quote);
        if needle.is_empty() {
            return Vec::new();
        }
        let haystack = self.normalized.get_or_init(|| Normalized::new(&self.text));
        let starts = exact::occurrences(haystack.text.as_bytes(), needle.as_bytes());
        let range = |start: usize| self.original(haystack, start..start + needle.len());
        starts.take(OCCURRENCES_MAX).map(range).collect()
    }

    /// Whether a quote occurs, ignoring white space and punctuation.
    pub fn has(&self, quote: &str) -> bool {
        if exact::find(self.text.as_bytes(), quote.as_bytes()).is_some() {
            return true;
        }
        let haystack = self.normalized.get_or_init(|| Normalized::new(&self.text));
        haystack.text.contains(&normalize::normalize(quote))
    }

    fn original(&self, normalized: &Normalized, range: Range<usize>) -> Range<usize> {
        let Range { start, end } = normalized.original(&self.text, range);
        start..start + self.text[start..end].trim_end().len()
    }

    /// Returns the first occurrence of a text that is known to occur, which is what a quote of it means.
    pub fn first(&self, text: &str) -> Option<Range<usize>> {
        let start = exact::find(self.text.as_bytes(), text.as_bytes())?;
        Some(start..start + text.len())
    }

    /// Converts a range of the view to the document: one span for each line that it touches.
    pub fn spans(&self, range: Range<usize>) -> impl Iterator<Item = Span> {
        let first = self.lines.partition_point(|part| part.view as usize + part.source.len() <= range.start);
        self.lines[first..].iter().take_while(move |part| (part.view as usize) < range.end).map(move |part| {
            let view = part.view as usize;
            let start = range.start.max(view) - view;
            let end = (range.end - view).min(part.source.len());
            let offset = part.source.start as usize;
            Span::new(offset + start, offset + end)
        })
    }
}
