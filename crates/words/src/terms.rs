//! Turns text into the terms that databases store.
//!
//! A term is a letter for its kind, followed by letters and digits only, so that no database interprets
//! it: `s` and a stem, `w` and a whole word, `r` and a reference id; in the index also `b` and the prefix of a word,
//! `p` and a pair of adjacent words, and each of them after a `t` for those of the title. In SQLite the tokenizer must be `ascii`,
//! which does not change terms. The stored string of a title or a body is
//!
//! ```text
//!  stems and references in the order of the text, e, then each whole word once
//! ```
//!
//! with a space at both ends, so that ` srun ` finds a term, ` srun sfast ` a phrase and ` wrun` a prefix.
//! Terms without a position (the stem of an identifier written as one word, text beyond the limit)
//! follow the `e`, where no two stems are adjacent, so that none can match as a phrase.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::fold::stem;
use crate::split::{Group, ReferenceId, each_group};

/// The position of unsearchable words, so that the words around them do not become adjacent.
const FILLER: &str = "x";
/// Separates the ordered terms from the words; as the one term of every document, it is also the start of an "all but" query.
pub(crate) const EVERYTHING: &str = "e";
/// A term that no document has.
pub(crate) const NOTHING: &str = "n";

/// PostgreSQL counts to 16,383; text beyond can be found, but not as part of a phrase.
const POSITIONS_MAX: usize = 16_000;
/// PostgreSQL stores this many positions of one term.
const OCCURRENCES_MAX: u16 = 255;
/// PostgreSQL accepts 1 MiB including its overhead. Only artificially large texts reach this limit; their end is cut.
const BYTES_MAX: usize = 700_000;

/// The stored terms of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Of the title.
    pub title: String,
    /// Of the body.
    pub body: String,
}

/// Returns the terms of a document. A title that begins with the document's reference id, as in
/// `REQ-012 The pot brews`, makes a search for that id find the document first.
pub fn terms(title: &str, body: &str) -> Terms {
    let mut document = TermLimits::default();
    Terms { title: document.field(title), body: document.field(body) }
}

impl Terms {
    /// Returns the terms that a database indexes: each term once, those of the title again marked as such, pairs of
    /// adjacent words as one term, and prefixes of words. So titles and phrases of common words need no positions, which
    /// are slow to compare, and a few letters need no list of all words that begin with them.
    pub fn postings(&self) -> String {
        let mut postings = Postings {
            text: String::with_capacity((self.title.len() + self.body.len()) * 2),
            seen: HashSet::default(),
        };
        for (field, is_title) in [(&self.title, true), (&self.body, false)] {
            let mut before = None;
            for term in field.split_ascii_whitespace() {
                if !is_needless(term) {
                    postings.add(term, is_title && term != EVERYTHING);
                }
                for beginning in beginnings(term) {
                    postings.add(&beginning, is_title);
                }
                let is_neighbour = term.starts_with(['s', 'r']);
                if let Some(before) = before.filter(|_| is_neighbour) {
                    postings.add(&pair_term(before, term), is_title);
                }
                before = is_neighbour.then_some(term);
            }
        }
        postings.text
    }
}

struct Postings {
    text: String,
    seen: HashSet<String, RandomState>,
}

impl Postings {
    fn add(&mut self, term: &str, is_title: bool) {
        self.add_once(term.to_owned());
        if is_title {
            self.add_once(title_term(term));
        }
    }

    fn add_once(&mut self, term: String) {
        if !self.seen.contains(&term) {
            push(&mut self.text, &term);
            self.seen.insert(term);
        }
    }
}

/// Prefixes of this many characters have their own term.
const BEGINNING_CHARS: [usize; 3] = [2, 3, 4];

/// Whether a term is never searched for: prefixes of whole words are searched only if longer than those with terms.
fn is_needless(term: &str) -> bool {
    let [.., longest] = BEGINNING_CHARS;
    term == FILLER || term.strip_prefix('w').is_some_and(|word| word.chars().count() <= longest)
}

/// The terms of the prefixes of a whole word's term.
fn beginnings(term: &str) -> impl Iterator<Item = String> {
    let word = term.strip_prefix('w');
    BEGINNING_CHARS.into_iter().filter_map(move |n_chars| {
        let (end, last) = word?.char_indices().nth(n_chars - 1)?;
        Some(format!("b{}", &word?[..end + last.len_utf8()]))
    })
}

/// The term of a prefix that has one: what a whole word's term may begin with.
pub(crate) fn beginning_term(prefix: &str) -> Option<String> {
    let word = prefix.strip_prefix('w')?;
    BEGINNING_CHARS.contains(&word.chars().count()).then(|| format!("b{word}"))
}

