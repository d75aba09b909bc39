//! Splits text into words, identifiers with their parts, and reference ids.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use crate::fold::{fold, is_plain, is_simple, is_simple_lowercase, limit};

/// The prefixes of reference ids; any other word before a number, as in `UTF-8`, is a word.
const PREFIXES: [&str; 6] = ["AC", "EP", "PROMPT", "REQ", "STD", "US"];
const PROJECT_KEY_CHARS_MAX: usize = 32;
const NUMBER_DIGITS_MAX: usize = 18;
/// An identifier with more parts than this is not indexed as a whole.
const PARTS_MAX: usize = 8;
/// A run that changes more often between letters and digits is a hash or a key, not a name with a number.
const DIGIT_CHANGES_MAX: usize = 3;
/// Characters that join the parts of an identifier, a path or a URL.
const JOINERS: [char; 12] =
    ['_', '-', '\u{2010}', '\u{2011}', '.', '\'', '\u{2019}', ':', '/', '\\', '@', '+'];
const JOINER_CHARS_MAX: usize = 2;

/// Parts without spaces between them: a word, an identifier such as `userId` or `create_epic`, or
/// a reference id, which is always a separate group.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub parts: Vec<Part<'a>>,
    /// All parts as one folded word, if there are several.
    pub compound: Option<String>,
    pub reference: Option<ReferenceId>,
}

/// A folded word and its byte offset in the text.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    pub whole: Cow<'a, str>,
    pub start: usize,
    pub end: usize,
}

/// A reference id, such as `REQ-012` or `ABC-EP-007`. It prints in its usual form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceId {
    /// The project's key in capitals, if given.
    pub project: Option<String>,
    /// `AC`, `EP`, `PROMPT`, `REQ`, `STD` or `US`.
    pub prefix: &'static str,
    /// The number, without leading zeros.
    pub number: u64,
}

impl fmt::Display for ReferenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(project) = &self.project {
            write!(f, "{project}-")?;
        }
        write!(f, "{}-{:03}", self.prefix, self.number)
    }
}

impl Group<'_> {
    pub(crate) fn start(&self) -> usize {
        self.parts.first().map_or(0, |part| part.start)
    }

    pub(crate) fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.end)
    }
}

/// Returns the groups of a text in their order.
pub(crate) fn groups(text: &str) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    each_group(text, |group| groups.push(group.clone()));
    groups
}

/// Calls `visit` with the groups of a text in their order. Every group has parts, and no part is empty. Texts are many and long, so
/// unused groups are not stored.
pub(crate) fn each_group<'a>(text: &'a str, visit: impl FnMut(&Group<'a>)) {
    let mut split = Split { text, parts: Vec::new(), visit };
    let mut joined = Vec::new();
    each_segment(text, |segment| {
        if joined.last().is_some_and(|last| !is_joined(text, *last, segment)) {
            split.joined(&joined);
            joined.clear();
        }
        joined.push(segment);
    });
    split.joined(&joined);
}

type Segment = (usize, usize);

/// Calls `visit` with the runs of letters and digits, split further in scripts without spaces.
fn each_segment(text: &str, mut visit: impl FnMut(Segment)) {
    let mut at = 0;
    while at < text.len() {
        let (end, is_parted) = end_of_run(text, at);
        if end == at {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        } else {
            if is_parted {
                visit((at, end));
            } else {
                let words = text[at..end].unicode_word_indices();
                words.for_each(|(from, word)| visit((at + from, at + from + word.len())));
            }
            at = end;
        }
    }
}

/// The end of the run that starts here, and whether its scripts separate words by spaces: up to U+0E00 all do, and finding
/// other boundaries is slow.
fn end_of_run(text: &str, from: usize) -> (usize, bool) {
    let mut at = from;
    let mut is_parted = true;
    while let Some(byte) = text.as_bytes().get(at) {
        if byte.is_ascii() {
            if !byte.is_ascii_alphanumeric() {
                break;
            }
            at += 1;
        } else {
            let Some(c) = text[at..].chars().next().filter(|c| is_within_word(*c)) else { break };
            is_parted &= c < '\u{e00}';
            at += c.len_utf8();
        }
    }
    (at, is_parted)
}

