//! Evidence: the reports of test and coverage tools, the tests in source files that they are about, and the verdict on
//! what those tests cite.
//!
//! `read` turns the bytes of a report into cases and executed lines. `symbols` lists the tests of a source file and the
//! lines of each body. `Results::new` matches the two, `Results::verdict` derives the verdict of a unit, and a
//! `Policy` says whether it closes the unit. This crate reads no files, no clock and no database: callers pass in
//! bytes and names.

mod document;
mod matching;
mod outcome;
mod path;
mod read;
mod refusal;
mod report;
mod results;
mod symbols;
mod verdict;

pub use document::{DOCUMENT_BYTES_MAX, EvidenceDocument, ManualEvidence, ReportDigest, TestRecord};
pub use matching::{TestPlace, Unmatched, matched};
pub use outcome::{Outcome, of_attempts, of_parts, of_tests};
pub use path::Source;
pub use read::{CASES_MAX, DEPTH_MAX, LINES_MAX, MESSAGE_CHARS_MAX, NAME_BYTES_MAX, REPORT_BYTES_MAX, read};
pub use refusal::Refusal;
pub use report::{Case, FileLines, Form, Report, Scope, TestName, Tool};
pub use results::{CodePlace, How, Problem, Results, TestResult};
pub use symbols::{HOLE, Language, SOURCE_BYTES_MAX, Symbol, enclosing, symbols};
pub use verdict::{ClosesAt, ContentKey, Open, Policy, Provenance, Trust, Verdict, as_of};
