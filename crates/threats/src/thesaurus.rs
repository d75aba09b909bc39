//! Other expressions for what patterns are about: a recycle bin is a soft delete, a binary search is no search.

use std::sync::LazyLock;

use crate::phrase::{self, Phrases};
use crate::search::Reason;
use crate::text::{self, Words};

/// Subjects, each with indented lines of expressions; an expression in backticks is code, to be found as it stands.
static SOURCE: &str = include_str!("thesaurus.txt");
static THESAURUS: LazyLock<Thesaurus> = LazyLock::new(|| Thesaurus::new(SOURCE));

/// Subjects and their expressions.
#[derive(Debug)]
pub struct Thesaurus {
    /// What can be spoken of.
    pub subjects: Vec<Subject>,
    phrases: Phrases<(usize, f32)>,
    /// By their first byte.
    literals: Vec<Vec<(&'static str, usize)>>,
    unrelated: Phrases<()>,
}

/// Something that can be spoken of.
#[derive(Debug)]
pub struct Subject {
    /// A keyword of patterns.
    pub name: &'static str,
    /// Its stems.
    pub stems: Vec<String>,
}

/// An expression that was found.
#[derive(Debug)]
pub struct Meaning {
    /// The index of what it speaks of.
    pub subject: usize,
    /// How sure that is, up to 1.
    pub strength: f32,
    /// The words that make up the expression.
    pub words: (usize, usize),
    span: (usize, usize),
}

impl Thesaurus {
    /// Returns the one that comes with the program.
    pub fn get() -> &'static Thesaurus {
        &THESAURUS
    }

    fn new(source: &'static str) -> Thesaurus {
        let mut thesaurus = Thesaurus {
            subjects: Vec::new(),
            phrases: Phrases::new(),
            literals: vec![Vec::new(); 256],
            unrelated: Phrases::new(),
        };
        let mut unrelated = false;
        for line in source.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_suffix(':') {
                unrelated = name == "-";
                if !unrelated {
                    let stems = text::words(name).words.into_iter().map(|word| word.stem).collect();
                    thesaurus.subjects.push(Subject { name, stems });
                }
                continue;
            }
            for expression in line.split(',').map(str::trim).filter(|expression| !expression.is_empty()) {
                let code = expression.strip_prefix('`').and_then(|code| code.strip_suffix('`'));
                let subject = thesaurus.subjects.len().wrapping_sub(1);
                match code {
                    _ if unrelated => thesaurus.unrelated.add(expression, ()),
                    Some(code) => thesaurus.literals[usize::from(code.as_bytes()[0])].push((code, subject)),
                    None => thesaurus.phrases.add(expression, (subject, strength(expression))),
                }
            }
        }
        thesaurus
    }

    /// Blanks the words of expressions that only look like a subject, and tells how many there are. What stands
    /// inside one of the named phrases, from first to end, is left alone.
    pub fn blank_unrelated(&self, words: &mut Words, named: &[(usize, usize)]) -> usize {
        let mut found = self.unrelated.find(words, phrase::is_determiner);
        found.retain(|phrase| !named.iter().any(|(first, end)| *first <= phrase.first && phrase.end <= *end));
        for phrase in &found {
            words.words[phrase.first..phrase.end].iter_mut().for_each(|word| word.stem.clear());
            words.compounds.retain(|compound| {
                compound.first >= phrase.end || compound.first + compound.n_parts <= phrase.first
            });
        }
        found.len()
    }

    /// Finds expressions in a context that was cut into words.
    pub fn find(&self, context: &str, words: &Words) -> Vec<Meaning> {
        let mut meanings: Vec<Meaning> = Vec::new();
        for found in self.phrases.find(words, phrase::is_determiner) {
            let span = (words.words[found.first].start, words.words[found.end - 1].end);
            let (subject, strength) = found.value;
            meanings.push(Meaning { subject, strength, words: (found.first, found.end), span });
        }
        let routes = routes(context).map(|(start, end, subject)| (start, end, self.subject(subject)));
        let literals = context.bytes().enumerate().flat_map(|(start, byte)| {
            let here = self.literals[usize::from(byte)].iter();
            let here = here.filter(move |(code, _)| context.as_bytes()[start..].starts_with(code.as_bytes()));
            here.map(move |(code, subject)| (start, start + code.len(), Some(*subject)))
        });
        for (start, end, subject) in literals.chain(routes) {
            let Some(subject) = subject else { continue };
            let first = words.words.partition_point(|word| word.end <= start);
            let last = words.words.partition_point(|word| word.start < end);
            let words = (first, last.max(first));
            meanings.push(Meaning { subject, strength: 1.0, words, span: (start, end) });
        }
        distinct(meanings, context)
    }

    /// Lists every word of every expression, in no particular order.
    pub fn stems(&self) -> impl Iterator<Item = &str> {
        self.phrases.stems().chain(self.unrelated.stems())
    }

    fn subject(&self, name: &str) -> Option<usize> {
        self.subjects.iter().position(|subject| subject.name == name)
    }
}

