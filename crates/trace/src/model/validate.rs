//! Checks a citation that somebody is about to write.

use std::sync::Arc;

use crate::annotation::{Annotation, AnnotationKind};
use crate::comment::{self, Style};
use crate::diagnostic::nearest;
use crate::link::{Broken, link};
use crate::overlap::{Cover, Covers};
use crate::quote::{Likeness, near};
use crate::specification::Format;
use crate::target::TargetPath;
use crate::text::Span;

use super::Model;
use super::catalogue::SpecificationEntry;
use super::identity;

/// What became of a citation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What is wrong, if anything.
    pub error: Option<String>,
    /// What would be right.
    pub nearest: Option<String>,
    /// What is worth a look although it is right.
    pub warning: Option<String>,
    /// Whether the quote is there but for one edit.
    pub is_fuzzy: bool,
    /// The section that it speaks of, by position.
    pub section: Option<u32>,
    /// The requirements that it touches.
    pub requirements: Vec<u32>,
}

impl Verdict {
    fn wrong(error: &str, nearest: Option<String>) -> Verdict {
        Verdict { error: Some(error.to_owned()), nearest, ..Verdict::default() }
    }

    /// Whether it is right.
    pub fn is_valid(&self) -> bool {
        self.error.is_none()
    }
}

impl Model {
    /// Checks a citation: lines in any of the project's comment styles, or a bare target.
    pub fn validate(&self, citation: &str) -> Verdict {
        let annotation = match self.read(citation) {
            Ok(annotation) => annotation,
            Err(problem) => {
                return Verdict { error: Some(problem.0), nearest: problem.1, ..Verdict::default() };
            }
        };
        let name = annotation.target_path();
        if name.contains("://") && TargetPath::parse(name).is_err() {
            return Verdict::wrong("Invalid URL", None);
        }
        let Some(specification) = self.resolve(name) else {
            let names =
                self.catalogue.specifications.iter().flat_map(|specification| &specification.spellings);
            let nearest = nearest(name, names.map(String::as_str)).map(str::to_owned);
            return Verdict::wrong("Specification not found", nearest);
        };
        let Some(id) = annotation.target_section().filter(|id| !id.is_empty()) else {
            return Verdict::wrong("Section not found", Some(format!("{name}#section")));
        };
        let document = &specification.document;
        let Some(section) = self.catalogue.section(specification, id) else {
            let ids = document.sections.iter().map(|section| &*section.id);
            let nearest = nearest(id, ids).map(|id| format!("{name}#{id}"));
            return Verdict::wrong("Section not found", nearest);
        };
        let index = (section - specification.first_section) as usize;
        // Reports take fewer names than people do.
        let exact = &document.sections[index].id;
        let warning =
            document.section(id).is_none().then(|| format!("reports know the section as `{exact}`"));
        let annotation = Annotation { target: format!("{name}#{exact}").into(), ..annotation };
        match link(&annotation, document) {
            Ok(found) => {
                let cover = |span: &Span| Cover { span: *span, by: 0, kind: annotation.kind };
                let covers = Covers::new(found.spans.iter().map(cover).collect());
                let is_touched =
                    |number: &usize| !covers.over(&self.catalogue.requirements[*number].spans).by.is_empty();
                let range = self.catalogue.sections[section as usize].requirements();
                let touched: Vec<u32> = range.filter(is_touched).map(|number| number as u32).collect();
                let is_fuzzy = found.likeness == Likeness::OneEdit;
                let warning = warning.or_else(|| {
                    if annotation.quote.is_empty() {
                        None
                    } else if touched.is_empty() {
                        Some("the quoted text belongs to no requirement".to_owned())
                    } else if is_fuzzy {
                        let sentence = near::nearest_sentence(&annotation.quote, &document.view(index).text)?;
                        Some(format!(
                            "differs by one edit: {}",
                            near::difference(&annotation.quote, sentence.1)
                        ))
                    } else {
                        None
                    }
                });
                Verdict {
                    warning,
                    is_fuzzy,
                    section: Some(section),
                    requirements: touched,
                    ..Verdict::default()
                }
            }
            Err(Broken::UnknownQuote(_)) => {
                let advice = near::advice(&annotation.quote, document, index);
                Verdict { section: Some(section), ..Verdict::wrong("Requirement not found", advice) }
            }
            Err(_) => Verdict { section: Some(section), ..Verdict::wrong("Requirement not found", None) },
        }
    }

    /// Reads a citation in whatever style it is written.
    fn read(&self, citation: &str) -> Result<Annotation, (String, Option<String>)> {
        let path: Arc<str> = "citation".into();
        let default = [Style::default()];
        let styles = self.setting.styles.iter().map(|used| &used.style).chain(&default);
        let mut problem = None;
        for style in styles {
            let (annotations, problems) = comment::scan(&path, citation, style, AnnotationKind::Citation);
            if let (Some(annotation), true) = (annotations.into_iter().next(), problems.is_empty()) {
                return Ok(annotation);
            }
            problem = problem.or(problems.into_iter().next());
        }
        if let Some(problem) = problem {
            return Err((problem.message, problem.help.into_iter().next()));
        }
        let target = citation.trim();
        let is_bare = !target.is_empty() && !target.contains(char::is_whitespace);
        if !is_bare {
            let example = "//= https://www.rfc-editor.org/rfc/rfc2324#section-2.1".to_owned();
            return Err(("Invalid citation".to_owned(), Some(example)));
        }
        Ok(Annotation {
            line: 1,
            kind: AnnotationKind::Citation,
            level: Default::default(),
            format: Format::Auto,
            target: target.into(),
            quote: "".into(),
            notes: None,
            places: Default::default(),
        })
    }

    /// Finds a specification by its id, its address in any spelling, or its path.
    pub fn resolve(&self, name: &str) -> Option<&SpecificationEntry> {
        let name = name.split('#').next().unwrap_or(name).trim();
        if let Some(specification) = self.catalogue.specification(name) {
            return Some(specification);
        }
        let path = TargetPath::parse(name).ok()?;
        let id = identity::specification_id(&path, name);
        let page = path.page();
        let specifications = &self.catalogue.specifications;
        let by_name = specifications.iter().find(|specification| {
            let spellings = &specification.spellings;
            spellings
                .iter()
                .any(|spelling| spelling.trim_start_matches("./") == name.trim_start_matches("./"))
                || page.as_ref().is_some_and(|page| *page == specification.url)
        });
        by_name.or_else(|| self.catalogue.specification(&id).filter(|_| identity::is_series(&id)))
    }
}
