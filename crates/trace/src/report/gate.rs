//! The CI check of `report`: every significant line is cited, and every cited line is tested.

use std::collections::HashSet;

use super::{Report, TargetReport};
use crate::annotation::AnnotationKind;

/// What the check requires.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Citations.
    pub citations: bool,
    /// Tests.
    pub tests: bool,
}

impl Gate {
    /// Returns what is missing, by specification.
    pub fn check(self, report: &Report<'_>) -> Result<(), String> {
        report.targets.iter().try_for_each(|target| self.check_target(target))
    }

    fn check_target(self, target: &TargetReport<'_>) -> Result<(), String> {
        let lines = |wanted: &dyn Fn(AnnotationKind) -> bool| -> HashSet<u32> {
            let wanted = target.references.iter().filter(|reference| wanted(reference.kind));
            wanted.map(|reference| target.specification.lines.line(reference.span.start)).collect()
        };
        let all = lines(&|_| true);
        let is_whole = |kind| matches!(kind, AnnotationKind::Exception | AnnotationKind::Implication);
        let cited = lines(&|kind| kind == AnnotationKind::Citation || is_whole(kind));
        let tested = lines(&|kind| kind == AnnotationKind::Test || is_whole(kind));
        let missing = |of: &HashSet<u32>, from: &HashSet<u32>| of.difference(from).min().copied();
        if let Some(line) = missing(&all, &cited).filter(|_| self.citations) {
            return Err(format!("{}: line {line} is required but not cited", target.name));
        }
        if let Some(line) = missing(&cited, &tested).filter(|_| self.tests) {
            return Err(format!("{}: line {line} is cited but not tested", target.name));
        }
        Ok(())
    }
}
