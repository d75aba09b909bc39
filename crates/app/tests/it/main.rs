//! The programs as a user meets them: the real binary over real pipes.

mod bad_input;
mod cli;
mod duvet;
mod duvet_query;
mod load;
mod merge;
mod process;
mod seed_004;
mod stdio;
mod tidy;
