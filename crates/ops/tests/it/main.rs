//! Operations through the one door, on both stores.

mod backup;
mod bulk;
mod entities;
mod exchange;
mod stores;
