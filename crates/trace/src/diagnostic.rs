//! Diagnostics: problems of a project, with place, cause and advice.

use std::fmt;
use std::sync::Arc;

use crate::text::Span;

mod code;

pub use code::Code;

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Its kind.
    pub code: Code,
    /// The message.
    pub message: String,
    /// The places, the most important first.
    pub places: Vec<Place>,
    /// What to do, or the nearest valid text.
    pub help: Vec<String>,
    /// The invalid annotation, if it is one: the number of its first line, and all of its lines.
    pub annotation: Option<(u32, Arc<str>)>,
}

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The project is wrong: reports fail.
    Error,
    /// Worth checking.
    Warning,
}

/// A place in a file, with its line for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the project.
    pub path: Arc<str>,
    /// The line, from 1 on; 0 for the whole file.
    pub line: u32,
    /// The column in characters from 1 on.
    pub column: u32,
    /// How many characters are meant, within the line.
    pub width: u32,
    /// The line itself.
    pub excerpt: String,
    /// A label.
    pub label: String,
}

/// Longer lines are shortened for display.
const EXCERPT_SIZE_MAX_BYTES: usize = 400;

impl Place {
    /// Describes a span of a file.
    pub fn new(path: &Arc<str>, text: &str, span: Span, label: impl Into<String>) -> Place {
        Place::near(path, text, span, label, &mut (0, 1))
    }

    /// The same, counting lines from a known line start, which is then updated, so that
    /// describing many places reads the file once and not once for each.
    pub fn near(
        path: &Arc<str>,
        text: &str,
        span: Span,
        label: impl Into<String>,
        known: &mut (usize, u32),
    ) -> Place {
        let mut start = (span.start as usize).min(text.len());
        // The file may have changed since it was read.
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let line_start = memchr::memrchr(b'\n', &text.as_bytes()[..start]).map_or(0, |end| end + 1);
        let line_end = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |end| start + end);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let end = (span.end as usize).clamp(start, line_start + line.len().max(start - line_start));
        let mut shown = line.len().min(EXCERPT_SIZE_MAX_BYTES.max(start - line_start));
        while !line.is_char_boundary(shown) {
            shown -= 1;
        }
        let n_lines =
            |from: usize, to: usize| memchr::memchr_iter(b'\n', &text.as_bytes()[from..to]).count() as u32;
        known.1 = match line_start.checked_sub(known.0) {
            Some(_) => known.1 + n_lines(known.0, line_start),
            None => known.1 - n_lines(line_start, known.0),
        };
        known.0 = line_start;
        Place {
            path: path.clone(),
            line: known.1,
            column: text[line_start..start].chars().count() as u32 + 1,
            width: text.get(start..end).map_or(0, |part| part.chars().count()) as u32,
            excerpt: line[..shown].to_owned(),
            label: label.into(),
        }
    }

    /// Describes a file as a whole.
    pub fn file(path: impl Into<Arc<str>>, label: impl Into<String>) -> Place {
        Place { path: path.into(), line: 0, column: 0, width: 0, excerpt: String::new(), label: label.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.path),
            line => write!(f, "{}:{line}:{}", self.path, self.column),
        }
    }
}

impl Diagnostic {
    /// Makes an error.
    pub fn error(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            places: Vec::new(),
            help: Vec::new(),
            annotation: None,
        }
    }

    /// Makes a warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// Adds a place.
    pub fn at(mut self, place: Place) -> Diagnostic {
        self.places.push(place);
        self
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help.push(help.into());
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Its sort key: file, line and column.
    pub fn order(&self) -> (Option<(&str, u32, u32)>, Code) {
        (self.places.first().map(|place| (&*place.path, place.line, place.column)), self.code)
    }
}
