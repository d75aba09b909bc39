//! Makes blanks and punctuation alike, so that a quote is found however its lines were broken.
//!
//! Runs of blanks become one, and blanks around punctuation vanish: `new-\n  line` is `new-line`.

/// A text made alike, and where each of its bytes comes from.
#[derive(Debug)]
pub struct Normalized {
    /// The text.
    pub text: String,
    /// For each byte, and for the end, the position in the original of the character that it belongs to.
    pub offsets: Vec<u32>,
}

impl Normalized {
    /// Makes a text alike.
    pub fn new(original: &str) -> Normalized {
        let mut offsets = Vec::with_capacity(original.len() + 1);
        let mut end = 0;
        let text = build(original, |index, character| {
            offsets.extend(std::iter::repeat_n(index as u32, character.len_utf8()));
            end = index + character.len_utf8();
        });
        offsets.push(end as u32);
        Normalized { text, offsets }
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
