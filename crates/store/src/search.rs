//! Full-text search. Language and ranking are in `words`; here terms are stored and intersected, with
//! FTS5 or with a GIN index, and both engines find the same documents in the same order.

mod documents;
mod filter;
mod find;
mod index;
mod rebuild;
mod suggest;

pub use self::filter::SearchFilter;
pub use self::find::{Hit, SearchResults, Sort, search};
pub(crate) use self::index::{mark_deleted, mark_restored, put_comment, put_entity, remove, tidy_some};
pub use self::index::{moved, tidy};
pub use self::rebuild::{Indexing, indexing};
pub(crate) use self::rebuild::{clear, rebuild_beside, rebuild_if_old};
pub use self::suggest::{Suggestion, suggest};
