//! What is done with a type, whether of requirements or of relationships.

use store::types::{Type, same_name};

use super::record;
use crate::context::{Cx, overtaken};
use crate::error::{Error, Result};
use crate::input::{Limit, Offset};
use crate::page::{Cursor, Page, page, window_from};

/// A page of them.
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

/// The one that a text means: its id or its name.
pub fn find<T: Type>(cx: &mut Cx<'_, '_>, wanted: &str) -> Result<T> {
    let known = T::all(cx.tx)?.into_iter().find(|known| is_meant(known, wanted));
    known.ok_or_else(|| Error::not_found(&called::<T>(), wanted))
}

/// The one that a field means, or an error that names those which it could mean.
pub(crate) fn named<T: Type>(cx: &mut Cx<'_, '_>, field: &str, wanted: &str) -> Result<T> {
    let mut known = T::all(cx.tx)?;
    match known.iter().position(|known| is_meant(known, wanted)) {
        Some(index) => Ok(known.swap_remove(index)),
        None => Err(Error::not_allowed(field, wanted, known.iter().map(Type::name))),
    }
}

/// Refuses a name that another one has.
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

/// Writes a new one.
pub(crate) fn add<T: Type>(cx: &mut Cx<'_, '_>, new: T) -> Result<T> {
    new.insert(cx.tx)?;
    record(cx, T::KIND, new.id(), new.version(), None, Some(&new))?;
    Ok(new)
}

/// Writes a changed one, if it differs.
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

/// Writes what an import has decided: a new one, or a changed one.
pub(crate) fn put<T: Type>(cx: &mut Cx<'_, '_>, before: Option<T>, after: T) -> Result<T> {
    match before {
        Some(before) => change(cx, before, after),
        None => add(cx, after),
    }
}

/// Deletes one that nothing has.
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

/// What people call it.
fn called<T: Type>() -> String {
    T::KIND.replace('_', " ")
}
