//! Describes why annotations cannot be resolved, and suggests the nearest valid text.

use std::path::Path;
use std::sync::Arc;

use nearest::nearest;

use crate::annotation::{Annotation, Places};
use crate::comment::StyleUse;
use crate::config::SpecificationSource;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::link;
use crate::managed::{self, Explained};
use crate::model::lines;
use crate::quote::near;
use crate::specification::Specification;
use crate::text::{Lines, Span};

use super::documents::LookupProblem;
use super::extracted::Extracted;
use super::{Project, Texts, files};

/// The texts of files with problems, each read once.
pub struct FileTexts<'a> {
    project: &'a Project,
    root: &'a Path,
    extracted: &'a Extracted,
    texts: Option<&'a Texts>,
    last: Option<(Arc<str>, String, Lines)>,
    styles: Option<Vec<StyleUse>>,
}

impl<'a> FileTexts<'a> {
    /// Starts without any.
    pub fn new(project: &'a Project, extracted: &'a Extracted) -> FileTexts<'a> {
        let root = &project.options.root;
        FileTexts { project, root, extracted, texts: None, last: None, styles: None }
    }

    /// The same with texts instead of files.
    pub fn with(self, texts: &'a Texts) -> FileTexts<'a> {
        FileTexts { texts: Some(texts), ..self }
    }

    /// The comment style of a file.
    pub fn style(&mut self, path: &str) -> StyleUse {
        let styles = self.styles.get_or_insert_with(|| self.project.styles());
        styles.iter().find(|used| used.is_of(path)).unwrap_or(&styles[0]).clone()
    }

    /// Describes a problem of an annotation. `make` sees only the relevant lines, as
    /// if the file started there, so that a file full of problems takes linear time.
    pub fn describe(
        &mut self,
        path: &Arc<str>,
        annotation: &Annotation,
        make: impl FnOnce(&Annotation, &str) -> Diagnostic,
    ) -> Diagnostic {
        let last = self.last.take().filter(|(known, ..)| known == path);
        let (_, text, lines) = self.last.insert(last.unwrap_or_else(|| {
            let text = match self.extracted.file(path) {
                Some(section) => section.toml(),
                None => match self.texts.map(|texts| texts.get(path)) {
                    Some(text) => text.map(|text| text.to_string()).unwrap_or_default(),
                    None => files::read(&self.root.join(&**path)).unwrap_or_default(),
                },
            };
            let lines = Lines::new(&text);
            (path.clone(), text, lines)
        }));
        let places = annotation.places;
        let first = annotation.line.min(lines.line(places.target.start.min(places.quote.start))).max(1);
        let start = lines.span(first, text).map_or(text.len() as u32, |span| span.start);
        let moved = |span: Span| Span {
            start: span.start.saturating_sub(start),
            end: span.end.saturating_sub(start),
        };
        let seen = Annotation {
            line: annotation.line - first + 1,
            places: Places {
                target: moved(places.target),
                text: moved(places.text),
                quote: moved(places.quote),
            },
            ..annotation.clone()
        };
        let mut problem = make(&seen, &text[start as usize..]);
        for place in problem.places.iter_mut().filter(|place| place.line > 0) {
            place.line += first - 1;
        }
        let own = (annotation.line..=annotation.last_line).filter_map(|line| lines.span(line, text));
        let own: Vec<&str> = own.map(|span| span.of_text(text).trim()).collect();
        problem.annotation = Some((annotation.line, own.join("\n").into()));
        problem
    }
}

/// Describes why a configured specification was not found.
pub fn configured(problem: &LookupProblem, source: &SpecificationSource) -> Diagnostic {
    problem.diagnostic().at(source.place.clone())
}

impl LookupProblem {
    /// Says what is wrong.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            LookupProblem::Url(reason) => {
                Diagnostic::error(Code::InvalidUrl, format!("invalid URL: {reason}"))
            }
            LookupProblem::Name(error) => {
                let problem = Diagnostic::error(Code::ManagedTarget, error.message.clone());
                error
                    .nearest
                    .iter()
                    .fold(problem, |problem, nearest| problem.help(format!("did you mean `{nearest}`?")))
            }
            LookupProblem::UnknownRequirement { name, nearest } => {
                let message = format!("{name} does not exist, or is not visible");
                let problem = Diagnostic::error(Code::UnknownRequirement, message);
                nearest
                    .iter()
                    .fold(problem, |problem, nearest| problem.help(format!("did you mean `{nearest}`?")))
            }
            LookupProblem::Unreachable { name, reason } => {
                let message = format!("the text of {name} is not known: {reason}");
                Diagnostic::error(Code::UnreachableStore, message)
            }
            LookupProblem::Unreadable(message) => {
                Diagnostic::error(Code::MissingSpecification, message.clone())
            }
            LookupProblem::Missing { name, copy: None } => {
                let message = match name.as_str() {
                    "" => "the target names no specification".to_owned(),
                    name => format!("specification not found: {name}"),
                };
                let problem = Diagnostic::error(Code::MissingSpecification, message);
                match managed::bare_reference(name) {
                    Some(target) => problem.help(format!("a managed requirement is cited as `{target}`")),
                    None => problem.help("paths are relative to the root of the project"),
                }
            }
            LookupProblem::Missing { name, copy: Some((path, reason)) } => {
                let message = format!("specification not found: {name}");
                let error = Diagnostic::error(Code::MissingSpecification, message);
                let error = match reason {
                    Some(reason) => error.help(format!("it could not be fetched: {reason}")),
                    None => error,
                };
                error.help(format!("put its text into {path}"))
            }
        }
    }
}

