//! Imports projects, types and statuses, for administrators. An import adds and changes, but does not remove;
//! only in an empty store it replaces the default types and statuses.

use ::exchange::RecordKind;
use store::entity::{self, EntityFilter};
use store::model::{Kind, is_project_key};
use store::project::{Access, Project};
use store::status::{Status, StatusModel, StatusOutcome, Transition};
use store::types::{RelationshipType, RequirementType, Type, same_name};

use super::plan::{Outcome, Plan};
use super::rows::Row;
use crate::config::{status_model, types};
use crate::context::Cx;
use crate::error::Result;
use crate::input::Text;
use crate::project;

/// The planned writes, each with the stored value.
#[derive(Default)]
pub(super) struct Setup {
    projects: Vec<(Option<Project>, Project)>,
    requirement_types: Vec<(Option<RequirementType>, RequirementType)>,
    relationship_types: Vec<(Option<RelationshipType>, RelationshipType)>,
    models: Vec<(StatusModel, StatusModel)>,
    /// The defaults of the store that are not in the file.
    gone_requirement_types: Vec<RequirementType>,
    gone_relationship_types: Vec<RelationshipType>,
    takes_over: bool,
}

/// Plans the rows.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Setup> {
    let everything = EntityFilter { include_deleted: true, ..EntityFilter::default() };
    let takes_over = plan.is_by_administrator() && entity::count(cx.tx, &everything)?.count == 0;
    let mut setup = Setup { takes_over, ..Setup::default() };
    plan.each_row(cx, RecordKind::Project, |cx, plan, row| {
        setup.project(cx, plan, row);
        Ok(())
    })?;
    plan.each_row(cx, RecordKind::RequirementType, |cx, plan, row| {
        setup.requirement_type(cx, plan, row);
        Ok(())
    })?;
    plan.each_row(cx, RecordKind::RelationshipType, |cx, plan, row| setup.relationship_type(cx, plan, row))?;
    if takes_over {
        let named = names(cx, plan, RecordKind::RequirementType)?;
        setup.gone_requirement_types = left_out(&mut plan.requirement_types, &named, |known| &known.name);
        let named = names(cx, plan, RecordKind::RelationshipType)?;
        setup.gone_relationship_types = left_out(&mut plan.relationship_types, &named, |known| &known.name);
    }
    setup.statuses(cx, plan)?;
    Ok(setup)
}

impl Setup {
    fn project(&mut self, cx: &Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row) {
        let key = row.text("key").unwrap_or_default().trim().to_ascii_uppercase();
        let name = Text::<1, 200>::new(row.text("name").unwrap_or_default().to_owned());
        let name = plan.checked(row, "name", name);
        let description = description::<50_000>(plan, row);
        if !plan.projects.contains_key(&key) && !is_project_key(&key) {
            let message = format!("expected 2 to 10 letters and digits, a letter first, found {key:?}");
            return plan.wrong(row, "key", message);
        }
        let (Some(name), Some(description)) = (name, description) else { return };
        let before = plan.projects.get(&key).cloned();
        let mut after = before.clone().unwrap_or_else(|| Project {
            id: cx.new_id(),
            key: key.clone(),
            name: String::new(),
            description: None,
            access: Access::Open,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        });
        after.name = name.into_string();
        after.description = description.or(after.description);
        if before.as_ref() == Some(&after) {
            return;
        }
        if self.projects.iter().any(|(_, other)| other.key == key) {
            return plan.wrong(row, "key", format!("the project {key} is in the file twice"));
        }
        if plan.needs_administrator(row, "key") {
            decide(plan, row, before.is_none());
            plan.references.insert(row.index, key.clone());
            plan.projects.insert(key, after.clone());
            self.projects.push((before, after));
        }
    }

    fn requirement_type(&mut self, cx: &Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row) {
        let name = Text::<1, 100>::new(row.text("name").unwrap_or_default().to_owned());
        let name = plan.checked(row, "name", name);
        let description = description::<5_000>(plan, row);
        let (Some(name), Some(description)) = (name, description) else { return };
        let known = plan.requirement_types.iter().position(|known| same_name(&known.name, name.as_str()));
        let before = known.map(|index| plan.requirement_types[index].clone());
        let mut after = before.clone().unwrap_or_else(|| RequirementType {
            id: cx.new_id(),
            name: (&name).into(),
            description: None,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        });
        after.description = description.or(after.description.filter(|_| !self.takes_over));
        if before.as_ref() == Some(&after) {
            return;
        }
        if self.requirement_types.iter().any(|(_, other)| other.id == after.id) {
            return plan.wrong(row, "name", format!("the type {:?} is in the file twice", name.as_str()));
        }
        if plan.needs_administrator(row, "name") {
            decide(plan, row, before.is_none());
            match known {
                Some(index) => plan.requirement_types[index] = after.clone(),
                None => plan.requirement_types.push(after.clone()),
            }
            self.requirement_types.push((before, after));
        }
    }

