//! Shows where a text matches: the best passage, with the matching words marked.
//!
//! The pieces are plain text, Markdown included; the caller escapes them. Lengths count characters
//! (Unicode scalar values), and cuts fall between grapheme clusters.

use std::borrow::Cow;

use unicode_segmentation::GraphemeCursor;

use crate::query::{Clause, Query};
use crate::split::each_group;
use crate::terms::{group_terms, stem_term};

/// Marks omitted text.
const ELLIPSIS: &str = "…";
/// A passage with another word of the query is worth more than any repetition of the same word.
const ANOTHER_CLAUSE: usize = 16;
const REPETITIONS_MAX: usize = 15;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// As in the original.
    pub text: String,
    /// Whether it matches the query.
    pub is_marked: bool,
}

/// Returns the passage of at most `max_chars` characters, including `…`, with most of the matches, or
/// the beginning if there are none.
pub fn snippet(query: &Query, text: &str, max_chars: usize) -> Vec<Piece> {
    let hits = hits(query, text);
    if text.chars().nth(max_chars).is_none() {
        return pieces(text, &hits, 0, text.len());
    }
    let Some(room_chars) = max_chars.checked_sub(2).filter(|room| *room > 0) else {
        return pieces(text, &[], 0, cut(text, max_chars).len());
    };
    let (start, end) = passage(text, &hits, room_chars);
    let mut pieces = pieces(text, &hits, start, end);
    let ellipsis = || Piece { text: ELLIPSIS.to_owned(), is_marked: false };
    if start > 0 {
        pieces.insert(0, ellipsis());
    }
    if end < text.len() {
        pieces.push(ellipsis());
    }
    pieces
}

/// Returns a whole text, such as a title, with its matches marked.
pub fn mark(query: &Query, text: &str) -> Vec<Piece> {
    pieces(text, &hits(query, text), 0, text.len())
}

/// Returns the beginning of a text: at most the given number of characters, cut between grapheme clusters.
pub fn cut(text: &str, max_chars: usize) -> &str {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => &text[..boundary_before(text, end)],
        None => text,
    }
}

/// The bytes at which a clause matches.
#[derive(Clone, Copy, Debug)]
struct Hit {
    start: usize,
    end: usize,
    clause: usize,
}

/// Returns the matches in a text, in order.
fn hits(query: &Query, text: &str) -> Vec<Hit> {
    let clauses: Vec<&Clause> = query.clauses.iter().filter(|clause| !clause.is_excluded).collect();
    let (words, compounds) = words(text, &beginnings(&clauses));
    let mut hits = Vec::new();
    for (index, clause) in clauses.iter().enumerate() {
        let mut hit = |start, end| hits.push(Hit { start, end, clause: index });
        for window in words.windows(clause.terms.len()) {
            if window.iter().map(|word| &word.term).eq(&clause.terms) {
                hit(window[0].start, window[window.len() - 1].end);
            }
        }
        for word in words.iter().filter(|word| clause.compound.as_ref() == Some(&word.term)) {
            hit(word.start, word.end);
        }
        for word in &compounds {
            let is_same = clause.compound.as_ref() == Some(&word.term);
            if is_same || clause.terms == std::slice::from_ref(&word.term) {
                hit(word.start, word.end);
            }
        }
        let Some(prefix) = clause.prefix.as_deref().and_then(|prefix| prefix.strip_prefix('w')) else {
            continue;
        };
        for word in words.iter().chain(&compounds).filter(|word| word.whole.starts_with(prefix)) {
            hit(word.start, word.end);
        }
    }
    hits.sort_by_key(|hit| (hit.start, hit.end));
    hits
}

/// The first letter of the searched words, and the second letter unless they are very short. A stem begins like its
/// word, except for a few short ones (`die` is that of `dying`), so other words need no stem, which is slow to compute.
type Beginning = (char, Option<char>);

const VERY_SHORT: usize = 4;

fn beginnings(clauses: &[&Clause]) -> Vec<Beginning> {
    let terms = clauses.iter().flat_map(|clause| clause.terms.iter().chain(&clause.compound));
    let beginning = |term: &String| {
        let mut letters = term.chars().skip(1);
        let (first, second) = (letters.next()?, letters.next());
        Some((first, second.filter(|_| letters.nth(VERY_SHORT - 2).is_some())))
    };
    terms.filter_map(beginning).collect()
}

/// A word of the text in the form of queries.
struct Word<'a> {
    /// Empty if it cannot match.
    term: String,
    whole: Cow<'a, str>,
    start: usize,
    end: usize,
}

/// The words of a text in order, and identifiers as one word.
fn words<'a>(text: &'a str, beginnings: &[Beginning]) -> (Vec<Word<'a>>, Vec<Word<'a>>) {
    let mut words = Vec::with_capacity(text.len() / 5);
    let mut compounds = Vec::new();
    each_group(text, |group| {
        for part in &group.parts {
            let term = match &group.reference {
                Some(_) => group_terms(group).remove(0),
                None => term_of(&part.whole, beginnings),
            };
            words.push(Word { term, whole: part.whole.clone(), start: part.start, end: part.end });
        }
        if let Some(whole) = &group.compound {
            let term = term_of(whole, beginnings);
            let whole = Cow::Owned(whole.clone());
            compounds.push(Word { term, whole, start: group.start(), end: group.end() });
        }
    });
    (words, compounds)
}

