//! Cuts text into what a person would point at: words, identifiers with their parts, reference ids.

use std::fmt;

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use crate::fold::{fold, is_simple, is_simple_lowercase, limit};

/// The kinds of reference ids; another word before a number, as in `UTF-8`, is a word.
const PREFIXES: [&str; 6] = ["AC", "EP", "PROMPT", "REQ", "STD", "US"];
const PROJECT_KEY_CHARS_MAX: usize = 32;
const NUMBER_DIGITS_MAX: usize = 18;
/// An identifier with more parts than this has no name as a whole.
const PARTS_MAX: usize = 8;
/// A run that changes more often between letters and digits is a hash or a key, not a name with a number.
const DIGIT_CHANGES_MAX: usize = 3;
/// What holds the parts of an identifier, a path or an address together.
const JOINERS: [char; 12] =
    ['_', '-', '\u{2010}', '\u{2011}', '.', '\'', '\u{2019}', ':', '/', '\\', '@', '+'];
const JOINER_CHARS_MAX: usize = 2;

/// Parts that stand together without a blank: a word, an identifier such as `userId` or `create_epic`, or
/// a reference id, which is always alone.
#[derive(Debug)]
pub(crate) struct Group {
    pub parts: Vec<Part>,
    /// All parts as one folded word, where there are several.
    pub compound: Option<String>,
    pub reference: Option<Reference>,
}

/// A folded word and its place in the text, in bytes.
#[derive(Debug)]
pub(crate) struct Part {
    pub whole: String,
    pub start: usize,
    pub end: usize,
}

/// A reference id, such as `REQ-012` or `ABC-EP-007`. It prints in its usual form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The project's key in capitals, where it was written.
    pub project: Option<String>,
    /// `AC`, `EP`, `PROMPT`, `REQ`, `STD` or `US`.
    pub prefix: &'static str,
    /// The number, to which leading zeros do not matter.
    pub number: u64,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(project) = &self.project {
            write!(f, "{project}-")?;
        }
        write!(f, "{}-{:03}", self.prefix, self.number)
    }
}

impl Group {
    pub(crate) fn start(&self) -> usize {
        self.parts.first().map_or(0, |part| part.start)
    }

    pub(crate) fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.end)
    }
}

/// Returns the groups of a text in their order. None is without parts, and no part is empty.
pub(crate) fn groups(text: &str) -> Vec<Group> {
    let segments = segments(text);
    let mut groups = Vec::with_capacity(segments.len());
    let mut rest = &segments[..];
    while !rest.is_empty() {
        let n_joined = 1 + rest.windows(2).take_while(|pair| is_joined(text, pair[0], pair[1])).count();
        let (joined, after) = rest.split_at(n_joined);
        group(text, joined, &mut groups);
        rest = after;
    }
    groups
}

type Segment = (usize, usize);

/// The runs of letters and digits, cut where a script writes words without blanks.
fn segments(text: &str) -> Vec<Segment> {
    let mut segments = Vec::with_capacity(text.len() / 6);
    for run in text.split(|c| !is_within_word(c)).filter(|run| !run.is_empty()) {
        let start = run.as_ptr() as usize - text.as_ptr() as usize;
        // Up to here all scripts part words, and looking for more boundaries takes most of the time.
        if run.chars().all(|c| c < '\u{e00}') {
            segments.push((start, start + run.len()));
        } else {
            let words = run.unicode_word_indices();
            segments.extend(words.map(|(at, word)| (start + at, start + at + word.len())));
        }
    }
    segments
}

/// Letters, digits, and what is written into words without parting them: marks, joiners, soft hyphens.
fn is_within_word(c: char) -> bool {
    if c.is_ascii() || is_simple(c) {
        return is_simple(c);
    }
    let is_invisible =
        matches!(c, '\u{ad}' | '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}');
    c.is_alphanumeric() || is_invisible || is_combining_mark(c)
}

fn is_joined(text: &str, left: Segment, right: Segment) -> bool {
    let gap = &text[left.1..right.0];
    if gap == "," {
        let is_digit = |b: u8| b.is_ascii_digit();
        return is_digit(text.as_bytes()[left.1 - 1]) && is_digit(text.as_bytes()[right.0]);
    }
    gap.chars().all(|c| JOINERS.contains(&c)) && gap.chars().count() <= JOINER_CHARS_MAX
}

/// Adds the groups of joined segments: reference ids, and what stands between them.
fn group(text: &str, mut segments: &[Segment], groups: &mut Vec<Group>) {
    let mut parts = Vec::new();
    let mut is_first = true;
    while let Some(&(start, end)) = segments.first() {
        if let Some((reference, n_segments)) = reference(text, segments) {
            finish(&mut parts, groups);
            let (taken, rest) = segments.split_at(n_segments);
            let whole = limit(taken.iter().map(|&(start, end)| fold(&text[start..end])).collect());
            let parts = vec![Part { whole, start, end: taken[n_segments - 1].1 }];
            groups.push(Group { parts, compound: None, reference: Some(reference) });
            segments = rest;
            is_first = false;
            continue;
        }
        if is_first || !is_possessive(text, start, end) {
            push_parts(text, start, end, &mut parts);
        }
        segments = &segments[1..];
        is_first = false;
    }
    finish(&mut parts, groups);
}

fn finish(parts: &mut Vec<Part>, groups: &mut Vec<Group>) {
    if parts.is_empty() {
        return;
    }
    let parts = std::mem::take(parts);
    let is_compound = (2..=PARTS_MAX).contains(&parts.len());
    let compound = is_compound.then(|| limit(parts.iter().map(|part| part.whole.as_str()).collect()));
    groups.push(Group { parts, compound, reference: None });
}

