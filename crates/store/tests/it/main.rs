//! The store from outside, on both engines.

mod backup;
mod limits;
mod retries;
