//! The thread from requirements to code, tests and their runs: repositories, what was pushed from them, and what it proves.
//!
//! A push writes its rows in slices under a new snapshot or run. Nobody reads them until one small transaction makes the
//! snapshot the head of its ref, or marks the run as complete, so that a push that breaks off is invisible.

pub mod baseline;
pub mod identity;
pub mod lease;
pub mod manual;
pub mod repository;
pub mod run;
pub mod snapshot;
pub mod text;
pub mod threat;
pub mod verification;
pub mod work;