/// The reference id that the segments begin with, and how many of them it takes.
fn reference(text: &str, segments: &[Segment]) -> Option<(Reference, usize)> {
    let word = |index: usize| segments.get(index).map(|&(start, end)| &text[start..end]);
    let prefix = |index: usize| {
        let number = word(index + 1)?;
        let is_number = number.len() <= NUMBER_DIGITS_MAX && number.bytes().all(|b| b.is_ascii_digit());
        let known =
            PREFIXES.into_iter().find(|known| word(index).is_some_and(|w| w.eq_ignore_ascii_case(known)));
        (is_number && is_hyphen(text, segments[index], segments[index + 1])).then_some(known?)
    };
    let number = |index: usize| word(index).and_then(|number| number.parse().ok());
    if let Some(prefix) = prefix(0) {
        return Some((Reference { project: None, prefix, number: number(1)? }, 2));
    }
    let key = word(0).filter(|key| is_project_key(key))?;
    let prefix = prefix(1).filter(|_| is_hyphen(text, segments[0], segments[1]))?;
    Some((Reference { project: Some(key.to_ascii_uppercase()), prefix, number: number(2)? }, 3))
}

fn is_project_key(word: &str) -> bool {
    word.len() <= PROJECT_KEY_CHARS_MAX
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn is_hyphen(text: &str, left: Segment, right: Segment) -> bool {
    matches!(&text[left.1..right.0], "-" | "\u{2010}" | "\u{2011}")
}

/// The `s` of `user's`, which is no word.
fn is_possessive(text: &str, start: usize, end: usize) -> bool {
    text[start..end].eq_ignore_ascii_case("s") && text[..start].ends_with(['\'', '\u{2019}'])
}

/// Cuts a run at `camelCase` and between letters and digits, unless it looks like a key or a hash.
fn push_parts(text: &str, start: usize, end: usize, parts: &mut Vec<Part>) {
    let run = &text[start..end];
    let (cuts, n_digit_changes) = cuts(run);
    let is_name = cuts.len() < PARTS_MAX && n_digit_changes <= DIGIT_CHANGES_MAX;
    let cuts = if is_name { &cuts[..] } else { &[] };
    let mut from = 0;
    for to in cuts.iter().copied().chain([run.len()]) {
        let whole = fold(&run[from..to]);
        if !whole.is_empty() {
            parts.push(Part { whole, start: start + from, end: start + to });
        }
        from = to;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Upper,
    Lower,
    Digit,
}

/// Where a run may be cut, and how often it changes between letters and digits.
fn cuts(run: &str) -> (Vec<usize>, usize) {
    let mut cuts = Vec::new();
    let mut n_digit_changes = 0;
    // In plain words, which most are, there is nothing to look for.
    if !run.starts_with(char::is_numeric) && run.chars().skip(1).all(is_simple_lowercase) {
        return (cuts, n_digit_changes);
    }
    let mut before: Option<Class> = None;
    let mut n_upper = 0;
    let mut upper_at = 0;
    for (at, c) in run.char_indices() {
        let class = match c {
            c if c.is_numeric() => Class::Digit,
            c if c.is_uppercase() => Class::Upper,
            c if c.is_alphabetic() && !is_combining_mark(c) => Class::Lower,
            _ => continue,
        };
        match (before, class) {
            (Some(Class::Digit), Class::Upper | Class::Lower) | (Some(_), Class::Digit)
                if before != Some(class) =>
            {
                cuts.push(at);
                n_digit_changes += 1;
            }
            (Some(Class::Lower), Class::Upper) => cuts.push(at),
            // `HTTPServer` has two parts, but `OAuth` and `URLs` one.
            (Some(Class::Upper), Class::Lower) if n_upper > 2 && !is_plural_ending(&run[at..]) => {
                cuts.push(upper_at);
            }
            _ => {}
        }
        n_upper = if class == Class::Upper { n_upper + 1 } else { 0 };
        upper_at = if class == Class::Upper { at } else { upper_at };
        before = Some(class);
    }
    (cuts, n_digit_changes)
}

fn is_plural_ending(rest: &str) -> bool {
    rest.starts_with('s') && !rest[1..].starts_with(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn words_identifiers_and_references() {
        for (text, expected) in [
            ("The pot, must: brew.", "the pot must brew"),
            ("create_epic createEpic create-epic", "create+epic create+epic create+epic"),
            ("OAuth2 userId HTTPServer URLs iPhone", "oauth+2 user+id http+server urls i+phone"),
            ("src/main.rs std::fmt me@example.com", "src+main+rs std+fmt me+example+com"),
            ("the user's can't l’homme REQ-1's 's", "the user can+t l+homme REQ-001 s"),
            ("1,000 3.14 a,b 1, 2", "1+000 3+14 a b 1 2"),
            ("0f9a8b2c SHA256 utf-8 2nd", "0f9a8b2c sha+256 utf+8 2+nd"),
            ("REQ-012 req-12, abc-Ep-7", "REQ-012 REQ-012 ABC-EP-007"),
            ("feature/REQ-3-login REQ-x US-9999", "feature REQ-003 login req+x US-9999"),
            ("REQ-1234567890123456789", "req+1234567890123456789"),
            ("API仕様 ユーザーID", "api+仕+様 ユーザー+id"),
            ("ТребованиеИд — да", "требование+ид да"),
            ("??? --- … 🙂", ""),
            ("a_b_c_d_e_f_g_h_i", "a+b+c+d+e+f+g+h+i"),
            ("soft\u{ad}ware", "software"),
        ] {
            let found: Vec<String> = groups(text)
                .iter()
                .map(|group| match &group.reference {
                    Some(reference) => reference.to_string(),
                    None => group.parts.iter().map(|part| part.whole.as_str()).collect::<Vec<_>>().join("+"),
                })
                .collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
