//! The thread from requirements to code, tests and their runs: repositories, and what was pushed from them.
//!
//! A push writes its rows in slices under a new snapshot or run. They are not read until one small transaction makes the
//! snapshot the head of its ref, or marks the run as complete, so an interrupted push has no effect.

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
