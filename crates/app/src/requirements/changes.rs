//! Translates changes of the store for agents: which resources and which lists have changed.

use std::collections::BTreeSet;

use mcp::Change;
use serde_json::Value;
use store::entity::{self, Entity};
use store::model::{Kind, Reference};
use store::{Tx, revision};

use super::uri::SCHEMES;

/// The changes for agents. Resources are in the spelling of [`canonical`], once by id and once by reference id.
pub fn of(tx: &mut Tx<'_>, changes: &[revision::Change]) -> store::Result<Vec<Change>> {
    let mut found = Found::default();
    for change in changes {
        found.add(tx, change)?;
    }
    let resources = if found.everything { Change::EveryResource } else { Change::Resources };
    let lists = [(found.prompts, Change::Prompts), (found.resources, resources)];
    let lists = lists.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, change)| change);
    Ok(lists.chain(found.uris.into_iter().map(Change::Resource)).collect())
}

/// The canonical URI for change notifications: ids in our spelling, lists without their filters.
pub fn canonical(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else { return uri.to_owned() };
    let scheme = scheme.to_ascii_lowercase();
    let path = rest.split_once('?').map_or(rest, |(path, _)| path);
    if SCHEMES.iter().all(|(name, _)| *name != scheme) {
        return format!("{scheme}://{path}");
    }
    let (id, part) = path.split_once('/').map_or((path, None), |(id, part)| (id, Some(part)));
    let id = crate::spexus::http::decode(id, false).unwrap_or_else(|| id.to_owned());
    let id = Reference::parse(&id).map_or(id, |reference| reference.to_string());
    match part {
        Some(part) => format!("{scheme}://{id}/{part}"),
        None => format!("{scheme}://{id}"),
    }
}

#[derive(Default)]
struct Found {
    uris: BTreeSet<String>,
    prompts: bool,
    resources: bool,
    /// Whether the store was replaced.
    everything: bool,
}

impl Found {
    fn add(&mut self, tx: &mut Tx<'_>, change: &revision::Change) -> store::Result<()> {
        if change.entity_kind == revision::WHOLE_STORE {
            (self.prompts, self.resources, self.everything) = (true, true, true);
            return Ok(());
        }
        let fields = revision::fields_of(tx, &change.entity_id, change.version)?;
        let fields: Value = fields.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == change.entity_kind);
        let Some((scheme, kind)) = SCHEMES.iter().find(|(_, of)| Some(*of) == kind) else {
            if change.entity_kind == "relationship" {
                for end in ["source_requirement_id", "target_requirement_id", "source", "target"] {
                    self.each(&fields[end], "requirement", "/relationships");
                }
            }
            return Ok(());
        };
        let is_edit = ops::find(&change.operation).is_some_and(|entry| entry.change == ops::Change::Edits);
        self.resources |= change.version == 1 || !is_edit;
        self.prompts |= *kind == Kind::Prompt;
        for id in std::iter::once(&change.entity_id).chain(&change.reference_id) {
            self.uris.insert(format!("{scheme}://{id}"));
            if *kind == Kind::Epic {
                self.uris.insert(format!("{scheme}://{id}/hierarchy"));
            }
        }
        let (list, part) = match kind {
            Kind::Epic => ("epics://list", ""),
            Kind::UserStory => ("user-stories://list", ""),
            Kind::Requirement => ("requirements://search", "/requirements"),
            Kind::AcceptanceCriteria => ("", "/acceptance-criteria"),
            _ => return Ok(()),
        };
        if !list.is_empty() {
            self.uris.insert(list.to_owned());
        }
        // The current parent, and the previous one.
        let now = entity::find(tx, &Reference::Id(change.entity_id.clone()))?;
        let before = |name: &str| fields[name][0].as_str().map(str::to_owned);
        for story in [now.as_ref().and_then(|now| now.user_story_id.clone()), before("user_story_id")] {
            if let Some(story) = find(tx, story)? {
                self.both(&story, "user-story", part);
                self.hierarchy_of(tx, story.epic_id)?;
            }
        }
        for epic in [now.and_then(|now| now.epic_id), before("epic_id")] {
            self.hierarchy_of(tx, epic)?;
        }
        Ok(())
    }

    fn hierarchy_of(&mut self, tx: &mut Tx<'_>, epic: Option<String>) -> store::Result<()> {
        if let Some(epic) = find(tx, epic)? {
            self.both(&epic, "epic", "/hierarchy");
        }
        Ok(())
    }

    fn both(&mut self, entity: &Entity, scheme: &str, part: &str) {
        for id in [&entity.id, &entity.reference_id] {
            self.uris.insert(format!("{scheme}://{id}{part}"));
        }
    }

    /// The ids before and after.
    fn each(&mut self, ids: &Value, scheme: &str, part: &str) {
        for id in ids.as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.uris.insert(format!("{scheme}://{id}{part}"));
        }
    }
}

fn find(tx: &mut Tx<'_>, id: Option<String>) -> store::Result<Option<Entity>> {
    match id {
        Some(id) => entity::find(tx, &Reference::Id(id)),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn a_resource_has_one_spelling() {
        for (uri, expected) in [
            ("epic://ep-1", "epic://EP-001"),
            ("EPIC://EP-0001/hierarchy", "epic://EP-001/hierarchy"),
            ("requirement://shop-req-12", "requirement://SHOP-REQ-012"),
            (
                "requirement://0197F0C4-0000-7000-8000-000000000001",
                "requirement://0197f0c4-0000-7000-8000-000000000001",
            ),
            ("epics://list?status=Done", "epics://list"),
            ("requirements://search?query=a&type=", "requirements://search"),
            ("prompt://house%20rules", "prompt://house rules"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(canonical(uri), expected, "{uri}");
        }
    }
}