fn term_of(whole: &str, beginnings: &[Beginning]) -> String {
    let mut letters = whole.chars();
    let (first, second) = (letters.next(), letters.next());
    let is_possible =
        |wanted: &Beginning| Some(wanted.0) == first && (wanted.1.is_none() || wanted.1 == second);
    if beginnings.iter().any(is_possible) { stem_term(whole) } else { String::new() }
}

/// Returns the start and end of the best passage, in bytes.
fn passage(text: &str, hits: &[Hit], room_chars: usize) -> (usize, usize) {
    let (first, last) = best(text, hits, room_chars);
    let n_free = room_chars.saturating_sub(text[first..last].chars().count());
    // A third of the free room goes before the match, because the text after it says more.
    let mut start = back(text, first, n_free / 3);
    if last <= forward(text, 0, room_chars * 2 / 3) {
        start = 0;
    }
    if forward(text, start, room_chars) == text.len() {
        start = back(text, text.len(), room_chars);
    }
    let start = start_of_word(text, start, first);
    (start, end_of_word(text, start, forward(text, start, room_chars), last))
}

/// Moves the start of a passage to the next word, but not beyond its first match.
fn start_of_word(text: &str, start: usize, first: usize) -> usize {
    if start == 0 {
        return start;
    }
    let start = boundary_after(text, start);
    let is_within_word = !text[..start].ends_with(char::is_whitespace);
    let blank = text.get(start..first).and_then(|before| before.find(char::is_whitespace));
    let start = start + blank.filter(|_| is_within_word).unwrap_or(0);
    text.len() - text[start..].trim_start().len()
}

/// Moves the end of a passage back to the end of a word, but not before its last match.
fn end_of_word(text: &str, start: usize, end: usize, last: usize) -> usize {
    if end == text.len() {
        return end;
    }
    let end = boundary_before(text, end).max(start);
    let is_within_word = !text[end..].starts_with(char::is_whitespace);
    let last = last.max(start);
    let blank = text.get(last..end).and_then(|after| after.rfind(char::is_whitespace));
    let end = blank.filter(|_| is_within_word).map_or(end, |blank| last + blank);
    start + text[start..end].trim_end().len()
}

/// Returns the range of the hits in the best passage: the earliest with the most clauses.
fn best(text: &str, hits: &[Hit], room_chars: usize) -> (usize, usize) {
    let mut best = (0, 0);
    let mut best_worth = 0;
    let mut n_by_clause = vec![0_usize; hits.iter().map(|hit| hit.clause + 1).max().unwrap_or(0)];
    let mut n_clauses = 0;
    let mut after = 0;
    let mut limit = forward(text, 0, room_chars);
    let mut start_before = 0;
    for (index, first) in hits.iter().enumerate() {
        limit = forward(text, limit, text[start_before..first.start].chars().count());
        start_before = first.start;
        while after == index || hits.get(after).is_some_and(|hit| hit.end <= limit) {
            n_clauses += usize::from(n_by_clause[hits[after].clause] == 0);
            n_by_clause[hits[after].clause] += 1;
            after += 1;
        }
        let worth = n_clauses * ANOTHER_CLAUSE + (after - index).min(REPETITIONS_MAX);
        if worth > best_worth {
            best_worth = worth;
            best = (first.start, hits[index..after].iter().map(|hit| hit.end).max().unwrap_or(first.end));
        }
        n_by_clause[first.clause] -= 1;
        n_clauses -= usize::from(n_by_clause[first.clause] == 0);
    }
    best
}

/// Splits a passage into marked and unmarked pieces.
fn pieces(text: &str, hits: &[Hit], start: usize, end: usize) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut add = |from: usize, to: usize, is_marked: bool| {
        if from < to {
            pieces.push(Piece { text: text[from..to].to_owned(), is_marked });
        }
    };
    let mut from = start;
    let mut hits = hits.iter().peekable();
    while let Some(hit) = hits.next() {
        let (hit_start, mut hit_end) = (hit.start.max(from), hit.end);
        while let Some(next) = hits.next_if(|next| next.start < hit_end) {
            hit_end = hit_end.max(next.end);
        }
        let (hit_start, hit_end) = (hit_start.min(end), hit_end.min(end));
        if hit_start < hit_end {
            add(from, hit_start, false);
            add(hit_start, hit_end, true);
            from = hit_end;
        }
    }
    add(from, end, false);
    pieces
}

/// The position `n_chars` characters further on, or the end of the text.
fn forward(text: &str, from: usize, n_chars: usize) -> usize {
    let mut chars = text[from..].chars();
    if let Some(last) = n_chars.checked_sub(1) {
        chars.nth(last);
    }
    text.len() - chars.as_str().len()
}

/// The position `n_chars` characters before, or the start of the text.
fn back(text: &str, from: usize, n_chars: usize) -> usize {
    let mut chars = text[..from].chars();
    if let Some(first) = n_chars.checked_sub(1) {
        chars.nth_back(first);
    }
    chars.as_str().len()
}

fn boundary_before(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        _ => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
    }
}

fn boundary_after(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        _ => cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len()),
    }
}
