//! Whatever bytes are handed in, a report or a refusal comes out.

use evidence::{EvidenceDocument, Results, Source, read};
use proptest::prelude::*;

use crate::kettle;

proptest! {
    #[test]
    fn any_bytes_give_a_report_or_a_refusal(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    #[test]
    fn a_damaged_report_gives_a_report_or_a_refusal(
        name in recording(), at in 0usize..100_000, byte: u8, n_removed in 0usize..40
    ) {
        let mut bytes = kettle::recorded(name);
        let at = at % bytes.len();
        bytes[at] = byte;
        check(&bytes);
        let end = (at + n_removed).min(bytes.len());
        bytes.drain(at..end);
        check(&bytes);
    }
}

fn recording() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "pytest-xunit1.xml",
        "nextest.xml",
        "vitest.xml",
        "node.xml",
        "surefire-rerun.xml",
        "behave.xml",
        "vitest.json",
        "jest.json",
        "libtest.json",
        "go.json",
        "llvm-cov.json",
        "vitest.lcov",
        "pytest-cobertura.xml",
        "jacoco.xml",
        "pytest-cov-contexts.json",
    ])
}

pub fn check(bytes: &[u8]) {
    let source = Source { name: "report", root: kettle::ROOT, folder: "" };
    match read(&source, bytes) {
        Ok(report) => {
            assert!(!report.cases.is_empty() || !report.coverage.is_empty());
            Results::new(&[report], &[], &[], None);
        }
        Err(refusal) => {
            let n_lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            assert!(!refusal.reason.is_empty() && refusal.line.is_none_or(|line| line <= n_lines));
        }
    }
    let _ = EvidenceDocument::read("document", bytes);
}