impl Meaning {
    /// Says so.
    pub fn reason(&self, context: &str) -> Reason {
        Reason::Meaning {
            expression: context[self.span.0..self.span.1].to_owned(),
            subject: Thesaurus::get().subjects[self.subject].name.to_owned(),
        }
    }
}

/// How sure an expression is: two words that say something, or a piece of code, are twice as sure as one.
fn strength(expression: &str) -> f32 {
    match text::words(expression).words.iter().filter(|word| !text::is_stop_word(&word.stem)).count() {
        0 => 0.25,
        1 => 0.5,
        _ => 1.0,
    }
}

/// Leaves out what is said again, or inside a longer expression for the same subject.
fn distinct(meanings: Vec<Meaning>, context: &str) -> Vec<Meaning> {
    let text = |meaning: &Meaning| &context[meaning.span.0..meaning.span.1];
    let mut kept: Vec<Meaning> = Vec::new();
    let longer = |inner: &Meaning, outer: &Meaning| {
        inner.subject == outer.subject
            && outer.span.0 <= inner.span.0
            && inner.span.1 <= outer.span.1
            && outer.span.1 - outer.span.0 > inner.span.1 - inner.span.0
    };
    let inside: Vec<bool> =
        meanings.iter().map(|inner| meanings.iter().any(|outer| longer(inner, outer))).collect();
    for (meaning, inside) in meanings.into_iter().zip(inside) {
        let again = |other: &Meaning| {
            other.subject == meaning.subject && text(other).eq_ignore_ascii_case(text(&meaning))
        };
        if !inside && !kept.iter().any(again) {
            kept.push(meaning);
        }
    }
    kept
}

/// Finds routes with ids in them: one id is an object reference, several are nested objects.
fn routes(context: &str) -> impl Iterator<Item = (usize, usize, &'static str)> {
    context.match_indices('/').filter_map(|(start, _)| {
        let before = context[..start].chars().next_back();
        if before.is_some_and(|before| !before.is_whitespace() && !"'\"`(".contains(before)) {
            return None;
        }
        let rest = &context[start..];
        let end = rest.find(|character: char| character.is_whitespace() || "'\"`),;?".contains(character));
        let route = &rest[..end.unwrap_or(rest.len())];
        let n_ids = route.split('/').filter(|segment| is_id(segment)).count();
        let subject = match n_ids {
            0 => return None,
            1 => "direct object reference",
            _ => "nested resource",
        };
        Some((start, start + route.len(), subject))
    })
}

/// Tells whether a segment of a route stands for an id: `<int:id>`, `{id}`, `:id`, `10023`.
fn is_id(segment: &str) -> bool {
    let inner = segment.trim_matches(['<', '>', '{', '}', '.']);
    let is_number = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = inner.starts_with("path:");
    is_number || segment.starts_with(['<', '{', ':']) && segment.len() > 1 && !is_path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;

    #[test]
    fn each_subject_is_a_keyword_of_a_built_in_pattern() {
        let library = Library::builtin(&["all"]).unwrap();
        let keywords = library.patterns().iter().flat_map(|pattern| pattern.triggers.keywords.iter());
        for subject in &Thesaurus::get().subjects {
            assert!(keywords.clone().any(|keyword| keyword == subject.name), "{}", subject.name);
        }
    }
}
