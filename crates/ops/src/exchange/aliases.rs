//! External ids: the ids of rows in another tool, and the entities stored under them.

use std::collections::HashSet;
use std::io;

use ::exchange::RecordKind;
use store::alias::{self, Alias, Aliased, NewAlias};
use store::entity::Entity;
use store::model::{Kind, Reference};

use super::notes::is_of_another;
use super::plan::{Outcome, Plan};
use super::rows::Row;
use super::things::Planned;
use crate::context::Cx;
use crate::error::{Error, Result};

/// How many external ids are looked up at once.
const AT_ONCE: usize = 500;

/// The entities stored under external ids, for the reader of a table.
pub(super) struct Stored<'x, 'a, 't> {
    pub cx: &'x mut Cx<'a, 't>,
    pub project_id: &'x str,
    /// The import that is resumed: its own entities are ignored, as when it began, so that its rows are read in the same way.
    pub without_import: Option<&'x str>,
    pub error: Option<Error>,
}

impl Stored<'_, '_, '_> {
    /// The kind of entity stored under each id.
    pub fn kinds(&mut self, scheme: &str, ids: &[String]) -> io::Result<Vec<Option<RecordKind>>> {
        let mut kinds = Vec::with_capacity(ids.len());
        for part in ids.chunks(AT_ONCE) {
            let wanted: Vec<Alias> =
                part.iter().map(|id| Alias { scheme: scheme.to_owned(), external_id: id.clone() }).collect();
            let found = alias::find(self.cx.tx, self.project_id, &wanted).map_err(|error| {
                self.error = Some(error.into());
                io::Error::other("the store could not be asked")
            })?;
            let is_known = |found: &&Aliased| {
                self.without_import.is_none() || found.import_id.as_deref() != self.without_import
            };
            kinds.extend(wanted.iter().map(|alias| record_kind(found.get(alias).filter(is_known)?.kind)));
        }
        Ok(kinds)
    }
}

fn record_kind(kind: Kind) -> Option<RecordKind> {
    RecordKind::all().find(|known| known.name() == kind.name())
}

impl Plan<'_> {
    /// An external id, if a text can be one and is not one of our own references.
    pub(super) fn alias(&self, text: &str) -> Option<Alias> {
        let of_file = || Alias { scheme: self.rows.scheme.clone(), external_id: text.trim().to_owned() };
        match self.reference(text) {
            Some(_) => None,
            None => Some(Alias::parse(text).unwrap_or_else(of_file)).filter(Alias::is_valid),
        }
    }

    /// The external ids of a row.
    pub(super) fn aliases_of(&self, row: &Row) -> Vec<Alias> {
        let listed = row.text("aliases").into_iter().flat_map(str::lines).filter_map(Alias::parse);
        let mut aliases: Vec<Alias> =
            row.text("reference_id").and_then(|text| self.alias(text)).into_iter().chain(listed).collect();
        aliases.dedup();
        aliases
    }

    /// Reports lines that are not external ids.
    pub(super) fn check_aliases(&mut self, row: &Row) {
        let lines = row.text("aliases").into_iter().flat_map(str::lines).map(str::trim);
        if let Some(wrong) = lines.filter(|line| !line.is_empty()).find(|line| Alias::parse(line).is_none()) {
            let message = format!(
                "expected a scheme and an id of up to 250 characters, such as jira:SHOP-12, found {wrong:?}"
            );
            self.wrong(row, "aliases", message);
        }
    }

    /// Fetches the entities stored under the names in some rows.
    pub(super) fn fetch_aliases(
        &mut self,
        cx: &mut Cx<'_, '_>,
        wanted: &HashSet<Alias>,
    ) -> Result<Vec<Reference>> {
        let wanted: Vec<Alias> = wanted.iter().cloned().collect();
        self.aliases.clear();
        let project_id = self.project().id;
        for part in wanted.chunks(AT_ONCE) {
            self.aliases.extend(alias::find(cx.tx, &project_id, part)?);
        }
        Ok(self.aliases.values().map(|found| Reference::Id(found.entity_id.clone())).collect())
    }

    /// The entity stored under a name in a row.
    pub(super) fn stored_as(&self, cx: &mut Cx<'_, '_>, text: &str) -> Result<Option<Entity>> {
        let by_alias = || self.alias(text).and_then(|alias| self.aliases.get(&alias));
        let by_alias = || by_alias().map(|found| Reference::Id(found.entity_id.clone()));
        match self.reference(text).or_else(by_alias) {
            Some(reference) => self.stored(cx, &reference),
            None => Ok(None),
        }
    }

    /// The entities stored under the external ids of a row.
    pub(super) fn stored_by_alias(&self, cx: &mut Cx<'_, '_>, row: &Row) -> Result<Option<Entity>> {
        let found = self.aliases_of(row).iter().find_map(|alias| self.aliases.get(alias).cloned());
        match found {
            Some(found) => self.stored(cx, &Reference::Id(found.entity_id)),
            None => Ok(None),
        }
    }

    /// The external ids of a row that are not stored yet. One that belongs to another entity is a problem.
    pub(super) fn new_aliases(
        &mut self,
        cx: &mut Cx<'_, '_>,
        row: &Row,
        before: Option<&Entity>,
    ) -> Result<Vec<String>> {
        let mut new = Vec::new();
        for alias in self.aliases_of(row) {
            match self.aliases.get(&alias).map(|found| found.entity_id.clone()) {
                None => new.push(alias.text()),
                Some(id) if before.is_some_and(|before| before.id == id) => {}
                Some(id) => {
                    let other = self
                        .stored(cx, &Reference::Id(id))?
                        .map_or("something else".to_owned(), |other| other.reference_id);
                    let this = before.map_or("something new", |before| &before.reference_id).to_owned();
                    self.wrong(row, "aliases", is_of_another(&other, &this));
                }
            }
        }
        Ok(new)
    }

    /// Skips a row whose entity was deleted here, so that an import does not bring it back.
    pub(super) fn leave_deleted(&mut self, row: &Row, stored: &Entity) {
        const DELETED: &str = "was deleted here, so the row is left out; restore it to import it again";
        self.note(row, "aliases", DELETED, stored.reference_id.clone());
        self.decide(row, Outcome::LeftOut);
    }
}

/// Stores the external ids of written entities.
pub(super) fn write(cx: &mut Cx<'_, '_>, entities: &[Planned]) -> Result<()> {
    let named: Vec<(&Planned, Alias)> = entities
        .iter()
        .flat_map(|planned| {
            planned.aliases.iter().filter_map(move |text| Some((planned, Alias::parse(text)?)))
        })
        .collect();
    let new: Vec<NewAlias<'_>> = named
        .iter()
        .map(|(planned, alias)| NewAlias {
            project_id: &planned.entity.project_id,
            entity_id: &planned.entity.id,
            entity_kind: planned.entity.kind.name(),
            scheme: &alias.scheme,
            external_id: &alias.external_id,
            with_entity: planned.before.is_none(),
        })
        .collect();
    let import_id = cx.import_id.clone();
    let n_written = alias::insert(cx.tx, &new, import_id.as_deref(), cx.now())?;
    match n_written == new.len() as u64 {
        true => Ok(()),
        // A concurrent import has added the same id.
        false => Err(crate::context::overtaken(&entities[0].entity.reference_id)),
    }
}
