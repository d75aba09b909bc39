//! Pages of a list and the cursors between them.

use crate::failure::{Failure, FieldError, Kind};

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next one begins; opaque to clients.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A list that fits on one page.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
}

/// Cuts the page that `cursor` points at out of a list that does not change while it is read.
pub fn page_of<T: Clone>(items: &[T], cursor: Option<&str>, page_size: usize) -> Result<Page<T>, Failure> {
    let start = match cursor {
        None => 0,
        Some(cursor) => decode(cursor).filter(|start| *start < items.len()).ok_or_else(bad_cursor)?,
    };
    let end = items.len().min(start + page_size);
    let next_cursor = (end < items.len()).then(|| encode(end));
    Ok(Page { items: items[start..end].to_vec(), next_cursor })
}

fn bad_cursor() -> Failure {
    let error =
        FieldError::new("cursor", "not a cursor of this list; leave it out to start from the beginning");
    let message = format!("Invalid params: {}: {}", error.field, error.message);
    Failure { errors: vec![error], ..Failure::new(Kind::InvalidArguments, message) }
}

/// The letter keeps clients from taking a cursor for a number to calculate with.
fn encode(start: usize) -> String {
    format!("p{start:x}")
}

fn decode(cursor: &str) -> Option<usize> {
    let start = usize::from_str_radix(cursor.strip_prefix('p')?, 16).ok()?;
    (encode(start) == cursor).then_some(start)
}
