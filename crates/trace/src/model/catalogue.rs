//! The specifications of a project with their sections and requirements: everything that does not depend on citations.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::annotation::Level;
use crate::managed;
use crate::specification::{Format, Section, Specification};
use crate::target::{Target, clean};
use crate::text::Span;

use super::identity;
use super::search::Words;
use super::short_id::ShortIds;

/// The specifications of a project.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// In the order of their ids.
    pub specifications: Vec<SpecificationEntry>,
    /// The sections of all of them, by specification.
    pub sections: Vec<SectionEntry>,
    /// The requirements of all sections, one after the other, in the order of the documents.
    pub requirements: Vec<RequirementEntry>,
    by_id: HashMap<String, u32>,
    texts: OnceLock<RequirementTexts>,
    words: OnceLock<Words>,
}

/// The texts of all requirements, computed on demand.
#[derive(Debug, Default)]
struct RequirementTexts {
    /// For each requirement its text and the hash of it.
    by_number: Vec<(String, String)>,
    /// Sorted identifiers, each with its requirement.
    by_identifier: Vec<(String, u32)>,
    short_ids: ShortIds,
}

/// A specification as annotations name it. The same document may have several names.
#[derive(Clone, Debug)]
pub struct NamedTarget {
    /// The name in annotations.
    pub target: Target,
    /// The same for people.
    pub name: String,
    /// The file that it is read from, relative to the project.
    pub local: PathBuf,
    /// The specification.
    pub specification: Arc<Specification>,
    /// Whether the configuration uses this name.
    pub is_configured: bool,
}

/// A specification.
#[derive(Debug)]
pub struct SpecificationEntry {
    /// Its id.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// The title of an RFC or draft.
    pub title: Option<String>,
    /// Its address or path.
    pub url: String,
    /// Its title or first paragraph.
    pub description: String,
    /// Its names in annotations and in the configuration.
    pub spellings: Vec<String>,
    /// The preferred name for new annotations.
    pub target: String,
    /// The file that it is read from, relative to the project.
    pub path: PathBuf,
    /// The document.
    pub document: Arc<Specification>,
    /// The position of its first section.
    pub first_section: u32,
}

impl SpecificationEntry {
    /// The positions of its sections.
    pub fn sections(&self) -> std::ops::Range<u32> {
        self.first_section..self.first_section + self.document.sections.len() as u32
    }
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequirementEntry {
    /// The position of its section.
    pub section: u32,
    /// Its position in the document.
    pub spans: Arc<[Span]>,
    /// Its level.
    pub level: Level,
}

impl RequirementEntry {
    /// Its text in one line, with single spaces.
    pub fn text(&self, document: &Specification) -> String {
        if document.managed.is_some() {
            return managed::unit_text(document, &self.spans);
        }
        let pieces = self.spans.iter().map(|span| document.text.get(span.range()).unwrap_or_default());
        let words: Vec<&str> = pieces.flat_map(str::split_whitespace).collect();
        words.join(" ")
    }
}

impl Catalogue {
    /// The text of a requirement as a quote: with its significant spaces.
    pub fn quote(&self, number: u32) -> String {
        let requirement = &self.requirements[number as usize];
        let text = &self.document(requirement.section).0.document.text;
        let pieces = requirement.spans.iter().map(|span| text.get(span.range()).unwrap_or_default());
        pieces.collect::<Vec<_>>().join(" ")
    }
}

/// A document with all of its names.
struct NamedDocument<'a> {
    names: Vec<&'a NamedTarget>,
    /// The canonical path of its file.
    local: PathBuf,
}

impl NamedDocument<'_> {
    /// The name in the configuration, otherwise the first in the order of reports.
    fn best(&self) -> &NamedTarget {
        let best = self.names.iter().min_by_key(|named| (!named.is_configured, &named.target));
        best.expect("a document has a name")
    }

    fn id(&self) -> String {
        identity::specification_id(&self.best().target.path, &self.local.to_string_lossy())
    }
}

