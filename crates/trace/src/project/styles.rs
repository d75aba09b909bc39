//! The comment styles of a project.

use crate::annotation::AnnotationKind;
use crate::comment::{Style, StyleUse};

use super::{Project, listing};

impl Project {
    /// Lists the comment styles of citations, each with its files.
    pub fn styles(&self) -> Vec<StyleUse> {
        let mut styles: Vec<StyleUse> = Vec::new();
        let mut add = |style: Style, default_kind: AnnotationKind, pattern: &str| {
            let same = |used: &&mut StyleUse| used.style == style && used.default_kind == default_kind;
            match styles.iter_mut().find(same) {
                Some(used) => used.patterns.push(pattern.to_owned()),
                None => styles.push(StyleUse { style, default_kind, patterns: vec![pattern.to_owned()] }),
            }
        };
        for source in self.config.iter().flat_map(|config| &config.sources) {
            add(source.style.clone(), source.default_kind, &source.pattern);
        }
        for pattern in &self.options.source_patterns {
            let (style, glob) = listing::marks(pattern);
            add(style, AnnotationKind::default(), glob);
        }
        if styles.is_empty() {
            styles.push(StyleUse {
                style: Style::default(),
                default_kind: AnnotationKind::default(),
                patterns: Vec::new(),
            });
        }
        styles
    }
}
