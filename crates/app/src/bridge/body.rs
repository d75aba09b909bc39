//! Reads a JSON answer of any size in little memory: long strings go to a file, the rest is collected.

use std::io;

use crate::large::LargeText;

/// Longer strings go to a file.
const STRING_BYTES_MAX: usize = 1024 * 1024;

/// The maximal size of an answer without its long strings.
const REST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The maximal total size of the long strings of an answer.
const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// An answer that is being received.
pub struct Body {
    may_be_large: bool,
    rest: Vec<u8>,
    /// Where the current string began in the rest.
    string: Option<usize>,
    /// The current long string.
    current: Option<LargeText>,
    checked: Checked,
    texts: Vec<LargeText>,
    n_file_bytes: u64,
}

/// Why an answer is rejected.
#[derive(Debug)]
pub enum BodyProblem {
    TooLarge,
    NotJson,
    File(io::Error),
}

impl Body {
    /// Answers that should have no long strings: none goes to a file.
    pub fn new(may_be_large: bool) -> Self {
        Self {
            may_be_large,
            rest: Vec::new(),
            string: None,
            current: None,
            checked: Checked::default(),
            texts: Vec::new(),
            n_file_bytes: 0,
        }
    }

    /// Takes some bytes.
    pub fn add(&mut self, mut bytes: &[u8]) -> Result<(), BodyProblem> {
        while !bytes.is_empty() {
            let n_taken = match self.string {
                None => self.outside(bytes),
                Some(start) => self.inside(start, bytes)?,
            };
            bytes = &bytes[n_taken..];
            if self.rest.len() > REST_BYTES_MAX || self.n_file_bytes > FILE_BYTES_MAX {
                return Err(BodyProblem::TooLarge);
            }
        }
        Ok(())
    }

    /// Returns the JSON, with placeholders for the texts in the file.
    pub fn end(self) -> (Vec<u8>, Vec<LargeText>) {
        (self.rest, self.texts)
    }

    fn outside(&mut self, bytes: &[u8]) -> usize {
        let n_taken = memchr::memchr(b'"', bytes).map_or(bytes.len(), |quote| quote + 1);
        self.rest.extend_from_slice(&bytes[..n_taken]);
        if bytes[n_taken - 1] == b'"' {
            self.string = Some(self.rest.len());
            self.checked = Checked::default();
        }
        n_taken
    }

    fn inside(&mut self, start: usize, bytes: &[u8]) -> Result<usize, BodyProblem> {
        let (n_text, has_ended) = self.checked.text(bytes);
        let text = &bytes[..n_text];
        match &mut self.current {
            Some(large) => {
                if !self.checked.is_right {
                    return Err(BodyProblem::NotJson);
                }
                large.add(text).map_err(BodyProblem::File)?;
                self.n_file_bytes += text.len() as u64;
            }
            None => {
                self.rest.extend_from_slice(text);
                if self.may_be_large && self.rest.len() - start > STRING_BYTES_MAX {
                    let mut large = LargeText::new().map_err(BodyProblem::File)?;
                    large.add(&self.rest[start..]).map_err(BodyProblem::File)?;
                    self.n_file_bytes += large.n_bytes();
                    self.rest.truncate(start);
                    self.current = Some(large);
                }
            }
        }
        if !has_ended {
            return Ok(n_text);
        }
        if let Some(large) = self.current.take() {
            if !self.checked.is_whole() {
                return Err(BodyProblem::NotJson);
            }
            self.rest.extend_from_slice(large.mark().as_bytes());
            self.texts.push(large);
        }
        self.rest.push(b'"');
        self.string = None;
        Ok(n_text + 1)
    }
}

/// Follows a string to its end and validates it: nothing parses it later, and it must not break a line or a message.
#[derive(Default)]
struct Checked {
    /// The rest of an escape: 1 after the backslash, more for missing digits.
    escape: u8,
    /// The bytes of an incomplete character.
    character: Vec<u8>,
    is_right: bool,
    has_begun: bool,
}

