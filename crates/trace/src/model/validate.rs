//! Validates a citation before it is written. It is valid if and only if loading the project would accept it.

use std::sync::Arc;

use nearest::nearest;

use crate::annotation::{Annotation, AnnotationKind};
use crate::comment::{self, Style, StyleUse};
use crate::diagnostic::{Code, Diagnostic};
use crate::interner::Interner;
use crate::link::{Broken, CitedPassage, link};
use crate::managed::{self, Explained};
use crate::quote::Likeness;
use crate::quote::near::{self, Advice};
use crate::specification::{Format, Specification};
use crate::target::TargetPath;

use super::Model;
use super::catalogue::SpecificationEntry;
use super::identity;
use super::verdict::{CitationVerdict, Quoted, QuotedUnit, condition, lines, quoted};

/// Opens a specification that no other annotation names yet.
pub type OpenSpecification<'a> = dyn Fn(&Annotation) -> Result<Arc<Specification>, Diagnostic> + 'a;

/// How many warnings are reported for citations that are checked together.
const WARNINGS_MAX: usize = 8;

/// A parsed citation.
struct Written<'a> {
    annotation: Annotation,
    /// The marks that it has, or shall have.
    used: &'a StyleUse,
}

impl Model {
    /// Validates a citation: lines in any of the project's comment styles, or a bare target. With a file it is checked as
    /// part of that file.
    pub fn validate(
        &self,
        citation: &str,
        file: Option<&str>,
        open: &OpenSpecification<'_>,
    ) -> CitationVerdict {
        let default = StyleUse {
            style: Style::default(),
            default_kind: AnnotationKind::default(),
            patterns: Vec::new(),
        };
        let (written, warning) = match self.read(citation, file, &default) {
            Ok(read) => read,
            Err(verdict) => return *verdict,
        };
        let is_foreign = warning.is_some();
        let mut verdict =
            CitationVerdict { warnings: warning.into_iter().collect(), ..CitationVerdict::default() };
        for (index, written) in written.iter().enumerate() {
            let next = self.judge(written, open);
            if !next.is_valid() {
                return next;
            }
            let new = next.warnings.into_iter().filter(|new| !verdict.warnings.contains(new));
            let new: Vec<String> =
                new.take(WARNINGS_MAX - verdict.warnings.len().min(WARNINGS_MAX)).collect();
            verdict.warnings.extend(new);
            verdict.is_fuzzy |= next.is_fuzzy;
            verdict.requirements.extend(next.requirements);
            verdict.units.extend(next.units);
            verdict.lines = match (index, verdict.lines, next.lines) {
                (0, _, next) => next,
                (_, all, _) => all,
            };
        }
        if let (Some(written), None, true) = (written.first(), &verdict.lines, is_foreign) {
            let annotation = &written.annotation;
            verdict.lines = Some(lines(written.used, annotation, &annotation.target, &annotation.quote));
        }
        verdict
    }

