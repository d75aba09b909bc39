//! How well a document that was found answers a query, from its stored terms alone.

use memchr::memmem::Finder;

use crate::query::{Clause, Query};

/// The document is what the reference id names.
const REFERENCE: f32 = 1_000.0;
const TITLE: f32 = 3.0;
const BODY: f32 = 1.0;
/// The word occurs in the form that was typed.
const EXACT: f32 = 0.6;
/// Only the beginning of a word was found.
const PREFIX: f32 = 0.25;
/// Two words of the query are neighbours.
const ADJACENT: f32 = 0.8;
/// The more often a word is repeated, the less each repetition adds.
const SATURATION: f32 = 1.2;
const COUNT_MAX: usize = 16;
/// Usual lengths of stored terms: a longer text has to say a word more often to mean the same.
const TITLE_USUAL_BYTES: f32 = 100.0;
const BODY_USUAL_BYTES: f32 = 2_000.0;
const LENGTH_WEIGHT: f32 = 0.5;

/// Returns the rank of a document that matches, the higher the better: the document a reference id names
/// before all others, titles before bodies, the typed form before others before beginnings, then words that
/// are repeated or neighbours, then short texts. It costs no allocation.
pub fn score(query: &Query, title_terms: &str, body_terms: &str) -> f32 {
    let (title, body) = (title_terms.as_bytes(), body_terms.as_bytes());
    let title_length = length_factor(title, TITLE_USUAL_BYTES);
    let body_length = length_factor(body, BODY_USUAL_BYTES);
    let mut score = 0.0;
    for needle in &query.needles.clauses {
        if needle.is_reference && title.starts_with(needle.terms.needle()) {
            score += REFERENCE;
        }
        score += TITLE * needle.strength(title, title_length) + BODY * needle.strength(body, body_length);
    }
    for pair in &query.needles.pairs {
        let has = |field: &[u8]| f32::from(u8::from(pair.find(field).is_some()));
        score += ADJACENT * (TITLE * has(title) + BODY * has(body));
    }
    // Where the words say the same, the shorter text is the more pertinent.
    score + 0.01 / (title_length + body_length)
}

/// What to look for in stored terms, made once for a query.
#[derive(Clone, Debug)]
pub(crate) struct Needles {
    clauses: Vec<Needle>,
    excluded: Vec<Needle>,
    /// Neighbouring clauses as a phrase.
    pairs: Vec<Finder<'static>>,
}

#[derive(Clone, Debug)]
struct Needle {
    terms: Finder<'static>,
    compound: Option<Finder<'static>>,
    exact: Option<Finder<'static>>,
    prefix: Option<Finder<'static>>,
    is_reference: bool,
}

impl Needles {
    pub(crate) fn new(clauses: &[Clause]) -> Needles {
        let (excluded, clauses): (Vec<&Clause>, Vec<&Clause>) =
            clauses.iter().partition(|clause| clause.is_excluded);
        let whole = |terms: &str| Finder::new(&format!(" {terms} ")).into_owned();
        let needle = |clause: &&Clause| Needle {
            terms: whole(&clause.terms.join(" ")),
            compound: clause.compound.as_deref().map(whole),
            exact: clause.exact.as_deref().map(whole),
            prefix: clause.prefix.as_deref().map(|prefix| Finder::new(&format!(" {prefix}")).into_owned()),
            is_reference: clause.terms.len() == 1 && clause.terms[0].starts_with('r'),
        };
        let pair = |pair: &[&Clause]| whole(&[&pair[0].terms[..], &pair[1].terms[..]].concat().join(" "));
        Needles {
            clauses: clauses.iter().map(needle).collect(),
            excluded: excluded.iter().map(needle).collect(),
            pairs: clauses.windows(2).map(pair).collect(),
        }
    }
}

impl Needles {
    pub(crate) fn match_all(&self, title: &[u8], body: &[u8]) -> bool {
        let is_found = |needle: &Needle| needle.is_in(title) || needle.is_in(body);
        self.clauses.iter().all(is_found) && !self.excluded.iter().any(is_found)
    }
}

impl Needle {
    fn is_in(&self, field: &[u8]) -> bool {
        let has =
            |finder: &Option<Finder>| finder.as_ref().is_some_and(|finder| finder.find(field).is_some());
        self.terms.find(field).is_some() || has(&self.compound) || has(&self.prefix)
    }

    fn strength(&self, field: &[u8], length_factor: f32) -> f32 {
        let has =
            |finder: &Option<Finder>| finder.as_ref().is_some_and(|finder| finder.find(field).is_some());
        let count = match count(&self.terms, field) {
            0 if has(&self.compound) => 1.0,
            count => count as f32,
        };
        if count > 0.0 {
            let repeated = count * (SATURATION + 1.0) / (count + SATURATION * length_factor);
            repeated + if has(&self.exact) { EXACT } else { 0.0 }
        } else if has(&self.prefix) {
            PREFIX / length_factor
        } else {
            0.0
        }
    }
}

/// Counts up to a limit. Neighbours share a blank, so they overlap.
fn count(finder: &Finder, field: &[u8]) -> usize {
    let mut count = 0;
    let mut from = 0;
    while count < COUNT_MAX {
        let Some(at) = finder.find(&field[from..]) else { break };
        count += 1;
        from += at + finder.needle().len() - 1;
    }
    count
}

fn length_factor(field: &[u8], usual_bytes: f32) -> f32 {
    1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * field.len() as f32 / usual_bytes
}
