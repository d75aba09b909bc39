//! Makes blanks and punctuation alike, so that a quote is found however its lines were broken.
//!
//! Runs of blanks become one, and blanks around punctuation vanish: `new-\n  line` is `new-line`.

use std::ops::Range;

/// A text made alike, and where its parts come from.
#[derive(Debug)]
pub struct Normalized {
    /// The text.
    pub text: String,
    /// Where runs start that were taken over as they are: here, and in the original. The last is the end.
    runs: Vec<(u32, u32)>,
}

impl Normalized {
    /// Makes a text alike.
    pub fn new(original: &str) -> Normalized {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let (mut position, mut end) = (0, 0);
        let text = build(original, |index, character| {
            if index != end || runs.is_empty() {
                runs.push((position, index as u32));
            }
            position += character.len_utf8() as u32;
            end = index + character.len_utf8();
        });
        runs.push((position, end as u32));
        Normalized { text, runs }
    }

    /// Tells where a range comes from. A position inside of a character is that of the character.
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

/// Makes a text alike.
pub fn normalize(original: &str) -> String {
    build(original, |_, _| {})
}

fn build(original: &str, mut on_push: impl FnMut(usize, char)) -> String {
    let mut text = String::with_capacity(original.len());
    // A blank, or punctuation, that is kept once it is known what follows.
    let mut waiting: Option<(usize, char)> = None;
    let mut push = |text: &mut String, (index, character): (usize, char)| {
        text.push(character);
        on_push(index, character);
    };
    for (index, character) in original.char_indices() {
        if character.is_alphanumeric() {
            waiting.take().into_iter().for_each(|before| push(&mut text, before));
            push(&mut text, (index, character));
        } else if character.is_whitespace() {
            if waiting.is_none() && !text.is_empty() {
                waiting = Some((index, character));
            }
        } else {
            if let Some(before) = waiting.take().filter(|(_, before)| !before.is_whitespace()) {
                push(&mut text, before);
            }
            waiting = Some((index, character));
        }
    }
    if let Some(before) = waiting.filter(|(_, before)| !before.is_whitespace()) {
        push(&mut text, before);
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
