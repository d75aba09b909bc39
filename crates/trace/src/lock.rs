//! The lock file: the reviewed state of specifications, section by section.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::model::{Model, SpecificationEntry};
use crate::requirement_file::toml_error;

/// The path of the lock file.
pub const LOCK_PATH: &str = ".duvet/lock.toml";

/// The recorded state of specifications.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    #[serde(default, rename = "specification")]
    specifications: Vec<Locked>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    source: String,
    blake3: String,
    #[serde(default)]
    sections: BTreeMap<String, String>,
}

impl Lock {
    /// Records the current state of specifications.
    pub fn of(model: &Model) -> Lock {
        let specifications = model.catalogue.specifications.iter().map(|specification| Locked {
            source: specification.url.clone(),
            blake3: hash(&specification.document.text),
            sections: sections(specification),
        });
        Lock { specifications: specifications.collect() }
    }

    /// Parses a lock file.
    pub fn parse(text: &str) -> Result<Lock, Diagnostic> {
        let path: Arc<str> = LOCK_PATH.into();
        toml::from_str(text).map_err(|error| {
            Diagnostic { code: Code::Configuration, ..toml_error(&path, text, &error) }
                .help("`duvet lock` writes it anew")
        })
    }

    /// Writes the lock file.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string(self).expect("texts and tables can be written");
        format!("# What the specifications said when somebody last looked. `duvet lock` writes it.\n\n{text}")
    }

    /// Reports which specifications have changed, and which citations to review.
    pub fn compare(&self, model: &Model) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for specification in &model.catalogue.specifications {
            let locked = self.specifications.iter().find(|locked| locked.source == specification.url);
            let Some(locked) = locked else {
                let message = format!("{} is not locked", specification.url);
                problems.push(
                    Diagnostic::warning(Code::Changed, message)
                        .at(Place::file(LOCK_PATH, ""))
                        .help("`duvet lock` adds it"),
                );
                continue;
            };
            if locked.blake3 == hash(&specification.document.text) {
                continue;
            }
            let now = sections(specification);
            let changed: Vec<&str> = now
                .iter()
                .filter(|(id, hash)| locked.sections.get(*id) != Some(*hash))
                .map(|(id, _)| id.as_str())
                .chain(locked.sections.keys().filter(|id| !now.contains_key(*id)).map(String::as_str))
                .collect();
            problems.push(describe(model, specification, &changed));
        }
        problems
    }
}

fn describe(model: &Model, specification: &SpecificationEntry, changed: &[&str]) -> Diagnostic {
    let message = match changed {
        [] => format!("{} changed outside of its sections", specification.url),
        _ => format!("{} changed in {}", specification.url, changed.join(", ")),
    };
    let mut error = Diagnostic::error(Code::Changed, message);
    for id in changed {
        let Some(section) = specification.document.section(id) else {
            continue;
        };
        for citation in model.citations(specification.first_section + section as u32) {
            error = error.at(Place {
                line: citation.annotation().line,
                column: 1,
                ..Place::file(citation.path().clone(), format!("cites {id}"))
            });
        }
    }
    error.help("look at these citations again, then accept the change with `duvet lock`")
}

fn sections(specification: &SpecificationEntry) -> BTreeMap<String, String> {
    let document = &specification.document;
    let hash_of = |index: usize| hash(&document.view(index).text)[..16].to_owned();
    let sections = document.sections.iter().enumerate();
    sections.map(|(index, section)| (section.id.clone(), hash_of(index))).collect()
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read_whatever_sections_are_called() {
        let names = [
            "a",
            "section-1.2",
            "a b",
            "\u{200b}",
            "\"",
            "'",
            "\\",
            "\u{1}",
            "\u{7f}",
            "\n",
            "ü",
            "]",
            "#",
            "",
        ];
        let locked = |source: &&str| Locked {
            source: (*source).to_owned(),
            blake3: hash(source),
            sections: names.iter().map(|name| ((*name).to_owned(), hash(name))).collect(),
        };
        let lock = Lock { specifications: names.iter().map(locked).collect() };
        assert_eq!(Lock::parse(&lock.to_toml()), Ok(lock));
        let empty = Lock::default();
        assert_eq!(Lock::parse(&empty.to_toml()), Ok(empty));
    }
}
