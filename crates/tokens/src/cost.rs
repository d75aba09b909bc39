//! The cost of a piece, in hundredths of a token.
//!
//! The numbers are averages over the calibration set, rounded up. Characters outside of the set cost a token per byte, the
//! maximum.

use crate::followers::n_rare_pairs;
use crate::pieces::Piece;

/// One token.
pub const UNIT: usize = 100;

/// Estimates the cost of one piece.
pub fn of(piece: Piece<'_>) -> usize {
    match piece {
        Piece::Word { before, letters, is_escaped, is_beside_digit, has_ending } => {
            word(before, letters, is_escaped, is_beside_digit) + if has_ending { UNIT } else { 0 }
        }
        Piece::Number(digits) => number(digits),
        Piece::Signs(signs) => self::signs(signs),
        Piece::Blank(blank) => self::blank(blank),
    }
}

/// A word of up to this many letters is one token.
const SHORT: usize = 5;
/// The cost of each letter beyond that, up to `LONG` letters.
const LETTER: usize = 2;
/// Hardly any English word is longer. Longer strings cost half a token per letter.
const LONG: usize = 14;
const LETTER_BEYOND_LONG: usize = 55;
/// Two adjacent letters that rarely occur in words mostly belong to two tokens.
const RARE_PAIR: usize = 85;
/// Fewer tokens begin with a symbol than with a space, so a word after a symbol costs more.
const LETTER_AFTER_SIGN: usize = 9;
/// Each capital after the first, as in `MAX`.
const CAPITAL: usize = 25;
/// Letters of hexadecimal numbers and the like.
const LETTER_BESIDE_DIGIT: usize = 60;

fn word(before: Option<char>, letters: &str, is_escaped: bool, is_beside_digit: bool) -> usize {
    // In JSON, `\nname` is a line end and a name.
    if is_escaped && letters.len() > 1 && letters.starts_with(['n', 't', 'r', 'b', 'f', 'u']) {
        return UNIT + word(None, &letters[1..], false, is_beside_digit);
    }
    if !letters.is_ascii() {
        return foreign_word(before, letters);
    }
    let bytes = letters.as_bytes();
    let n_letters = bytes.len();
    if is_beside_digit {
        return UNIT.max(LETTER_BESIDE_DIGIT * n_letters);
    }
    // Beyond `LONG`, every letter costs as much as a rare one.
    let n_rare_pairs = n_rare_pairs(&letters[..n_letters.min(LONG)]);
    let n_capitals = bytes.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let mut cost = UNIT + n_rare_pairs * RARE_PAIR;
    cost += n_letters.min(LONG).saturating_sub(SHORT) * LETTER;
    cost += n_letters.saturating_sub(LONG) * LETTER_BEYOND_LONG;
    cost += n_capitals.saturating_sub(1) * CAPITAL;
    if before.is_some_and(|before| before != ' ') {
        cost += (n_letters.min(LONG) - 1) * LETTER_AFTER_SIGN;
    }
    cost.min(n_letters * UNIT + UNIT) + sign_before(before.filter(|before| !before.is_ascii()))
}

/// The cost of a symbol before a word; a space costs nothing.
fn sign_before(before: Option<char>) -> usize {
    before.filter(|before| *before != ' ').map_or(0, character)
}

/// Words with letters beyond ASCII.
fn foreign_word(before: Option<char>, letters: &str) -> usize {
    let is_cyrillic = |c: &char| ('\u{400}'..='\u{45f}').contains(c);
    let n_cyrillic = letters.chars().filter(is_cyrillic).count();
    let mut cost = letters.chars().filter(|c| !is_cyrillic(c)).map(letter_cost).sum::<usize>();
    if n_cyrillic > 0 {
        let n_capitals = letters.chars().filter(|c| c.is_uppercase()).count();
        cost += cyrillic(before == Some(' '), n_cyrillic, n_capitals);
        // A single pair may be rare by chance, because the table was made from few words.
        cost += n_rare_pairs(letters).saturating_sub(1) * RARE_PAIR;
    }
    cost.max(UNIT) + sign_before(before)
}

