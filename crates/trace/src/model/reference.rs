//! Resolves references: ids, URLs, targets, places in the code.

use std::path::Path;

use crate::managed::{self, ManagedName};
use crate::target::TargetPath;

use super::catalogue::SpecificationEntry;
use super::{Citation, Model, identity, percent_decode};

/// A resolved reference.
#[derive(Debug)]
pub enum Named<'a> {
    /// A specification.
    Specification(&'a SpecificationEntry),
    /// A section, by its position in the catalogue.
    Section(u32),
    /// A requirement, or several with the same text.
    Requirements(Vec<u32>),
    /// A citation.
    Citation(Citation),
}

/// How far a line may be from the citation that it means.
const LINES_NEAR: u32 = 5;

impl Model {
    /// Resolves a reference: a short id, an identifier or a prefix of one, a resource path, a specification, a
    /// target, or a place such as `src/main.rs:42`.
    pub fn named(&self, reference: &str) -> Option<Named<'_>> {
        let reference = self.without_marks(reference.trim());
        let path = reference.strip_prefix("duvet://").unwrap_or(reference);
        if let Some(path) = path.strip_prefix("/specifications/") {
            return self.named_by_path(path);
        }
        if let Some(number) = self.catalogue.by_short_id(reference) {
            return Some(Named::Requirements(vec![number]));
        }
        let identified = self.catalogue.identified(reference);
        if !identified.is_empty() {
            return Some(Named::Requirements(identified));
        }
        if let Some(citation) = self.citation_near(reference) {
            return Some(Named::Citation(citation));
        }
        let (specification, section) = parts(reference);
        let specification = self.resolve(specification)?;
        match section {
            None => Some(Named::Specification(specification)),
            Some(name) => self.catalogue.section(specification, name).map(Named::Section),
        }
    }

    /// Finds the requirements that a reference names: one, those of its section, or those that a citation touches.
    pub fn find(&self, reference: &str) -> Vec<u32> {
        match self.named(reference) {
            Some(Named::Requirements(numbers)) => numbers,
            Some(Named::Section(section)) => {
                let numbers = self.catalogue.sections[section as usize].requirements();
                numbers.map(|number| number as u32).collect()
            }
            Some(Named::Citation(citation)) => self.requirements_of(&citation).collect(),
            Some(Named::Specification(specification)) if specification.document.managed.is_some() => {
                self.catalogue.requirements_of(specification).collect()
            }
            Some(Named::Specification(_)) | None => Vec::new(),
        }
    }

    /// Finds a citation by its id, `path:line`.
    pub fn citation(&self, id: &str) -> Option<Citation> {
        let (path, line) = id.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        self.citations_in(self.file(path)?).find(|citation| citation.annotation().line == line)
    }

    /// The same if the path starts with the project's folder, or the line is only near a citation.
    pub fn citation_near(&self, place: &str) -> Option<Citation> {
        let (path, line) = place.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        let path = path.replace('\\', "/");
        let path = Path::new(&path);
        let path = path.strip_prefix(&self.setting.root).or_else(|_| path.strip_prefix(".")).unwrap_or(path);
        let distance = |citation: &Citation| {
            let annotation = citation.annotation();
            match line {
                _ if line < annotation.line => annotation.line - line,
                _ => line.saturating_sub(annotation.last_line),
            }
        };
        let citations = self.citations_in(self.file(path.to_str()?)?);
        citations.filter(|citation| distance(citation) <= LINES_NEAR).min_by_key(distance)
    }

    /// Finds a specification by its id, any spelling of its URL, its path, or a name such as `RFC 9000`.
    pub fn resolve(&self, name: &str) -> Option<&SpecificationEntry> {
        let name = name.split('#').next().unwrap_or(name).trim();
        if let Some(specification) = self.catalogue.specification(name) {
            return Some(specification);
        }
        if let Some(managed) = self.managed(name) {
            return Some(managed);
        }
        if let Some(id) = series_id(name) {
            return self.catalogue.specification(&id);
        }
        let path = TargetPath::parse(name).ok()?;
        let id = identity::specification_id(&path, name);
        let page = path.page();
        let specifications = &self.catalogue.specifications;
        let by_name = specifications.iter().find(|specification| {
            let spellings = &specification.spellings;
            spellings
                .iter()
                .any(|spelling| spelling.trim_start_matches("./") == name.trim_start_matches("./"))
                || page.as_ref().is_some_and(|page| *page == specification.url)
        });
        by_name.or_else(|| self.catalogue.specification(&id).filter(|_| identity::is_series(&id)))
    }

    /// Finds a managed requirement by any form of its name, or by its bare reference.
    pub(super) fn managed(&self, name: &str) -> Option<&SpecificationEntry> {
        let project = self.setting.project_key.as_deref()?;
        let target = if managed::is_managed(name) { name.to_owned() } else { managed::bare_reference(name)? };
        let id = ManagedName::parse(&target).ok()?.within(project).reference_id();
        self.catalogue.specification(&id).filter(|found| found.document.managed.is_some())
    }

    /// A comment line without the marks of an annotation.
    fn without_marks<'a>(&self, line: &'a str) -> &'a str {
        let marks = self.setting.styles.iter().filter(|used| !used.style.meta.is_empty());
        marks.filter_map(|used| line.strip_prefix(&*used.style.meta)).map(str::trim).next().unwrap_or(line)
    }

    /// Resolves the rest of `/specifications/`. Ids may contain slashes, and so may places in the code.
    fn named_by_path(&self, path: &str) -> Option<Named<'_>> {
        let (id, rest) = path.split_once("/sections/").unwrap_or((path.trim_end_matches('/'), ""));
        let specification = self.catalogue.specification(&percent_decode(id))?;
        if let Some((_, place)) = rest.split_once("/citations/") {
            return self.citation(&percent_decode(place)).map(Named::Citation);
        }
        let (name, identifier) = match rest.rsplit_once("/requirements/") {
            Some((name, identifier)) => (name, Some(percent_decode(identifier))),
            None => (rest, None),
        };
        if name.is_empty() {
            return Some(Named::Specification(specification));
        }
        let section = self.catalogue.section(specification, name)?;
        let Some(identifier) = identifier else {
            return Some(Named::Section(section));
        };
        let mut found = self.catalogue.identified(&identifier);
        found.extend(self.catalogue.by_short_id(&identifier));
        found.retain(|number| self.requirement(*number).section == section);
        found.dedup();
        (!found.is_empty()).then_some(Named::Requirements(found))
    }
}

