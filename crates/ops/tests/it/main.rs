//! Operations through the one door, on both stores.

mod accounts;
mod entities;
mod people;
mod permissions;
mod reports;
mod stores;
