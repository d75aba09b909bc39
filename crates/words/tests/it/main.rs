//! Search as users see it, through a real full-text table.

mod agreement;
mod engine;
mod matching;
mod passages;
mod ranking;
mod speed;
