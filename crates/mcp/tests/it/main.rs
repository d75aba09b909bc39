//! The protocol core, seen from outside: whole conversations, schemas, and any bytes at all.

mod any_bytes;
mod batch;
mod conversation;
mod conversations;
mod demo;
mod fuzz;
mod schema;