    /// Validates a parsed citation.
    fn judge(&self, written: &Written<'_>, open: &OpenSpecification<'_>) -> CitationVerdict {
        let annotation = &written.annotation;
        let lines = |target: &str, quote: &str| Some(lines(written.used, annotation, target, quote));
        let (document, first_section) = match self.cited_document(annotation, open) {
            Ok(found) => found,
            Err(problem) => return self.unknown_specification(written, &problem),
        };
        let name = annotation.target_path();
        let target = |index: usize| format!("{name}#{}", document.sections[index].id);
        let explained = document.managed.as_ref().and_then(|managed| managed.explain(annotation, &document));
        let found = match link(annotation, &document) {
            Ok(found) => found,
            Err(broken) if explained.is_some() && !is_about_section(broken) => {
                return explained
                    .map_or_else(CitationVerdict::default, |explained| outdated(written, explained));
            }
            Err(broken @ (Broken::NoSection | Broken::UnknownSection)) => {
                let id = annotation.target_section().unwrap_or_default();
                let ids = document.sections.iter().map(|section| &*section.id);
                let known = identity::section(&document, id).map(target);
                // A managed requirement has one section.
                let only = document.managed.as_ref().map(|managed| managed.target.clone());
                let guess = known.or(only).or_else(|| nearest(id, ids).map(|id| format!("{name}#{id}")));
                let (code, detail) = match broken {
                    Broken::NoSection => {
                        (Code::MissingSection, format!("the target {name} names no section"))
                    }
                    _ => (Code::UnknownSection, format!("{name} has no section `{id}`")),
                };
                let corrected = guess.as_deref().and_then(|guess| lines(guess, &annotation.quote));
                let nearest = guess.or_else(|| Some(format!("{name}#section")));
                return CitationVerdict {
                    nearest,
                    lines: corrected,
                    ..CitationVerdict::wrong(code, "Section not found", detail)
                };
            }
            Err(Broken::EmptySection(index)) => {
                let detail =
                    format!("section `{}` of {name} has no text", document.sections[index as usize].id);
                return CitationVerdict::wrong(Code::EmptySection, "Requirement not found", detail);
            }
            Err(
                Broken::UnknownQuote(index)
                | Broken::Stale(index)
                | Broken::UnknownVersion(index)
                | Broken::Gone(index),
            ) => {
                let id = &document.sections[index as usize].id;
                let detail = format!("section `{id}` of {name} does not have this text");
                let wrong = CitationVerdict::wrong(Code::UnknownQuote, "Requirement not found", detail);
                let section = first_section.map(|first| first + index);
                return match self.advice(&annotation.quote, &document, index, section) {
                    Some(Advice::Elsewhere(other)) => CitationVerdict {
                        lines: lines(&target(other), &annotation.quote),
                        nearest: Some(target(other)),
                        ..wrong
                    },
                    Some(Advice::Nearest { text, difference }) => CitationVerdict {
                        lines: lines(&annotation.target, &text),
                        nearest: Some(text),
                        difference: Some(difference),
                        ..wrong
                    },
                    None => wrong,
                };
            }
        };
        let mut verdict =
            self.right(written, &document, first_section.map(|first| first + found.section), &found);
        if let Some(explained) = explained {
            let outdated = outdated(written, explained);
            verdict.warnings.extend(outdated.detail.or(outdated.error));
            verdict.lines = outdated.lines.or(verdict.lines);
        }
        verdict
    }

    /// Reports what a valid citation covers, and warnings.
    fn right(
        &self,
        written: &Written<'_>,
        document: &Specification,
        section: Option<u32>,
        found: &CitedPassage,
    ) -> CitationVerdict {
        let annotation = &written.annotation;
        let whole = |number: u32| {
            Some(lines(written.used, annotation, &annotation.target, &self.catalogue.quote(number)))
        };
        let mut verdict =
            CitationVerdict { is_fuzzy: found.likeness == Likeness::OneEdit, ..CitationVerdict::default() };
        let mut warn = |warning: String| verdict.warnings.push(warning);
        let title = document.sections[found.section as usize].title_span;
        if annotation.quote.is_empty() && found.spans.first() == Some(&title) {
            warn("only the target is given, which covers nothing; quote the requirement".to_owned());
            let own = section.map(|section| self.catalogue.sections[section as usize].requirements());
            // Of several nobody knows which is meant.
            verdict.lines = own.filter(|own| own.len() == 1).and_then(|own| whole(own.start as u32));
            return verdict;
        }
        let requirements = match (section, &document.managed) {
            (Some(section), _) => self.quoted(section, found),
            // Nothing cites it yet.
            (None, Some(managed)) => {
                quoted(managed.units.iter().map(|(spans, _)| &**spans).zip(0..), document, found)
            }
            (None, None) => Vec::new(),
        };
        if requirements.is_empty() {
            warn("the quoted text belongs to no requirement".to_owned());
        }
        if found.likeness == Likeness::OneEdit {
            let text = &document.view(found.section as usize).text;
            if let Some((_, sentence)) = near::nearest_sentence(&annotation.quote, text) {
                let difference = near::difference(&annotation.quote, sentence);
                warn(format!("the quote differs by one edit: {difference}"));
            }
        }
        if !annotation.quote.is_empty() && annotation.quote.split_whitespace().count() == 1 {
            warn(ONE_WORD.to_owned());
        }
        let left_out = requirements.iter().find_map(|quoted| condition(&quoted.rest));
        if let Some(condition) = left_out {
            warn(format!("the quote leaves out a condition: {condition}"));
        }
        if section.is_none() {
            let units =
                document.managed.iter().flat_map(|managed| managed.units(document)).collect::<Vec<_>>();
            let unit = |quoted: Quoted| QuotedUnit {
                text: units.get(quoted.number as usize).map(|unit| unit.text.clone()).unwrap_or_default(),
                share: quoted.share,
                rest: quoted.rest,
            };
            return CitationVerdict { units: requirements.into_iter().map(unit).collect(), ..verdict };
        }
        if !verdict.warnings.is_empty() {
            verdict.lines = requirements.first().and_then(|quoted| whole(quoted.number));
        }
        CitationVerdict { requirements, ..verdict }
    }

