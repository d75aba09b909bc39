//! Normalizes white space and punctuation, so that a quote matches however its lines were wrapped.
//!
//! White space becomes a single space, and disappears around punctuation: `new-\n  line` is `new-line`.

use std::ops::Range;

/// Normalized text, and the origin of its parts.
#[derive(Debug)]
pub struct Normalized {
    /// The text.
    pub text: String,
    /// The starts of unchanged runs: here, and in the original. The last is the end.
    runs: Vec<(u32, u32)>,
}

impl Normalized {
    /// Normalizes a text.
    pub fn new(original: &str) -> Normalized {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let (mut position, mut end) = (0, 0);
        let text = build(original, |index, length| {
            if index != end || runs.is_empty() {
                runs.push((position, index as u32));
            }
            position += length as u32;
            end = index + length;
        });
        runs.push((position, end as u32));
        Normalized { text, runs }
    }

    /// Returns the origin of a range. A position inside of a character is that of the character.
    pub fn original(&self, original: &str, range: Range<usize>) -> Range<usize> {
        let offset = |position: usize| {
            let run = self.runs.partition_point(|(start, _)| *start as usize <= position).saturating_sub(1);
            let (start, from) = self.runs.get(run).copied().unwrap_or_default();
            let mut offset = from as usize + (position - start as usize);
            while !original.is_char_boundary(offset) {
                offset -= 1;
            }
            offset
        };
        offset(range.start)..offset(range.end)
    }
}

/// Normalizes a text.
pub fn normalize(original: &str) -> String {
    build(original, |_, _| {})
}

/// Calls `on_push` with the position and the length of everything that is kept.
fn build(original: &str, mut on_push: impl FnMut(usize, usize)) -> String {
    let mut text = String::with_capacity(original.len());
    let mut push = |text: &mut String, start: usize, end: usize| {
        text.push_str(&original[start..end]);
        on_push(start, end - start);
    };
    // A blank, or punctuation, that is kept once it is known what follows: whether it is a blank, and where it stands.
    let mut waiting: Option<(bool, usize, usize)> = None;
    let mut start = 0;
    while let Some(character) = original[start..].chars().next() {
        let mut end = start + character.len_utf8();
        if character.is_alphanumeric() {
            // Words are kept as a whole.
            end += original.as_bytes()[end..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            if let Some((_, start, end)) = waiting.take() {
                push(&mut text, start, end);
            }
            push(&mut text, start, end);
        } else if character.is_whitespace() {
            if waiting.is_none() && !text.is_empty() {
                waiting = Some((true, start, end));
            }
        } else {
            if let Some((_, start, end)) = waiting.take().filter(|(is_blank, ..)| !is_blank) {
                push(&mut text, start, end);
            }
            waiting = Some((false, start, end));
        }
        start = end;
    }
    if let Some((_, start, end)) = waiting.filter(|(is_blank, ..)| !is_blank) {
        push(&mut text, start, end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_punctuation_are_made_alike() {
        let expected = "This is a test.Foo.[F]";
        for text in [
            "This is a test.Foo.[F]",
            "  This is    a    test.  Foo  . [F]",
            "This    is    a    test.  Foo  . [    F ]  ",
        ] {
            assert_eq!(normalize(text), expected);
        }
        assert_eq!(normalize("new-\n   line"), "new-line");
        assert_eq!(normalize(" -- "), "--");
        assert_eq!(normalize(" \n"), "");
    }
}
