//! Reads requirement files: TOML with requirements, exceptions and todos, as `extract` writes them and people do.

use std::collections::BTreeSet;
use std::sync::Arc;

use nearest::nearest;
use serde::Deserialize;
use toml::Spanned;

use crate::annotation::{Annotation, AnnotationKind, Level, Notes, Places, Unknown};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::interner::Interner;
use crate::specification::Format;
use crate::text::Span;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    target: Option<Spanned<String>>,
    #[serde(alias = "spec", default)]
    specs: Vec<Spanned<Spec>>,
    #[serde(alias = "exception", default)]
    exceptions: Vec<Spanned<Exception>>,
    #[serde(alias = "todo", alias = "TODO", default)]
    todos: Vec<Spanned<Todo>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    target: Option<Spanned<String>>,
    level: Option<Spanned<String>>,
    format: Option<Spanned<String>>,
    quote: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    target: Option<Spanned<String>>,
    quote: Spanned<String>,
    reason: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Todo {
    target: Option<Spanned<String>>,
    quote: Spanned<String>,
    feature: Option<Spanned<String>>,
    #[serde(alias = "tracking-issue")]
    tracking_issue: Option<Spanned<String>>,
    reason: Option<Spanned<String>>,
    #[serde(default)]
    tags: BTreeSet<String>,
}

/// Reads a requirement file.
pub fn read(path: &Arc<str>, text: &str, interner: &Interner) -> (Vec<Annotation>, Vec<Diagnostic>) {
    let file: File = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => return (Vec::new(), vec![toml_error(path, text, &error)]),
    };
    let mut reader = Reader {
        path,
        text,
        default_target: file.target.as_ref(),
        interner,
        annotations: Vec::new(),
        diagnostics: Vec::new(),
    };
    for spec in &file.specs {
        let entry = spec.as_ref();
        let level = reader.value("level", entry.level.as_ref(), Level::Auto);
        let format = reader.value("format", entry.format.as_ref(), Format::Auto);
        if let (Some(level), Some(format)) = (level, format) {
            let notes = Notes { comment: entry.quote.as_ref().clone(), ..Notes::default() };
            reader.add(spec.span().into(), &entry.target, &entry.quote, |annotation| Annotation {
                kind: AnnotationKind::Spec,
                level,
                format,
                notes: Some(Box::new(notes)),
                ..annotation
            });
        }
    }
    for exception in &file.exceptions {
        let entry = exception.as_ref();
        let notes = Notes { comment: entry.reason.as_ref().clone(), ..Notes::default() };
        reader.add(exception.span().into(), &entry.target, &entry.quote, |annotation| Annotation {
            kind: AnnotationKind::Exception,
            notes: Some(Box::new(notes)),
            ..annotation
        });
    }
    for todo in &file.todos {
        let entry = todo.as_ref();
        let text = |value: &Option<Spanned<String>>| {
            value.as_ref().map(|value| value.as_ref().clone()).unwrap_or_default()
        };
        let notes = Notes {
            comment: text(&entry.reason),
            tracking_issue: text(&entry.tracking_issue),
            feature: text(&entry.feature),
            tags: entry.tags.clone(),
            ..Notes::default()
        };
        reader.add(todo.span().into(), &entry.target, &entry.quote, |annotation| Annotation {
            kind: AnnotationKind::Todo,
            notes: (!notes.is_empty()).then(|| Box::new(notes)),
            ..annotation
        });
    }
    (reader.annotations, reader.diagnostics)
}

struct Reader<'a> {
    path: &'a Arc<str>,
    text: &'a str,
    default_target: Option<&'a Spanned<String>>,
    interner: &'a Interner,
    annotations: Vec<Annotation>,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn add(
        &mut self,
        entry: Span,
        target: &Option<Spanned<String>>,
        quote: &Spanned<String>,
        complete: impl FnOnce(Annotation) -> Annotation,
    ) {
        let place = Place::new(self.path, self.text, entry, "this entry");
        let Some(target) = target.as_ref().or(self.default_target) else {
            let error = Diagnostic::error(Code::MissingTarget, "the entry names no specification").at(place);
            let help = "give it, or the file, a `target`: a path or URL, `#`, a section";
            self.diagnostics.push(error.help(help));
            return;
        };
        self.annotations.push(complete(Annotation {
            line: place.line,
            last_line: place.line,
            kind: AnnotationKind::Spec,
            level: Level::Auto,
            format: Format::Auto,
            target: self.interner.intern(target.as_ref()),
            quote: self.interner.intern(&join(quote.as_ref())),
            notes: None,
            places: Places { target: target.span().into(), text: entry, quote: quote.span().into() },
        }));
    }

    fn value<T: std::str::FromStr<Err = Unknown>>(
        &mut self,
        key: &str,
        value: Option<&Spanned<String>>,
        default: T,
    ) -> Option<T> {
        let Some(value) = value else {
            return Some(default);
        };
        let Unknown { allowed } = match value.as_ref().parse() {
            Ok(parsed) => return Some(parsed),
            Err(unknown) => unknown,
        };
        let message = format!("there is no {key} `{}`", value.as_ref());
        let mut error = Diagnostic::error(Code::InvalidValue, message)
            .at(Place::new(self.path, self.text, value.span().into(), "not allowed here"))
            .help(format!("expected one of {}", allowed.join(", ")));
        if let Some(nearest) = nearest(value.as_ref(), allowed.iter().copied()) {
            error = error.help(format!("did you mean `{nearest}`?"));
        }
        self.diagnostics.push(error);
        None
    }
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Span {
        Span::new(range.start, range.end)
    }
}

/// Describes what a TOML parser says.
pub fn toml_error(path: &Arc<str>, text: &str, error: &toml::de::Error) -> Diagnostic {
    let message = error.message().lines().next().unwrap_or("not TOML").to_owned();
    let place = match error.span() {
        Some(span) => Place::new(path, text, span.into(), "here"),
        None => Place::file(path.clone(), ""),
    };
    let mut diagnostic = Diagnostic::error(Code::RequirementFile, message).at(place);
    for line in error.message().lines().skip(1) {
        diagnostic = diagnostic.help(line);
    }
    diagnostic
}

/// Joins the lines of a quote by single spaces.
pub fn join(quote: &str) -> String {
    let mut joined = String::with_capacity(quote.len());
    for line in quote.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(line);
    }
    joined
}
