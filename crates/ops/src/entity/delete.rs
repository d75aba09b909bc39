//! Deleting, restoring and purging. A delete is soft: everything that it removes can be restored at once.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::json;
use store::entity::{self, Below, Entity, Leaf};
use store::model::{Kind, Reference};
use store::relationship::{self, Relationship};
use store::{Mode, comment, types};

use super::change;
use super::read::check_kind;
use crate::comment::{note_deletion, note_restored};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, KindName, Version};
use crate::operation::{
    Change, Command, Effect, Operation, Output, Route, Tool, command, delete, post, tool,
};
use crate::purge::{self, Purged};
use crate::thread::counted;
use crate::versioned::{Versioned as _, new_deletion, record_deleted, record_restored};

/// Delete an epic, user story, acceptance criterion, requirement or steering document.
///
/// An epic with stories, a story with criteria or requirements and a requirement with relationships are only deleted
/// with `force`, including everything below. `dry_run` lists what would be deleted. Deleted entities can be restored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteEntity {
    /// Its UUID or reference id, such as `EP-001`.
    reference: Id,
    /// The expected kind.
    kind: Option<KindName>,
    /// Only list what would be deleted.
    #[serde(default)]
    dry_run: bool,
    /// Delete it even if other entities depend on it.
    #[serde(default)]
    force: bool,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

/// The result of a deletion, or its preview.
#[derive(Serialize, JsonSchema)]
pub struct Deleted {
    /// The reference id of the entity.
    pub reference_id: String,
    /// Whether it is deleted now.
    pub deleted: bool,
    /// How many entities are deleted with it.
    pub with_it: Below,
    /// The reference ids of these entities, the first 100.
    pub references: Vec<String>,
    /// Requirements that remain but lose this criterion until it is restored: the reference ids of the first 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<String>,
}

impl Output for Deleted {}

/// How many reference ids a preview lists.
const LISTED: usize = 100;
/// A larger delete is rejected, because it would block other writers.
const AT_ONCE: i64 = 100_000;
/// An epic, its stories, and what is below them.
const LEVELS: i64 = 3;

impl Operation for DeleteEntity {
    type Output = Deleted;
    const NAME: &'static str = "delete_entity";
    const COMMANDS: &'static [Command] = &[
        command("delete").taking_several("reference"),
        command("epic delete").with(&[("kind", "epic")]),
        command("user-story delete").with(&[("kind", "user_story")]),
        command("acceptance-criteria delete").with(&[("kind", "acceptance_criteria")]),
        command("requirement delete").with(&[("kind", "requirement")]),
        command("steering-document delete").with(&[("kind", "steering_document")]),
    ];
    const ROUTES: &'static [Route] = &[
        delete("/epics/{reference}").with(&[("kind", "epic")]),
        delete("/user-stories/{reference}").with(&[("kind", "user_story")]),
        delete("/acceptance-criteria/{reference}").with(&[("kind", "acceptance_criteria")]),
        delete("/requirements/{reference}").with(&[("kind", "requirement")]),
        delete("/steering-documents/{reference}").with(&[("kind", "steering_document")]),
    ];
    const TOOLS: &'static [Tool] = &[tool("requirements", r#"{"reference": "US-001", "dry_run": true}"#)
        .also(&["delete", "remove"])
        .daily(&["reference", "dry_run", "force"])
        .about("Delete an entity; with force, everything below it, too. Preview with dry_run first.")
        .showing(&["reference", "dry_run", "force"])];
    const EFFECT: Effect = Effect::Destroys;
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Deleted> {
        let mut root = cx.live_entity("reference", &self.reference)?;
        check_kind(&root, self.kind)?;
        if !self.dry_run {
            // Dependents, or their absence, must not change until it is deleted.
            entity::lock_below(cx.tx, &root.id)?;
            root = cx.live_entity("reference", &Id(Reference::Id(root.id)))?;
        }
        root.check_version(cx, self.expected_version)?;
        let members = entity::leaves(cx.tx, &[&root.id], LEVELS, AT_ONCE + 1)?;
        if members.len() as i64 > AT_ONCE {
            return Err(Error::conflict(format!(
                "more than {AT_ONCE} entities are below {}",
                root.reference_id
            )));
        }
        let n_total = if self.dry_run { members.len() } else { 2 * members.len() };
        cx.steps.begin("counting what goes", Some(n_total));
        cx.steps.reach(members.len());
        let (with_it, dependents) = dependents(cx, &root, &members)?;
        let held = held_by(cx, &root)?;
        let mut outcome = Deleted {
            reference_id: root.reference_id.clone(),
            deleted: false,
            with_it,
            references: members.iter().take(LISTED).map(|member| member.reference_id.clone()).collect(),
            released: held.iter().take(LISTED).map(|requirement| requirement.reference_id.clone()).collect(),
        };
        if self.dry_run {
            return Ok(outcome);
        }
        if !dependents.is_empty() && !self.force {
            let named = dependents.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
            let message = format!(
                "{} has {} that would go with it ({named}); with force they go, too",
                root.reference_id,
                counted(dependents.len())
            );
            return Err(Error::conflict(message)
                .with(json!({ "with_it": outcome.with_it, "dependents": dependents })));
        }
        cx.steps.begin("deleting", Some(n_total));
        hold(cx, held, None)?;
        let deletion = new_deletion(cx)?;
        entity::delete(cx.tx, &root, &deletion)?;
        note_members(cx, &deletion.id)?;
        cx.steps.reach(n_total);
        outcome.deleted = true;
        Ok(outcome)
    }
}

