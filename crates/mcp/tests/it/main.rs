//! The protocol core through its public interface: whole conversations, schemas, and arbitrary bytes.

mod any_bytes;
mod batch;
mod conversation;
mod conversations;
mod demo;
mod fuzz;
mod schema;
