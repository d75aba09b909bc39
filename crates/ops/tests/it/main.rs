//! Operations through the one door, on both stores.

mod accounts;
mod contention;
mod deletion;
mod entities;
mod idempotency;
mod limits;
mod people;
mod permissions;
mod reports;
mod stores;
