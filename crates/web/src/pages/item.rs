//! `/r/{reference}`: one thing, with everything that belongs to it.

pub use crate::item::{ask, show};
use crate::page::Page;

pub const PAGE: Page = Page { path: "/r/{reference}", nav: None, ask, show };
