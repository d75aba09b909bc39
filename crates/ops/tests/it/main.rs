//! Operations through the one door, on both stores.

mod accounts;
mod contention;
mod entities;
mod idempotency;
mod people;
mod permissions;
mod reports;
mod stores;