impl Catalogue {
    /// Catalogues documents. Also returns the position of the first section for each target.
    pub fn new(root: &Path, targets: &[NamedTarget]) -> (Catalogue, Vec<u32>) {
        let (documents, owners) = documents(root, targets);
        let mut ordered: Vec<(String, usize)> =
            documents.iter().enumerate().map(|(index, document)| (document.id(), index)).collect();
        ordered.sort_by(|(id, index), (other_id, other)| {
            (id, &documents[*index].best().name).cmp(&(other_id, &documents[*other].best().name))
        });
        let mut catalogue = Catalogue::default();
        let mut firsts = vec![0; documents.len()];
        for (mut id, index) in ordered {
            let document = &documents[index];
            if id.is_empty() || catalogue.by_id.contains_key(&id) {
                let hash = blake3::hash(document.best().name.as_bytes()).to_hex();
                id = format!("{id}-{}", &hash[..8]);
            }
            firsts[index] = catalogue.sections.len() as u32;
            catalogue.add(id, document);
        }
        (catalogue, owners.into_iter().map(|owner| firsts[owner]).collect())
    }

    fn add(&mut self, id: String, document: &NamedDocument<'_>) {
        let specification = self.specifications.len() as u32;
        let first_section = self.sections.len() as u32;
        let best = document.best();
        let entry = |index| SectionEntry { specification, index, first_requirement: 0, n_requirements: 0 };
        self.sections.extend((0..best.specification.sections.len() as u32).map(entry));
        let mut spellings: Vec<String> = document.names.iter().map(|named| named.name.clone()).collect();
        spellings.sort();
        spellings.dedup();
        self.by_id.insert(id.clone(), specification);
        self.specifications.push(SpecificationEntry {
            name: match &best.specification.managed {
                Some(managed) if !managed.title.trim().is_empty() => managed.title.clone(),
                _ => identity::name(&id, &best.specification, &best.name),
            },
            title: identity::series_title(&best.specification),
            url: best.target.path.page().unwrap_or_else(|| best.name.clone()),
            description: identity::description(&best.specification),
            spellings,
            path: document.local.clone(),
            target: best.name.clone(),
            document: best.specification.clone(),
            first_section,
            id,
        });
    }

    /// Adds the requirements of all sections. One that is named several times is one, of the highest level.
    pub(super) fn add_requirements(&mut self, mut requirements: Vec<RequirementEntry>) {
        requirements.sort_unstable();
        requirements.dedup_by(|next, kept| {
            let is_same = (kept.section, &kept.spans) == (next.section, &next.spans);
            if is_same {
                kept.level = kept.level.max(next.level);
            }
            is_same
        });
        let mut position = 0;
        for (number, section) in self.sections.iter_mut().enumerate() {
            let start = position;
            while requirements.get(position).is_some_and(|one| one.section as usize == number) {
                position += 1;
            }
            section.first_requirement = start as u32;
            section.n_requirements = (position - start) as u32;
        }
        self.requirements = requirements;
    }

    fn texts(&self) -> &RequirementTexts {
        self.texts.get_or_init(|| {
            let describe = |requirement: &RequirementEntry| {
                let (specification, _) = self.document(requirement.section);
                let text = requirement.text(&specification.document);
                let identifier = blake3::hash(text.as_bytes()).to_hex().to_string();
                (text, identifier)
            };
            let by_number: Vec<(String, String)> = self.requirements.iter().map(describe).collect();
            let mut by_identifier: Vec<(String, u32)> = by_number
                .iter()
                .zip(0..)
                .map(|((_, identifier), number)| (identifier.clone(), number))
                .collect();
            by_identifier.sort_unstable();
            let short_ids =
                ShortIds::new(by_number.iter().zip(&self.requirements).map(|((text, _), requirement)| {
                    let (specification, section) = self.document(requirement.section);
                    (specification.id.as_str(), section.id.as_ref(), text.as_str())
                }));
            RequirementTexts { by_number, by_identifier, short_ids }
        })
    }

    /// The text of a requirement, with single blanks.
    pub fn text(&self, number: u32) -> &str {
        &self.texts().by_number[number as usize].0
    }

    /// The hash of the text of a requirement, in 64 digits.
    pub fn identifier(&self, number: u32) -> &str {
        &self.texts().by_number[number as usize].1
    }

    /// The short id of a requirement within this project.
    pub fn short_id(&self, number: u32) -> &str {
        self.texts().short_ids.of(number)
    }

    /// Finds a requirement by its short id.
    pub fn by_short_id(&self, short_id: &str) -> Option<u32> {
        self.texts().short_ids.find(short_id)
    }

    /// The section part of a target for a requirement.
    pub fn target(&self, section: u32) -> String {
        let (specification, section) = self.document(section);
        match &specification.document.managed {
            Some(managed) => managed.target.clone(),
            None => format!("{}#{}", specification.target, section.id),
        }
    }