/// The term that marks an occurrence in a title.
pub(crate) fn title_term(term: &str) -> String {
    format!("t{term}")
}

/// The term for two adjacent words: a hash, so that the terms of a long text stay below PostgreSQL's limit. If two
/// pairs of a store shared their 40 bits, a search would find one document too many; this does not happen in practice.
pub(crate) fn pair_term(left: &str, right: &str) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = left.bytes().chain([b' ']).chain(right.bytes());
    let hash = bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    let hash = hash ^ (hash >> 32);
    let digit =
        |index: u32| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[(hash >> (index * 5)) as usize & 31]);
    ['p'].into_iter().chain((0..8).map(digit)).collect()
}

/// Returns the terms by which a word, an identifier or a reference id matches in any form.
pub(crate) fn group_terms(group: &Group<'_>) -> Vec<String> {
    match &group.reference {
        Some(reference) => vec![reference_term(reference)],
        None => group.parts.iter().map(|part| stem_term(&part.whole)).collect(),
    }
}

/// Returns the term of a folded word's stem.
pub(crate) fn stem_term(whole: &str) -> String {
    format!("s{}", stem(whole))
}

/// Returns the term of a folded word without stemming.
pub(crate) fn whole_term(whole: &str) -> String {
    format!("w{whole}")
}

/// Prefix, number, project: a key starts with a letter, so no two references share a term.
fn reference_term(reference: &ReferenceId) -> String {
    let project = reference.project.as_deref().unwrap_or_default();
    format!("r{}{}{project}", reference.prefix, reference.number).to_ascii_lowercase()
}

/// The limits, counted over title and body together.
#[derive(Default)]
struct TermLimits {
    n_positions: usize,
    n_bytes: usize,
    /// Ordered terms, and how often each occurs.
    n_occurrences: HashMap<String, u16, RandomState>,
    /// The terms of words, cached because most words of a text recur.
    stems: HashMap<String, String, RandomState>,
}

/// The two halves of a stored string.
struct Field {
    ordered: String,
    unordered: String,
    seen: HashSet<String, RandomState>,
}

impl TermLimits {
    fn field(&mut self, text: &str) -> String {
        let mut field = Field {
            ordered: String::with_capacity(text.len() * 3),
            unordered: String::with_capacity(text.len()),
            seen: HashSet::default(),
        };
        each_group(text, |group| self.group(group, &mut field));
        self.n_bytes += field.n_bytes();
        format!("{} {EVERYTHING}{} ", field.ordered, field.unordered)
    }

    fn group(&mut self, group: &Group<'_>, field: &mut Field) {
        for part in &group.parts {
            if self.n_bytes + field.n_bytes() > BYTES_MAX {
                return;
            }
            let term = match (&group.reference, self.stems.get(&*part.whole)) {
                (Some(reference), _) => reference_term(reference),
                (None, Some(term)) => term.clone(),
                (None, None) => {
                    let term = stem_term(&part.whole);
                    self.stems.insert(part.whole.clone().into_owned(), term.clone());
                    term
                }
            };
            if self.n_positions < POSITIONS_MAX {
                self.place(&term, field);
                field.add_word(&part.whole);
            } else {
                field.add_pair(term, &part.whole);
            }
        }
        if let Some(compound) = &group.compound {
            field.add_pair(stem_term(compound), compound);
        }
    }

    fn place(&mut self, term: &str, field: &mut Field) {
        self.n_positions += 1;
        if !self.n_occurrences.contains_key(term) {
            self.n_occurrences.insert(term.to_owned(), 0);
        }
        let n_occurrences = self.n_occurrences.get_mut(term).expect("it was inserted where it was missing");
        let term = if *n_occurrences < OCCURRENCES_MAX { term } else { FILLER };
        *n_occurrences = n_occurrences.saturating_add(1);
        push(&mut field.ordered, term);
    }
}

impl Field {
    fn n_bytes(&self) -> usize {
        self.ordered.len() + self.unordered.len()
    }

    fn add_word(&mut self, whole: &str) -> bool {
        let term = whole_term(whole);
        let is_new = !self.seen.contains(&term);
        if is_new {
            push(&mut self.unordered, &term);
            self.seen.insert(term);
        }
        is_new
    }

    /// Adds an unordered stem, followed by a word or a filler that separates it from the next one.
    fn add_pair(&mut self, term: String, whole: &str) {
        let is_new = !self.seen.contains(&term);
        if is_new {
            push(&mut self.unordered, &term);
            self.seen.insert(term);
        }
        let is_apart = self.add_word(whole);
        if is_new && !is_apart {
            push(&mut self.unordered, FILLER);
        }
    }
}

fn push(terms: &mut String, term: &str) {
    terms.push(' ');
    terms.push_str(term);
}
