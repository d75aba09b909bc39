//! How a project fares as a whole: what is done, what needs tests, what to do next.

use std::cmp::Reverse;
use std::path::Path;

use crate::annotation::Level;
use crate::index::Status;
use crate::report::Report;
use crate::report::document::documents;

/// How a project fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// For each specification how it fares, by name.
    pub specifications: Vec<SpecificationSummary>,
    /// What to work on next, most important first.
    pub next: Vec<Next>,
}

/// How a specification fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecificationSummary {
    /// What it is called.
    pub id: String,
    /// How many requirements are how far: not started, in progress, in need of tests, done.
    pub counts: [usize; 4],
}

/// A requirement to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// Where it stands: `rfc2324#section-2.1`.
    pub place: String,
    /// How binding it is.
    pub level: Level,
    /// How far it is.
    pub status: Status,
    /// Its text.
    pub text: String,
}

/// How many requirements are named to work on.
const NEXT_MAX: usize = 5;

impl Summary {
    /// Sums up a report. All spellings of one document are one specification.
    pub fn of(report: &Report, downloads: &Path) -> Summary {
        let documents = documents(report, downloads);
        let mut summary = Summary::default();
        let mut next = Vec::new();
        for document in &documents {
            let mut counts = [0; 4];
            for requirement in &document.requirements {
                counts[requirement.status as usize] += 1;
                if requirement.status != Status::Done {
                    next.push((document, requirement));
                }
            }
            if counts != [0; 4] {
                summary.specifications.push(SpecificationSummary { id: document.id.clone(), counts });
            }
        }
        // The order of documents stays among equals.
        next.sort_by_key(|(_, requirement)| {
            (
                Reverse(requirement.level),
                requirement.status == Status::NeedsTests,
                requirement.implemented == 0,
            )
        });
        summary.next = next
            .into_iter()
            .take(NEXT_MAX)
            .map(|(document, requirement)| {
                let specification = &document.target.specification;
                let section = &specification.sections[requirement.section as usize];
                Next {
                    place: format!("{}#{}", document.id, section.id),
                    level: requirement.level,
                    status: requirement.status,
                    text: requirement.text(specification),
                }
            })
            .collect();
        summary
    }

    /// How many requirements are how far, in all specifications.
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for specification in &self.specifications {
            counts.iter_mut().zip(specification.counts).for_each(|(sum, count)| *sum += count);
        }
        counts
    }
}
