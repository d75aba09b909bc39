//! Markdown as pages show it: a reference id leads to the page of what it names.

use document::{Markdown, Surroundings};
use maud::Markup;
use store::model::Reference;

/// Renders Markdown.
pub fn render(text: &str) -> Markup {
    Markdown { link: &page_of, below: 0, surroundings: Surroundings::Page }.render(text)
}

/// The page of what a word names, if it is a reference id.
pub fn page_of(word: &str) -> Option<String> {
    matches!(Reference::parse(word)?, Reference::Numbered { .. }).then(|| format!("/r/{word}"))
}
