//! What a person types, understood: any text is a query, and none is a syntax error in a database.
//!
//! All words must be found, in any form. `"quoted words"` must be neighbours, and a quote that is not closed
//! runs to the end. `-word` and `-"some words"` must not be found. The last word may be incomplete, unless a
//! blank or a quote follows it. A query of exclusions alone finds all other documents; one without any letter
//! or digit finds nothing.

use std::fmt;

use crate::score::Needles;
use crate::split::{Group, Reference, groups};
use crate::terms::{EVERYTHING, NOTHING, group_terms, stem_term, whole_term};

/// Longer queries are an error.
pub const QUERY_CHARS_MAX: usize = 1_000;
/// What stands behind these is left out of the search.
const TERMS_MAX: usize = 32;
/// Fewer characters, not counting the letter of the term's kind, are the beginning of too many words.
const PREFIX_CHARS_MIN: usize = 2;
/// The usual double quotes, and those that keyboards and word processors put in their place.
const QUOTES: [char; 7] = ['"', '“', '”', '„', '«', '»', '＂'];

/// A query. The first clauses are what must be found, the others what must not.
#[derive(Clone, Debug)]
pub struct Query {
    /// What documents are tested by.
    pub clauses: Vec<Clause>,
    /// The reference ids among what must be found.
    pub references: Vec<Reference>,
    /// How many words were too many and are left out.
    pub n_dropped: usize,
    pub(crate) needles: Needles,
}

/// One word, identifier, reference id or phrase. A document matches by any one of the three ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Stems and references that must be neighbours. Never empty.
    pub terms: Vec<String>,
    /// The stem of an identifier written as one word.
    pub compound: Option<String>,
    /// What a whole word may begin with.
    pub prefix: Option<String>,
    /// The whole word as typed, which ranks higher than another form.
    pub exact: Option<String>,
    /// Whether a document must not match.
    pub is_excluded: bool,
}

/// Why a text is not a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There is nothing but blanks.
    Blank,
    /// There is a NUL character, which databases cannot store.
    Nul,
    /// There are this many characters.
    Long(usize),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Blank => write!(f, "expected words to search for, found only blanks"),
            Problem::Nul => write!(f, "expected text, found a NUL character"),
            Problem::Long(n_chars) => {
                write!(f, "expected at most {QUERY_CHARS_MAX} characters, found {n_chars}")
            }
        }
    }
}

impl std::error::Error for Problem {}

impl Query {
    /// Reads what a person typed.
    pub fn parse(text: &str) -> Result<Query, Problem> {
        let n_chars = text.chars().count();
        match () {
            () if text.trim().is_empty() => return Err(Problem::Blank),
            () if text.contains('\0') => return Err(Problem::Nul),
            () if n_chars > QUERY_CHARS_MAX => return Err(Problem::Long(n_chars)),
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

    /// Whether there is nothing to search by, so that no document can match.
    pub fn is_nothing(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Returns the query for `match` on an FTS5 table of the two term columns.
    pub fn fts5(&self) -> String {
        let phrase = |terms: &[String]| format!("\"{}\"", terms.join(" "));
        let prefix = |term: &str| format!("\"{term}\" *");
        let (wanted, excluded) = self.render(" AND ", " OR ", phrase, prefix);
        let wanted = wanted.unwrap_or_else(|| format!("\"{}\"", self.base()));
        excluded.map_or(wanted.clone(), |excluded| format!("({wanted}) NOT ({excluded})"))
    }

    /// Returns the query as text to cast to PostgreSQL's `tsquery`.
    pub fn tsquery(&self) -> String {
        let phrase = |terms: &[String]| format!("('{}')", terms.join("' <-> '"));
        let prefix = |term: &str| format!("'{term}':*");
        let (wanted, excluded) = self.render(" & ", " | ", phrase, prefix);
        let wanted = wanted.unwrap_or_else(|| format!("'{}'", self.base()));
        excluded.map_or(wanted.clone(), |excluded| format!("{wanted} & !({excluded})"))
    }

    /// What is searched where nothing is wanted.
    fn base(&self) -> &'static str {
        if self.is_nothing() { NOTHING } else { EVERYTHING }
    }

    /// Returns what must be found and what must not, in the words of a database.
    fn render(
        &self,
        and: &str,
        or: &str,
        phrase: impl Fn(&[String]) -> String,
        prefix: impl Fn(&str) -> String,
    ) -> (Option<String>, Option<String>) {
        let ways = |clause: &Clause| {
            let compound = clause.compound.iter().map(|term| phrase(std::slice::from_ref(term)));
            let ways = [phrase(&clause.terms)].into_iter().chain(compound);
            let ways = ways.chain(clause.prefix.as_deref().map(&prefix));
            format!("({})", ways.collect::<Vec<_>>().join(or))
        };
        let join = |is_excluded: bool, between: &str| {
            let clauses = self.clauses.iter().filter(|clause| clause.is_excluded == is_excluded);
            let clauses: Vec<String> = clauses.map(ways).collect();
            (!clauses.is_empty()).then(|| clauses.join(between))
        };
        (join(false, and), join(true, or))
    }
}

/// The clauses read so far.
#[derive(Default)]
struct Clauses {
    clauses: Vec<Clause>,
    references: Vec<Reference>,
    /// The clause of the last word, unless it is excluded or part of a phrase.
    last_word: Option<usize>,
    n_terms: usize,
    n_dropped: usize,
}

impl Clauses {
    /// Reads a word or a phrase and returns what follows it.
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

    /// Adds groups that must be neighbours, and returns whether there was room for any of them.
    fn add_phrase(&mut self, groups: &[Group], is_excluded: bool) -> bool {
        let mut terms: Vec<String> = groups.iter().flat_map(group_terms).collect();
        // A shorter phrase finds more and is still useful; a shorter exclusion would hide what it should not.
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
                let alone = (group.parts.len() == 1).then(|| group.parts[0].whole.as_str());
                let compound = group.compound.as_deref();
                (compound.map(stem_term), compound.or(alone).map(whole_term))
            }
            _ => (None, None),
        };
        self.clauses.push(Clause { terms, compound, prefix: None, exact, is_excluded });
        true
    }
}
