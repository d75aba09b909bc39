//! The items on an import's shelf: the rows of the file, and the entities that they create or change.

use ::exchange::{Field, Place, Record, RecordKind};
use store::comment::Comment;
use store::entity::{Entity, FIELDS};
use store::relationship::Relationship;

use super::shelf::{Shelved, shelved};

/// An entity that a row creates, changes or names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Planned {
    /// Its row.
    pub row: Option<usize>,
    /// The stored state.
    pub before: Option<Entity>,
    /// The new state.
    pub entity: Entity,
    /// Whether it is new and the file says its number.
    pub brings_number: bool,
    /// Its external ids that are not stored yet: `jira:SHOP-12`.
    pub aliases: Vec<String>,
}

impl Planned {
    /// A stored entity without a row in the file.
    pub fn stored(entity: Entity) -> Planned {
        Planned { row: None, before: Some(entity.clone()), entity, brings_number: false, aliases: Vec::new() }
    }

    /// Whether something is written.
    pub fn changes(&self) -> bool {
        self.before.as_ref() != Some(&self.entity) || !self.aliases.is_empty()
    }

    /// Its version after the import.
    pub fn version_after(&self) -> i64 {
        match &self.before {
            Some(before) if *before != self.entity => before.version + 1,
            _ => self.entity.version,
        }
    }
}

/// A relationship that a row creates, or confirms for another version of its target.
pub(super) struct Related {
    pub relationship: Relationship,
    /// The version that a stored one is now confirmed for.
    pub confirmed: Option<i64>,
    /// The rows of its ends, if they are in the file.
    pub source_row: Option<usize>,
    pub target_row: Option<usize>,
}

/// A link of an epic with a steering document, and the rows of both if they are in the file.
pub(super) struct Linked {
    pub epic: Entity,
    pub document: Entity,
    pub epic_row: Option<usize>,
    pub document_row: Option<usize>,
}

/// A comment that a row creates, changes or leaves unchanged.
pub(super) struct Remark {
    pub before: Option<Comment>,
    pub comment: Comment,
    /// The row of its entity, if that is in the file.
    pub entity_row: Option<usize>,
}

shelved!(Related { relationship, confirmed, source_row, target_row });
shelved!(Linked { epic, document, epic_row, document_row });
shelved!(Remark { before, comment, entity_row });
shelved!(Relationship {
    id,
    project_id,
    source_id,
    source,
    target_id,
    target,
    type_id,
    type_name,
    inverse_type,
    creator_id,
    target_version,
    suspect,
    version,
    created_at,
    updated_at,
    deleted_at,
    deletion_id,
});
shelved!(Comment {
    id,
    project_id,
    entity_id,
    entity,
    entity_kind,
    parent_id,
    author_id,
    author,
    content,
    quote,
    anchor_start,
    anchor_end,
    detached,
    resolved,
    version,
    created_at,
    updated_at,
    deleted_at,
    deletion_id,
    purged_at,
});

impl Shelved for Planned {
    fn put(&self, out: &mut Vec<u8>) {
        self.row.put(out);
        self.entity.put(out);
        self.brings_number.put(out);
        self.aliases.join("\n").put(out);
        self.before.is_some().put(out);
        self.before.clone().filter(|before| *before != self.entity).put(out);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (row, entity, brings_number) =
            (Shelved::take(bytes)?, Entity::take(bytes)?, Shelved::take(bytes)?);
        let aliases = String::take(bytes)?.lines().map(str::to_owned).collect();
        let is_stored = bool::take(bytes)?;
        let other: Option<Entity> = Shelved::take(bytes)?;
        let before = is_stored.then(|| other.unwrap_or_else(|| entity.clone()));
        Some(Planned { row, before, entity, brings_number, aliases })
    }
}

/// The parts of an entity that are not in the table of fields, for both directions.
macro_rules! parts {
    ($($part:ident),* $(,)?) => {
        fn put_parts(entity: &Entity, out: &mut Vec<u8>) {
            $(entity.$part.put(out);)*
        }

        fn take_parts(entity: &mut Entity, bytes: &mut &[u8]) -> Option<()> {
            $(entity.$part = Shelved::take(bytes)?;)*
            Some(())
        }
    };
}
parts! {
    id, reference_id, project, project_id, number, status, epic_id, epic, user_story_id, user_story,
    acceptance_criteria_id, acceptance_criteria, type_id, type_name, creator_id, creator, author, assignee_id, assignee,
    version, content_version, created_at, updated_at, deleted_at, deletion_id, purged_at,
}

