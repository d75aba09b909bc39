//! Estimates the number of tokens of a text on the safe side, without the vocabulary of a tokenizer.
//!
//! Budgets of answers are counted in tokens of `o200k_base`, whose tables take 40 MB. Most of what it does needs no
//! table: it first cuts a text into pieces (a word with the character before it, up to three digits, a run of
//! punctuation, white space), and most pieces of English and JSON are one token. [`count`] cuts the same pieces and
//! charges each by its characters. The costs are averages over the calibration set in `tests/it/calibration.rs`,
//! rounded up. `tests/it/bounds.rs` says how far off the result may be; a test of crate `app` proves it on real answers.

mod cost;
mod followers;
mod pieces;

use cost::UNIT;
use pieces::Pieces;

/// What is added for texts whose words are less usual than those of the calibration set.
const MARGIN_PERCENT: usize = 9;
/// What is added to any text, for those too short to have average words.
const MARGIN: usize = 1;

/// Estimates how many tokens `o200k_base` makes of a text: on average 15 % more than there are, and rarely fewer.
pub fn count(text: &str) -> usize {
    let cost: usize = Pieces::new(text).map(cost::of).sum();
    (cost + cost * MARGIN_PERCENT / 100).div_ceil(UNIT) + MARGIN
}
