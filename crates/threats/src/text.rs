//! Cuts text into stemmed words: prose, identifiers (`camelCase`, `snake_case`, `kebab-case`), paths and routes alike.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

/// A text longer than this is read up to here: enough for any task description.
const TEXT_SIZE_MAX_BYTES: usize = 16 << 10;
/// Longer runs of letters are data, not words.
const WORD_SIZE_MAX_BYTES: usize = 40;

/// The words of a text in their order.
#[derive(Debug, Default)]
pub struct Words {
    /// One entry for each part of each identifier.
    pub words: Vec<Word>,
    /// Neighbouring parts of one identifier written as one word: `multi-tenant` is also `multitenant`.
    pub compounds: Vec<Compound>,
}

/// One word.
#[derive(Debug)]
pub struct Word {
    /// Its stem, in lower case.
    pub stem: String,
    /// Where it starts in the text, in bytes.
    pub start: usize,
    /// Where it ends in the text, in bytes.
    pub end: usize,
}

/// Neighbouring parts of one identifier, as one word.
#[derive(Debug)]
pub struct Compound {
    /// The stem of the parts written together.
    pub stem: String,
    /// The index of its first part.
    pub first: usize,
    /// How many parts it has.
    pub n_parts: usize,
}

/// Cuts a text into words.
pub fn words(text: &str) -> Words {
    let text = prefix(text, TEXT_SIZE_MAX_BYTES);
    let mut words = Words::default();
    let mut lower = String::new();
    let mut identifier = 0;
    let mut end_before = 0;

    for (start, end) in runs(text) {
        let gap = &text[end_before..start];
        if is_contraction(gap, &text[start..end]) {
            end_before = end;
            continue;
        }
        if !(gap == "-" || gap == "_") {
            compound(&mut words, identifier, text);
            identifier = words.words.len();
        }
        let run = words.words.len();
        for (part_start, part_end) in parts(&text[start..end]) {
            let (start, end) = (start + part_start, start + part_end);
            lower.clear();
            lower.extend(text[start..end].chars().flat_map(char::to_lowercase));
            words.words.push(Word { stem: stem(&lower), start, end });
        }
        let n_parts = words.words.len() - run;
        if n_parts > 2 {
            let stem = stem(&text[start..end].to_lowercase());
            words.compounds.push(Compound { stem, first: run, n_parts });
        }
        end_before = end;
    }
    compound(&mut words, identifier, text);
    words.compounds.sort_by_key(|compound| (compound.first, compound.n_parts));
    words
}

/// How many stems a thread remembers. The patterns that come with the program have a third of that.
const STEMS_MAX: usize = 16 << 10;

thread_local! {
    // Stemming takes a microsecond, and the same words come again and again.
    static STEMS: RefCell<HashMap<String, String>> = RefCell::default();
}

/// Reduces a lower-case word to its stem.
fn stem(word: &str) -> String {
    if word.len() > WORD_SIZE_MAX_BYTES {
        return prefix(word, WORD_SIZE_MAX_BYTES).to_owned();
    }
    STEMS.with_borrow_mut(|stems| {
        if let Some(stem) = stems.get(word) {
            return stem.clone();
        }
        let stem = new_stem(word);
        if stems.len() < STEMS_MAX {
            stems.insert(word.to_owned(), stem.clone());
        }
        stem
    })
}

fn new_stem(word: &str) -> String {
    // The stemmer folds an authorization into an author, an organization into an organ and a serializer into
    // a serial number. Here these are the words that matter most.
    for (root, stem) in ROOTS {
        for spelling in ["iz", "is"] {
            let rest = word.strip_prefix(root).and_then(|rest| rest.strip_prefix(spelling));
            if rest.is_some_and(|rest| ENDINGS.contains(&rest)) {
                return (*stem).to_owned();
            }
        }
    }
    match EXCEPTIONS.iter().find(|(known, _)| *known == word) {
        Some((_, stem)) => (*stem).to_owned(),
        None => Stemmer::new(Algorithm::English).stem(word).into_owned(),
    }
}

const ROOTS: &[(&str, &str)] = &[
    ("author", "authoriz"),
    ("unauthor", "unauthoriz"),
    ("organ", "organiz"),
    ("serial", "serializ"),
    ("deserial", "deserializ"),
    ("token", "token"),
];

const ENDINGS: &[&str] = &["e", "es", "ed", "er", "ers", "ing", "able", "ation", "ations", "ational"];

