//! Suggests what was meant by a quote that does not occur.

use std::collections::HashSet;

use crate::meaning;
use crate::specification::Specification;
use crate::text::Span;

/// The minimal share of words that a quote and a sentence have in common.
const LIKENESS_MIN: f32 = 0.5;
/// Longer sentences are shortened for display.
const SENTENCE_CHARACTERS_MAX: usize = 300;

/// A suggestion for a quote that does not occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// It occurs in another section, by index.
    Elsewhere(usize),
    /// The nearest sentence, and its difference from the quote.
    Nearest {
        /// To quote it.
        text: String,
        /// Word by word.
        difference: String,
    },
}

impl Advice {
    /// Says so.
    pub fn help(&self, specification: &Specification) -> Vec<String> {
        match self {
            Advice::Elsewhere(section) => {
                vec![format!("the text is in section `{}`", specification.sections[*section].id)]
            }
            Advice::Nearest { text, difference } => {
                vec![format!("the nearest text is: {text}"), format!("the difference is: {difference}")]
            }
        }
    }
}

/// Finds the other section in which a quote occurs, or the nearest sentence.
pub fn advice(quote: &str, specification: &Specification, section: usize) -> Option<Advice> {
    let elsewhere = (0..specification.sections.len())
        .filter(|other| *other != section)
        .find(|other| specification.view(*other).has(quote));
    if let Some(other) = elsewhere {
        return Some(Advice::Elsewhere(other));
    }
    let (likeness, nearest) = nearest_sentence(quote, &specification.view(section).text)?;
    let text = meaning::unmarked(nearest, Span::new(0, nearest.len())).of_text(nearest);
    let advice = || Advice::Nearest { text: text.to_owned(), difference: difference(quote, text) };
    (likeness >= LIKENESS_MIN).then(advice)
}

/// Finds the text with most words in common with a quote, if there are enough.
pub fn nearest_of<'a>(quote: &str, texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (likeness, text) = most_alike(quote, texts)?;
    (likeness >= LIKENESS_MIN).then_some(text)
}

/// Finds the sentence of a text with most words in common with a quote.
pub fn nearest_sentence<'a>(quote: &str, text: &'a str) -> Option<(f32, &'a str)> {
    most_alike(quote, sentences(text))
}

fn most_alike<'a>(quote: &str, texts: impl Iterator<Item = &'a str>) -> Option<(f32, &'a str)> {
    let wanted: HashSet<&str> = words(quote).collect();
    let likeness = |sentence: &str| {
        let found: HashSet<&str> = words(sentence).collect();
        let n_common = wanted.intersection(&found).count();
        n_common as f32 / (wanted.len() + found.len() - n_common).max(1) as f32
    };
    let scored = texts.map(|text| (likeness(text), text));
    scored.max_by(|(first, _), (second, _)| first.total_cmp(second))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(". ").map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// Shows a sentence with the words marked that differ from a quote: `[-15-]{+16+} bits`.
pub fn difference(quote: &str, sentence: &str) -> String {
    let cut = sentence.char_indices().nth(SENTENCE_CHARACTERS_MAX).map_or(sentence.len(), |(end, _)| end);
    let old: Vec<&str> = quote.split_whitespace().collect();
    let new: Vec<&str> = sentence[..cut].split_whitespace().collect();
    let n_same_start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let n_same_end = old[n_same_start..]
        .iter()
        .rev()
        .zip(new[n_same_start..].iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let mut old_part = old[n_same_start..old.len() - n_same_end].join(" ");
    if let Some((end, _)) = old_part.char_indices().nth(SENTENCE_CHARACTERS_MAX) {
        old_part.truncate(end);
        old_part.push('…');
    }
    let new_part = new[n_same_start..new.len() - n_same_end].join(" ");
    let mut parts: Vec<String> = Vec::new();
    parts.push(new[..n_same_start].join(" "));
    let removed = if old_part.is_empty() { String::new() } else { format!("[-{old_part}-]") };
    let added = if new_part.is_empty() { String::new() } else { format!("{{+{new_part}+}}") };
    parts.push(format!("{removed}{added}"));
    parts.push(new[new.len() - n_same_end..].join(" "));
    parts.retain(|part| !part.is_empty());
    let ellipsis = if cut < sentence.len() { " …" } else { "" };
    parts.join(" ") + ellipsis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_marked() {
        assert_eq!(
            difference("It MUST have 16 wide bits.", "It MUST have 15 bits."),
            "It MUST have [-16 wide-]{+15+} bits."
        );
        assert_eq!(difference("a c", "a b c"), "a {+b+} c");
        assert_eq!(difference("", "a"), "{+a+}");
    }
}
