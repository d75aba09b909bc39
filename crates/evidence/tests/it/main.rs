//! Tests of crate `evidence`, with reports that real tools wrote.

mod agreement;
mod any_bytes;
mod coverage;
mod document;
mod fuzz;
mod hostile;
mod kettle;
mod live;
mod matching;
mod outcomes;
mod policy;
mod recorded;
mod speed;
mod symbols;
