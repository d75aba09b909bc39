//! The editable fields, each described once. The contents of an entity, its columns, the arguments of operations, what
//! makes links suspect, what is searched, erased, exchanged and undone: all are derived from the two tables here.
//!
//! A new field is a line in each table, a column in a migration, and a line in `exchange/src/kind.rs`.

use serde_json::{Value as Json, json};

use super::Entity;
use crate::model::Kind;
use crate::value::{Column, Value};

/// Every field with its type, for the named macro.
macro_rules! every_field {
    ($($then:tt)+) => {
        $($then)+! {
            /// The title; acceptance criteria have none.
            title: Option<String> = Nature { makes_suspect: true, is_text: true },
            /// The text, in Markdown.
            description: Option<String> = Nature { makes_suspect: true, is_text: true },
            /// Why it is wanted, in Markdown.
            rationale: Option<String> = Nature { makes_suspect: false, is_text: true },
            /// 1 critical, 2 high, 3 medium, 4 low.
            priority: Option<i64> = Nature { makes_suspect: false, is_text: false },
            /// Words to find it by.
            labels: Vec<String> = Nature { makes_suspect: false, is_text: true },
        }
    };
}
pub(crate) use every_field;

/// The fields of a kind as arguments: whether they are required, the type in `ops::input`, and their documentation.
/// `work` means epics, user stories and requirements.
#[macro_export]
macro_rules! fields_of {
    (work $then:ident $($given:tt)*) => {
        $then! {
            $($given)*
            must title: Title, "The title.";
            must priority: Priority, "1 critical, 2 high, 3 medium, 4 low.";
            may description: Description, "The text, in Markdown.";
            may rationale: Description, "Why it is wanted, in Markdown.";
            may labels: Labels, "Words to find it by, such as `security`.";
        }
    };
    (acceptance_criteria $then:ident $($given:tt)*) => {
        $then! {
            $($given)*
            must description: CriterionText, "What must hold, in Markdown.";
            may rationale: Description, "Why it is wanted, in Markdown.";
            may labels: Labels, "Words to find it by, such as `security`.";
        }
    };
    (steering_document $then:ident $($given:tt)*) => {
        $then! {
            $($given)*
            must title: Title, "The title.";
            may description: Description, "The text, in Markdown.";
            may labels: Labels, "Words to find it by, such as `security`.";
        }
    };
}

/// The consequences of changing a field.
#[derive(Clone, Copy, Debug)]
pub struct Nature {
    /// Whether links to an entity become suspect.
    pub makes_suspect: bool,
    /// Whether it is the entity's own text, which is searched, and erased with the entity.
    pub is_text: bool,
}

/// A field.
pub struct Field {
    /// Its name, in the store and everywhere else.
    pub name: &'static str,
    /// The consequences of changing it.
    pub nature: Nature,
    json: fn(&Entity) -> Json,
    set: fn(&mut Entity, &Json) -> bool,
    value: for<'a> fn(&'a Entity) -> Value<'a>,
}

impl Field {
    /// The value in an entity, null if it is empty.
    pub fn json(&self, entity: &Entity) -> Json {
        (self.json)(entity)
    }

    /// Sets the value in an entity, which null clears; false if it has another type.
    pub fn set(&self, entity: &mut Entity, json: &Json) -> bool {
        (self.set)(entity, json)
    }

    pub(crate) fn value<'a>(&self, entity: &'a Entity) -> Value<'a> {
        (self.value)(entity)
    }

    /// Whether a kind has it; then whether it is required.
    pub fn is_needed(&self, kind: Kind) -> Option<bool> {
        needs(kind).iter().find(|(name, _)| *name == self.name).map(|(_, must)| *must)
    }
}

macro_rules! table {
    ($($(#[$about:meta])* $name:ident: $type:ty = $nature:expr,)*) => {
        /// All fields, in the order in which they are shown.
        pub const FIELDS: &[Field] = &[$(Field {
            name: stringify!($name),
            nature: $nature,
            json: |entity| entity.$name.json(),
            set: |entity, json| Content::parse(json).map(|new| entity.$name = new).is_some(),
            value: |entity| entity.$name.value(),
        }),*];
    };
}
every_field!(table);

/// The fields of a kind, and whether they are required.
fn needs(kind: Kind) -> &'static [(&'static str, bool)] {
    macro_rules! must {
        (must) => {
            true
        };
        (may) => {
            false
        };
    }
    macro_rules! needs {
        ($($need:ident $name:ident: $type:ident, $about:literal;)*) => {
            &[$((stringify!($name), must!($need))),*]
        };
    }
    match kind {
        Kind::Epic | Kind::UserStory | Kind::Requirement => fields_of!(work needs),
        Kind::AcceptanceCriteria => fields_of!(acceptance_criteria needs),
        Kind::SteeringDocument => fields_of!(steering_document needs),
        Kind::Prompt | Kind::Comment => &[],
    }
}

/// The type of a field.
pub(crate) trait Content: Sized {
    /// Whether nothing is shown of it.
    fn is_empty(&self) -> bool;
    fn json(&self) -> Json;
    fn parse(json: &Json) -> Option<Self>;
    fn value(&self) -> Value<'_>;
}

impl Content for Option<String> {
    fn is_empty(&self) -> bool {
        self.is_none()
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn parse(json: &Json) -> Option<Self> {
        if json.is_null() { Some(None) } else { json.as_str().map(|text| Some(text.to_owned())) }
    }

    fn value(&self) -> Value<'_> {
        self.into()
    }
}

impl Content for Option<i64> {
    fn is_empty(&self) -> bool {
        self.is_none()
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn parse(json: &Json) -> Option<Self> {
        if json.is_null() { Some(None) } else { json.as_i64().map(Some) }
    }

    fn value(&self) -> Value<'_> {
        (*self).into()
    }
}

impl Content for Vec<String> {
    fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    fn json(&self) -> Json {
        if self.as_slice().is_empty() { Json::Null } else { json!(self) }
    }

    fn parse(json: &Json) -> Option<Self> {
        if json.is_null() {
            return Some(Vec::new());
        }
        json.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    }

    fn value(&self) -> Value<'_> {
        Value::List(self)
    }
}

/// A list is stored as a JSON array, or null.
impl Column for Vec<String> {
    fn read(row: &crate::value::Row<'_>, index: usize) -> crate::error::Result<Self> {
        match row.get::<Option<String>>(index)? {
            Some(text) => serde_json::from_str(&text).map_err(crate::error::Error::internal),
            None => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIELDS, needs};
    use crate::model::Kind;

    #[test]
    fn every_field_belongs_to_a_kind_and_is_described() {
        for field in FIELDS {
            assert!(Kind::ALL.into_iter().any(|kind| field.is_needed(kind).is_some()), "{}", field.name);
        }
        for kind in Kind::ALL {
            for (name, _) in needs(kind) {
                assert!(FIELDS.iter().any(|field| field.name == *name), "{name} of {kind}");
            }
        }
    }
}
