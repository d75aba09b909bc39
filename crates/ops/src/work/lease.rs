//! The names of leases, and the checks of their holders.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::json;
use store::entity::Entity;
use store::model::{Reference, Time};
use store::thread::lease::{self, KIND, Lease};
use store::thread::text::{self, CitableText};
use trace::managed::text_of;

use super::paths;
use crate::caller::Caller;
use crate::context::{Cx, Subject};
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Id, shortened};
use crate::thread::stale;

/// The name of a lease: the reference id and the fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    reference: Reference,
    fence: i64,
}

impl<'de> Deserialize<'de> for LeaseName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        let parts = text.trim().rsplit_once('.');
        let read = parts.and_then(|(reference, fence)| {
            let fence = fence.parse().ok().filter(|fence| *fence >= 1)?;
            Some(LeaseName { reference: Reference::parse(reference)?, fence })
        });
        read.ok_or_else(|| {
            let found = shortened(&text);
            de::Error::custom(format!("expected a lease such as REQ-012.3, found {found:?}"))
        })
    }
}

impl JsonSchema for LeaseName {
    fn schema_name() -> Cow<'static, str> {
        "LeaseName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 6, "maxLength": 80 })
    }
}

/// A lease in answers.
#[derive(Serialize, JsonSchema)]
pub struct LeaseShown {
    /// Its name for later calls: the reference id, and a number that increases with every lease.
    pub lease: String,
    /// The requirement.
    pub reference_id: String,
    /// When it expires, by the clock of the database.
    pub expires_at: Time,
    /// The latest time to which it can be renewed.
    pub ends_at: Time,
    /// The claimed files and folders.
    pub paths: Vec<String>,
}

impl LeaseShown {
    /// Shows a lease.
    pub fn new(lease: &Lease) -> LeaseShown {
        LeaseShown {
            lease: name_of(lease),
            reference_id: lease.reference_id.clone(),
            expires_at: lease.expires_at,
            ends_at: lease.ends_at(),
            paths: shown_paths(lease),
        }
    }
}

/// The paths of a lease, for people.
pub fn shown_paths(lease: &Lease) -> Vec<String> {
    paths::from_row(&lease.paths).iter().map(|path| path.shown().to_owned()).collect()
}

/// The name of a lease.
pub fn name_of(lease: &Lease) -> String {
    format!("{}.{}", lease.reference_id, lease.fence)
}

/// The holder by which leases are limited: a token, or a user.
pub fn holder(caller: &Caller) -> String {
    caller.token_id.clone().unwrap_or_else(|| format!("user {}", caller.user_id))
}

/// Who holds a lease, for messages.
pub fn held_by(lease: &Lease) -> String {
    let token = lease.token.as_ref().map(|token| format!(" (token {token})")).unwrap_or_default();
    format!("{}{token} holds {} until {}", lease.username, lease.reference_id, lease.expires_at)
}

/// A requirement that was leased, and by whom.
pub struct Taken {
    /// The requirement.
    pub entity: Entity,
    /// The named lease, or a later one.
    pub lease: Lease,
}

impl LeaseName {
    /// Finds the requirement with its current lease.
    pub fn find(&self, cx: &mut Cx<'_, '_>) -> Result<Taken> {
        let entity = cx.any_of_kind("lease", &Id(self.reference.clone()), KIND)?;
        match lease::of_entity(cx.tx, &entity.id)? {
            Some(lease) if lease.fence >= self.fence => Ok(Taken { entity, lease }),
            found => {
                let last = match found {
                    Some(lease) => format!("the last lease of it is {}", name_of(&lease)),
                    None => "nobody has ever taken it".to_owned(),
                };
                let message = format!("there is no lease {}.{}: {last}", entity.reference_id, self.fence);
                Err(Error::new(ErrorKind::NotFound, message).about("lease"))
            }
        }
    }

    /// The same, if the named lease is valid, whoever holds it.
    pub fn find_holding(&self, cx: &mut Cx<'_, '_>) -> Result<Taken> {
        let taken = self.find(cx)?;
        self.check_holds(&taken.lease)?;
        Ok(taken)
    }

    /// The same, if it is the caller's.
    pub fn find_own(&self, cx: &mut Cx<'_, '_>) -> Result<Taken> {
        let taken = self.find(cx)?;
        let lease = &taken.lease;
        if lease.fence == self.fence && lease.user_id != cx.caller()?.user_id {
            let message = format!("{} is not yours: {}", name_of(lease), held_by(lease));
            return Err(Error::forbidden(message).about("lease"));
        }
        self.check_holds(lease)?;
        Ok(taken)
    }

    /// Rejects a lease that has ended, and names the current holder.
    fn check_holds(&self, present: &Lease) -> Result<()> {
        let name = format!("{}.{}", present.reference_id, self.fence);
        let message = match (present.fence == self.fence, present.holds) {
            (true, true) => return Ok(()),
            (true, false) => match &present.broken_by {
                Some(by) => format!("{name} was broken by {by} at {}", present.expires_at),
                None => format!("{name} ended at {}", present.expires_at),
            },
            (false, true) => format!("{name} has ended: {} as {}", held_by(present), name_of(present)),
            (false, false) => {
                let by = &present.username;
                format!(
                    "{name} has ended: {by} took the work since, as {}, until {}",
                    name_of(present),
                    present.expires_at
                )
            }
        };
        let held_by = present.holds.then_some(&present.username);
        let advice =
            if present.holds { "" } else { "; nobody holds it now, and `next_work` may take it again" };
        let error = Error::conflict(message + advice).about("lease");
        Err(error.with(json!({ "held_by": held_by, "until": present.expires_at })))
    }
}

