//! Parses search queries: any text is a query, and none is a syntax error in a database.
//!
//! All words must occur, in any form. `"quoted words"` must be adjacent, and an unclosed quote
//! runs to the end. `-word` and `-"some words"` must not occur. The last word may be a prefix, unless a
//! space or a quote follows it. A query with exclusions only finds all other documents; a query without letters
//! and digits finds nothing.

use std::fmt;

use crate::expression::Expression;
use crate::score::Needles;
use crate::split::{Group, ReferenceId, groups};
use crate::terms::{
    EVERYTHING, NOTHING, beginning_term, group_terms, pair_term, stem_term, title_term, whole_term,
};

/// Longer queries are an error.
pub const QUERY_CHARS_MAX: usize = 1_000;
/// Words after these are ignored.
const TERMS_MAX: usize = 32;
/// Fewer characters, not counting the kind letter of the term, are the prefix of too many words.
const PREFIX_CHARS_MIN: usize = 2;
/// The usual double quotes, and their typographic variants.
const QUOTES: [char; 7] = ['"', '“', '”', '„', '«', '»', '＂'];

/// A parsed query: required clauses first, then excluded ones.
#[derive(Clone, Debug)]
pub struct Query {
    /// The conditions on documents.
    pub clauses: Vec<Clause>,
    /// The reference ids among the required clauses.
    pub references: Vec<ReferenceId>,
    /// The number of words that were ignored because there were too many.
    pub n_dropped: usize,
    pub(crate) needles: Needles,
}

/// One word, identifier, reference id or phrase. A document matches in any of three ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Stems and references that must be adjacent. Never empty.
    pub terms: Vec<String>,
    /// The stem of an identifier written as one word.
    pub compound: Option<String>,
    /// The prefix of a whole word.
    pub prefix: Option<String>,
    /// The whole word as typed, which ranks higher than another form.
    pub exact: Option<String>,
    /// Whether a document must not match.
    pub is_excluded: bool,
}

/// Why a text cannot be a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryProblem {
    /// It has only white space.
    Blank,
    /// It has a NUL character, which databases cannot store.
    Nul,
    /// It has this many characters, which is too many.
    Long(usize),
}

impl fmt::Display for QueryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryProblem::Blank => write!(f, "expected words to search for, found only blanks"),
            QueryProblem::Nul => write!(f, "expected text, found a NUL character"),
            QueryProblem::Long(n_chars) => {
                write!(f, "expected at most {QUERY_CHARS_MAX} characters, found {n_chars}")
            }
        }
    }
}

impl std::error::Error for QueryProblem {}

impl Query {
    /// Parses a query.
    pub fn parse(text: &str) -> Result<Query, QueryProblem> {
        let n_chars = text.chars().count();
        match () {
            () if text.trim().is_empty() => return Err(QueryProblem::Blank),
            () if text.contains('\0') => return Err(QueryProblem::Nul),
            () if n_chars > QUERY_CHARS_MAX => return Err(QueryProblem::Long(n_chars)),
            () => {}
        }
        let mut found = Clauses::default();
        let mut rest = text;
        while !rest.is_empty() {
            rest = found.read_item(rest);
        }
        let is_last_open = !text.ends_with(|c: char| c.is_whitespace() || QUOTES.contains(&c));
        if let Some(word) = found.last_word.filter(|_| is_last_open) {
            let clause = &mut found.clauses[word];
            clause.prefix = clause.exact.clone().filter(|term| term.chars().count() > PREFIX_CHARS_MIN);
        }
        let mut clauses: Vec<Clause> = Vec::new();
        for clause in found.clauses {
            if !clauses.contains(&clause) {
                clauses.push(clause);
            }
        }
        clauses.sort_by_key(|clause| clause.is_excluded);
        let needles = Needles::new(&clauses);
        Ok(Query { clauses, references: found.references, n_dropped: found.n_dropped, needles })
    }

