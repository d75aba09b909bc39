//! Evidence: what test tools and coverage tools report, which tests in source files it is about, and the verdict on
//! what those tests cite.
//!
//! `read` turns the bytes of a report into cases and executed lines. `symbols` lists the tests of a source file and the
//! lines of each body. `Results::new` matches the two, and `Results::verdict` says what follows for a unit; a
//! `Policy` says whether that closes it. Nothing here reads files, knows the time or asks a database: callers hand in
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
