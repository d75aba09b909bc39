//! Projects as users have them: real files, read as a whole.

mod query;
mod query_coverage;
