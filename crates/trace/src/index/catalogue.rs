//! The specifications of a project with their sections and requirements: all that citations do not change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::annotation::{Annotation, Level};
use crate::specification::{Section, Specification};
use crate::target::TargetPath;
use crate::text::Span;

use super::identity;
use super::search::Words;

/// The specifications of a project.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// In the order of their ids.
    pub specifications: Vec<SpecificationEntry>,
    /// The sections of all of them, one specification after the other.
    pub sections: Vec<SectionEntry>,
    /// The requirements of all sections, one after the other, in the order of the documents.
    pub requirements: Vec<Requirement>,
    by_identifier: BTreeMap<String, Vec<u32>>,
    by_id: HashMap<String, u32>,
    pub(super) words: Words,
}

/// A specification.
#[derive(Debug)]
pub struct SpecificationEntry {
    /// What it is called.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Its address or path.
    pub url: String,
    /// Its title or first paragraph.
    pub description: String,
    /// The names under which annotations and the configuration know it.
    pub spellings: Vec<String>,
    /// The document.
    pub document: Arc<Specification>,
    /// The position of its first section.
    pub first_section: u32,
}

/// A section.
#[derive(Debug)]
pub struct SectionEntry {
    /// The position of its specification.
    pub specification: u32,
    /// Its position in the document.
    pub index: u32,
    /// The position of its first requirement.
    pub first_requirement: u32,
    /// How many it has.
    pub n_requirements: u32,
}

impl SectionEntry {
    /// The positions of its requirements.
    pub fn requirements(&self) -> std::ops::Range<usize> {
        let first = self.first_requirement as usize;
        first..first + self.n_requirements as usize
    }
}

/// A requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The position of its section.
    pub section: u32,
    /// The hash of its text.
    pub identifier: String,
    /// Its text, with single blanks.
    pub text: String,
    /// How binding it is.
    pub level: Level,
    /// Where it stands in the document.
    pub spans: Arc<[Span]>,
    /// Where it is written down, if somebody did: `path:line`.
    pub source: Option<String>,
}

/// A document that goes into a catalogue.
#[derive(Debug)]
pub struct Document {
    /// Where it is.
    pub path: TargetPath,
    /// The same for people.
    pub shown: String,
    /// All its names.
    pub spellings: Vec<String>,
    /// The document.
    pub specification: Arc<Specification>,
    /// For each section its requirements, in order.
    pub requirements: Vec<(u32, Requirement)>,
}

impl Catalogue {
    /// Puts documents into a catalogue. Also returns the position of the first section of each.
    pub fn new(documents: Vec<Document>) -> (Catalogue, Vec<u32>) {
        let mut named: Vec<(String, usize, Document)> = documents
            .into_iter()
            .enumerate()
            .map(|(number, document)| {
                (identity::specification_id(&document.path, &document.shown), number, document)
            })
            .collect();
        named.sort_by(|first, second| (&first.0, &first.2.shown).cmp(&(&second.0, &second.2.shown)));

        let mut catalogue = Catalogue::default();
        let mut first_sections = vec![0; named.len()];
        for (mut id, number, document) in named {
            if id.is_empty() || catalogue.by_id.contains_key(&id) {
                let hash = blake3::hash(document.shown.as_bytes()).to_hex();
                id = format!("{id}-{}", &hash[..8]);
            }
            first_sections[number] = catalogue.sections.len() as u32;
            catalogue.add(id, document);
        }
        for (number, requirement) in catalogue.requirements.iter().enumerate() {
            let same = catalogue.by_identifier.entry(requirement.identifier.clone()).or_default();
            same.push(number as u32);
        }
        catalogue.words = Words::new(catalogue.requirements.iter().map(|requirement| &*requirement.text));
        (catalogue, first_sections)
    }

    fn add(&mut self, id: String, document: Document) {
        let specification = self.specifications.len() as u32;
        let first_section = self.sections.len() as u32;
        let mut requirements = document.requirements.into_iter().peekable();
        for index in 0..document.specification.sections.len() as u32 {
            let first_requirement = self.requirements.len() as u32;
            while let Some((_, mut requirement)) = requirements.next_if(|(section, _)| *section == index) {
                requirement.section = first_section + index;
                self.requirements.push(requirement);
            }
            let n_requirements = self.requirements.len() as u32 - first_requirement;
            self.sections.push(SectionEntry { specification, index, first_requirement, n_requirements });
        }
        self.by_id.insert(id.clone(), specification);
        self.specifications.push(SpecificationEntry {
            name: identity::name(&id, &document.specification, &document.shown),
            url: document.path.page().unwrap_or(document.shown),
            description: identity::description(&document.specification),
            spellings: document.spellings,
            document: document.specification,
            first_section,
            id,
        });
    }

    /// Finds a specification by its id.
    pub fn specification(&self, id: &str) -> Option<&SpecificationEntry> {
        self.by_id.get(id).map(|position| &self.specifications[*position as usize])
    }

    /// Finds a section by any name. Returns its position.
    pub fn section(&self, specification: &SpecificationEntry, name: &str) -> Option<u32> {
        let index = identity::section(&specification.document, name)?;
        Some(specification.first_section + index as u32)
    }

    /// Returns the document and the section at a position.
    pub fn document(&self, section: u32) -> (&SpecificationEntry, &Section) {
        let entry = &self.sections[section as usize];
        let specification = &self.specifications[entry.specification as usize];
        (specification, &specification.document.sections[entry.index as usize])
    }

    /// Finds the requirements whose identifier starts so. It takes eight characters to ask.
    pub fn identified(&self, prefix: &str) -> Vec<u32> {
        let prefix = prefix.to_lowercase();
        if prefix.len() < 8 {
            return Vec::new();
        }
        let from = self.by_identifier.range(prefix.clone()..);
        let same = from.take_while(|(identifier, _)| identifier.starts_with(&prefix));
        same.flat_map(|(_, numbers)| numbers.iter().copied()).collect()
    }

    /// The path of a section among resources.
    pub fn section_path(&self, section: u32) -> String {
        let (specification, section) = self.document(section);
        // A slash in an id would read like the next step of the path.
        let id = identity::percent_encode(&section.id).replace('/', "%2F");
        format!("/specifications/{}/sections/{id}", specification.id)
    }

    /// The path of a requirement among resources.
    pub fn requirement_path(&self, number: u32) -> String {
        let requirement = &self.requirements[number as usize];
        format!("{}/requirements/{}", self.section_path(requirement.section), requirement.identifier)
    }
}

impl Requirement {
    pub(super) fn new(annotation: &Annotation, spans: Arc<[Span]>, source: Option<String>) -> Requirement {
        let text = annotation.quote.split_whitespace().collect::<Vec<_>>().join(" ");
        Requirement {
            section: 0,
            identifier: blake3::hash(text.as_bytes()).to_hex().to_string(),
            text,
            level: annotation.level,
            spans,
            source,
        }
    }
}

impl Catalogue {
    /// Whether another has the same specifications with the same texts.
    pub(super) fn is_like(&self, other: &Catalogue) -> bool {
        let is_like = |(first, second): (&SpecificationEntry, &SpecificationEntry)| {
            let (old, new) = (&first.document, &second.document);
            (&first.id, &first.name, &first.url, &first.description, &first.spellings)
                == (&second.id, &second.name, &second.url, &second.description, &second.spellings)
                && (old.format, &old.text) == (new.format, &new.text)
        };
        self.specifications.len() == other.specifications.len()
            && self.specifications.iter().zip(&other.specifications).all(is_like)
    }
}
