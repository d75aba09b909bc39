//! Resolves the names in rows: other rows of the file, stored entities, and users.

use std::collections::HashSet;
use std::rc::Rc;

use ::exchange::RecordKind;
use store::entity::Entity;
use store::model::{DEFAULT_PROJECT_KEY, Kind, Reference};
use store::project::Project;
use store::user;

use super::entities::is_entity;
use super::fetched::Fetched;
use super::notes::what_to_do;
use super::plan::{Outcome, Plan};
use super::rows::Row;
use super::things::Planned;
use crate::context::Cx;
use crate::error::Result;

/// The fields that name entities.
const NAMING_FIELDS: [&str; 9] = [
    "reference_id",
    "id",
    "epic",
    "user_story",
    "acceptance_criteria",
    "source",
    "target",
    "steering_document",
    "entity",
];
/// How many recently used entities and users are cached.
const RECENT_MAX: usize = 64;
const USERS_MAX: usize = 10_000;

impl Plan<'_> {
    /// Fetches all stored entities that some rows name.
    pub(super) fn fetch(&mut self, cx: &mut Cx<'_, '_>, rows: &[Row]) -> Result<()> {
        let mut wanted = HashSet::new();
        let mut aliases = HashSet::new();
        for row in rows {
            for field in NAMING_FIELDS {
                let Some(text) = row.text(field) else { continue };
                let is_own = matches!(field, "reference_id" | "id");
                // Entities of the file were fetched with their own rows.
                if is_own || self.names.get(&self.key(text)).is_none() {
                    wanted.extend(self.reference(text));
                    aliases.extend(self.alias(text));
                }
            }
            aliases.extend(self.aliases_of(row));
            if self.import.is_resumed {
                wanted.insert(Reference::Id(self.new_id(row.index)));
            }
        }
        wanted.extend(self.fetch_aliases(cx, &aliases)?);
        self.fetched = Fetched::load(cx, wanted)?;
        Ok(())
    }

    /// The entity under a reference, if the caller can see it.
    pub fn stored(&self, cx: &mut Cx<'_, '_>, reference: &Reference) -> Result<Option<Entity>> {
        match self.fetched.get(reference) {
            Some(Some(entity)) => Ok(cx.sees(&entity.project_id)?.then(|| entity.clone())),
            Some(None) => Ok(None),
            None => cx.find_entity(reference),
        }
    }

    /// The entity that a field names, in the file or in the store. None if a problem was reported.
    pub fn named(
        &mut self,
        cx: &mut Cx<'_, '_>,
        row: &Row,
        field: &str,
        kind: Option<Kind>,
    ) -> Result<Option<Rc<Planned>>> {
        let Some(text) = row.text(field) else { return Ok(None) };
        let key = self.key(text);
        let found = match self.names.get(&key) {
            Some(other) if self.outcomes[other].is_without() => {
                self.decide(row, self.outcomes[other]);
                return Ok(None);
            }
            Some(other) => self.planned(other)?,
            None => {
                let Some(found) = self.stored_as(cx, text)? else {
                    if self.is_incomplete || self.lost.contains(&key) {
                        self.outcomes[row.index] = Outcome::Wrong;
                    } else {
                        let what = kind.map_or("such thing", Kind::words);
                        let message = format!("there is no {what} {text:?}, neither in the file nor here");
                        self.wrong(row, field, message);
                    }
                    return Ok(None);
                };
                if let Some(deleted_at) = found.deleted_at {
                    let message = format!("{} was deleted at {deleted_at}", found.reference_id);
                    self.wrong(row, field, message + what_to_do(found.purged_at));
                    return Ok(None);
                }
                // It may be in the file under another name.
                match self.names.get(&found.id) {
                    Some(other) if !self.outcomes[other].is_without() => self.planned(other)?,
                    _ => Rc::new(Planned::stored(found)),
                }
            }
        };
        let is = found.entity.kind;
        if let Some(kind) = kind.filter(|kind| *kind != is) {
            let (expected, is) = (kind.with_article(), is.with_article());
            self.wrong(row, field, format!("expected {expected}, and {text} is {is}"));
            return Ok(None);
        }
        Ok(Some(found))
    }

    /// The entity that a row creates or changes.
    fn planned(&mut self, row: usize) -> Result<Rc<Planned>> {
        if let Some(planned) = self.recent.get(&row) {
            return Ok(planned.clone());
        }
        if self.recent.len() >= RECENT_MAX {
            self.recent.clear();
        }
        let planned = Rc::new(self.items.get::<Planned>(row)?);
        self.recent.insert(row, planned.clone());
        Ok(planned)
    }

    /// Registers the entity that a row creates or changes, under the row's id and reference id. Another row with the same one is a
    /// problem.
    pub fn add(&mut self, row: &Row, planned: &Planned) -> Result<()> {
        for name in self.names_of(row) {
            if let Some(other) = self.names.insert(&name, row.index)
                && other != row.index
                && self.items.has(other)
            {
                let place = self.rows.get(other)?.place();
                let given =
                    ["reference_id", "id", "aliases"].into_iter().find(|field| row.text(field).is_some());
                let field = given.unwrap_or("id");
                self.wrong(row, field, format!("is in the file twice: also at {place}"));
            }
        }
        let entity = &planned.entity;
        // The id of a new entity is in its row, or derived from it.
        if planned.before.is_some() {
            self.names.insert(&entity.id, row.index);
        }
        if planned.changes() {
            self.changed.push(row.index as u32);
        }
        if planned.brings_number {
            let key = (entity.project_id.clone(), entity.kind);
            self.brought.entry(key).or_default().push(entity.number);
        }
        self.items.put(row.index, planned)
    }

    /// Records that a row's entity will not exist, so that rows naming it are not reported as well.
    pub fn forget(&mut self, row: &Row) {
        for name in self.names_of(row) {
            if self.names.get(&name).is_none() {
                self.names.insert(&name, row.index);
            }
        }
    }

    /// Whether a row names a comment that will not exist, which was reported already.
    pub fn is_without_comment(&mut self, row: &Row, id: &str) -> bool {
        match self.names.get(&comment_name(id)).map(|other| self.outcomes[other]) {
            Some(outcome) if outcome.is_without() => {
                self.decide(row, outcome);
                true
            }
            _ if self.is_incomplete || self.lost.contains(id) => {
                self.outcomes[row.index] = Outcome::Wrong;
                true
            }
            _ => false,
        }
    }

    fn names_of(&self, row: &Row) -> Vec<String> {
        match self.rows.kind(row.index) {
            RecordKind::Comment => {
                return row.text("id").map(|id| comment_name(&self.key(id))).into_iter().collect();
            }
            kind if !is_entity(kind) => return Vec::new(),
            _ => {}
        }
        let texts = ["reference_id", "id"].into_iter().filter_map(|field| row.text(field));
        let mut names: Vec<String> = texts.map(|text| self.key(text)).collect();
        names.extend(self.aliases_of(row).iter().map(|alias| format!("={}", alias.text())));
        names.sort();
        names.dedup();
        names
    }

    /// A global reference, if it is one; otherwise a name within the file.
    pub(super) fn key(&self, text: &str) -> String {
        match self.reference(text) {
            Some(reference) => reference.to_string(),
            None => match self.alias(text) {
                Some(alias) => format!("={}", alias.text()),
                None => format!("={}", text.trim()),
            },
        }
    }

    /// The reference behind a text: without a key it is in the import's project.
    pub fn reference(&self, text: &str) -> Option<Reference> {
        match Reference::parse(text)? {
            Reference::Numbered { project: None, kind, number } if kind != Kind::Prompt => {
                let key = Some(self.project_key.clone()).filter(|key| key != DEFAULT_PROJECT_KEY);
                Some(Reference::Numbered { project: key, kind, number })
            }
            other => Some(other),
        }
    }

    /// The id of a row, in its canonical form.
    pub fn id(&mut self, row: &Row) -> Option<String> {
        let text = row.text("id")?;
        match Reference::parse(text) {
            Some(Reference::Id(id)) => Some(id),
            _ => {
                self.wrong(row, "id", format!("expected a UUID, found {text:?}"));
                None
            }
        }
    }

    /// The project of new entities without a parent.
    pub fn project(&self) -> Project {
        self.projects[&self.project_key].clone()
    }

    /// Whether another row has the entity with this id.
    pub fn is_in_file(&mut self, id: &str) -> Result<bool> {
        match self.names.get(id).filter(|row| self.items.has(*row)) {
            Some(row) => Ok(self.planned(row)?.entity.id == id),
            None => Ok(false),
        }
    }

    /// The name of an entity of the file or of the store, as far as it is known.
    pub fn name(&mut self, cx: &mut Cx<'_, '_>, id: &str) -> Result<String> {
        let row = self.names.get(id).or_else(|| self.row_of_new_id(id)).filter(|row| self.items.has(*row));
        let Some(row) = row else {
            let stored = self.stored(cx, &Reference::Id(id.to_owned()))?;
            return Ok(stored.map_or_else(|| id.to_owned(), |stored| stored.reference_id));
        };
        let planned = self.planned(row)?;
        if !planned.entity.reference_id.is_empty() {
            return Ok(planned.entity.reference_id.clone());
        }
        let row = self.rows.get(row)?;
        Ok(row.text("reference_id").map_or_else(|| row.place(), str::to_owned))
    }

    /// The user whom a field names. An unknown user is a problem.
    pub fn user(&mut self, cx: &mut Cx<'_, '_>, row: &Row, field: &str) -> Result<Option<(String, String)>> {
        let Some(name) = row.text(field) else { return Ok(None) };
        let found = self.known_user(cx, name)?;
        if found.is_none() {
            self.wrong(row, field, format!("there is no user {name:?}"));
        }
        Ok(found)
    }

    /// The id and the name of a user, by either.
    pub(super) fn known_user(&mut self, cx: &mut Cx<'_, '_>, name: &str) -> Result<Option<(String, String)>> {
        let folded = words::name::fold(name);
        if let Some(found) = self.users.get(&folded) {
            return Ok(found.clone());
        }
        if self.users.len() >= USERS_MAX {
            self.users.clear();
        }
        let found = user::find(cx.tx, name)?.map(|user| (user.id, user.username));
        self.users.insert(folded, found.clone());
        Ok(found)
    }
}

/// The key under which a comment is registered. The prefix separates it from an entity with the same id.
pub(super) fn comment_name(id: &str) -> String {
    format!("comment {id}")
}
