//! One side of a change: the citations in its files, what is wrong with them, and what they cite.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use evidence::{Language, Symbol, enclosing, symbols};
use trace::managed::{CitationState, ManagedName};
use trace::model::Model;
use trace::overlap::{Cover, Covers};
use trace::project::Texts;
use trace::text::fingerprint;
use trace::{AnnotationKind, Code, Diagnostic, Span, Specification, extract};

use super::change::ChangedFile;
use super::rule::{Fact, Rule};

/// The text of a requirement in a message.
const SHOWN_CHARS: usize = 100;

/// A citation on one side.
#[derive(Clone, Debug)]
pub struct CitedHere {
    /// The file.
    pub path: Arc<str>,
    /// The lines of the comment.
    pub comment: RangeInclusive<u32>,
    /// The lines of what it is about: the function or test around it with the comment, or the comment alone.
    pub lines: RangeInclusive<u32>,
    /// The function or test.
    pub symbol: Option<Arc<str>>,
    /// The lines of its body.
    pub body: Arc<[u32]>,
    /// What it says of what it cites.
    pub kind: AnnotationKind,
    /// What it cites.
    pub target: Requirement,
    /// The hashes of the units that it covers, of a managed requirement.
    pub units: Arc<[String]>,
}

/// What is cited: a managed requirement, or a sentence of a specification.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    /// What people call it: `REQ-027`, `rfc9000#section-4.1`.
    pub name: String,
    /// What tells it from others with this name; nothing for a managed requirement.
    pub hash: String,
    /// What it says, for messages.
    pub text: String,
    /// Whether it is kept in a store, so that there may be evidence for it.
    pub is_managed: bool,
    /// What a file that cites it has in it.
    pub needle: String,
}

impl Requirement {
    /// The key that identifies it. A document may have several names, so its sentences are identified by their text.
    pub fn key(&self) -> (&str, &str) {
        (if self.is_managed { &self.name } else { "" }, &self.hash)
    }
}

/// What is known of one side.
pub struct Side {
    /// The citations that cover something.
    pub cited: Vec<CitedHere>,
    /// What is wrong with citations.
    pub facts: Vec<Fact>,
    /// Citations whose text is not known, and why.
    pub unknown: Vec<Fact>,
}

/// Which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the change.
    Before,
    /// After it.
    After,
}

impl Side {
    /// Reads a side from a model of its texts. `changed` are the files of the change by the path that they have on this side.
    pub fn read(model: &Model, texts: &Texts, changed: &HashMap<&str, &ChangedFile>, when: When) -> Side {
        let has_changed = |path: &str, lines: &RangeInclusive<u32>| {
            changed.get(path).is_some_and(|file| match when {
                When::Before => file.had_changed(lines),
                When::After => file.has_changed(lines),
            })
        };
        let mut side = Side { cited: cited(model, texts), facts: Vec::new(), unknown: Vec::new() };
        for problem in model.problems() {
            let Some(rule) = rule_of(problem) else { continue };
            let fact = fact(model, problem, rule, &has_changed);
            match problem.code {
                Code::UnreachableStore => side.unknown.push(fact),
                _ => side.facts.push(fact),
            }
        }
        side
    }
}

/// The rule that something wrong with a citation breaks, if it is worth failing for.
fn rule_of(problem: &Diagnostic) -> Option<Rule> {
    match problem.code {
        Code::StaleCitation | Code::SuspectCitation => Some(Rule::StaleCitation),
        _ if problem.is_error() => Some(Rule::BrokenCitation),
        _ => None,
    }
}

fn fact(
    model: &Model,
    problem: &Diagnostic,
    rule: Rule,
    has_changed: &dyn Fn(&str, &RangeInclusive<u32>) -> bool,
) -> Fact {
    let place = problem.places.first();
    let path = place.map(|place| place.path.clone()).unwrap_or_default();
    let first = problem.annotation.as_ref().map(|(line, _)| *line);
    let line = place.map(|place| place.line).filter(|line| *line > 0).or(first).unwrap_or_default();
    let annotation = first.and_then(|first| {
        let mut annotations = model.file(&path)?.annotations().map(|(annotation, _)| annotation);
        annotations.find(|annotation| annotation.line == first)
    });
    let lines = match annotation {
        Some(annotation) => annotation.line..=annotation.last_line,
        None => line..=line,
    };
    // Whichever lines it is broken into, a citation is the same.
    let key = match annotation {
        Some(annotation) => format!("{}\0{}", annotation.target, annotation.quote),
        None => format!("{}\0{}", problem.code.name(), problem.message),
    };
    let name = annotation.and_then(|annotation| ManagedName::parse(&annotation.target).ok());
    let project = model.setting.project_key.as_deref().unwrap_or_default();
    let subject = match (name, annotation) {
        (Some(name), _) => reference(&name.within(project)),
        (None, Some(annotation)) => short_target(&annotation.target),
        (None, None) => String::new(),
    };
    Fact {
        rule,
        key,
        is_changed: has_changed(&path, &lines),
        path: path.to_string(),
        line,
        subject,
        message: problem.message.clone(),
        help: problem.help.clone(),
    }
}