const EXCEPTIONS: &[(&str, &str)] = &[
    ("authz", "authoriz"),
    ("org", "organiz"),
    ("orgs", "organiz"),
    ("tenancy", "tenant"),
    ("multitenancy", "multiten"),
    ("ownership", "owner"),
    ("ids", "id"),
    ("uuid", "uuid"),
    ("status", "status"),
    ("async", "async"),
    ("asynchronous", "async"),
    ("asynchronously", "async"),
    ("deletion", "delet"),
    ("removal", "remov"),
    ("approval", "approv"),
    ("retrieval", "retriev"),
    ("children", "child"),
    ("impersonation", "imperson"),
    ("colour", "color"),
];

/// Finds the runs of letters and digits.
fn runs(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while characters.next_if(|(_, character)| !character.is_alphanumeric()).is_some() {}
        let (start, _) = *characters.peek()?;
        let mut end = start;
        while let Some((index, character)) = characters.next_if(|(_, character)| character.is_alphanumeric())
        {
            end = index + character.len_utf8();
        }
        Some((start, end))
    })
}

/// Cuts a run at changes of case and between letters and digits: `HTTPServer2` is `HTTP`, `Server`, `2`.
fn parts(run: &str) -> Vec<(usize, usize)> {
    let characters: Vec<(usize, char)> = run.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for i in 1..characters.len() {
        let ((_, before), (index, character)) = (characters[i - 1], characters[i]);
        let after = characters.get(i + 1).map(|(_, after)| *after);
        let hump = before.is_lowercase() && character.is_uppercase();
        // The last capital of a run belongs to what follows, but a single one before it does not stand
        // alone: `OAuth` is one word.
        let acronym = before.is_uppercase()
            && character.is_uppercase()
            && after.is_some_and(char::is_lowercase)
            && index - start > 1;
        if hump || acronym || before.is_numeric() != character.is_numeric() {
            parts.push((start, index));
            start = index;
        }
    }
    parts.push((start, run.len()));
    parts
}

/// Adds the pairs of neighbours of the identifier that starts at a word and ends with the last one.
fn compound(words: &mut Words, identifier: usize, text: &str) {
    for first in identifier..words.words.len().saturating_sub(1) {
        let pair = &words.words[first..first + 2];
        let joined = [&text[pair[0].start..pair[0].end], &text[pair[1].start..pair[1].end]].concat();
        words.compounds.push(Compound { stem: stem(&joined.to_lowercase()), first, n_parts: 2 });
    }
}

/// Tells whether a run is the tail of a word such as `user's` or `doesn't`.
fn is_contraction(gap: &str, run: &str) -> bool {
    matches!(gap, "'" | "’") && matches!(run, "s" | "t" | "re" | "ve" | "ll" | "d" | "m")
}

/// Returns as much of a text as fits into some bytes, without cutting a character.
pub fn prefix(text: &str, n_bytes_max: usize) -> &str {
    if text.len() <= n_bytes_max {
        return text;
    }
    let mut end = n_bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Tells whether a stem says nothing about a subject: function words, single letters, numbers.
pub fn is_stop_word(stem: &str) -> bool {
    stem.chars().count() < 2 || stem.bytes().all(|byte| byte.is_ascii_digit()) || STOP_WORDS.contains(stem)
}

/// Stems. Besides English function words: the verbs and nouns with which any task is described.
static STOP_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("stop_words.txt").split_whitespace().collect());

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[test]
    fn identifiers_are_cut_into_words() {
        check("getUserByID", expect!["get user by id | getus getuserbyid userbi byid"]);
        check("HTTPServer2", expect!["http server 2 | httpserver httpserver2 server2"]);
        check("tenant_id", expect!["tenant id | tenantid"]);
        check("multi-tenant", expect!["multi tenant | multiten"]);
        check("OAuth2 GraphQL", expect!["oauth 2 graph ql | oauth2 graphql"]);
        check("/documents/<int:document_id>", expect!["document int document id | documentid"]);
        check("app/tasks/export_report.py", expect!["app task export report py | exportreport"]);
    }

    #[test]
    fn an_authorization_is_not_an_author() {
        check("authorization authorised unauthorized", expect!["authoriz authoriz unauthoriz"]);
        check("author authors authority", expect!["author author author"]);
        check("organisation organs", expect!["organiz organ"]);
        check("serialiser serial", expect!["serializ serial"]);
    }

    #[test]
    fn contractions_lose_their_tail() {
        check("the user's jobs don't run", expect!["the user job don run"]);
    }

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        let words = words(text);
        let stems: Vec<&str> = words.words.iter().map(|word| word.stem.as_str()).collect();
        let compounds: Vec<&str> = words.compounds.iter().map(|compound| compound.stem.as_str()).collect();
        let found = format!("{} | {}", stems.join(" "), compounds.join(" "));
        expected.assert_eq(found.trim_end_matches([' ', '|']));
    }
}
