//! Operations that types of requirements and of relationships share.

use store::types::{Type, same_name};

use super::record;
use crate::context::{Cx, check_version, overtaken};
use crate::error::{Error, Result};
use crate::input::{Limit, Offset, Set, Text, Version};
use crate::page::{Cursor, Page, page, window_from};

/// The name of a type.
pub type Name = Text<1, 100>;

/// The operations of both: listing, reading and deleting.
macro_rules! operations {
    (
        $type:ident, $argument:ident, $words:literal, $columns:expr,
        $(#[$list_about:meta])* $list:ident,
        $(#[$get_about:meta])* $get:ident,
        $(#[$delete_about:meta])* $delete:ident,
    ) => {
        crate::operation::versioned_output!($type, version, id);

        $(#[$list_about])*
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $list {
            /// How many items to return; default 50.
            limit: Option<Limit>,
            /// How many items to skip.
            offset: Option<Offset>,
            /// Continue after a page: its `next_cursor`.
            cursor: Option<Cursor>,
        }

        impl Operation for $list {
            type Output = Page<$type>;
            const NAME: &'static str = concat!("list_", stringify!($argument), "s");
            const COMMANDS: &'static [Command] = &[command(concat!($words, " list"))];
            const ROUTES: &'static [Route] = &[get(concat!("/config/", $words, "s"))];
            const EFFECT: Effect = Effect::Reads;
            const COLUMNS: &'static [Columns] = &[(None, $columns)];

            fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<$type>> {
                types::list(cx, self.limit, self.offset, self.cursor.as_ref())
            }
        }

        $(#[$get_about])*
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $get {
            /// Its name or id.
            $argument: Name,
        }

        impl Operation for $get {
            type Output = $type;
            const NAME: &'static str = concat!("get_", stringify!($argument));
            const COMMANDS: &'static [Command] = &[command(concat!($words, " show"))];
            const ROUTES: &'static [Route] =
                &[get(concat!("/config/", $words, "s/{", stringify!($argument), "}"))];
            const EFFECT: Effect = Effect::Reads;
            const POSITIONAL: &'static [&'static str] = &[stringify!($argument)];

            fn run(&self, cx: &mut Cx<'_, '_>) -> Result<$type> {
                types::find(cx, self.$argument.as_str())
            }
        }

        $(#[$delete_about])*
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $delete {
            /// Its name or id.
            $argument: Name,
            /// Reject if the current version differs.
            expected_version: Option<Version>,
        }

        impl Operation for $delete {
            type Output = $type;
            const NAME: &'static str = concat!("delete_", stringify!($argument));
            const COMMANDS: &'static [Command] = &[command(concat!($words, " delete"))];
            const ROUTES: &'static [Route] =
                &[delete(concat!("/config/", $words, "s/{", stringify!($argument), "}"))];
            const EFFECT: Effect = Effect::Administers;
            const POSITIONAL: &'static [&'static str] = &[stringify!($argument)];

            fn run(&self, cx: &mut Cx<'_, '_>) -> Result<$type> {
                types::delete(cx, &self.$argument, self.expected_version)
            }
        }
    };
}

pub(super) use operations;

/// A page of types.
pub fn list<T: Type>(
    cx: &mut Cx<'_, '_>,
    limit: Option<Limit>,
    offset: Option<Offset>,
    cursor: Option<&Cursor>,
) -> Result<Page<T>> {
    let all = T::all(cx.tx)?;
    let (total, window) = (all.len() as i64, window_from(limit, offset, cursor)?);
    let shown = all.into_iter().skip(window.1 as usize).take(window.0 as usize).collect();
    Ok(page(shown, total, window))
}

/// The type with this id or name.
pub fn find<T: Type>(cx: &mut Cx<'_, '_>, wanted: &str) -> Result<T> {
    let known = T::all(cx.tx)?.into_iter().find(|known| is_meant(known, wanted));
    known.ok_or_else(|| Error::not_found(&called::<T>(), wanted))
}

/// The type that a field names, or an error with the possible ones.
pub(crate) fn named<T: Type>(cx: &mut Cx<'_, '_>, field: &str, wanted: &str) -> Result<T> {
    let mut known = T::all(cx.tx)?;
    match known.iter().position(|known| is_meant(known, wanted)) {
        Some(index) => Ok(known.swap_remove(index)),
        None => Err(Error::not_allowed(field, wanted, known.iter().map(Type::name))),
    }
}

/// Changes the type that a text names, and renames it if requested.
pub fn edit<T: Type>(
    cx: &mut Cx<'_, '_>,
    wanted: &Name,
    expected: Option<Version>,
    name: &Set<Name>,
    edit: impl FnOnce(&mut Cx<'_, '_>, &T, &mut T) -> Result<()>,
) -> Result<T> {
    let before: T = find(cx, wanted.as_str())?;
    check_version(expected, before.name(), before.version(), &before)?;
    let mut after = before.clone();
    if let Some(name) = &name.0 {
        check_name::<T>(cx, name.as_str(), Some(before.id()))?;
        after.rename(name.into());
    }
    edit(cx, &before, &mut after)?;
    change(cx, before, after)
}

/// Rejects a name that is in use.
pub fn check_name<T: Type>(cx: &mut Cx<'_, '_>, name: &str, own_id: Option<&str>) -> Result<()> {
    let all = T::all(cx.tx)?;
    match all.iter().find(|other| same_name(other.name(), name) && own_id != Some(other.id())) {
        Some(other) => {
            let message = format!("there is already a {} {}", called::<T>(), other.name());
            Err(Error::conflict(message).about("name"))
        }
        None => Ok(()),
    }
}

/// Inserts a new type.
pub(crate) fn add<T: Type>(cx: &mut Cx<'_, '_>, new: T) -> Result<T> {
    new.insert(cx.tx)?;
    record(cx, T::KIND, new.id(), new.version(), None, Some(&new))?;
    Ok(new)
}

/// Stores a changed type, if it differs.
pub(crate) fn change<T: Type>(cx: &mut Cx<'_, '_>, before: T, mut after: T) -> Result<T> {
    if after == before {
        return Ok(before);
    }
    after.go_on(cx.now());
    if !after.update(cx.tx)? {
        return Err(overtaken(before.name()));
    }
    record(cx, T::KIND, after.id(), after.version(), Some(&before), Some(&after))?;
    Ok(after)
}

/// Stores what an import has decided: a new type, or a changed one.
pub(crate) fn put<T: Type>(cx: &mut Cx<'_, '_>, before: Option<T>, after: T) -> Result<T> {
    match before {
        Some(before) => change(cx, before, after),
        None => add(cx, after),
    }
}

/// Deletes the type that a text names, if it is unused.
pub fn delete<T: Type>(cx: &mut Cx<'_, '_>, wanted: &Name, expected: Option<Version>) -> Result<T> {
    let gone: T = find(cx, wanted.as_str())?;
    check_version(expected, gone.name(), gone.version(), &gone)?;
    let used = gone.n_uses(cx.tx)?;
    if used > 0 {
        let users = T::KIND.trim_end_matches("_type");
        let message = format!("{used} {users}s (deleted ones included) have the type {}", gone.name());
        return Err(Error::conflict(message));
    }
    remove(cx, gone)
}

/// Deletes an unused type.
pub(crate) fn remove<T: Type>(cx: &mut Cx<'_, '_>, gone: T) -> Result<T> {
    if !gone.delete(cx.tx)? {
        return Err(overtaken(gone.name()));
    }
    record(cx, T::KIND, gone.id(), gone.version() + 1, Some(&gone), None)?;
    Ok(gone)
}

fn is_meant<T: Type>(known: &T, wanted: &str) -> bool {
    known.id().eq_ignore_ascii_case(wanted) || same_name(known.name(), wanted)
}

/// Its name in messages.
fn called<T: Type>() -> String {
    T::KIND.replace('_', " ")
}
