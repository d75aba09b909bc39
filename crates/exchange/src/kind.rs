//! What can be exchanged: one table of every kind and its fields, for readers, writers and checks.

use Form::{Flag, Number, Prose, Text, Title};
use RecordKind::*;

pub(crate) use words::name::plain as plain_name;

/// A kind of record, in the order in which an importer needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the entities'")]
pub enum RecordKind {
    Project,
    RequirementType,
    RelationshipType,
    Status,
    Transition,
    Epic,
    UserStory,
    AcceptanceCriteria,
    Requirement,
    Relationship,
    SteeringDocument,
    SteeringLink,
    Comment,
    Prompt,
}

/// One row of the table.
#[derive(Debug)]
pub struct Shape {
    /// The kind.
    pub kind: RecordKind,
    /// Its name in files: `user_story`.
    pub name: &'static str,
    groups: &'static [&'static [FieldShape]],
}

/// A field of a kind.
#[derive(Debug)]
pub struct FieldShape {
    /// Its name in files.
    pub name: &'static str,
    /// The form of its value.
    pub form: Form,
    /// Whether a record needs it, because nothing can replace it.
    pub required: bool,
}

/// The form of a field's value. The first three are text, and differ in where a format shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The heading of the record.
    Title,
    /// A short text.
    Text,
    /// The long text of a record; each kind has at most one.
    Prose,
    /// A whole number.
    Number,
    /// True or false.
    Flag,
}

const IDENTITY: &[FieldShape] = &[may("reference_id", Text), may("id", Text)];
const WORK: &[FieldShape] = &[
    must("title", Title),
    may("description", Prose),
    may("rationale", Text),
    may("labels", Text),
    may("priority", Number),
    may("status", Text),
    may("creator", Text),
    may("assignee", Text),
];
const HISTORY: &[FieldShape] =
    &[may("version", Number), may("created_at", Text), may("updated_at", Text), may("deleted_at", Text)];

/// Its names in other tools: `jira:SHOP-12`, one per line.
const ALIASES: &[FieldShape] = &[may("aliases", Text)];

const SHAPES: [Shape; 14] = [
    shape(Project, "project", &[&[must("key", Text), must("name", Title), may("description", Prose)]]),
    shape(RequirementType, "requirement_type", &[&[must("name", Text), may("description", Prose)]]),
    shape(
        RelationshipType,
        "relationship_type",
        &[&[must("name", Text), may("inverse_name", Text), may("acyclic", Flag), may("description", Prose)]],
    ),
    shape(
        Status,
        "status",
        &[&[
            must("entity_kind", Text),
            must("name", Text),
            may("colour", Text),
            may("initial", Flag),
            may("final", Flag),
            may("position", Number),
            may("outcome", Text),
        ]],
    ),
    shape(Transition, "transition", &[&[must("entity_kind", Text), must("from", Text), must("to", Text)]]),
    shape(Epic, "epic", &[IDENTITY, WORK, HISTORY, ALIASES]),
    shape(UserStory, "user_story", &[IDENTITY, &[must("epic", Text)], WORK, HISTORY, ALIASES]),
    shape(
        AcceptanceCriteria,
        "acceptance_criteria",
        &[
            IDENTITY,
            &[
                must("user_story", Text),
                must("description", Prose),
                may("rationale", Text),
                may("labels", Text),
                may("author", Text),
            ],
            HISTORY,
            ALIASES,
        ],
    ),
    shape(
        Requirement,
        "requirement",
        &[
            IDENTITY,
            &[must("user_story", Text), may("acceptance_criteria", Text), may("type", Text)],
            WORK,
            HISTORY,
            ALIASES,
        ],
    ),
    shape(
        Relationship,
        "relationship",
        &[&[
            may("id", Text),
            must("source", Text),
            must("target", Text),
            must("type", Text),
            may("creator", Text),
            may("target_version", Number),
            may("created_at", Text),
            may("deleted_at", Text),
        ]],
    ),
    shape(
        SteeringDocument,
        "steering_document",
        &[
            IDENTITY,
            &[must("title", Title), may("description", Prose), may("labels", Text), may("creator", Text)],
            HISTORY,
            ALIASES,
        ],
    ),
    shape(SteeringLink, "steering_link", &[&[must("epic", Text), must("steering_document", Text)]]),
    shape(
        Comment,
        "comment",
        &[
            &[
                may("id", Text),
                must("entity", Text),
                may("parent", Text),
                may("author", Text),
                must("content", Prose),
                may("quote", Text),
                may("anchor_start", Number),
                may("anchor_end", Number),
                may("detached", Flag),
                may("resolved", Flag),
            ],
            HISTORY,
        ],
    ),
    shape(
        Prompt,
        "prompt",
        &[
            IDENTITY,
            &[
                must("name", Text),
                may("title", Title),
                may("description", Text),
                must("content", Prose),
                may("role", Text),
                may("active", Flag),
                may("creator", Text),
            ],
            HISTORY,
        ],
    ),
];

impl RecordKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = RecordKind> {
        SHAPES.iter().map(|shape| shape.kind)
    }

    /// The row of the table.
    pub fn shape(self) -> &'static Shape {
        const { assert!(is_in_order(), "the table has the order of the kinds") };
        &SHAPES[self as usize]
    }

    /// Its name in files.
    pub fn name(self) -> &'static str {
        self.shape().name
    }

    /// Finds a kind in any spelling: `user_story`, `User Story`.
    pub fn find(name: &str) -> Option<RecordKind> {
        let name = plain_name(name);
        RecordKind::all().find(|kind| kind.name() == name)
    }
}

impl Shape {
    /// Its fields, in the order in which they are written.
    pub fn fields(&self) -> impl Iterator<Item = &'static FieldShape> + use<> {
        self.groups.iter().copied().flatten()
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&'static FieldShape> {
        self.fields().find(|field| field.name == name)
    }

    /// The field with a special place in a format: the title, or the long text.
    pub fn field_of_form(&self, form: Form) -> Option<&'static FieldShape> {
        self.fields().find(|field| field.form == form)
    }
}

const fn shape(kind: RecordKind, name: &'static str, groups: &'static [&'static [FieldShape]]) -> Shape {
    Shape { kind, name, groups }
}

const fn must(name: &'static str, form: Form) -> FieldShape {
    FieldShape { name, form, required: true }
}

const fn may(name: &'static str, form: Form) -> FieldShape {
    FieldShape { name, form, required: false }
}

const fn is_in_order() -> bool {
    let mut index = 0;
    while index < SHAPES.len() {
        if SHAPES[index].kind as usize != index {
            return false;
        }
        index += 1;
    }
    true
}
