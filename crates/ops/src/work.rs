//! Work for agents and people: one requirement at a time, leased, with everything needed to do it.
//!
//! `next_work` leases the most urgent requirement that is free and whose files nobody else has claimed (`order.rs` has the
//! order, `paths.rs` the overlaps), and returns a packet (`packet.rs`). The lease is a row in the store whose expiry the database
//! decides; its fence is part of its name, so that a late caller is told who holds the work now (`lease.rs`). `finish_work` closes
//! what the evidence closes.

pub mod finish;
pub mod hold;
pub(crate) mod lease;
pub mod list;
pub mod marks;
pub mod next;
mod order;
pub(crate) mod packet;
mod paths;
