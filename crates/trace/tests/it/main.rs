//! Projects as users have them: real files, read as a whole.

mod agreement;
mod bad_report;
mod comment_scanner;
mod configuration;
mod coverage;
mod documents;
mod extraction;
mod follow;
mod fuzz;
mod golden;
mod index;
mod json_v2;
mod layers;
mod lcov;
mod linear;
mod managed;
mod matching;
mod merge;
mod page;
mod projects;
mod query;
mod query_coverage;
mod random;
mod reference;
mod requirement_files;
mod specifications;
