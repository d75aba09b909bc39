//! Projects as users have them: real files, read as a whole.

mod bad_report;
mod json_v2;
mod merge;
mod query;
mod query_coverage;
