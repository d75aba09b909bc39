//! What a report of the second form looks like as JSON. The structs are the schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::{Location, Part, Piece, Pieces};
use crate::annotation::{AnnotationKind, Level};

/// The only version there is.
pub const VERSION: &str = "2.0";

/// Things by their ids.
pub type ById<T> = BTreeMap<String, T>;

/// A report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct ReportV2<'a> {
    /// Always [`VERSION`].
    pub version: String,
    /// Where issues can be looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issue_links: Vec<String>,
    /// Where files can be looked at.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repositories: ById<Repository>,
    /// Files.
    pub sources: Sources<'a>,
    /// What there is in them.
    pub annotations: Annotations,
}

/// A place where files can be looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Repository {
    /// Its address.
    pub blob_link: String,
}

/// Files. Later versions and other tools may have more kinds of them, which are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Sources<'a> {
    /// Specifications, with their text.
    #[serde(rename = "https://awslabs.github.io/duvet/v2/sources.json#inline", default)]
    pub inline: ById<Inline<'a>>,
    /// Files with annotations, by name.
    #[serde(rename = "https://awslabs.github.io/duvet/v2/sources.json#linked", default)]
    pub linked: ById<Linked>,
    /// What else there is.
    #[serde(flatten)]
    pub extensions: BTreeMap<String, Value>,
}

/// A file with its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Inline<'a> {
    /// Relative to the project.
    pub file_name: String,
    /// All of its text.
    pub contents: Cow<'a, str>,
}

/// A file without its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Linked {
    /// Relative to the project.
    pub file_name: String,
    /// Where it can be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// What there is in files. Kinds that are not known are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Annotations {
    /// Specifications.
    #[serde(rename = "https://awslabs.github.io/duvet/v2/annotations.json#specification", default)]
    pub specification: ById<SpecificationV2>,
    /// Their sections.
    #[serde(rename = "https://awslabs.github.io/duvet/v2/annotations.json#section", default)]
    pub section: ById<SectionV2>,
    /// Their requirements.
    #[serde(rename = "https://awslabs.github.io/duvet/v2/annotations.json#requirement", default)]
    pub requirement: ById<RequirementV2>,
    /// What speaks of them.
    #[serde(rename = "https://awslabs.github.io/duvet/v2/annotations.json#cite", default)]
    pub cite: ById<Cite>,
    /// What else there is.
    #[serde(flatten)]
    pub extensions: BTreeMap<String, Value>,
}

/// A specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct SpecificationV2 {
    /// All of its text.
    pub source: Part,
    /// Its title, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How it is written.
    pub format: String,
    /// Where it is fetched from, if it is not a file of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A section of a specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct SectionV2 {
    /// Its title and its own text.
    pub source: Part,
    /// What annotations call it.
    pub short_name: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_name: Option<String>,
}

/// A requirement, with what covers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct RequirementV2 {
    /// Where it is said to be one.
    pub source: Location,
    /// Its text.
    pub origin: Pieces,
    /// How binding it is.
    pub level: Level,
    /// Which of its text each cite covers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coverage: ById<Vec<Piece>>,
}

/// Any other annotation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Cite {
    /// Where it stands.
    pub source: Location,
    /// The text that it speaks of.
    pub target: Pieces,
    /// What it says of it.
    pub r#type: Type,
    /// How binding it says it is.
    #[serde(default)]
    pub level: Level,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The feature that a todo belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// The issue that will resolve a todo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking_issue: Option<String>,
    /// Free tags of a todo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// What an annotation says of the text it speaks of, if it does not make it a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "those of `AnnotationKind`")]
pub enum Type {
    Citation,
    Test,
    Implication,
    Exception,
    Todo,
}

impl Type {
    /// Tells the type of an annotation; requirements have none.
    pub fn of(kind: AnnotationKind) -> Option<Type> {
        match kind {
            AnnotationKind::Spec => None,
            AnnotationKind::Test => Some(Type::Test),
            AnnotationKind::Citation => Some(Type::Citation),
            AnnotationKind::Exception => Some(Type::Exception),
            AnnotationKind::Todo => Some(Type::Todo),
            AnnotationKind::Implication => Some(Type::Implication),
        }
    }
}