impl link::Broken {
    /// Describes a problem of an annotation, and suggests the nearest valid text.
    pub fn diagnostic(
        self,
        annotation: &Annotation,
        path: &Arc<str>,
        text: &str,
        specification: &Specification,
    ) -> Diagnostic {
        let at = |span: Span, label: &str| place(annotation, path, text, span, label);
        let (target, quote) = (annotation.places.target, annotation.places.quote);
        let name = annotation.target_path();
        let section = |index: u32| &specification.sections[index as usize].id;
        match self {
            link::Broken::NoSection => {
                Diagnostic::error(Code::MissingSection, format!("the target {name} names no section"))
                    .at(at(target, "no `#section`"))
                    .help(sections(specification))
            }
            link::Broken::UnknownSection => {
                let id = annotation.target_section().unwrap_or_default();
                let error = Diagnostic::error(Code::UnknownSection, format!("{name} has no section `{id}`"))
                    .at(at(target, "no such section"));
                match nearest(id, specification.sections.iter().map(|section| &*section.id)) {
                    Some(nearest) => error.help(format!("did you mean `{nearest}`?")),
                    None => error.help(sections(specification)),
                }
            }
            link::Broken::EmptySection(index) => {
                let message = format!("section `{}` of {name} has no text", section(index));
                Diagnostic::error(Code::EmptySection, message).at(at(quote, "nothing to quote there"))
            }
            link::Broken::UnknownQuote(index)
            | link::Broken::Stale(index)
            | link::Broken::UnknownVersion(index)
            | link::Broken::Gone(index) => {
                let message = format!("section `{}` of {name} does not have this text", section(index));
                let error = Diagnostic::error(Code::UnknownQuote, message).at(at(quote, "not there"));
                let advice = near::advice(&annotation.quote, specification, index as usize);
                advice.into_iter().flat_map(|advice| advice.help(specification)).fold(error, Diagnostic::help)
            }
        }
    }
}

impl Explained {
    /// Describes a citation of a managed requirement, with the lines to write instead.
    pub fn diagnostic(
        self,
        annotation: &Annotation,
        path: &Arc<str>,
        text: &str,
        used: &StyleUse,
    ) -> Diagnostic {
        let (span, label) = match self.code {
            Code::StaleCitation => (annotation.places.quote, "quoted here"),
            Code::AmbiguousQuote => (annotation.places.quote, "not one place"),
            Code::BrokenCitation if !annotation.quote.is_empty() => (annotation.places.quote, "not there"),
            _ => (annotation.places.target, "cited here"),
        };
        let problem = Diagnostic { severity: self.severity, ..Diagnostic::error(self.code, self.message) };
        let problem = self.help.into_iter().fold(problem, Diagnostic::help);
        let problem = match self.renewed {
            Some(renewed) => {
                let lines = lines(used, annotation, &self.target, &renewed.quote);
                problem.help(format!("write instead:\n{lines}"))
            }
            None => problem,
        };
        problem.at(place(annotation, path, text, span, label))
    }
}

/// A place in the file of an annotation, which may have changed since it was read.
fn place(annotation: &Annotation, path: &Arc<str>, text: &str, span: Span, label: &str) -> Place {
    match text.get(span.range()) {
        Some(_) => Place::new(path, text, span, label),
        None => Place { line: annotation.line, column: 1, ..Place::file(path.clone(), label) },
    }
}

/// Names some existing sections.
fn sections(specification: &Specification) -> String {
    let ids: Vec<&str> = specification.sections.iter().map(|section| &*section.id).take(8).collect();
    match specification.sections.len() {
        0 => "the specification has no sections; is its format right?".to_owned(),
        n if n > ids.len() => format!("its sections are {}, … ({n} in all)", ids.join(", ")),
        _ => format!("its sections are {}", ids.join(", ")),
    }
}