    fn relationship_type(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row) -> Result<()> {
        let name = Text::<1, 100>::new(row.text("name").unwrap_or_default().to_owned());
        let name = plan.checked(row, "name", name);
        let inverse = row.text("inverse_name").map(|text| Text::<1, 100>::new(text.to_owned()));
        let inverse =
            inverse.and_then(|inverse| plan.checked(row, "inverse_name", inverse)).map(Text::into_string);
        let description = description::<5_000>(plan, row);
        let (Some(name), Some(description)) = (name, description) else { return Ok(()) };
        let known = plan.relationship_types.iter().position(|known| same_name(&known.name, name.as_str()));
        let before = known.map(|index| plan.relationship_types[index].clone());
        let mut after = before.clone().unwrap_or_else(|| RelationshipType {
            id: cx.new_id(),
            name: (&name).into(),
            inverse_name: (&name).into(),
            acyclic: false,
            description: None,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        });
        after.inverse_name = inverse.unwrap_or(after.inverse_name);
        after.description = description.or(after.description.filter(|_| !self.takes_over));
        after.acyclic = row.flag("acyclic").unwrap_or(after.acyclic);
        if before.as_ref() == Some(&after) {
            return Ok(());
        }
        if self.relationship_types.iter().any(|(_, other)| other.id == after.id) {
            plan.wrong(row, "name", format!("the type {:?} is in the file twice", name.as_str()));
            return Ok(());
        }
        if let Some(before) = before.as_ref().filter(|before| before.acyclic != after.acyclic)
            && before.n_uses(cx.tx)? > 0
        {
            let message = format!(
                "there are relationships of the type {}, so `acyclic` cannot be changed",
                before.name
            );
            plan.wrong(row, "acyclic", message);
            return Ok(());
        }
        if plan.needs_administrator(row, "name") {
            decide(plan, row, before.is_none());
            match known {
                Some(index) => plan.relationship_types[index] = after.clone(),
                None => plan.relationship_types.push(after.clone()),
            }
            self.relationship_types.push((before, after));
        }
        Ok(())
    }

    fn statuses(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
        let before = plan.models.clone();
        let mut positions: Vec<(Kind, String, i64)> = Vec::new();
        let mut changed: Vec<(usize, Kind)> = Vec::new();
        let mut told: Vec<(Kind, String)> = Vec::new();
        plan.each_row(cx, RecordKind::Status, |_, plan, row| {
            let Some(kind) = entity_kind(plan, row) else { return Ok(()) };
            let Some(mut model) = plan.models.get(&kind).cloned() else { return Ok(()) };
            let name = row.text("name").unwrap_or_default();
            let known = model.statuses.iter().position(|known| same_name(&known.name, name));
            let index = known.unwrap_or(model.statuses.len());
            if known.is_none() {
                let colour = "#6b7280".to_owned();
                model.statuses.push(Status {
                    name: name.to_owned(),
                    colour,
                    initial: false,
                    is_final: false,
                    outcome: None,
                });
            }
            if row.flag("initial") == Some(true) {
                model.statuses.iter_mut().for_each(|status| status.initial = false);
                model.statuses[index].initial = true;
            }
            let status = &mut model.statuses[index];
            status.colour = row.text("colour").map_or(status.colour.clone(), str::to_owned);
            status.is_final = row.flag("final").unwrap_or(status.is_final);
            status.outcome = match row.text("outcome").map(|text| (text, StatusOutcome::from_name(text))) {
                Some((_, Some(outcome))) => Some(outcome),
                Some((text, None)) => {
                    let message = format!("expected one of done, cancelled, obsolete, found {text:?}");
                    plan.wrong(row, "outcome", message);
                    return Ok(());
                }
                None => status
                    .is_final
                    .then(|| status.outcome.unwrap_or_else(|| StatusOutcome::suggested_by(&status.name))),
            };
            let name = status.name.clone();
            if let Some(position) = row.number("position") {
                positions.push((kind, name.clone(), position));
            }
            if known.is_none() {
                plan.decide(row, Outcome::Created);
            } else if plan.models[&kind].statuses[index] != model.statuses[index] {
                plan.decide(row, Outcome::Updated);
            }
            if let Err(error) = status_model::check_statuses(&model.statuses) {
                plan.wrong_by(row, "name", error);
                return Ok(());
            }
            plan.models.insert(kind, model);
            changed.push((row.index, kind));
            told.push((kind, name));
            Ok(())
        })?;
        for model in plan.models.values_mut() {
            let kind = model.entity_kind;
            let position = |status: &Status| {
                let told = positions.iter().find(|(of, name, _)| *of == kind && *name == status.name);
                told.map_or(i64::MAX, |(.., position)| *position)
            };
            model.statuses.sort_by_key(position);
            if self.takes_over && told.iter().any(|(of, _)| *of == kind) {
                model.statuses.retain(|status| told.contains(&(kind, status.name.clone())));
                model.transitions.clear();
            }
        }
        plan.each_row(cx, RecordKind::Transition, |_, plan, row| {
            let Some(kind) = entity_kind(plan, row) else { return Ok(()) };
            let Some(mut model) = plan.models.get(&kind).cloned() else { return Ok(()) };
            let found = ["from", "to"].map(|field| {
                let text = row.text(field).unwrap_or_default();
                let name = model.status(text).map(|status| status.name.clone());
                (field, name.ok_or_else(|| format!("there is no status {text:?} of {}", kind.with_article())))
            });
            let [from, to] = found.map(|(field, name)| plan.checked(row, field, name));
            let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
            let transition = Transition { from, to };
            if model.transitions.contains(&transition) {
                return Ok(());
            }
            if !before[&kind].transitions.contains(&transition) {
                plan.decide(row, Outcome::Created);
            }
            model.transitions.push(transition);
            plan.models.insert(kind, model);
            changed.push((row.index, kind));
            Ok(())
        })?;
        for kind in Kind::ALL.into_iter().filter(|kind| kind.has_status()) {
            let (before, after) = (before[&kind].clone(), plan.models[&kind].clone());
            if before == after {
                continue;
            }
            let row = changed.iter().find(|(row, of)| *of == kind && plan.outcomes[*row].changes());
            let row = row.or(changed.iter().find(|(_, of)| *of == kind)).map(|(row, _)| plan.rows.get(*row));
            if row.transpose()?.is_some_and(|row| plan.needs_administrator(&row, "name")) {
                self.models.push((before, after));
            }
        }
        Ok(())
    }