    /// Whether the query has no clauses, so that no document can match.
    pub fn is_nothing(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Returns the condition for the database. If the query [is loose](Query::is_loose), some of the results do not match.
    pub fn expression(&self, place: Place) -> Expression {
        let clauses = |is_excluded: bool, place: Place| -> Vec<Expression> {
            let clauses = self.clauses.iter().filter(|clause| clause.is_excluded == is_excluded);
            // Excluding the pairs of a longer phrase would exclude too much.
            let clauses = clauses.filter(|clause| !(is_excluded && clause.is_loose()));
            clauses.map(|clause| clause.expression(place)).collect()
        };
        let (mut wanted, excluded) = (clauses(false, place), clauses(true, Place::Anywhere));
        let base = if self.is_nothing() { NOTHING } else { EVERYTHING };
        if wanted.is_empty() {
            wanted.push(Expression::Term(base.to_owned()));
        }
        let wanted = if wanted.len() == 1 { wanted.remove(0) } else { Expression::All(wanted) };
        match excluded.is_empty() {
            true => wanted,
            false => Expression::Without(Box::new(wanted), Box::new(Expression::Any(excluded))),
        }
    }

    /// Returns the query without its exclusions, if it has any. It finds more, and faster.
    pub fn wanted(&self) -> Option<Query> {
        self.clauses.iter().any(|clause| clause.is_excluded).then(|| {
            let clauses = self.clauses.iter().filter(|clause| !clause.is_excluded).cloned().collect();
            self.with(clauses)
        })
    }

    /// Returns the query with its last word as complete, if it may be a prefix. It finds less, and faster.
    pub fn complete(&self) -> Option<Query> {
        let is_open = |clause: &Clause| clause.prefix.is_some();
        self.clauses.iter().any(is_open).then(|| {
            let closed = |clause: &Clause| Clause { prefix: None, ..clause.clone() };
            self.with(self.clauses.iter().map(closed).collect())
        })
    }

    fn with(&self, clauses: Vec<Clause>) -> Query {
        let needles = Needles::new(&clauses);
        Query { clauses, needles, references: self.references.clone(), n_dropped: self.n_dropped }
    }

    /// Whether the database finds too many documents, so that [`Query::matches`] must check each.
    pub fn is_loose(&self) -> bool {
        self.clauses.iter().any(Clause::is_loose)
    }

    /// Whether a document with these stored terms matches.
    pub fn matches(&self, title_terms: &str, body_terms: &str) -> bool {
        !self.is_nothing() && self.needles.match_all(title_terms.as_bytes(), body_terms.as_bytes())
    }
}

/// The part of a document to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the title or the body.
    Anywhere,
    /// In the title.
    Title,
}

impl Clause {
    fn is_loose(&self) -> bool {
        self.terms.len() > 2
    }

    fn expression(&self, place: Place) -> Expression {
        let term = |term: &str| match place {
            Place::Anywhere => term.to_owned(),
            Place::Title => title_term(term),
        };
        let mut phrase: Vec<Expression> = self
            .terms
            .windows(2)
            .map(|pair| Expression::Term(term(&pair_term(&pair[0], &pair[1]))))
            .collect();
        let first = match phrase.len() {
            0 => Expression::Term(term(&self.terms[0])),
            1 => phrase.remove(0),
            _ => Expression::All(phrase),
        };
        let mut ways = vec![first];
        ways.extend(self.compound.as_deref().map(|compound| Expression::Term(term(compound))));
        ways.extend(self.prefix.as_deref().map(|prefix| match beginning_term(prefix) {
            Some(beginning) => Expression::Term(term(&beginning)),
            None => Expression::Prefix(term(prefix)),
        }));
        if ways.len() == 1 { ways.remove(0) } else { Expression::Any(ways) }
    }
}

/// The clauses read so far.
#[derive(Default)]
struct Clauses {
    clauses: Vec<Clause>,
    references: Vec<ReferenceId>,
    /// The clause of the last word, unless it is excluded or part of a phrase.
    last_word: Option<usize>,
    n_terms: usize,
    n_dropped: usize,
}

impl Clauses {
    /// Parses a word or a phrase and returns the rest of the text.
    fn read_item<'a>(&mut self, text: &'a str) -> &'a str {
        self.last_word = None;
        let is_quote = |c: char| QUOTES.contains(&c);
        let (is_excluded, item) = match text.strip_prefix('-') {
            Some(item) if item.starts_with(|c| is_quote(c) || c.is_alphanumeric()) => (true, item),
            _ => (false, text),
        };
        if let Some(item) = item.strip_prefix(is_quote) {
            let (phrase, rest) = item.split_once(is_quote).unwrap_or((item, ""));
            self.add_phrase(&groups(phrase), is_excluded);
            return rest;
        }
        let end = item.find(|c: char| c.is_whitespace() || is_quote(c)).unwrap_or(item.len());
        for group in groups(&item[..end]) {
            let is_added = self.add_phrase(&[group], is_excluded);
            self.last_word = (is_added && !is_excluded).then(|| self.clauses.len() - 1);
        }
        item[end..].trim_start()
    }

    /// Adds groups that must be adjacent, and returns whether any of them fit.
    fn add_phrase(&mut self, groups: &[Group<'_>], is_excluded: bool) -> bool {
        let mut terms: Vec<String> = groups.iter().flat_map(group_terms).collect();
        // A shortened phrase finds more and is still useful; a shortened exclusion would hide too much.
        let n_free = TERMS_MAX - self.n_terms;
        let n_kept = if is_excluded && terms.len() > n_free { 0 } else { terms.len().min(n_free) };
        let is_whole = n_kept == terms.len();
        self.n_dropped += terms.len() - n_kept;
        terms.truncate(n_kept);
        if terms.is_empty() {
            return false;
        }
        self.n_terms += n_kept;
        if !is_excluded {
            self.references.extend(groups.iter().filter_map(|group| group.reference.clone()));
        }
        let (compound, exact) = match groups {
            [group] if is_whole => {
                let alone = (group.parts.len() == 1).then(|| &*group.parts[0].whole);
                let compound = group.compound.as_deref();
                (compound.map(stem_term), compound.or(alone).map(whole_term))
            }
            _ => (None, None),
        };
        self.clauses.push(Clause { terms, compound, prefix: None, exact, is_excluded });
        true
    }
}
