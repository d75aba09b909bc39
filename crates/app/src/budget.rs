//! Counting items until a token budget is used, which all budgeted answers share. The sources of lists differ,
//! and with them the meaning of a cursor: operations answer in pages, of which
//! [`requirements::budget`](crate::requirements::budget) returns a part, with a position in the operation's own page;
//! [`duvet`](crate::duvet) generates the items of its lists one by one until the budget is used, with the number of the next.

use mcp::Failure;

/// The default budget of an answer.
pub const TOKENS_DEFAULT: usize = 2_000;
/// The reserve for the note on the rest.
pub const TOKENS_NOTE: usize = 40;

/// The remaining tokens for the items of a list.
#[derive(Clone)]
pub struct Room {
    left: usize,
}

impl Room {
    /// The rest of a budget of which `n_used` tokens are used, minus the reserve for the note.
    pub fn of(max_tokens: usize, n_used: usize) -> Room {
        Room { left: max_tokens.saturating_sub(TOKENS_NOTE + n_used) }
    }

    /// How many tokens are left.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Adds an item and its comma. Returns whether it fits; if not, the list ends.
    pub fn takes(&mut self, item: &str) -> bool {
        let left = self.left.checked_sub(tokens::count(item) + 1);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// The beginning of a text, with a mark for omitted text.
pub fn cut(text: &str, n_characters: usize) -> String {
    words::cut(text, n_characters).trim_end_matches('…').to_owned() + "…"
}

/// Reports an unknown cursor.
pub fn bad_cursor() -> Failure {
    Failure::invalid_argument("cursor", "not a cursor of this list; leave it out to start from the beginning")
}
