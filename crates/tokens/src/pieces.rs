//! Splits a text as `o200k_base` does before it uses its vocabulary.
//!
//! The original is a regular expression; the test below compares the two.

/// A part of a text. No token crosses its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece<'a> {
    /// Letters of one word, capitals first, and the single character before them.
    Word {
        /// A blank, a sign, or nothing.
        before: Option<char>,
        /// The letters.
        letters: &'a str,
        /// Whether a backslash precedes the letters, so that the first of them may belong to it.
        is_escaped: bool,
        /// Whether a digit precedes or follows, as in hexadecimal numbers.
        is_beside_digit: bool,
        /// Whether an ending such as `'s` follows.
        has_ending: bool,
    },
    /// Digits; a token has at most three.
    Number(&'a str),
    /// Neither letters nor digits nor white space, with at most one space before them and any line ends after them.
    Signs(&'a str),
    /// White space.
    Blank(&'a str),
}

/// Iterates over the pieces of a text.
pub struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Pieces<'a> {
    /// Starts at the beginning.
    pub fn new(text: &'a str) -> Self {
        Pieces { text, at: 0 }
    }

    /// Takes letters: capitals, then lower case. Letters without case may be among either.
    fn word(&mut self, before: Option<char>) -> Piece<'a> {
        let start = self.at;
        let is_escaped = self.text[..start].ends_with('\\');
        let was_digit = before.is_none() && ends_with_digit(&self.text[..start]);
        let rest = &self.text[start..];
        let capitals = &rest[..span(rest, |c| is_letter(c) && !c.is_lowercase())];
        let n_small = span(&rest[capitals.len()..], |c| is_letter(c) && !c.is_uppercase());
        let caseless = capitals.char_indices().rfind(|(_, c)| !c.is_uppercase());
        let letters = self.take(match caseless {
            Some((at, last)) if n_small == 0 => at + last.len_utf8(),
            _ => capitals.len() + n_small,
        });
        let rest = &self.text[self.at..];
        let is_beside_digit = was_digit || rest.starts_with(|c: char| c.is_ascii_digit());
        let ending = ENDINGS.iter().find(|ending| starts_with(rest, ending));
        self.at += ending.map_or(0, |ending| ending.len());
        Piece::Word { before, letters, is_escaped, is_beside_digit, has_ending: ending.is_some() }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let piece = &self.text[self.at..self.at + length];
        self.at += length;
        piece
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = &self.text[self.at..];
        let mut characters = rest.chars();
        let first = characters.next()?;
        let second = characters.next();
        if is_letter(first) {
            return Some(self.word(None));
        }
        if first.is_numeric() {
            return Some(Piece::Number(self.take(span(rest, char::is_numeric))));
        }
        if !is_line_end(first) && second.is_some_and(is_letter) {
            self.at += first.len_utf8();
            return Some(self.word(Some(first)));
        }
        let is_blank_before_sign = first == ' ' && second.is_some_and(is_sign);
        if is_sign(first) || is_blank_before_sign {
            let start = if is_blank_before_sign { 1 } else { 0 };
            let n_signs = span(&rest[start..], is_sign);
            let n_behind = span(&rest[start + n_signs..], |c| is_line_end(c) || c == '/');
            return Some(Piece::Signs(self.take(start + n_signs + n_behind)));
        }
        let blank = &rest[..span(rest, char::is_whitespace)];
        let length = match blank.rfind(is_line_end) {
            Some(at) => at + 1,
            // The last space belongs to the next piece.
            None if blank.len() < rest.len() => blank.char_indices().last().map_or(0, |(at, _)| at),
            None => blank.len(),
        };
        Some(Piece::Blank(self.take(if length == 0 { blank.len() } else { length })))
    }
}

/// English contractions, as in `it's`.
const ENDINGS: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];

fn starts_with(text: &str, ending: &str) -> bool {
    text.get(..ending.len()).is_some_and(|start| start.eq_ignore_ascii_case(ending))
}

fn ends_with_digit(text: &str) -> bool {
    text.as_bytes().last().is_some_and(u8::is_ascii_digit)
}

fn span(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Letters, and the marks that combine with them.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || (!c.is_ascii() && !c.is_numeric() && (c.is_alphabetic() || is_mark(c)))
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{65f}'
        | '\u{900}'..='\u{dff}' | '\u{e31}'..='\u{e4e}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}')
}

fn is_sign(c: char) -> bool {
    !c.is_whitespace() && !is_letter(c) && !c.is_numeric()
}

fn is_line_end(c: char) -> bool {
    c == '\n' || c == '\r'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn pieces_are_those_of_the_tokenizer(text in "([a-zA-Z]{1,4}|[0-9]{1,7}|[ -~]|'(s|RE|x)|[ \t\r\n]{1,4}|[яЖéß慢«—]){0,40}") {
            let expected: Vec<&str> = bpe_openai::o200k_base().split(&text).collect();
            prop_assert_eq!(pieces(&text), expected);
        }
    }

    /// The pieces of the tokenizer, with at most three digits.
    fn pieces(text: &str) -> Vec<&str> {
        let mut cut = Vec::new();
        let mut pieces = Pieces::new(text);
        let mut start = 0;
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Number(digits) => {
                    cut.extend((0..digits.len()).step_by(3).map(|at| &digits[at..digits.len().min(at + 3)]));
                }
                _ => cut.push(&text[start..pieces.at]),
            }
            start = pieces.at;
        }
        cut
    }
}