    /// Finds the text nearest to a quote: a requirement of the section, otherwise a sentence.
    fn advice(
        &self,
        quote: &str,
        document: &Specification,
        index: u32,
        section: Option<u32>,
    ) -> Option<Advice> {
        let advice = near::advice(quote, document, index as usize);
        if let Some(Advice::Elsewhere(_)) = advice {
            return advice;
        }
        let own = section.map(|section| self.catalogue.sections[section as usize].requirements());
        let quotes: Vec<String> =
            own.into_iter().flatten().map(|number| self.catalogue.quote(number as u32)).collect();
        let nearest = near::nearest_of(quote, quotes.iter().map(String::as_str));
        nearest
            .map(|text| Advice::Nearest { text: text.to_owned(), difference: near::difference(quote, text) })
            .or(advice)
    }

    /// Finds the specification that an annotation names, as loading the project would, and the position of its first
    /// section if it is in the catalogue.
    fn cited_document(
        &self,
        annotation: &Annotation,
        open: &OpenSpecification<'_>,
    ) -> Result<(Arc<Specification>, Option<u32>), Diagnostic> {
        let name = annotation.target_path();
        // A bare reference names a requirement to people, but is not a target.
        if let Some(entry) = self.managed(name).filter(|_| managed::is_managed(name)) {
            return Ok((entry.document.clone(), Some(entry.first_section)));
        }
        let path = match name.starts_with('/') {
            true => Ok(TargetPath::Path(name.into())),
            false => TargetPath::parse(name),
        };
        let known = path.ok().and_then(|path| {
            let is_same = |named: &super::NamedTarget| {
                named.target.path == path && named.target.format == annotation.format
            };
            self.targets.iter().position(is_same)
        });
        if let Some(index) = known {
            return Ok((self.targets[index].specification.clone(), Some(self.first_sections[index])));
        }
        let document = open(annotation)?;
        let is_same = |entry: &&SpecificationEntry| {
            entry.document.format == document.format && entry.document.text == document.text
        };
        let entry = self.catalogue.specifications.iter().find(is_same);
        Ok((document, entry.map(|entry| entry.first_section)))
    }

    fn unknown_specification(&self, written: &Written<'_>, problem: &Diagnostic) -> CitationVerdict {
        let annotation = &written.annotation;
        let error = match problem.code {
            Code::InvalidUrl => "Invalid URL",
            Code::UnknownRequirement => "Requirement not found",
            Code::ManagedTarget | Code::UnreachableStore => &problem.message,
            _ => "Specification not found",
        };
        let name = annotation.target_path();
        let meant = match problem.code {
            Code::UnknownRequirement | Code::ManagedTarget => {
                problem.help.iter().find_map(|help| help.split('`').nth(1)).map(str::to_owned)
            }
            Code::MissingSpecification => managed::bare_reference(&annotation.target),
            _ => None,
        };
        if let Some(meant) = meant {
            return CitationVerdict {
                lines: Some(lines(written.used, annotation, &meant, &annotation.quote)),
                nearest: Some(meant),
                ..CitationVerdict::wrong(problem.code, error, problem.message.clone())
            };
        }
        let specifications = &self.catalogue.specifications;
        let known = self.resolve(name).or_else(|| {
            let names = specifications.iter().flat_map(|specification| &specification.spellings);
            nearest(name, names.map(String::as_str)).and_then(|name| self.resolve(name))
        });
        let mut verdict = CitationVerdict::wrong(problem.code, error, problem.message.clone());
        let Some(known) = known.filter(|_| problem.code != Code::InvalidUrl) else {
            return verdict;
        };
        let id = annotation.target_section().unwrap_or_default();
        let section = identity::section(&known.document, id).map(|index| &known.document.sections[index].id);
        let target = format!("{}#{}", known.target, section.map_or(id, String::as_str));
        verdict.lines = Some(lines(written.used, annotation, &target, &annotation.quote));
        verdict.nearest = Some(known.target.clone());
        verdict
    }

