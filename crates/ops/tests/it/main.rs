//! Operations through the one door, on both stores.

mod entities;
mod reports;
mod stores;
