//! Other expressions for what patterns are about: a recycle bin is a soft delete.

use std::sync::LazyLock;

use crate::phrase::{self, Phrases};
use crate::search::Reason;
use crate::text::{self, Words};

/// `subject: expression, expression, …` a line; an expression in backticks is code, to be found as it stands.
static SOURCE: &str = include_str!("thesaurus.txt");
static THESAURUS: LazyLock<Thesaurus> = LazyLock::new(|| Thesaurus::new(SOURCE));

/// Subjects and their expressions.
#[derive(Debug)]
pub struct Thesaurus {
    subjects: Vec<Subject>,
    phrases: Phrases<usize>,
    literals: Vec<(&'static str, usize)>,
}

#[derive(Debug)]
struct Subject {
    name: &'static str,
    stems: Vec<String>,
}

/// An expression that was found.
#[derive(Debug)]
pub struct Meaning<'a> {
    /// The stems of what is meant.
    pub stems: &'a [String],
    subject: &'a str,
    /// The words that make up the expression.
    words: (usize, usize),
    span: (usize, usize),
}

impl Thesaurus {
    /// Returns the one that comes with the program.
    pub fn get() -> &'static Thesaurus {
        &THESAURUS
    }

    fn new(source: &'static str) -> Thesaurus {
        let mut thesaurus = Thesaurus { subjects: Vec::new(), phrases: Phrases::new(), literals: Vec::new() };
        let lines = source.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (index, line) in lines.enumerate() {
            let (name, expressions) = line.split_once(": ").expect("a line is `subject: expressions`");
            let stems = text::words(name).words.into_iter().map(|word| word.stem);
            let stems = stems.filter(|stem| !text::is_stop_word(stem)).collect();
            thesaurus.subjects.push(Subject { name, stems });
            for expression in expressions.split(", ") {
                match expression.strip_prefix('`').and_then(|code| code.strip_suffix('`')) {
                    Some(code) => thesaurus.literals.push((code, index)),
                    None => thesaurus.phrases.add(expression, index),
                }
            }
        }
        thesaurus
    }

    /// Finds expressions in a context that was cut into words.
    pub fn find(&self, context: &str, words: &Words) -> Vec<Meaning<'_>> {
        let mut meanings: Vec<Meaning<'_>> = Vec::new();
        for found in self.phrases.find(words, phrase::is_determiner) {
            let span = (words.words[found.first].start, words.words[found.end - 1].end);
            meanings.push(self.meaning(found.value, (found.first, found.end), span));
        }
        for (code, subject) in &self.literals {
            if let Some(start) = context.find(code) {
                let span = (start, start + code.len());
                let first = words.words.partition_point(|word| word.end <= span.0);
                let end = words.words.partition_point(|word| word.start < span.1);
                meanings.push(self.meaning(*subject, (first, end.max(first)), span));
            }
        }
        meanings
    }

    fn meaning(&self, subject: usize, words: (usize, usize), span: (usize, usize)) -> Meaning<'_> {
        let subject = &self.subjects[subject];
        Meaning { stems: &subject.stems, subject: subject.name, words, span }
    }
}

impl Meaning<'_> {
    /// Lists the stems of the words that the expression explains.
    pub fn mass<'w>(&self, words: &'w Words) -> impl Iterator<Item = &'w str> {
        let stems = words.words[self.words.0..self.words.1].iter().map(|word| word.stem.as_str());
        stems.filter(|stem| !text::is_stop_word(stem))
    }

    /// Says so.
    pub fn reason(&self, context: &str) -> Reason {
        Reason::Meaning {
            expression: context[self.span.0..self.span.1].to_owned(),
            subject: self.subject.to_owned(),
        }
    }
}
