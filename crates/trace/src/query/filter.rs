//! The scope of a query.

use crate::annotation::Annotation;

/// Selects annotations by section and by text. Empty lists select all.
#[derive(Clone, Debug, Default)]
pub struct AnnotationFilter {
    sections: Vec<(String, Option<String>)>,
    quotes: Vec<String>,
}

impl AnnotationFilter {
    /// Sections are written as in targets, `path#section` or `path`; quotes are parts of what annotations quote.
    pub fn new(sections: &[String], quotes: &[String]) -> AnnotationFilter {
        let split = |section: &String| match section.split_once('#') {
            Some((path, section)) => (path.to_owned(), Some(section.to_owned())),
            None => (section.clone(), None),
        };
        AnnotationFilter {
            sections: sections.iter().map(split).collect(),
            quotes: quotes.iter().map(|quote| quote.to_lowercase()).collect(),
        }
    }

    /// Whether an annotation is selected.
    pub fn picks(&self, annotation: &Annotation) -> bool {
        self.picks_section(annotation) && self.picks_quote(annotation)
    }

    fn picks_section(&self, annotation: &Annotation) -> bool {
        let is_meant = |(path, section): &(String, Option<String>)| {
            path == annotation.target_path()
                && section.as_deref().is_none_or(|section| annotation.target_section() == Some(section))
        };
        self.sections.is_empty() || self.sections.iter().any(is_meant)
    }

    fn picks_quote(&self, annotation: &Annotation) -> bool {
        if self.quotes.is_empty() {
            return true;
        }
        let quote = annotation.quote.to_lowercase();
        self.quotes.iter().any(|part| quote.contains(part.as_str()))
    }

    /// Lists the filters that select nothing.
    pub fn idle<'a>(&self, annotations: impl Iterator<Item = &'a Annotation> + Clone) -> Vec<String> {
        let mut idle = Vec::new();
        for section in &self.sections {
            let one = AnnotationFilter { sections: vec![section.clone()], quotes: Vec::new() };
            if !annotations.clone().any(|annotation| one.picks(annotation)) {
                idle.push(match section {
                    (path, Some(section)) => format!("{path}#{section}"),
                    (path, None) => path.clone(),
                });
            }
        }
        for quote in &self.quotes {
            let one = AnnotationFilter { sections: Vec::new(), quotes: vec![quote.clone()] };
            if !annotations.clone().any(|annotation| one.picks(annotation)) {
                idle.push(quote.clone());
            }
        }
        idle
    }
}