/// A requirement, and the hashes of the units that are cited of it.
type Target = (Requirement, Arc<[String]>);

fn cited(model: &Model, texts: &Texts) -> Vec<CitedHere> {
    let mut cited = Vec::new();
    let mut managed: HashMap<(Arc<str>, u32), Target> = HashMap::new();
    for citation in model.managed_citations() {
        let is_known = matches!(
            citation.state,
            CitationState::Current | CitationState::Suspect { .. } | CitationState::Stale { .. }
        );
        if is_known && !(citation.units.is_empty() && citation.earlier.is_empty()) {
            let (name, text) =
                (reference(&citation.name), citation.units.first().or(citation.earlier.first()));
            let requirement = Requirement {
                text: text.map(|unit| shown(&unit.text)).unwrap_or_default(),
                needle: citation.name.reference.clone(),
                name,
                hash: String::new(),
                is_managed: true,
            };
            let units: Vec<String> = citation.units.iter().map(|unit| unit.hash.clone()).collect();
            let place = (citation.file.path().clone(), citation.annotation.line);
            managed.insert(place, (requirement, units.into()));
        }
    }
    for file in model.files() {
        let path = file.path();
        let text = texts.get(path).map(|text| &**text).unwrap_or_default();
        let symbols: Vec<Symbol> =
            Language::of(path).map(|language| symbols(language, text)).unwrap_or_default();
        for (index, (annotation, link)) in file.annotations().enumerate() {
            if matches!(annotation.kind, AnnotationKind::Spec | AnnotationKind::Todo) || !file.is_cited(index)
            {
                continue;
            }
            let Some(target) = link.target else { continue };
            let specification = &model.targets[target as usize].specification;
            let targets: Vec<Target> = match (&specification.managed, &link.found) {
                (Some(_), _) => managed.get(&(path.clone(), annotation.line)).cloned().into_iter().collect(),
                (None, Some(found)) if !annotation.quote.is_empty() => {
                    let name = short_target(&annotation.target);
                    let needle = annotation.target_section().unwrap_or_default().to_owned();
                    sentences(specification, found.section, &found.spans)
                        .into_iter()
                        .map(|text| {
                            let requirement = Requirement {
                                name: name.clone(),
                                hash: fingerprint(&text),
                                text: shown(&text),
                                is_managed: false,
                                needle: needle.clone(),
                            };
                            (requirement, Arc::from([]))
                        })
                        .collect()
                }
                _ => continue,
            };
            let symbol = enclosing(&symbols, annotation.line);
            let comment = annotation.line..=annotation.last_line;
            let lines = match symbol {
                Some(symbol) => {
                    (*symbol.lines.start()).min(annotation.line)
                        ..=(*symbol.lines.end()).max(annotation.last_line)
                }
                None => comment.clone(),
            };
            let body: Arc<[u32]> = symbol.map(|symbol| symbol.body.clone()).unwrap_or_default().into();
            let symbol: Option<Arc<str>> = symbol.map(|symbol| symbol.to_string().into());
            cited.extend(targets.into_iter().map(|(target, units)| CitedHere {
                path: path.clone(),
                comment: comment.clone(),
                lines: lines.clone(),
                symbol: symbol.clone(),
                body: body.clone(),
                kind: annotation.kind,
                target,
                units,
            }));
        }
    }
    cited
}

/// The sentences that require something in some lines of a section; the lines themselves if there are none.
fn sentences(specification: &Specification, section: u32, spans: &[Span]) -> Vec<String> {
    let kind = AnnotationKind::Citation;
    let covers = Covers::new(spans.iter().map(|span| Cover { span: *span, by: 0, kind }).collect());
    let required = extract::requirements(specification, &specification.sections[section as usize]);
    let touched = required.iter().filter(|required| covers.over(&required.spans).is_touched(&[kind]));
    let found: Vec<String> = touched.map(|required| required.quote(&specification.text)).collect();
    match found.is_empty() {
        false => found,
        true => {
            let lines: Vec<&str> = spans.iter().map(|span| span.of_text(&specification.text)).collect();
            vec![lines.join(" ")]
        }
    }
}

/// What a requirement is called outside of its project, without a version.
pub fn reference(name: &ManagedName) -> String {
    ManagedName { version: None, ..name.clone() }.reference_id()
}

/// The last part of a target: `https://www.rfc-editor.org/rfc/rfc9000#section-4.1` is `rfc9000#section-4.1`.
fn short_target(target: &str) -> String {
    let (path, section) = target.split_once('#').unwrap_or((target, ""));
    let name = path.rsplit('/').next().unwrap_or(path);
    if section.is_empty() { name.to_owned() } else { format!("{name}#{section}") }
}

fn shown(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(SHOWN_CHARS) {
        words.truncate(end);
        words.push('…');
    }
    words
}

/// Citations of requirements, by what they cite.
pub fn by_requirement(cited: &[CitedHere]) -> BTreeMap<(&str, &str), Vec<&CitedHere>> {
    let mut found: BTreeMap<(&str, &str), Vec<&CitedHere>> = BTreeMap::new();
    for citation in cited {
        found.entry(citation.target.key()).or_default().push(citation);
    }
    found
}
