//! Suggests where to implement a requirement: near the code for adjacent requirements.

use super::{Citation, IMPLEMENTED, Model};

/// How many sections before and after are searched.
const SECTIONS_AROUND: u32 = 20;

impl Model {
    /// Citations near a requirement: of its section, or else of the nearest cited section. Code comes
    /// before tests.
    pub fn nearby(&self, number: u32, n_max: usize) -> Vec<&Citation> {
        let own = self.requirement(number).section;
        let sections = self.catalogue.document(own).0.sections();
        let around = (0..=SECTIONS_AROUND).flat_map(|distance| {
            let before = own.checked_sub(distance).filter(|section| sections.contains(section));
            let after = (own + distance < sections.end && distance > 0).then_some(own + distance);
            before.into_iter().chain(after)
        });
        let mut near = Vec::new();
        for section in around {
            near.extend(
                self.citations(section).iter().filter(|citation| !citation.annotation().quote.is_empty()),
            );
            if !near.is_empty() {
                break;
            }
        }
        near.sort_by_key(|citation| !IMPLEMENTED.contains(&citation.kind()));
        // A second citation of the same file adds little.
        let mut kept: Vec<&Citation> = Vec::new();
        for citation in near {
            if kept.len() < n_max && kept.iter().all(|other| other.path() != citation.path()) {
                kept.push(citation);
            }
        }
        kept
    }
}
