//! Projects as users have them: real files, read as a whole.

mod bad_report;
mod documents;
mod json_v2;
mod lcov;
mod merge;
mod page;
mod query;
mod query_coverage;
