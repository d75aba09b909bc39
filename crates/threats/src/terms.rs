//! What texts are compared by: their words, neighbouring words, and routes with ids in them.

use crate::text::{self, Word};

/// A route with one id in it, and one with several. No word has a slash.
const ROUTE: &str = "/id";
const ROUTE_NESTED: &str = "/id/id";

/// Something that texts can have in common.
#[derive(Debug)]
pub struct Term {
    /// A stem, two stems, or the kind of a route.
    pub key: String,
    /// Where it starts in the text, in bytes.
    pub start: usize,
    /// Where it ends in the text, in bytes.
    pub end: usize,
}

/// Lists the terms of a text: single words unless they are stop words, pairs of neighbours whatever they are.
pub fn terms(text: &str, words: &[Word]) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::with_capacity(words.len() * 2);
    let mut before: Option<&Word> = None;
    for word in words.iter().filter(|word| !is_converter(text, word)) {
        if !text::is_stop_word(&word.stem) {
            terms.push(Term { key: word.stem.clone(), start: word.start, end: word.end });
        }
        if let Some(before) = before {
            let key = [&before.stem, " ", &word.stem].concat();
            terms.push(Term { key, start: before.start, end: word.end });
        }
        before = Some(word);
    }
    terms.extend(routes(text));
    terms
}

/// Tells whether a word says what kind of value a route takes: `int` in `/orders/<int:id>`.
fn is_converter(text: &str, word: &Word) -> bool {
    text[..word.start].ends_with('<') && text[word.end..].starts_with(':')
}

fn routes(text: &str) -> impl Iterator<Item = Term> {
    text.match_indices('/').filter_map(|(start, _)| {
        let before = text[..start].chars().next_back();
        if before.is_some_and(|before| !before.is_whitespace() && !"'\"`(".contains(before)) {
            return None;
        }
        let rest = &text[start..];
        let end = rest.find(|character: char| character.is_whitespace() || "'\"`),;?".contains(character));
        let route = &rest[..end.unwrap_or(rest.len())];
        let key = match route.split('/').filter(|segment| is_id(segment)).count() {
            0 => return None,
            1 => ROUTE,
            _ => ROUTE_NESTED,
        };
        Some(Term { key: key.to_owned(), start, end: start + route.len() })
    })
}

/// Tells whether a segment of a route stands for an id: `<int:id>`, `{id}`, `:id`, `10023`.
fn is_id(segment: &str) -> bool {
    let is_number = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = segment.starts_with("<path:");
    is_number || segment.starts_with(['<', '{', ':', '$', '[']) && segment.len() > 1 && !is_path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pairs_and_routes_are_terms() {
        check("delete the orders", "delet|delet the|order|the order");
        check("GET /orders/<int:id>", "order|get order|id|order id|/id");
        check("/orders/{id}/items/:item", "order|id|order id|item|id item|item|item item|/id/id");
        check("/static/<path:name> /x/7", "static|static name|name x|x 7|/id");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let words = text::words(text).words;
        let keys: Vec<String> = terms(text, &words).into_iter().map(|term| term.key).collect();
        assert_eq!(keys.join("|"), expected);
    }
}
