//! The text side of search. Everything about language happens here: the databases only store and
//! intersect the terms they are handed, so a query finds the same set on each of them.
//!
//! A document is a title and a body. [`terms`] turns it into the strings that are stored and, as
//! [`Terms::postings`], indexed; [`Query`] is what a person typed, an [`Expression`] what the database is asked,
//! [`score`] ranks what it found, [`snippet`] shows where it matched.

mod expression;
mod fold;
pub mod name;
mod query;
mod score;
mod snippet;
mod split;
mod terms;

pub use expression::Expression;
pub use query::{Clause, Place, QUERY_CHARS_MAX, Query, QueryProblem};
pub use score::score;
pub use snippet::{Piece, cut, mark, snippet};
pub use split::ReferenceId;
pub use terms::{Terms, terms};

/// Changes whenever the same text may give other terms than before: stored terms must then be made anew.
pub const VERSION: u32 = 3;