fn counted(number: usize) -> String {
    if number == 1 { "one thing".to_owned() } else { format!("{number} things") }
}

/// The dependents of an entity: how many, and the names of those directly or indirectly below.
fn dependents(cx: &mut Cx<'_, '_>, root: &Entity, members: &[Leaf]) -> Result<(Below, Vec<String>)> {
    let (relationships, comments) = entity::count_attached(cx.tx, &root.id)?;
    let mut below = Below { relationships, comments, ..Below::default() };
    let mut names = Vec::new();
    for member in members.iter().filter(|member| member.id != root.id) {
        names.push(member.reference_id.clone());
        match member.kind {
            Kind::UserStory => below.user_stories += 1,
            Kind::AcceptanceCriteria => below.acceptance_criteria += 1,
            _ => below.requirements += 1,
        }
    }
    if root.kind == Kind::Requirement && relationships > 0 {
        let relations = relationship::of(cx.tx, &root.id, 10, 0)?;
        names.extend(
            relations
                .iter()
                .map(|relation| format!("{} {} {}", relation.source, relation.type_name, relation.target)),
        );
    }
    Ok((below, names))
}

/// The requirements of a criterion, including deleted ones. They remain when it is deleted, and only lose it.
fn held_by(cx: &mut Cx<'_, '_>, root: &Entity) -> Result<Vec<Entity>> {
    if root.kind != Kind::AcceptanceCriteria {
        return Ok(Vec::new());
    }
    let filter = entity::EntityFilter {
        kind: Some(Kind::Requirement),
        criterion_id: Some(root.id.clone()),
        include_deleted: true,
        ..entity::EntityFilter::default()
    };
    Ok(entity::list(cx.tx, &filter, entity::Sort::Number, &entity::Page::first(AT_ONCE))?)
}

/// Sets the criterion of requirements, or removes it.
fn hold(cx: &mut Cx<'_, '_>, requirements: Vec<Entity>, criterion: Option<&Entity>) -> Result<()> {
    for requirement in requirements {
        change(cx, requirement, None, |_, requirement| {
            requirement.acceptance_criteria_id = criterion.map(|criterion| criterion.id.clone());
            requirement.acceptance_criteria = criterion.map(|criterion| criterion.reference_id.clone());
            Ok(())
        })?;
    }
    Ok(())
}

/// Records a revision for everything that a deletion removed.
fn note_members(cx: &mut Cx<'_, '_>, deletion_id: &str) -> Result<()> {
    for member in entity::deletion_members(cx.tx, deletion_id)? {
        record_deleted(cx, &member)?;
        cx.steps.advance();
    }
    for gone in relationship::of_deletion(cx.tx, deletion_id)? {
        record_deleted(cx, &gone)?;
    }
    note_deletion(cx, deletion_id)
}

