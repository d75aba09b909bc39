//! The programs as a user meets them: the real binary over real pipes.

mod agent;
mod backend;
mod bad_input;
mod cli;
mod duvet;
mod duvet_query;
mod duvet_report;
mod follow;
mod hostile_project;
mod lists;
mod load;
mod merge;
mod process;
mod rest;
mod rest_fuzz;
mod seed_003;
mod seed_004;
mod spexus_cli;
mod stdio;
mod surfaces;
mod tidy;
mod tls;