/// The lease that a call has just changed.
pub fn reread(cx: &mut Cx<'_, '_>, entity_id: &str) -> Result<Lease> {
    let found = lease::of_entity(cx.tx, entity_id)?;
    found.ok_or_else(|| Error::new(ErrorKind::InternalError, "a lease that was written is not there"))
}

/// The error for a lease that ended between reading and writing.
pub fn ended(cx: &mut Cx<'_, '_>, name: &LeaseName, entity_id: &str) -> Result<Error> {
    let lease = reread(cx, entity_id)?;
    let ended = name.check_holds(&lease).err();
    Ok(ended.unwrap_or_else(|| Error::conflict(format!("{} has just ended", name_of(&lease)))))
}

/// The difference between a requirement's text and what the holder last got, if any. Afterwards the holder counts as informed.
pub fn changed(cx: &mut Cx<'_, '_>, taken: &Taken) -> Result<Option<String>> {
    let Taken { entity, lease } = taken;
    if entity.content_version <= lease.content_version {
        return Ok(None);
    }
    let Some(now) = text::of_ids(cx.tx, &[&entity.id])?.pop() else { return Ok(None) };
    lease::note_told(cx.tx, &entity.id, lease.fence, entity.content_version)?;
    let Some((title, description)) = stale::text_at(cx, &now, lease.content_version)? else {
        return Ok(None);
    };
    let whole = |title: &str, description: &str| match description.is_empty() {
        true => title.to_owned(),
        false => format!("{title}\n{}", text_of(title, description)),
    };
    Ok(difference(&whole(&title, &description), &whole(&now.title, &now.description)))
}

/// How many words around a difference are shown.
const WORDS_AROUND: usize = 12;
/// How much of the old and the new text is shown.
const CHANGED_CHARACTERS_MAX: usize = 2_000;

/// The words that differ, with some context: `stop at [-100-]{+95+} degrees`.
fn difference(before: &str, after: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_whitespace().collect(), after.split_whitespace().collect());
    if old == new {
        return None;
    }
    let n_start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let ends = old[n_start..].iter().rev().zip(new[n_start..].iter().rev());
    let n_end = ends.take_while(|(old, new)| old == new).count();
    let mut parts = Vec::new();
    if n_start > WORDS_AROUND {
        parts.push("…".to_owned());
    }
    parts.push(new[n_start.saturating_sub(WORDS_AROUND)..n_start].join(" "));
    let part = |words: &[&str], (open, close): (&str, &str)| match words.join(" ") {
        text if text.is_empty() => text,
        text => match words::cut(&text, CHANGED_CHARACTERS_MAX) {
            short if short.len() < text.len() => format!("{open}{short}…{close}"),
            _ => format!("{open}{text}{close}"),
        },
    };
    let removed = part(&old[n_start..old.len() - n_end], ("[-", "-]"));
    let added = part(&new[n_start..new.len() - n_end], ("{+", "+}"));
    parts.push(removed + &added);
    let behind = &new[new.len() - n_end..];
    parts.push(behind[..behind.len().min(WORDS_AROUND)].join(" "));
    if behind.len() > WORDS_AROUND {
        parts.push("…".to_owned());
    }
    parts.retain(|part| !part.is_empty());
    Some(parts.join(" "))
}

/// What a revision of a lease is about.
pub fn subject(entity: &Entity) -> Subject<'_> {
    Subject {
        project_id: Some(&entity.project_id),
        kind: entity.kind.name(),
        id: &entity.id,
        reference_id: Some(&entity.reference_id),
        version: entity.version,
    }
}

/// Records a change of a lease in the history.
pub fn record(cx: &mut Cx<'_, '_>, entity: &Entity, lease: &Lease, what: &str) -> Result<()> {
    let after = json!({ "lease": format!("{} {what}", name_of(lease)) });
    cx.record(&subject(entity), None, Some(&after))
}

/// Whether a text can still be worked on.
pub fn is_open(text: &CitableText) -> bool {
    text.kind == KIND && !text.is_deleted && text.outcome.is_none()
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_has_some_words_around_it() {
        let check = |before: &str, after: &str, expected: Option<&str>| {
            assert_eq!(difference(before, after).as_deref(), expected);
        };
        check("stop at 100 degrees", "stop at 95 degrees", Some("stop at [-100-]{+95+} degrees"));
        check("stop  at\n100", "stop at 100", None);
        check("", "new", Some("{+new+}"));
        let around = |middle: &str| format!("{} {middle} {}", "a ".repeat(20), "b ".repeat(20));
        let expected = format!("… {}[-x-]{{+y+}} {}…", "a ".repeat(12), "b ".repeat(12));
        check(&around("x"), &around("y"), Some(&expected));
    }
}