/// The specification and the section of a target, also in words: `RFC 9000 section 4.1`.
fn parts(reference: &str) -> (&str, Option<&str>) {
    if let Some((specification, section)) = reference.split_once('#') {
        return (specification.trim(), Some(section.trim()).filter(|section| !section.is_empty()));
    }
    for word in [" section ", " Section ", "§"] {
        if let Some((specification, section)) = reference.split_once(word) {
            return (specification.trim_end_matches([' ', ',']), Some(section.trim()));
        }
    }
    (reference, None)
}

/// The id of an RFC that is written in another way: `RFC 9000`, `rfc-9000`.
fn series_id(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    let number = lower.strip_prefix("rfc")?.trim_start_matches([' ', '-', '_', '\u{a0}']);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("rfc{}", number.trim_start_matches('0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_may_be_written_in_words() {
        for (reference, expected) in [
            ("rfc9000#section-4.1", ("rfc9000", Some("section-4.1"))),
            ("RFC 9000 section 4.1", ("RFC 9000", Some("4.1"))),
            ("RFC 9000, Section 4.1", ("RFC 9000", Some("4.1"))),
            ("rfc9000 §4.1", ("rfc9000", Some("4.1"))),
            ("docs/spec.md", ("docs/spec.md", None)),
            ("docs/spec.md#", ("docs/spec.md", None)),
        ] {
            assert_eq!(parts(reference), expected, "{reference}");
        }
    }

    #[test]
    fn an_rfc_may_be_written_as_people_say_it() {
        for name in ["RFC 9000", "rfc9000", "rfc-9000", "RFC09000"] {
            assert_eq!(series_id(name).as_deref(), Some("rfc9000"), "{name}");
        }
        for name in ["rfc", "RFC 9000 bis", "reference"] {
            assert_eq!(series_id(name), None, "{name}");
        }
    }
}
