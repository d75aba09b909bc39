//! Pages of a list and the cursors between them.

use std::ops::Range;

use crate::failure::{Failure, FailureKind, FieldError};

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// Its items.
    pub items: Vec<T>,
    /// The start of the next page; opaque to clients.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A list on a single page.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
}

/// Returns the page at `cursor` from a list that does not change while it is read.
pub fn page_of<T: Clone>(items: &[T], cursor: Option<&str>, page_size: usize) -> Result<Page<T>, Failure> {
    page_from(items.len(), cursor, page_size, |range| items[range].to_vec())
}

/// The same for a list of `total` items that is generated in parts: `items` returns a range of it.
pub fn page_from<T>(
    n_items: usize,
    cursor: Option<&str>,
    page_size: usize,
    items: impl FnOnce(Range<usize>) -> Vec<T>,
) -> Result<Page<T>, Failure> {
    let start = match cursor {
        None => 0,
        Some(cursor) => decode(cursor).filter(|start| *start < n_items).ok_or_else(bad_cursor)?,
    };
    let end = n_items.min(start + page_size);
    let next_cursor = (end < n_items).then(|| encode(end));
    Ok(Page { items: items(start..end), next_cursor })
}

fn bad_cursor() -> Failure {
    let error =
        FieldError::new("cursor", "not a cursor of this list; leave it out to start from the beginning");
    let message = format!("Invalid params: {}: {}", error.field, error.message);
    Failure { errors: vec![error], ..Failure::new(FailureKind::InvalidArguments, message) }
}

/// The letter prevents clients from calculating with cursors as numbers.
fn encode(start: usize) -> String {
    format!("p{start:x}")
}

fn decode(cursor: &str) -> Option<usize> {
    let start = usize::from_str_radix(cursor.strip_prefix('p')?, 16).ok()?;
    (encode(start) == cursor).then_some(start)
}