/// Restore a deleted entity, with everything that was deleted with it.
///
/// With `version` the entity is instead reset to the text and fields of that version, as a new version. It stays
/// where it is in the tree.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreEntity {
    /// Its UUID or reference id, such as `EP-001`.
    reference: Id,
    /// The expected kind.
    kind: Option<KindName>,
    /// The version to return to.
    version: Option<Version>,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for RestoreEntity {
    type Output = Entity;
    const NAME: &'static str = "restore_entity";
    const COMMANDS: &'static [Command] = &[
        command("restore-entity").taking_several("reference"),
        command("epic restore").with(&[("kind", "epic")]),
        command("user-story restore").with(&[("kind", "user_story")]),
        command("acceptance-criteria restore").with(&[("kind", "acceptance_criteria")]),
        command("requirement restore").with(&[("kind", "requirement")]),
        command("steering-document restore").with(&[("kind", "steering_document")]),
    ];
    const ROUTES: &'static [Route] = &[
        post("/epics/{reference}/restore").with(&[("kind", "epic")]),
        post("/user-stories/{reference}/restore").with(&[("kind", "user_story")]),
        post("/acceptance-criteria/{reference}/restore").with(&[("kind", "acceptance_criteria")]),
        post("/requirements/{reference}/restore").with(&[("kind", "requirement")]),
        post("/steering-documents/{reference}/restore").with(&[("kind", "steering_document")]),
    ];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Entity> {
        let found = locked(cx, &self.reference)?;
        check_kind(&found, self.kind)?;
        found.check_version(cx, self.expected_version)?;
        if let Some(version) = self.version {
            return super::history::take_back(cx, found, version.0);
        }
        let Some(deletion_id) = found.deletion_id.clone() else {
            return Err(found.not_deleted());
        };
        found.check_unpurged()?;
        let mut members = entity::deletion_members(cx.tx, &deletion_id)?;
        let relations = relationship::of_deletion(cx.tx, &deletion_id)?;
        let comments = comment::of_deletion(cx.tx, &deletion_id)?;
        if !relations.is_empty() {
            relationship::lock_circles(cx.tx, &found.project_id)?;
        }
        check_restorable(cx, &found, &deletion_id, &members, &relations)?;
        entity::restore(cx.tx, &deletion_id, cx.now())?;
        members.retain(|member| member.purged_at.is_none());
        for member in &members {
            record_restored(
                cx,
                &Entity { version: member.version + 1, ..member.clone() },
                member.deleted_at,
            )?;
        }
        let ids: HashSet<&str> = members.iter().map(|member| member.id.as_str()).collect();
        for gone in &relations {
            let Some(back) = relationship::find(cx.tx, &gone.id)?.filter(|back| back.deleted_at.is_none())
            else {
                continue;
            };
            record_restored(cx, &back, gone.deleted_at)?;
            check_circle(cx, &found.project, &back, &ids)?;
        }
        note_restored(cx, &comments)?;
        let restored: Vec<&str> = members.iter().map(|member| member.id.as_str()).collect();
        counted::count_again(cx, &restored)?;
        let released = match found.deleted_at {
            Some(deleted_at) if found.kind == Kind::AcceptanceCriteria => {
                entity::released_at(cx.tx, &found, deleted_at)?
            }
            _ => Vec::new(),
        };
        let back = cx.live_entity("reference", &Id(Reference::Id(found.id)))?;
        hold(cx, released, Some(&back))?;
        Ok(back)
    }
}

/// The entity to restore or purge. If it is deleted, it is locked until the commit.
fn locked(cx: &mut Cx<'_, '_>, reference: &Id) -> Result<Entity> {
    let found = cx.any_entity("reference", reference)?;
    match &found.deletion_id {
        Some(deletion_id) => {
            entity::lock_deletion(cx.tx, deletion_id)?;
            cx.any_entity("reference", reference)
        }
        None => Ok(found),
    }
}

