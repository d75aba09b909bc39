//! The checks that need no coverage report: implementation, test, duplicates.

use rayon::prelude::*;

use super::cover::{QuoteCover, QuotedTexts};
use super::filter::AnnotationFilter;
use super::{QueryFinding, QueryOutcome, Related};
use crate::annotation::AnnotationKind;
use crate::report::Report;

/// The input of checks.
pub struct Context<'a> {
    /// The project.
    pub report: &'a Report<'a>,
    /// Its texts.
    pub texts: QuotedTexts<'a>,
    /// The scope of the query.
    pub filter: &'a AnnotationFilter,
}

impl Context<'_> {
    fn kind(&self, number: u32) -> AnnotationKind {
        self.report.annotations[number as usize].annotation.kind
    }

    /// Whether an annotation is in the scope.
    fn picks(&self, number: u32) -> bool {
        self.filter.picks(self.report.annotations[number as usize].annotation)
    }

    /// Creates a finding for each annotation of a type in the scope, and for each candidate quote that does not
    /// occur word for word.
    ///
    /// The filter selects what is checked, never what covers it: it cannot make something look missing.
    pub fn each(
        &self,
        kind: AnnotationKind,
        find: impl Fn(u32) -> Vec<QueryFinding> + Send + Sync,
    ) -> Vec<QueryFinding> {
        let all = 0..self.report.annotations.len() as u32;
        let picked: Vec<u32> =
            all.filter(|number| self.kind(*number) == kind && self.picks(*number)).collect();
        let findings: Vec<Vec<QueryFinding>> = picked.into_par_iter().with_min_len(16).map(find).collect();
        let mut findings: Vec<QueryFinding> = findings.into_iter().flatten().collect();
        // The same quote may be in the way of many.
        let mut seen = std::collections::HashSet::new();
        findings
            .retain(|finding| finding.outcome != QueryOutcome::Unmatched || seen.insert(finding.annotation));
        findings
    }

    /// Determines how annotations of some types cover another one. None if its own quote does not occur.
    pub fn cover(
        &self,
        number: u32,
        kinds: &[AnnotationKind],
        findings: &mut Vec<QueryFinding>,
    ) -> Option<QuoteCover> {
        let cover = self.texts.cover(number, |other| kinds.contains(&self.kind(other)));
        note_unmatched(number, cover.as_ref(), findings);
        cover
    }
}

/// Every requirement is implemented, implied, or an exception.
pub fn implementation(context: &Context<'_>) -> Vec<QueryFinding> {
    const DONE: &[AnnotationKind] =
        &[AnnotationKind::Citation, AnnotationKind::Implication, AnnotationKind::Exception];
    context.each(AnnotationKind::Spec, |number| {
        let mut findings = Vec::new();
        let Some(done) = context.cover(number, DONE, &mut findings) else {
            return findings;
        };
        let Some(todo) = context.cover(number, &[AnnotationKind::Todo], &mut findings) else {
            return findings;
        };
        let outcome = match (done.is_whole(), done.by.is_empty(), todo.by.is_empty()) {
            (true, _, true) => QueryOutcome::Complete,
            (true, ..) | (false, false, false) => QueryOutcome::Mixed,
            (false, false, true) => QueryOutcome::Partial,
            (false, true, false) => QueryOutcome::Todo,
            (false, true, true) => QueryOutcome::Missing,
        };
        let mut finding = finding(context, number, outcome, &done);
        finding.related.extend(todo.by.iter().map(|other| Related::new(*other)));
        findings.push(finding);
        findings
    })
}

/// Every implementation is tested.
pub fn test(context: &Context<'_>) -> Vec<QueryFinding> {
    context.each(AnnotationKind::Citation, |number| {
        let mut findings = Vec::new();
        if let Some(cover) = context.cover(number, &[AnnotationKind::Test], &mut findings) {
            findings.push(finding(context, number, outcome(&cover), &cover));
        }
        findings
    })
}

/// No annotation repeats others of its type.
pub fn duplicates(context: &Context<'_>) -> Vec<QueryFinding> {
    let of_kind = |kind| {
        context.each(kind, |number| {
            let is_candidate = |other| context.kind(other) == kind && context.picks(other);
            let cover = context.texts.cover(number, is_candidate);
            let mut findings = Vec::new();
            note_unmatched(number, cover.as_ref(), &mut findings);
            if let Some(cover) = cover {
                let outcome = match outcome(&cover) {
                    QueryOutcome::Complete => QueryOutcome::Duplicate,
                    QueryOutcome::Partial => QueryOutcome::Overlap,
                    _ => QueryOutcome::Unique,
                };
                findings.push(finding(context, number, outcome, &cover));
            }
            findings
        })
    };
    AnnotationKind::ALL.into_iter().flat_map(of_kind).collect()
}

/// The outcome of a cover.
pub fn outcome(cover: &QuoteCover) -> QueryOutcome {
    match (cover.is_whole(), cover.by.is_empty()) {
        (true, _) => QueryOutcome::Complete,
        (false, false) => QueryOutcome::Partial,
        (false, true) => QueryOutcome::Missing,
    }
}

fn finding(context: &Context<'_>, number: u32, outcome: QueryOutcome, cover: &QuoteCover) -> QueryFinding {
    let is_partial = !cover.is_whole() && !cover.by.is_empty() && outcome != QueryOutcome::Overlap;
    QueryFinding {
        related: cover.by.iter().map(|other| Related::new(*other)).collect(),
        missing: if is_partial { context.texts.missing(number, cover) } else { Vec::new() },
        ..QueryFinding::new(number, outcome)
    }
}

fn note_unmatched(number: u32, cover: Option<&QuoteCover>, findings: &mut Vec<QueryFinding>) {
    match cover {
        None => findings.push(QueryFinding::new(number, QueryOutcome::Unmatched)),
        Some(cover) => {
            findings.extend(
                cover.unmatched.iter().map(|other| QueryFinding::new(*other, QueryOutcome::Unmatched)),
            );
        }
    }
}
