//! The text side of search. Everything about language happens here: the databases only store and
//! intersect terms, so a query finds the same documents in each of them.
//!
//! A document is a title and a body. [`terms`] turns it into the strings that are stored and, as
//! [`Terms::postings`], indexed; [`Query`] is a parsed query, [`Expression`] the condition that the database evaluates,
//! [`score`] ranks the results, [`snippet`] shows where they match.

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

/// Increases whenever the terms of a text change: stored terms must then be rebuilt.
pub const VERSION: u32 = 3;
