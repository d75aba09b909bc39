//! Operations through the one door, on both stores.

mod accounts;
mod backup;
mod bulk;
mod comments;
mod constraints;
mod contention;
mod deletion;
mod entities;
mod exchange;
mod history;
mod idempotency;
mod import;
mod import_made;
mod limits;
mod memory;
mod models;
mod people;
mod permissions;
mod progress;
mod projects;
mod reports;
mod search;
mod search_index;
mod search_speed;
mod signals;
mod stores;
