//! The thread: which code and which tests cite a requirement, what their runs showed, and what is still open.
//!
//! A checkout or a CI run pushes citations (`push_trace`), then results (`push_evidence`). `judge.rs` is the only place
//! that derives verdicts from them; `get_thread` returns them, and `counted.rs` stores them for reports.

mod answer;
pub mod baseline;
mod beside;
mod budget;
pub mod change;
pub mod cited;
pub(crate) mod citing;
pub mod counted;
pub mod get;
pub(crate) mod judge;
mod lines;
pub mod manual;
pub mod push_evidence;
pub mod push_trace;
pub(crate) mod pushing;
pub mod repository;
pub mod stale;
mod start;
mod tidy;

pub use self::beside::{CheckChange, CheckoutBeside, Finding, LookBeside, RunBeside};
pub use self::change::SideOfChange;
pub use self::lines::{PushedCitation, PushedExecution, PushedFile, PushedTest, case_id};
