//! How a project fares as a whole: what is done, what needs tests, what to do next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::annotation::{Kind, Level};
use crate::index::{Progress, State, Status, specification_id};
use crate::report::{Report, TargetReport};
use crate::text::Span;

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
        let mut documents: BTreeMap<String, Vec<&TargetReport>> = BTreeMap::new();
        for target in &report.targets {
            let local = target.target.path.local(downloads).unwrap_or_default();
            documents.entry(local.to_string_lossy().into_owned()).or_default().push(target);
        }
        let mut summary = Summary::default();
        let mut next = Vec::new();
        for targets in documents.values() {
            let id = specification_id(&targets[0].target.path, &targets[0].name);
            let mut counts = [0; 4];
            for (requirement, state) in states(targets) {
                counts[state.status as usize] += 1;
                if state.status != Status::Done {
                    let key = (Reverse(requirement.level), state.progress, Reverse(state.n_todos));
                    next.push((key, id.clone(), requirement, state.status, targets[0]));
                }
            }
            if counts != [0; 4] {
                summary.specifications.push(SpecificationSummary { id, counts });
            }
        }
        // The order of documents stays among equals.
        next.sort_by_key(|((level, progress, todos), ..)| (*level, work(*progress), *todos));
        summary.next = next
            .into_iter()
            .take(NEXT_MAX)
            .map(|(_, id, requirement, status, target)| Next {
                place: format!("{id}#{}", target.specification.sections[requirement.section as usize].id),
                level: requirement.level,
                status,
                text: text(&requirement.spans, &target.specification.text),
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

/// What is implemented and only lacks tests comes last.
fn work(progress: Progress) -> u8 {
    progress as u8
}

struct Requirement {
    section: u32,
    level: Level,
    spans: Vec<Span>,
}

fn states(targets: &[&TargetReport]) -> Vec<(Requirement, State)> {
    let specification = &targets[0].specification;
    let same = || targets.iter().filter(|target| target.specification.text == specification.text);
    let references = || same().flat_map(|target| &target.references);
    let mut cited: Vec<(Span, u32)> = Vec::new();
    let mut kinds: HashMap<u32, Kind> = HashMap::new();
    let mut requirements: BTreeMap<u32, Requirement> = BTreeMap::new();
    for reference in references() {
        if reference.kind == Kind::Spec {
            let requirement = requirements.entry(reference.annotation).or_insert_with(|| Requirement {
                section: reference.section,
                level: reference.level,
                spans: Vec::new(),
            });
            requirement.spans.push(reference.span);
        } else {
            kinds.insert(reference.annotation, reference.kind);
            cited.push((reference.span, reference.annotation));
        }
    }
    cited.sort_unstable();
    let longest = cited.iter().map(|(span, _)| span.len() as u32).max().unwrap_or(0);
    let mut by_place: BTreeMap<Vec<Span>, Requirement> = BTreeMap::new();
    for requirement in requirements.into_values() {
        let known = by_place.entry(requirement.spans.clone());
        let level = requirement.level;
        known.and_modify(|known| known.level = known.level.max(level)).or_insert(requirement);
    }
    by_place
        .into_values()
        .map(|requirement| {
            let kind_of = |annotation: u32| kinds[&annotation];
            let state = State::of(&requirement.spans, &specification.text, &kind_of, &cited, longest);
            (requirement, state)
        })
        .collect()
}

fn text(spans: &[Span], document: &str) -> String {
    let parts: Vec<&str> = spans.iter().flat_map(|span| span.of_text(document).split_whitespace()).collect();
    parts.join(" ")
}
