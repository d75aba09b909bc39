//! The address of a table: what of it makes the view, and what only belongs to the moment.

use crate::page::{Asked, encode};

/// The row that is shown alone.
pub const ROW: &str = "row";
/// The row whose title and labels are being edited.
pub const EDIT: &str = "edit";
/// How many rows were just changed.
pub const DONE: &str = "done";
/// What is not part of a view: where it goes on, and what is being done with it.
const MOMENTARY: [&str; 4] = ["cursor", ROW, EDIT, DONE];

/// What of the query makes the view, in order.
pub fn lasting(asked: &Asked) -> impl Iterator<Item = (&str, &str)> {
    let given = asked.query.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    given.filter(|(name, value)| !MOMENTARY.contains(name) && !value.is_empty())
}

/// Names and values as a query.
pub fn query<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: Vec<String> =
        pairs.map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}

/// The address of the view with these names and values.
pub fn of<'a>(asked: &Asked, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let query = query(pairs);
    if query.is_empty() { asked.path.clone() } else { format!("{}?{query}", asked.path) }
}

/// The address of this view.
pub fn here(asked: &Asked) -> String {
    of(asked, lasting(asked))
}

/// The address of this view with one more name, which has only this value.
pub fn with(asked: &Asked, name: &str, value: &str) -> String {
    of(asked, lasting(asked).filter(|(known, _)| *known != name).chain([(name, value)]))
}

/// The address of this view without one value.
pub fn without(asked: &Asked, name: &str, value: &str) -> String {
    of(asked, lasting(asked).filter(|pair| *pair != (name, value)))
}

/// Whether a saved query says the same as the address, in whatever order.
pub fn is_here(asked: &Asked, saved: &str) -> bool {
    let current = query(lasting(asked));
    let sorted = |query: &str| {
        let mut pairs: Vec<String> =
            query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.replace('+', "%20")).collect();
        pairs.sort();
        pairs
    };
    sorted(&current) == sorted(saved)
}
