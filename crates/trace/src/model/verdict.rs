//! The result of validating a citation: what it covers, and what to write instead.

use crate::annotation::{Annotation, AnnotationKind, Level};
use crate::comment::StyleUse;
use crate::diagnostic::Code;
use crate::link::CitedPassage;
use crate::overlap::{Cover, Covers, Weight};
use crate::specification::{Format, Specification};
use crate::text::Span;

use super::{Citation, Model, TraceStatus};

/// The result of validating a citation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CitationVerdict {
    /// The problem, if any, in the words that clients expect.
    pub error: Option<String>,
    /// The kind of problem.
    pub code: Option<Code>,
    /// The same in detail.
    pub detail: Option<String>,
    /// The nearest valid target or text.
    pub nearest: Option<String>,
    /// The difference to the nearest text, word by word.
    pub difference: Option<String>,
    /// Warnings of a valid citation.
    pub warnings: Vec<String>,
    /// Whether the quote occurs with one edit.
    pub is_fuzzy: bool,
    /// The requirements that it covers, fully or partly.
    pub requirements: Vec<Quoted>,
    /// The units of a managed requirement that it covers, where nothing cites that yet.
    pub units: Vec<QuotedUnit>,
    /// Comment lines to paste instead, if they are better.
    pub lines: Option<String>,
}

/// How much of a unit a citation quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotedUnit {
    /// The text of the unit.
    pub text: String,
    /// The share of it that is quoted, from 0 to 1.
    pub share: f64,
    /// The rest of the text.
    pub rest: String,
}

/// How much of a requirement a citation quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quoted {
    /// The requirement.
    pub number: u32,
    /// The share of its text that is quoted, from 0 to 1.
    pub share: f64,
    /// The rest of the text.
    pub rest: String,
}

impl CitationVerdict {
    /// Whether it is right.
    pub fn is_valid(&self) -> bool {
        self.error.is_none()
    }

    pub(super) fn wrong(code: Code, error: &str, detail: impl Into<String>) -> CitationVerdict {
        let detail = Some(detail.into()).filter(|detail| detail != error);
        CitationVerdict {
            error: Some(error.to_owned()),
            code: Some(code),
            detail,
            ..CitationVerdict::default()
        }
    }
}

/// Words that start a condition. A quote without them claims more than the specification requires.
const CONDITIONS: &[&str] =
    &["unless", "except", "if", "when", "whenever", "while", "until", "only", "provided", "otherwise", "but"];
/// How much of a condition is shown.
const CONDITION_WORDS_MAX: usize = 12;

impl Model {
    /// Returns the part of a requirement that no citation of some types covers, with single spaces.
    pub fn rest(&self, number: u32, kinds: &[AnnotationKind]) -> String {
        let (specification, _) = self.catalogue.document(self.requirement(number).section);
        let cover = |citation: &Citation| {
            let kind = citation.kind();
            citation.found().spans.iter().map(|span| Cover { span: *span, by: 0, kind }).collect::<Vec<_>>()
        };
        let covers = Covers::new(self.citations_of(number).flat_map(cover).collect());
        let rest = covers.over(&self.requirement(number).spans).rest(kinds);
        let words = rest.iter().filter_map(|span| specification.document.text.get(span.range()));
        beginning(&words.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" "))
    }

    /// Comment lines that cite a requirement, for pasting into a file: as a test if only tests are missing.
    pub fn lines_for(&self, number: u32, file: Option<&str>) -> String {
        let used = &self.style_of(file);
        let kind = match self.state(number).status {
            TraceStatus::NeedsTests => AnnotationKind::Test,
            _ => AnnotationKind::Citation,
        };
        let more = (kind != used.default_kind).then(|| format!("type={kind}"));
        let target = self.catalogue.target(self.requirement(number).section);
        commented(used, &target, more.as_slice(), &self.catalogue.quote(number))
    }

    /// Comment lines that cite the units of a managed requirement, to be pasted into a file.
    pub fn lines_for_units(&self, document: &Specification, file: Option<&str>) -> Vec<String> {
        let used = self.style_of(file);
        let managed = document.managed.iter();
        let quotes =
            managed.flat_map(|managed| managed.quotes(document).into_iter().zip(std::iter::repeat(managed)));
        quotes.map(|(quote, managed)| commented(&used, &managed.target, &[], &quote)).collect()
    }

    /// The comment style of a file.
    fn style_of(&self, file: Option<&str>) -> StyleUse {
        let styles = &self.setting.styles;
        let of_file = file.and_then(|file| styles.iter().find(|used| used.is_of(file)));
        of_file.or(styles.first()).cloned().unwrap_or_default()
    }

    /// Tells how much of which requirements a text of a section covers.
    pub(super) fn quoted(&self, section: u32, found: &CitedPassage) -> Vec<Quoted> {
        let document = &self.catalogue.document(section).0.document;
        let range = self.catalogue.sections[section as usize].requirements();
        let spans = range.map(|number| (&*self.catalogue.requirements[number].spans, number as u32));
        quoted(spans, document, found)
    }
}