/// A Russian word of up to three letters after a space is one token. Without the space it costs more.
fn cyrillic(is_after_blank: bool, n_letters: usize, n_capitals: usize) -> usize {
    let (n_free, letter) = if is_after_blank { (3, 20) } else { (1, 30) };
    UNIT + n_letters.saturating_sub(n_free) * letter + n_capitals.saturating_sub(1) * 60
}

/// A letter beyond ASCII and Cyrillic, within a word.
fn letter_cost(letter: char) -> usize {
    match letter {
        'a'..='z' | 'A'..='Z' => 50,
        '\u{c0}'..='\u{17f}' => 80,
        // Greek, Hebrew, Arabic, the scripts of India, Thai, Georgian.
        '\u{386}'..='\u{3ce}'
        | '\u{531}'..='\u{587}'
        | '\u{5d0}'..='\u{5ea}'
        | '\u{620}'..='\u{64a}'
        | '\u{900}'..='\u{dff}'
        | '\u{e01}'..='\u{e5b}'
        | '\u{10d0}'..='\u{10ff}' => 60,
        // Kana, Chinese characters, Korean syllables.
        '\u{3041}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => 110,
        _ => character(letter),
    }
}

/// A single character.
fn character(c: char) -> usize {
    match c {
        '\0'..='\u{bf}' => UNIT,
        // Quotes, dashes and dots; punctuation of Chinese and Japanese; full-width signs.
        '\u{2010}'..='\u{205e}' | '\u{3001}'..='\u{3011}' | '\u{ff01}'..='\u{ff5e}' => UNIT + 20,
        // Arrows, mathematics, boxes.
        '\u{2190}'..='\u{2bff}' | '\u{fe0f}' => 2 * UNIT,
        // Emoji.
        '\u{1f300}'..='\u{1faff}' => 3 * UNIT,
        _ => c.len_utf8() * UNIT,
    }
}

fn number(digits: &str) -> usize {
    if digits.is_ascii() {
        return digits.len().div_ceil(3) * UNIT;
    }
    digits.chars().map(|digit| digit.len_utf8() * UNIT).sum()
}

/// The cost of a run of no symbol, one symbol, two symbols and so on.
const SIGNS: [usize; 6] = [0, 100, 102, 115, 155, 220];
const FURTHER_SIGN: usize = 60;
/// A symbol that repeats the two before it, as in a line of dashes.
const REPEATED: usize = 50;
/// The same for symbols used to draw lines.
const DRAWN: usize = 25;

fn signs(signs: &str) -> usize {
    let mut cost = 0;
    let mut n_signs = 0;
    let mut last = ['\0'; 2];
    for sign in signs.chars() {
        match sign {
            '-' | '=' | '_' | '*' | '#' | '.' | '/' | '\\' if last == [sign, sign] => cost += DRAWN,
            _ if sign.is_ascii() && last == [sign, sign] => cost += REPEATED,
            ' ' | '\n' | '\r' if n_signs == 0 || last[1] == ' ' => {}
            _ if sign.is_ascii_control() => cost += UNIT,
            _ if sign.is_ascii() => n_signs += 1,
            _ => cost += character(sign),
        }
        last = [last[1], sign];
    }
    cost + match SIGNS.get(n_signs) {
        Some(cost) => *cost,
        None => SIGNS[SIGNS.len() - 1] + (n_signs + 1 - SIGNS.len()) * FURTHER_SIGN,
    }
}

/// A token contains up to this many equal spaces or line ends.
const BLANKS: usize = 16;

fn blank(blank: &str) -> usize {
    let mut cost = 0;
    let mut n_same = 0;
    let mut last = None;
    for c in blank.chars() {
        if last == Some(c) && n_same < BLANKS {
            n_same += 1;
            continue;
        }
        cost += if c.is_ascii() { UNIT } else { c.len_utf8() * UNIT };
        n_same = 1;
        last = Some(c);
    }
    cost
}