impl Checked {
    /// Returns how many bytes belong to the string, and whether it ends after them.
    fn text(&mut self, bytes: &[u8]) -> (usize, bool) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.is_right = true;
        }
        let mut at = 0;
        let mut has_ended = false;
        while at < bytes.len() {
            let byte = bytes[at];
            match self.escape {
                0 => match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                    Some(0) if byte == b'"' => {
                        has_ended = true;
                        break;
                    }
                    Some(0) => self.escape = 1,
                    Some(n_plain) => {
                        at += n_plain;
                        continue;
                    }
                    None => {
                        at = bytes.len();
                        continue;
                    }
                },
                1 => {
                    self.is_right &= br#""\/bfnrtu"#.contains(&byte);
                    self.escape = if byte == b'u' { 5 } else { 0 };
                }
                _ => {
                    self.is_right &= byte.is_ascii_hexdigit();
                    self.escape = if self.escape == 2 { 0 } else { self.escape - 1 };
                }
            }
            at += 1;
        }
        self.is_right &= bytes[..at].iter().all(|byte| *byte >= b' ');
        self.characters(&bytes[..at]);
        (at, has_ended)
    }

    /// Validates UTF-8 across pieces.
    //@= spexus://REQ-162
    //@# 002 R15.7: large answers are not held in memory
    fn characters(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while !self.character.is_empty() && !bytes.is_empty() {
            self.character.push(bytes[0]);
            bytes = &bytes[1..];
            match str::from_utf8(&self.character) {
                Ok(_) => self.character.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => self.is_right = false,
            }
            if !self.is_right {
                return;
            }
        }
        if let Err(error) = str::from_utf8(bytes) {
            match error.error_len() {
                None => self.character.extend_from_slice(&bytes[error.valid_up_to()..]),
                Some(_) => self.is_right = false,
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.is_right && self.escape == 0 && self.character.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use serde_json::{Value, json};

    use super::*;

    /// Reads bytes in pieces and reassembles the message.
    fn through(bytes: &[u8], piece: usize) -> Result<(Vec<u8>, usize), BodyProblem> {
        let mut body = Body::new(true);
        bytes.chunks(piece).try_for_each(|piece| body.add(piece))?;
        let (rest, texts) = body.end();
        let (rest, mut placed, others) = crate::large::place(&rest, texts);
        assert!(others.is_empty());
        let mut whole = Vec::new();
        let mut copied = 0;
        for (at, text) in &mut placed {
            whole.extend_from_slice(&rest[copied..*at]);
            text.reader().expect("a file").read_to_end(&mut whole).expect("readable");
            copied = *at;
        }
        whole.extend_from_slice(&rest[copied..]);
        Ok((whole, placed.len()))
    }

    //@= spexus://REQ-162
    //@= type=test
    //@# 002 R15.7: large answers are not held in memory
    #[test]
    fn what_goes_in_comes_out_however_it_is_cut() {
        let long = "ä\"\\\n\u{1F600}\u{1} ".repeat(70_000);
        let message = json!({"a": "short \" \\", "b": [long, 1, {"c\\": long}], "d": "\u{e9}"});
        let bytes = message.to_string().into_bytes();
        for piece in [1, 3, 1_000, 65_536, bytes.len()] {
            let (whole, n_texts) = through(&bytes, piece).expect("it is JSON");
            assert!(whole == bytes, "in pieces of {piece}");
            assert_eq!(n_texts, 2, "[002 R15.7]");
            assert_eq!(serde_json::from_slice::<Value>(&whole).expect("JSON"), message);
        }
    }

    #[test]
    fn a_long_string_must_not_break_the_message() {
        let long = "x".repeat(STRING_BYTES_MAX + 10);
        for wrong in ["\n", "\\q", "\\u12g4", "\u{7}", "\\u12"] {
            let text = format!("{{\"a\":\"{long}{wrong}{long}\"}}");
            assert!(matches!(through(text.as_bytes(), 777), Err(BodyProblem::NotJson)), "{wrong:?}");
        }
        let mut bytes = format!("[\"{long}").into_bytes();
        bytes.extend_from_slice(b"\xc3(\"]");
        assert!(matches!(through(&bytes, 65_536), Err(BodyProblem::NotJson)), "no UTF-8");
    }

    #[test]
    fn what_is_long_without_long_strings_is_refused() {
        let text = format!("[{}1]", "\"x\",".repeat(REST_BYTES_MAX / 4));
        assert!(matches!(through(text.as_bytes(), 65_536), Err(BodyProblem::TooLarge)));
    }
}