impl Shelved for Entity {
    fn put(&self, out: &mut Vec<u8>) {
        self.kind.put(out);
        put_parts(self, out);
        for field in FIELDS {
            let json = field.json(self);
            (!json.is_null()).then(|| json.to_string()).put(out);
        }
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let mut entity = Entity::empty(Shelved::take(bytes)?);
        take_parts(&mut entity, bytes)?;
        for field in FIELDS {
            let json: Option<String> = Shelved::take(bytes)?;
            if let Some(json) = json {
                field.set(&mut entity, &serde_json::from_str(&json).ok()?).then_some(())?;
            }
        }
        Some(entity)
    }
}

impl Shelved for Record {
    fn put(&self, out: &mut Vec<u8>) {
        (self.kind as u8).put(out);
        self.place.item.put(out);
        self.place.line.put(out);
        for shape in self.kind.shape().fields() {
            match self.field(shape.name) {
                None => 0_u8.put(out),
                Some(Field::Text(text)) => {
                    1_u8.put(out);
                    text.put(out);
                }
                Some(Field::Number(number)) => {
                    2_u8.put(out);
                    number.put(out);
                }
                Some(Field::Flag(flag)) => {
                    3_u8.put(out);
                    flag.put(out);
                }
            }
        }
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let kind = RecordKind::all().nth(usize::from(u8::take(bytes)?))?;
        let mut record = Record::new(kind);
        record.place = Place { item: Shelved::take(bytes)?, line: Shelved::take(bytes)? };
        for shape in kind.shape().fields() {
            let field = match u8::take(bytes)? {
                0 => continue,
                1 => Field::Text(Shelved::take(bytes)?),
                2 => Field::Number(Shelved::take(bytes)?),
                _ => Field::Flag(Shelved::take(bytes)?),
            };
            record.set(shape.name, Some(field));
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::shelf::Items;
    use store::model::{Kind, Time};

    #[test]
    fn what_is_laid_on_a_shelf_is_taken_from_it_unchanged() {
        let text = |name: &str| Some(name.to_owned());
        let entity = |number: i64| Entity {
            id: "an id".to_owned(),
            reference_id: format!("ABC-REQ-{number}"),
            project: "ABC".to_owned(),
            project_id: "a project".to_owned(),
            number,
            title: text("A title"),
            // More than is read at once.
            description: Some("Some words.\n".repeat(10_000)),
            rationale: text("\"Because\""),
            priority: Some(2),
            labels: vec!["one".to_owned(), "two".to_owned()],
            status: text("Draft"),
            epic_id: text("epic id"),
            epic: text("EP-1"),
            user_story_id: text("story id"),
            user_story: text("US-1"),
            acceptance_criteria_id: text("criterion id"),
            acceptance_criteria: text("AC-1"),
            type_id: text("type id"),
            type_name: text("Functional"),
            creator_id: "creator id".to_owned(),
            creator: "creator".to_owned(),
            author: text("author"),
            assignee_id: text("assignee id"),
            assignee: text("assignee"),
            version: 3,
            content_version: 2,
            created_at: Time::from_microseconds(1),
            updated_at: Time::from_microseconds(2),
            deleted_at: Some(Time::from_microseconds(3)),
            deletion_id: text("deletion id"),
            purged_at: Some(Time::from_microseconds(4)),
            kind: Kind::Requirement,
        };
        let planned = |number: i64| Planned {
            row: Some(number as usize),
            before: [None, Some(entity(number)), Some(Entity { title: None, ..entity(number) })]
                [number as usize % 3]
                .clone(),
            entity: entity(number),
            brings_number: number % 2 == 0,
            aliases: ["jira:A-1".to_owned(), format!("b:{number}")][..number as usize % 3].to_vec(),
        };
        let mut items = Items::with_room(101);
        for number in (0..100).rev() {
            items.put(number, &planned(number as i64)).expect("a temporary file");
        }
        for number in [0, 99, 50, 51, 52, 3, 2, 1, 98] {
            let found: Planned = items.get(number).expect("a temporary file");
            assert!(found == planned(number as i64), "{number}");
        }
        assert!(!items.has(100) && !items.has(101) && items.get::<Planned>(100).is_err());
    }
}