    /// Parses a citation in any style. Also returns a warning if the project does not use the style.
    fn read<'a>(
        &'a self,
        citation: &str,
        file: Option<&str>,
        default: &'a StyleUse,
    ) -> Result<(Vec<Written<'a>>, Option<String>), Box<CitationVerdict>> {
        let path: Arc<str> = file.unwrap_or("citation").into();
        let of_file: Vec<&StyleUse> =
            self.setting.styles.iter().filter(|used| file.is_some_and(|file| used.is_of(file))).collect();
        let all = self.setting.styles.iter().collect();
        let styles = if of_file.is_empty() { all } else { of_file };
        let interner = Interner::default();
        let scan =
            |used: &StyleUse| comment::scan(&path, citation, &used.style, used.default_kind, &interner);
        let mut problem = None;
        for used in &styles {
            let (annotations, problems) = scan(used);
            if !annotations.is_empty() && problems.is_empty() {
                let written = annotations.into_iter().map(|annotation| Written { annotation, used });
                return Ok((written.collect(), None));
            }
            problem = problem.or(problems.into_iter().next());
        }
        if let Some(problem) = problem {
            return Err(Box::new(misspelt(citation, problem)));
        }
        let first = styles.first().copied().unwrap_or(default);
        let others = self.setting.styles.iter().chain([default]);
        for other in others {
            let (annotations, problems) = scan(other);
            if annotations.is_empty() || !problems.is_empty() {
                continue;
            }
            let (meta, content) = (&first.style.meta, &first.style.content);
            let whose = file.unwrap_or("this project");
            let warning = format!("citations in {whose} are written with `{meta}` and `{content}`");
            let written = annotations.into_iter().map(|annotation| Written { annotation, used: first });
            return Ok((written.collect(), Some(warning)));
        }
        let target = citation.trim();
        let is_bare = !target.is_empty() && !target.contains(char::is_whitespace);
        if !is_bare {
            let mut verdict =
                CitationVerdict::wrong(Code::MissingTarget, "Invalid citation", "Invalid citation");
            let example = "https://www.rfc-editor.org/rfc/rfc2324#section-2.1";
            verdict.nearest = Some(format!("{} {example}", first.style.meta));
            return Err(Box::new(verdict));
        }
        let annotation = Annotation {
            line: 1,
            last_line: 1,
            kind: first.default_kind,
            level: Default::default(),
            format: Format::Auto,
            target: target.into(),
            quote: "".into(),
            notes: None,
            places: Default::default(),
        };
        Ok((vec![Written { annotation, used: first }], None))
    }
}

/// Reports problems of the comment itself. Misspelt words are corrected.
fn misspelt(citation: &str, problem: Diagnostic) -> CitationVerdict {
    let mut verdict = CitationVerdict::wrong(problem.code, &problem.message, problem.message.clone());
    let meant = problem.help.iter().find_map(|help| help.strip_prefix("did you mean `")?.strip_suffix("`?"));
    verdict.nearest = meant.map(str::to_owned).or_else(|| problem.help.first().cloned());
    if let (Some(meant), Some(place)) = (meant, problem.places.first()) {
        let mut lines: Vec<String> = citation.lines().map(str::to_owned).collect();
        if let Some(line) = lines.get_mut(place.line.saturating_sub(1) as usize) {
            let (start, width) = (place.column.saturating_sub(1) as usize, place.width as usize);
            let (before, after) = (line.chars().take(start), line.chars().skip(start + width));
            *line = before.chain(meant.chars()).chain(after).collect();
        }
        verdict.lines = Some(lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n"));
    }
    verdict
}

/// Whether the target is invalid, and not the quote.
fn is_about_section(broken: Broken) -> bool {
    matches!(broken, Broken::NoSection | Broken::UnknownSection)
}

/// Reports the state of a citation of a managed requirement, and what to write instead.
fn outdated(written: &Written<'_>, explained: Explained) -> CitationVerdict {
    let annotation = &written.annotation;
    let wrong = CitationVerdict::wrong(explained.code, &explained.message, explained.message.clone());
    let Some(renewed) = explained.renewed else {
        return CitationVerdict { nearest: explained.help.into_iter().next(), ..wrong };
    };
    CitationVerdict {
        lines: Some(lines(written.used, annotation, &explained.target, &renewed.quote)),
        nearest: Some(if renewed.quote.is_empty() { explained.target } else { renewed.quote }),
        difference: Some(renewed.difference).filter(|difference| !difference.is_empty()),
        ..wrong
    }
}

/// What is wrong with a quote of one word.
pub const ONE_WORD: &str =
    "a quote of one word says little, and means its first occurrence; quote the sentence";