    /// Finds requirements by words, best first.
    pub fn search(&self, query: &str) -> Vec<u32> {
        let numbers = 0..self.requirements.len() as u32;
        self.words.get_or_init(|| Words::new(numbers.map(|number| self.text(number)))).find(query)
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

    /// Lists the requirements of a specification, in the order of the document.
    pub fn requirements_of(&self, specification: &SpecificationEntry) -> std::ops::Range<u32> {
        let sections = specification.sections();
        let position = |section: u32| {
            let section = self.sections.get(section as usize);
            section.map_or(self.requirements.len() as u32, |section| section.first_requirement)
        };
        position(sections.start)..position(sections.end)
    }

    /// Returns the document and the section at a position.
    pub fn document(&self, section: u32) -> (&SpecificationEntry, &Section) {
        let entry = &self.sections[section as usize];
        let specification = &self.specifications[entry.specification as usize];
        (specification, &specification.document.sections[entry.index as usize])
    }

    /// Finds the requirement with a prefix of its identifier, of at least eight characters.
    pub fn identified(&self, prefix: &str) -> Vec<u32> {
        let prefix = prefix.to_lowercase();
        if prefix.len() < 8 {
            return Vec::new();
        }
        let known = &self.texts().by_identifier;
        let from = &known[known.partition_point(|(identifier, _)| *identifier < prefix)..];
        let same = from.iter().take_while(|(identifier, _)| identifier.starts_with(&prefix));
        same.map(|(_, number)| *number).collect()
    }

    /// The resource path of a section.
    pub fn section_path(&self, section: u32) -> String {
        let (specification, section) = self.document(section);
        // A slash in an id would look like the next step of the path.
        let id = identity::percent_encode(&section.id).replace('/', "%2F");
        format!("/specifications/{}/sections/{id}", specification.id)
    }

    /// The resource path of a requirement.
    pub fn requirement_path(&self, number: u32) -> String {
        let requirement = &self.requirements[number as usize];
        format!("{}/requirements/{}", self.section_path(requirement.section), self.identifier(number))
    }
}

impl Catalogue {
    /// Whether another catalogue has the same specifications with the same texts and requirements.
    pub fn is_like(&self, other: &Catalogue) -> bool {
        let is_like = |(first, second): (&SpecificationEntry, &SpecificationEntry)| {
            let (old, new) = (&first.document, &second.document);
            (&first.id, &first.name, &first.url, &first.description, &first.spellings, &first.path)
                == (
                    &second.id,
                    &second.name,
                    &second.url,
                    &second.description,
                    &second.spellings,
                    &second.path,
                )
                && (old.format, &old.text, &old.managed) == (new.format, &new.text, &new.managed)
        };
        self.requirements == other.requirements
            && self.specifications.len() == other.specifications.len()
            && self.specifications.iter().zip(&other.specifications).all(is_like)
    }
}

/// Groups all names of one document. Also returns the document for each target.
fn documents<'a>(root: &Path, targets: &'a [NamedTarget]) -> (Vec<NamedDocument<'a>>, Vec<usize>) {
    let mut documents: Vec<NamedDocument<'a>> = Vec::new();
    let mut by_file: HashMap<(PathBuf, Format), usize> = HashMap::new();
    let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
    let mut owners = Vec::with_capacity(targets.len());
    for named in targets {
        let local = clean(named.local.strip_prefix(root).unwrap_or(&named.local));
        let id = identity::specification_id(&named.target.path, &local.to_string_lossy());
        let is_series = identity::is_series(&id);
        // The format matters, because Markdown has other sections.
        let file = (local.clone(), named.specification.format);
        // Copies of an RFC under several URLs are one document; equal files of the project are not.
        let same_id = by_id.entry(id).or_default();
        let is_same =
            |owner: &&usize| documents[**owner].names[0].specification.text == named.specification.text;
        let known = by_file.get(&file).or_else(|| same_id.iter().find(is_same)).copied();
        let owner = known.unwrap_or_else(|| {
            documents.push(NamedDocument { names: Vec::new(), local });
            documents.len() - 1
        });
        documents[owner].names.push(named);
        by_file.insert(file, owner);
        if is_series && !same_id.contains(&owner) {
            same_id.push(owner);
        }
        owners.push(owner);
    }
    (documents, owners)
}