/// A deletion can be restored only if its parents exist.
fn check_restorable(
    cx: &mut Cx<'_, '_>,
    found: &Entity,
    deletion_id: &str,
    members: &[Entity],
    relations: &[Relationship],
) -> Result<()> {
    let Some(root_id) = entity::deletion(cx.tx, deletion_id)? else { return Ok(()) };
    let Some(root) = entity::find(cx.tx, &Reference::Id(root_id))? else { return Ok(()) };
    if let Some(parent_id) = root.parent_id()
        && let Some(parent) = entity::find(cx.tx, &Reference::Id(parent_id.to_owned()))?
        && parent.deleted_at.is_some()
    {
        let what = if found.id == root.id {
            found.reference_id.clone()
        } else {
            format!("{} was deleted with {}, which", found.reference_id, root.reference_id)
        };
        let parent = parent.reference_id;
        return Err(Error::conflict(format!(
            "{what} belongs to {parent}, and that is deleted; restore {parent} first"
        )));
    }
    for purged in members.iter().filter(|member| member.purged_at.is_some()) {
        let child =
            |member: &&Entity| member.purged_at.is_none() && member.parent_id() == Some(purged.id.as_str());
        if let Some(child) = members.iter().find(child) {
            let message = format!(
                "{} belongs to {}, which was purged: its text was erased permanently",
                child.reference_id, purged.reference_id
            );
            return Err(Error::conflict(message));
        }
    }
    relations.iter().try_for_each(|relation| check_ends(cx, relation, deletion_id))
}

/// A relationship is restored only if it was not created again, and both its ends exist or were purged.
fn check_ends(cx: &mut Cx<'_, '_>, relation: &Relationship, deletion_id: &str) -> Result<()> {
    let Relationship { source, target, type_name, .. } = relation;
    if let Some(live) =
        relationship::between(cx.tx, &relation.source_id, &relation.target_id, &relation.type_id)?
    {
        let message = format!(
            "the relationship {source} {type_name} {target} was created again in the meantime; delete the new one ({}) first",
            live.id
        );
        return Err(Error::conflict(message));
    }
    for end in [&relation.source_id, &relation.target_id] {
        let end = entity::find(cx.tx, &Reference::Id(end.clone()))?;
        let missing = |end: &Entity| {
            end.purged_at.is_none() && end.deletion_id.as_deref().is_some_and(|id| id != deletion_id)
        };
        if let Some(end) = end.filter(missing) {
            let message =
                format!("{}, to which a relationship leads, is deleted; restore it first", end.reference_id);
            return Err(Error::conflict(message));
        }
    }
    Ok(())
}

/// Relationships that were created since may form a cycle with a restored one. Such a cycle enters the batch
/// from outside, because there was none within it.
fn check_circle(
    cx: &mut Cx<'_, '_>,
    project_key: &str,
    back: &Relationship,
    members: &HashSet<&str>,
) -> Result<()> {
    if members.contains(back.source_id.as_str()) || !types::is_acyclic(cx.tx, &back.type_id)? {
        return Ok(());
    }
    let Some(way) = relationship::way(cx.tx, project_key, &back.target_id, &back.source_id)? else {
        return Ok(());
    };
    let Relationship { source, target, type_name, .. } = back;
    let way = way.join(" → ");
    let message = format!(
        "the relationship {source} {type_name} {target} would close a cycle created in the meantime: {target} → {way}"
    );
    Err(Error::conflict(message))
}

/// Erase the text of a deleted entity permanently: from the entity, its history, its comments and the search.
///
/// The reference id is not reused, and a tombstone records the time. Comments and prompts have their own purge.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeEntity {
    /// Its UUID or reference id, such as `EP-001`.
    reference: Id,
    /// Only list what would be erased.
    #[serde(default)]
    dry_run: bool,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for PurgeEntity {
    type Output = Purged<Entity>;
    const NAME: &'static str = "purge_entity";
    const COMMANDS: &'static [Command] = &[command("purge").taking_several("reference")];
    const ROUTES: &'static [Route] = &[post("/purge/{reference}")];
    const EFFECT: Effect = Effect::Administers;
    const CHANGE: Change = Change::Removes;
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Purged<Entity>> {
        if self.dry_run {
            let found = cx.any_entity("reference", &self.reference)?;
            return purge::look(cx, found, self.expected_version);
        }
        let found = locked(cx, &self.reference)?;
        let erase = |cx: &mut Cx<'_, '_>, found: &Entity| {
            let held = held_by(cx, found)?;
            hold(cx, held, None)?;
            Ok(entity::purge(cx.tx, found, cx.now())?)
        };
        let find = |cx: &mut Cx<'_, '_>| cx.any_entity("reference", &self.reference);
        purge::purge(cx, found, self.expected_version, erase, find)
    }
}
