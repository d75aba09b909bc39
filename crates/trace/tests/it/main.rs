//! Traceability from files to reports.

mod bad_report;
mod index;
mod json_v2;
mod merge;
