//! Estimates the number of tokens of a text on the safe side, without the vocabulary of a tokenizer.
//!
//! Budgets of answers are counted in tokens of `o200k_base`, whose tables take 40 MB. An estimate needs no
//! tables: the tokenizer first splits a text into pieces (a word with the character before it, up to three digits, a run of
//! punctuation, white space), and most pieces of English and JSON are one token. [`count`] splits in the same way and
//! estimates the cost of each piece by its characters. The costs are averages over the calibration set in
//! `tests/it/calibration.rs`,
//! rounded up. `tests/it/bounds.rs` has the limits of the error; a test of crate `app` checks it on real answers.

mod cost;
mod followers;
mod pieces;

use cost::UNIT;
use pieces::Pieces;

/// The addition for texts whose words are rarer than those of the calibration set.
const MARGIN_PERCENT: usize = 9;
/// The addition for any text, because short ones may not have average words.
const MARGIN: usize = 1;

/// Estimates the number of `o200k_base` tokens in a text: on average 15 % too high, and rarely too low.
pub fn count(text: &str) -> usize {
    let cost: usize = Pieces::new(text).map(cost::of).sum();
    (cost + cost * MARGIN_PERCENT / 100).div_ceil(UNIT) + MARGIN
}