/// Tells how much of which requirements a text covers, of those that stand somewhere in a document.
pub(super) fn quoted<'a>(
    requirements: impl Iterator<Item = (&'a [Span], u32)>,
    document: &Specification,
    found: &CitedPassage,
) -> Vec<Quoted> {
    let kind = AnnotationKind::Citation;
    let cover = |span: &Span| Cover { span: *span, by: 0, kind };
    let covers = Covers::new(found.spans.iter().map(cover).collect());
    let document = &document.text;
    let quoted = requirements.filter_map(|(spans, number)| {
        let overlap = covers.over(spans);
        let weight = Weight::Meaning(document);
        let (n_covered, n_all) = (overlap.covered(&[kind], weight), overlap.whole(weight));
        let rest = overlap.rest(&[kind]);
        let words = rest.iter().flat_map(|span| document.get(span.range()).unwrap_or("").split_whitespace());
        (n_covered > 0).then(|| Quoted {
            number,
            share: n_covered as f64 / n_all.max(1) as f64,
            rest: if n_covered == n_all {
                String::new()
            } else {
                beginning(&words.collect::<Vec<_>>().join(" "))
            },
        })
    });
    quoted.collect()
}

/// Removes the end of the preceding text: a comma, a semicolon.
pub fn beginning(rest: &str) -> String {
    rest.trim_start_matches([',', ';', ':', '.', ' ']).to_owned()
}

/// Finds the condition that a quote leaves out.
pub fn condition(rest: &str) -> Option<String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_condition = |word: &&str| {
        let word = word.trim_matches(|character: char| !character.is_alphanumeric()).to_lowercase();
        CONDITIONS.contains(&&*word)
    };
    let start = words.iter().position(is_condition)?;
    let shown = &words[start..words.len().min(start + CONDITION_WORDS_MAX)];
    Some(shown.join(" ") + if start + shown.len() < words.len() { " …" } else { "" })
}

/// The approximate length of a quote's line.
const LINE_CHARACTERS: usize = 90;

/// Writes an annotation as comment lines, with another target and quote.
pub fn lines(used: &StyleUse, annotation: &Annotation, target: &str, quote: &str) -> String {
    let mut more = Vec::new();
    if annotation.kind != used.default_kind {
        more.push(format!("type={}", annotation.kind));
    }
    if annotation.level != Level::Auto {
        more.push(format!("level={}", annotation.level));
    }
    if annotation.format != Format::Auto {
        more.push(format!("format={}", annotation.format));
    }
    if let Some(notes) = &annotation.notes {
        let notes = [
            ("reason", &notes.comment),
            ("feature", &notes.feature),
            ("tracking-issue", &notes.tracking_issue),
        ];
        let notes = notes.into_iter().filter(|(_, value)| !value.is_empty());
        more.extend(notes.map(|(key, value)| format!("{key}={value}")));
    }
    commented(used, target, &more, quote)
}

/// Writes comment lines: the target, more about it, and the quote.
fn commented(used: &StyleUse, target: &str, more: &[String], quote: &str) -> String {
    let meta = |text: &str| format!("{} {text}", used.style.meta);
    let mut lines = vec![meta(target)];
    lines.extend(more.iter().map(|text| meta(text)));
    let mut line = String::new();
    // Other blanks than these are part of the text.
    for word in quote.split([' ', '\t', '\n']).filter(|word| !word.is_empty()) {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > LINE_CHARACTERS {
            lines.push(format!("{} {}", used.style.content, std::mem::take(&mut line)));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(format!("{} {line}", used.style.content));
    }
    lines.join("\n")
}