    /// Whether types of relationships are written.
    pub fn has_relationship_types(&self) -> bool {
        !self.relationship_types.is_empty() || !self.gone_relationship_types.is_empty()
    }

    /// Writes what was decided.
    pub fn write(&self, cx: &mut Cx<'_, '_>) -> Result<()> {
        for (before, after) in self.projects.clone() {
            match before {
                Some(before) => project::change(cx, before, after)?,
                None => project::add(cx, after)?,
            };
        }
        for (before, after) in self.requirement_types.clone() {
            types::put(cx, before, after)?;
        }
        for (before, after) in self.relationship_types.clone() {
            types::put(cx, before, after)?;
        }
        for gone in self.gone_requirement_types.clone() {
            types::remove(cx, gone)?;
        }
        for gone in self.gone_relationship_types.clone() {
            types::remove(cx, gone)?;
        }
        for (before, after) in self.models.clone() {
            status_model::replace(cx, &before, after, &[])?;
        }
        Ok(())
    }
}

/// The names in the rows of a kind.
fn names(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, kind: RecordKind) -> Result<Vec<String>> {
    let mut names = Vec::new();
    plan.each_row(cx, kind, |_, _, row| {
        names.extend(row.text("name").map(str::to_owned));
        Ok(())
    })?;
    Ok(names)
}

/// Removes what the file does not name, if it names anything.
fn left_out<T>(known: &mut Vec<T>, named: &[String], name: impl Fn(&T) -> &str) -> Vec<T> {
    let is_named = |item: &mut T| named.iter().any(|named| same_name(named, name(item)));
    if named.is_empty() { Vec::new() } else { known.extract_if(.., |item| !is_named(item)).collect() }
}

fn decide(plan: &mut Plan<'_>, row: &Row, is_new: bool) {
    plan.decide(row, if is_new { Outcome::Created } else { Outcome::Updated });
}

/// The description of a row; none when it is wrong.
fn description<const MAX: usize>(plan: &mut Plan<'_>, row: &Row) -> Option<Option<String>> {
    match row.text("description") {
        None => Some(None),
        Some(text) => {
            let checked = Text::<0, MAX>::new(text.to_owned()).map(Text::into_string);
            plan.checked(row, "description", checked).map(Some)
        }
    }
}

fn entity_kind(plan: &mut Plan<'_>, row: &Row) -> Option<Kind> {
    let text = row.text("entity_kind").unwrap_or_default();
    let kind = Kind::from_name(text).filter(|kind| kind.has_status());
    if kind.is_none() {
        plan.wrong(row, "entity_kind", format!("expected epic, user_story or requirement, found {text:?}"));
    }
    kind
}
