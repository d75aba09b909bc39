//! The summary of a project: what is done, what needs tests, what to do next.

use std::cmp::Reverse;

use crate::annotation::Level;
use crate::model::{Model, TraceProgress, TraceStatus};

/// The summary of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// The summary of each specification, by name.
    pub specifications: Vec<SpecificationSummary>,
    /// What to work on next, most important first.
    pub next: Vec<Next>,
}

/// The summary of a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecificationSummary {
    /// What it is called.
    pub id: String,
    /// The number of requirements in each state: not started, in progress, in need of tests, done.
    pub counts: [usize; 4],
}

/// A requirement to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// Its place: `rfc2324#section-2.1`.
    pub place: String,
    /// Its level.
    pub level: Level,
    /// Its status.
    pub status: TraceStatus,
    /// Its text.
    pub text: String,
}

/// How many requirements to work on are listed.
const NEXT_MAX: usize = 5;

impl TraceSummary {
    /// Summarizes a project.
    pub fn of(model: &Model) -> TraceSummary {
        let catalogue = &model.catalogue;
        let mut summary = TraceSummary::default();
        for specification in &catalogue.specifications {
            let counts = model.count(catalogue.requirements_of(specification));
            if counts != [0; 4] {
                summary.specifications.push(SpecificationSummary { id: specification.id.clone(), counts });
            }
        }
        let open = (0..catalogue.requirements.len() as u32)
            .filter(|number| model.state(*number).status != TraceStatus::Done);
        let mut open: Vec<u32> = open.collect();
        // The order of documents stays among equals.
        open.sort_by_key(|number| {
            let state = model.state(*number);
            (
                Reverse(model.requirement(*number).level),
                state.status == TraceStatus::NeedsTests,
                state.progress == TraceProgress::NotStarted,
            )
        });
        let next = open.into_iter().take(NEXT_MAX).map(|number| {
            let requirement = model.requirement(number);
            let (specification, section) = catalogue.document(requirement.section);
            Next {
                place: format!("{}#{}", specification.id, section.id),
                level: requirement.level,
                status: model.state(number).status,
                text: requirement.text(&specification.document),
            }
        });
        summary.next = next.collect();
        summary
    }

    /// The number of requirements in each state, in all specifications.
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for specification in &self.specifications {
            counts.iter_mut().zip(specification.counts).for_each(|(sum, count)| *sum += count);
        }
        counts
    }
}
