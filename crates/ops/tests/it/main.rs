//! Operations through the one door, on both stores.

mod entities;
mod search;
mod search_speed;
mod stores;
