//! The arguments of creates and updates, generated from the table of fields (`store/src/entity/field.rs`). Fields are not nested
//! with `flatten`, because errors would then not name them.

use serde::Serialize;
use serde_json::{Value, json};
use store::model::Kind;

use crate::input::{Labels, Number, Text, shortened};

/// Fields that agents set in requirements, if at all: tools for other kinds do not list them, because each listed
/// argument costs tokens in every session.
pub(crate) const RARE: &[&str] = &["rationale", "labels"];

/// On the command line the priority is medium unless somebody says otherwise, as in an import.
pub(crate) const MEDIUM: &[(&str, &str)] = &[("priority", "3")];

/// The conversion of an argument for the store.
pub(crate) trait Stored {
    /// The stored type.
    type In;
    /// The value to store.
    fn stored(&self) -> Self::In;
}

impl<const MIN: usize, const MAX: usize> Stored for Text<MIN, MAX> {
    type In = Option<String>;

    fn stored(&self) -> Option<String> {
        Some(self.into())
    }
}

impl<const MIN: i64, const MAX: i64> Stored for Number<MIN, MAX> {
    type In = Option<i64>;

    fn stored(&self) -> Option<i64> {
        Some(self.0)
    }
}

impl Stored for Labels {
    type In = Vec<String>;

    fn stored(&self) -> Vec<String> {
        self.0.clone()
    }
}

/// An argument that can be parsed from text.
trait Parsed: Stored + Sized {
    /// The argument, or the error in the text.
    fn parsed(text: String) -> Result<Self, String>;
}

impl<const MIN: usize, const MAX: usize> Parsed for Text<MIN, MAX> {
    fn parsed(text: String) -> Result<Self, String> {
        Text::new(text)
    }
}

impl<const MIN: i64, const MAX: i64> Parsed for Number<MIN, MAX> {
    fn parsed(text: String) -> Result<Self, String> {
        match text.trim().parse() {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(Number(number)),
            _ => Err(format!("expected {MIN} to {MAX}, found {}", shortened(&text))),
        }
    }
}

impl Parsed for Labels {
    fn parsed(text: String) -> Result<Self, String> {
        Labels::new(text.split(',').filter(|label| !label.trim().is_empty()).map(str::to_owned))
    }
}

/// The value of a field of a kind from a text, as in a row of a file, or the error in it.
pub(crate) fn parsed(kind: Kind, name: &str, text: String) -> Result<Value, String> {
    fn value<T: Parsed<In: Serialize>>(text: String) -> Result<Value, String> {
        Ok(json!(T::parsed(text)?.stored()))
    }
    macro_rules! parse {
        ($($need:ident $field:ident: $type:ident, $about:literal;)*) => {
            match name {
                $(stringify!($field) => value::<crate::input::$type>(text),)*
                _ => Err("is not a field of this kind".to_owned()),
            }
        };
    }
    match kind {
        Kind::AcceptanceCriteria => store::fields_of!(acceptance_criteria parse),
        Kind::SteeringDocument => store::fields_of!(steering_document parse),
        _ => store::fields_of!(work parse),
    }
}

/// Declares the arguments of a create: those named, and the fields of a kind. `fill` sets them in an entity.
macro_rules! create_arguments {
    ($kind:ident: $(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        store::fields_of! { $kind create_with [$(#[$about])*] $name { $($own)* } }
    };
}
pub(crate) use create_arguments;

macro_rules! create_with {
    ([$(#[$about:meta])*] $name:ident { $($own:tt)* }
        $($need:ident $field:ident: $type:ident, $field_about:literal;)*) => {
        $(#[$about])*
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($own)*
            $(#[doc = $field_about] $field: $crate::entity::arguments::created!($need $type),)*
        }

        impl $name {
            fn fill(&self, entity: &mut store::entity::Entity) {
                use $crate::entity::arguments::Stored as _;
                $($crate::entity::arguments::fill!($need self.$field, entity.$field);)*
            }
        }
    };
}
pub(crate) use create_with;

macro_rules! created {
    (must $type:ident) => { $crate::input::$type };
    (may $type:ident) => { Option<$crate::input::$type> };
}
pub(crate) use created;

macro_rules! fill {
    (must $given:expr, $field:expr) => {
        $field = $given.stored()
    };
    (may $given:expr, $field:expr) => {
        if let Some(given) = &$given {
            $field = given.stored();
        }
    };
}
pub(crate) use fill;

/// Declares the arguments of an update: those named, the fields of a kind, and the expected version. `edit` changes an entity.
macro_rules! update_arguments {
    ($kind:ident: $(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        store::fields_of! { $kind update_with [$(#[$about])*] $name { $($own)* } }
    };
}
pub(crate) use update_arguments;

macro_rules! update_with {
    ([$(#[$about:meta])*] $name:ident { $($own:tt)* }
        $($need:ident $field:ident: $type:ident, $field_about:literal;)*) => {
        $(#[$about])*
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($own)*
            $(
                #[doc = $crate::entity::arguments::about!($need $field_about)]
                #[serde(default)]
                $field: $crate::entity::arguments::changed!($need $type),
            )*
            /// Reject the change if the current version differs.
            expected_version: Option<$crate::input::Version>,
        }

        impl $name {
            fn edit(&self, entity: &mut store::entity::Entity) {
                use $crate::entity::arguments::Stored as _;
                $($crate::entity::arguments::edit!($need self.$field, entity.$field);)*
            }
        }
    };
}
pub(crate) use update_with;

macro_rules! about {
    (must $about:literal) => {
        $about
    };
    (may $about:literal) => {
        concat!($about, " Null clears it.")
    };
}
pub(crate) use about;

macro_rules! changed {
    (must $type:ident) => { $crate::input::Set<$crate::input::$type> };
    (may $type:ident) => { $crate::input::Patch<$crate::input::$type> };
}
pub(crate) use changed;

macro_rules! edit {
    (must $given:expr, $field:expr) => {
        if let Some(given) = &$given.0 {
            $field = given.stored();
        }
    };
    (may $given:expr, $field:expr) => {
        match &$given {
            $crate::input::Patch::Absent => {}
            $crate::input::Patch::Null => $field = Default::default(),
            $crate::input::Patch::Value(given) => $field = given.stored(),
        }
    };
}
pub(crate) use edit;

/// Declares the arguments of an update of epics, stories and requirements: common arguments in addition to their fields.
/// `apply` changes
/// an entity.
macro_rules! update_work {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $crate::entity::arguments::update_arguments! {
            work:
            $(#[$about])*
            $name {
                $($own)*
                /// The status, in any case.
                #[serde(default)]
                status: $crate::input::Set<$crate::input::Text<1, 50>>,
                /// Who works on it: a user's id or name; null for nobody.
                #[serde(default)]
                assignee_id: $crate::input::Patch<$crate::input::Text<1, 100>>,
            }
        }

        impl $name {
            fn apply(
                &self,
                cx: &mut $crate::context::Cx<'_, '_>,
                entity: &mut store::entity::Entity,
            ) -> $crate::error::Result<()> {
                self.edit(entity);
                if let Some(status) = &self.status.0 {
                    $crate::entity::set_status(cx, entity, status.as_str())?;
                }
                $crate::entity::reassign(cx, entity, &self.assignee_id)
            }
        }
    };
}
pub(crate) use update_work;