/// Letters, digits, and characters inside of words: marks, joiners, soft hyphens.
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
    if gap == " " {
        return false;
    }
    if gap == "," {
        let is_digit = |b: u8| b.is_ascii_digit();
        return is_digit(text.as_bytes()[left.1 - 1]) && is_digit(text.as_bytes()[right.0]);
    }
    gap.chars().all(|c| JOINERS.contains(&c)) && gap.chars().count() <= JOINER_CHARS_MAX
}

/// The state of splitting a text into groups.
struct Split<'a, V> {
    text: &'a str,
    /// The parts of the current group.
    parts: Vec<Part<'a>>,
    visit: V,
}

impl<'a, V: FnMut(&Group<'a>)> Split<'a, V> {
    /// Calls `visit` with the groups of joined segments: reference ids, and the text between them.
    fn joined(&mut self, mut segments: &[Segment]) {
        let mut is_first = true;
        while let Some(&(start, end)) = segments.first() {
            if let Some((reference, n_segments)) = reference(self.text, segments) {
                self.finish();
                let (taken, rest) = segments.split_at(n_segments);
                let whole = limit(taken.iter().map(|&(start, end)| fold(&self.text[start..end])).collect());
                let part = Part { whole: Cow::Owned(whole), start, end: taken[n_segments - 1].1 };
                (self.visit)(&Group { parts: vec![part], compound: None, reference: Some(reference) });
                segments = rest;
                is_first = false;
                continue;
            }
            if is_first || !is_possessive(self.text, start, end) {
                push_parts(self.text, start, end, &mut self.parts);
            }
            segments = &segments[1..];
            is_first = false;
        }
        self.finish();
    }

    /// Ends the current group.
    fn finish(&mut self) {
        if self.parts.is_empty() {
            return;
        }
        let parts = std::mem::take(&mut self.parts);
        let is_compound = (2..=PARTS_MAX).contains(&parts.len());
        let compound = is_compound.then(|| limit(parts.iter().map(|part| &*part.whole).collect()));
        let group = Group { parts, compound, reference: None };
        (self.visit)(&group);
        // Reuse the allocation.
        self.parts = group.parts;
        self.parts.clear();
    }
}

/// The reference id at the start of the segments, and the number of segments it takes.
fn reference(text: &str, segments: &[Segment]) -> Option<(ReferenceId, usize)> {
    if segments.len() < 2 {
        return None;
    }
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
        return Some((ReferenceId { project: None, prefix, number: number(1)? }, 2));
    }
    let key = word(0).filter(|key| is_project_key(key))?;
    let prefix = prefix(1).filter(|_| is_hyphen(text, segments[0], segments[1]))?;
    Some((ReferenceId { project: Some(key.to_ascii_uppercase()), prefix, number: number(2)? }, 3))
}

fn is_project_key(word: &str) -> bool {
    word.len() <= PROJECT_KEY_CHARS_MAX
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn is_hyphen(text: &str, left: Segment, right: Segment) -> bool {
    matches!(&text[left.1..right.0], "-" | "\u{2010}" | "\u{2011}")
}

/// The `s` of `user's`, which is not a word.
fn is_possessive(text: &str, start: usize, end: usize) -> bool {
    text[start..end].eq_ignore_ascii_case("s") && text[..start].ends_with(['\'', '\u{2019}'])
}

/// Splits a run at `camelCase` and between letters and digits, unless it looks like a key or a hash.
fn push_parts<'a>(text: &'a str, start: usize, end: usize, parts: &mut Vec<Part<'a>>) {
    let run = &text[start..end];
    if is_plain(run) {
        return parts.push(Part { whole: Cow::Borrowed(run), start, end });
    }
    let (cuts, n_digit_changes) = cuts(run);
    let is_name = cuts.len() < PARTS_MAX && n_digit_changes <= DIGIT_CHANGES_MAX;
    let cuts = if is_name { &cuts[..] } else { &[] };
    let mut from = 0;
    for to in cuts.iter().copied().chain([run.len()]) {
        let whole = fold(&run[from..to]);
        if !whole.is_empty() {
            parts.push(Part { whole: Cow::Owned(whole), start: start + from, end: start + to });
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

/// The possible splits of a run, and the number of changes between letters and digits.
fn cuts(run: &str) -> (Vec<usize>, usize) {
    let mut cuts = Vec::new();
    let mut n_digit_changes = 0;
    // Most words are plain lower case, with nothing to split.
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
                    None => group.parts.iter().map(|part| &*part.whole).collect::<Vec<_>>().join("+"),
                })
                .collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
