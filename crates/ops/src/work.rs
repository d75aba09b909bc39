//! Work for agents and people: one requirement at a time, leased, with all that is needed to do it.
//!
//! `next_work` takes the most urgent requirement that nobody holds and that touches no file of anybody else's work (`order.rs` has the
//! order, `paths.rs` what overlaps), and answers with a packet (`packet.rs`). The lease is a row in the store whose expiry the database
//! decides; its fence is part of its name, so that whoever comes late is told who holds the work now (`lease.rs`). `finish_work` closes
//! what the evidence closes.

pub mod finish;
pub mod hold;
mod lease;
pub mod list;
pub mod marks;
pub mod next;
mod order;
mod packet;
mod paths;
