//! Traceability from files to reports.

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
mod requirement_files;
