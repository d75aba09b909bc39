//! What all answers within a budget of tokens share: how items are counted until no more fit. Where lists come from
//! differs, and with it what a cursor means: operations answer in pages, of which
//! [`requirements::budget`](crate::requirements::budget) cuts out a part, with a place in the operation's own page;
//! [`duvet`](crate::duvet) makes the items of its lists one by one, and no more than fit, with the number of the next.

use mcp::Failure;

/// The tokens of an answer if nobody says otherwise.
pub const TOKENS_DEFAULT: usize = 2_000;
/// What is left for the note on the rest.
pub const TOKENS_NOTE: usize = 40;

/// How many tokens of an answer are left for the items of a list.
#[derive(Clone)]
pub struct Room {
    left: usize,
}

impl Room {
    /// The room in a budget of which so much is used already, with the note on the rest left free.
    pub fn of(max_tokens: usize, n_used: usize) -> Room {
        Room { left: max_tokens.saturating_sub(TOKENS_NOTE + n_used) }
    }

    /// How many tokens are left.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Puts an item in, with the comma behind it. Returns whether it fits; where one does not, the list ends.
    pub fn takes(&mut self, item: &str) -> bool {
        let left = self.left.checked_sub(tokens::count(item) + 1);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// The beginning of a text, with a mark that more follows.
pub fn cut(text: &str, n_characters: usize) -> String {
    words::cut(text, n_characters).trim_end_matches('…').to_owned() + "…"
}

/// Says that a cursor was never given to anybody.
pub fn bad_cursor() -> Failure {
    Failure::invalid_argument("cursor", "not a cursor of this list; leave it out to start from the beginning")
}
