//! Citations of managed requirements, including those that no longer apply.

use std::sync::Arc;

use crate::annotation::{Annotation, AnnotationKind};
use crate::managed::{CitationState, ManagedName, Unit};
use crate::overlap::{Cover, Covers};

use super::{LinkedFile, Model};

/// A citation of a managed requirement.
#[derive(Debug)]
pub struct ManagedCitation<'a> {
    /// Its file.
    pub file: &'a Arc<LinkedFile>,
    /// The comment.
    pub annotation: &'a Annotation,
    /// The cited requirement, with the project and the pinned version.
    pub name: ManagedName,
    /// Its state.
    pub state: CitationState,
    /// The units that it covers, fully or partly.
    pub units: Vec<Unit>,
    /// The units of an earlier text that it quotes and that no longer exist.
    pub earlier: Vec<Unit>,
}

impl Model {
    /// Lists the citations of managed requirements that are known, by file and line.
    pub fn managed_citations(&self) -> impl Iterator<Item = ManagedCitation<'_>> {
        self.files().iter().flat_map(move |file| {
            file.annotations().filter_map(move |(annotation, link)| {
                let specification = &self.targets[link.target? as usize].specification;
                let managed = specification.managed.as_ref()?;
                let version = ManagedName::parse(&annotation.target).ok().and_then(|name| name.version);
                let spans = link.found.iter().flat_map(|found| found.spans.iter());
                let kind = AnnotationKind::Citation;
                let covers = Covers::new(spans.map(|span| Cover { span: *span, by: 0, kind }).collect());
                let is_covered = |number: &usize| covers.over(&managed.units[*number].0).is_touched(&[kind]);
                let units = managed.units(specification);
                let numbers = (0..units.len()).filter(is_covered);
                let state = managed.state(annotation, specification);
                let earlier = match state {
                    CitationState::Stale { .. } => managed.quoted_before(&annotation.quote, &units),
                    _ => Vec::new(),
                };
                Some(ManagedCitation {
                    file,
                    annotation,
                    name: ManagedName { version, ..managed.name.clone() },
                    state,
                    units: numbers.map(|number| units[number].clone()).collect(),
                    earlier,
                })
            })
        })
    }
}
