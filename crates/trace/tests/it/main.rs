//! Projects as users have them: real files, read as a whole.

mod bad_report;
mod comment_scanner;
mod configuration;
mod coverage;
mod documents;
mod extraction;
mod fuzz;
mod json_v2;
mod matching;
mod merge;
mod projects;
mod query;
mod query_coverage;
mod requirement_files;
