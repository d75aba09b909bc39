//! Imports comments.

use std::collections::HashMap;
use std::ops::Range;

use ::exchange::Kind as RecordKind;
use store::comment::{self, Comment};
use store::model::{Kind, Reference};

use super::notes::{Kept, NOT_CHANGED, TAKEN, what_to_do};
use super::plan::{Outcome, Plan, Planned};
use crate::comment::find_visible;
use crate::comment::{add, change, check_author};
use crate::context::Cx;
use crate::error::Result;
use crate::input::Text;

/// What will be written: what is stored, what it will be, and what it is on as an index of the plan. Answers come after
/// what they answer.
#[derive(Default)]
pub(super) struct Remarks {
    comments: Vec<(Option<Comment>, Comment, usize)>,
    /// What the ids of the file lead to: the id here, and the entity that it is on.
    ids: HashMap<String, (String, String)>,
}

/// Decides what the rows do.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Remarks> {
    let mut remarks = Remarks::default();
    for row in in_order(plan) {
        if remarks.row(cx, plan, row)?.is_none() {
            plan.forget(row);
        }
        cx.steps.advance();
    }
    Ok(remarks)
}

/// The rows, each after the one that it answers. Those that answer each other in a circle are a problem.
fn in_order(plan: &mut Plan<'_>) -> Vec<usize> {
    let rows = plan.rows(RecordKind::Comment);
    let by_id: HashMap<&str, usize> =
        rows.iter().filter_map(|row| Some((plan.text(*row, "id")?, *row))).collect();
    let mut ordered = Vec::with_capacity(rows.len());
    let mut answers: HashMap<usize, Vec<usize>> = HashMap::new();
    for row in &rows {
        match plan.text(*row, "parent").and_then(|parent| by_id.get(parent)) {
            Some(parent) => answers.entry(*parent).or_default().push(*row),
            None => ordered.push(*row),
        }
    }
    let mut n_followed = 0;
    while let Some(row) = ordered.get(n_followed) {
        ordered.extend(answers.remove(row).unwrap_or_default());
        n_followed += 1;
    }
    for row in answers.into_values().flatten() {
        plan.wrong(row, "parent", "the comments answer each other in a circle");
    }
    ordered
}

impl Remarks {
    fn row(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: usize) -> Result<Option<()>> {
        let index = plan.named(cx, row, "entity", None)?;
        let entity_id = index.map(|index| plan.entities[index].entity.id.clone());
        if plan.outcomes[row] == Outcome::LeftOut {
            return Ok(None);
        }
        let content = plan.text(row, "content").unwrap_or_default().to_owned();
        let content = plan.checked(row, "content", Text::<1, 50_000>::new(content)).map(Text::into_string);
        let given_id = plan.id(row);
        if index.is_some_and(|index| plan.entities[index].entity.kind == Kind::SteeringDocument) {
            plan.wrong(row, "entity", "steering documents take no comments");
        }
        if given_id.as_ref().is_some_and(|id| self.ids.contains_key(id)) {
            plan.wrong(row, "id", "this comment is in the file twice");
        }
        // What is hidden from the caller can have the id, too, but they are not told.
        let (stored, is_taken) = match &given_id {
            Some(id) => (find_visible(cx, id)?, comment::find(cx.tx, id)?.is_some()),
            None => (None, false),
        };
        if let (Some(index), Some(done)) = (index, self.done(cx, plan, row, given_id.as_deref())?) {
            if let Some(id) = given_id {
                self.ids.insert(id, (done.id.clone(), plan.entities[index].entity.id.clone()));
            }
            plan.references[row] = Some(done.id);
            return Ok(done.deleted_at.is_none().then_some(()));
        }
        if let (Some(index), Some(before)) = (index, &stored)
            && Some(&before.entity_id) == entity_id.as_ref()
        {
            return self.known(cx, plan, row, index, (before.clone(), content));
        }
        let parent_id = self.parent(cx, plan, row, entity_id.as_deref())?;
        if plan.outcomes[row] == Outcome::LeftOut {
            return Ok(None);
        }
        let quote = plan.text(row, "quote").map(|quote| Text::<1, 5_000>::new(quote.to_owned()));
        let quote = quote.and_then(|quote| plan.checked(row, "quote", quote)).map(Text::into_string);
        let made = plan.made(cx, row, "author")?;
        let version = plan.version(row).unwrap_or(1);
        let (Some(index), Some(entity_id), Some(content), Some(parent_id), false) =
            (index, entity_id, content, parent_id, plan.is_wrong(row))
        else {
            return Ok(None);
        };
        if let Some(other) = &stored {
            plan.note(row, "id", TAKEN, format!("a comment on {} has it", other.entity));
        }
        let record = &plan.records[row];
        let is_detached = record.flag("detached").unwrap_or(false);
        let entity = &plan.entities[index].entity;
        let anchor = quote.as_deref().filter(|_| !is_detached);
        let anchor = anchor.and_then(|quote| comment::locate(entity, quote, record.number("anchor_start")));
        let new = Comment {
            id: given_id.clone().filter(|_| !is_taken).unwrap_or_else(|| plan.new_id(row)),
            project_id: entity.project_id.clone(),
            entity_id: entity.id.clone(),
            entity: entity.reference_id.clone(),
            entity_kind: entity.kind,
            parent_id,
            author_id: made.by_id,
            author: made.by,
            content,
            detached: quote.is_some() && anchor.is_none(),
            quote,
            anchor_start: anchor.map(|(start, _)| start),
            anchor_end: anchor.map(|(_, end)| end),
            resolved: record.flag("resolved").unwrap_or(false),
            version,
            created_at: made.created_at,
            updated_at: made.updated_at,
            deleted_at: None,
            deletion_id: None,
            purged_at: None,
        };
        plan.decide(row, Outcome::Created);
        plan.references[row] = Some(new.id.clone());
        if let Some(id) = given_id {
            self.ids.insert(id, (new.id.clone(), entity_id));
        }
        self.comments.push((None, new, index));
        Ok(Some(()))
    }

    /// The comment that a row has made or changed before its import stopped.
    fn done(
        &self,
        cx: &mut Cx<'_, '_>,
        plan: &Plan<'_>,
        row: usize,
        given_id: Option<&str>,
    ) -> Result<Option<Comment>> {
        for id in given_id.map(str::to_owned).into_iter().chain([plan.new_id(row)]) {
            if plan.is_done(&id) {
                return find_visible(cx, &id);
            }
        }
        Ok(None)
    }

    /// A comment that is stored: its text and whether it is settled may change.
    fn known(
        &mut self,
        cx: &mut Cx<'_, '_>,
        plan: &mut Plan<'_>,
        row: usize,
        index: usize,
        (before, content): (Comment, Option<String>),
    ) -> Result<Option<()>> {
        if let Some(deleted_at) = before.deleted_at {
            let message = format!("this comment was deleted at {deleted_at}");
            plan.wrong(row, "id", message + what_to_do(before.purged_at));
        }
        let mut after = before.clone();
        after.content = content.unwrap_or(after.content);
        after.resolved = plan.records[row].flag("resolved").unwrap_or(after.resolved);
        keep(cx, plan, row, &before)?;
        self.ids.insert(before.id.clone(), (before.id.clone(), before.entity_id.clone()));
        plan.references[row] = Some(before.id.clone());
        if after == before {
            plan.note_version(row, "the comment", before.version);
        } else {
            plan.check_version(row, "the comment", before.version);
        }
        if after.content != before.content
            && let Err(error) = check_author(cx, &before, "edit")
        {
            plan.wrong_by(row, "content", error);
        }
        if plan.is_wrong(row) {
            return Ok(None);
        }
        if after != before {
            plan.decide(row, Outcome::Updated);
            self.comments.push((Some(before), after, index));
        }
        Ok(Some(()))
    }

    /// The comment that a row answers, if it answers one. Nothing at all when that is not there.
    fn parent(
        &self,
        cx: &mut Cx<'_, '_>,
        plan: &mut Plan<'_>,
        row: usize,
        entity_id: Option<&str>,
    ) -> Result<Option<Option<String>>> {
        let Some(text) = plan.text(row, "parent") else { return Ok(Some(None)) };
        let Some(Reference::Id(id)) = Reference::parse(text) else {
            plan.wrong(row, "parent", format!("expected the id of a comment, found {text:?}"));
            return Ok(None);
        };
        let found = match self.ids.get(&id) {
            Some(found) => Some(found.clone()),
            None => {
                let stored = find_visible(cx, &id)?.filter(|stored| stored.deleted_at.is_none());
                stored.map(|stored| (stored.id, stored.entity_id))
            }
        };
        match found {
            Some((id, on)) if entity_id.is_none_or(|entity_id| on == entity_id) => Ok(Some(Some(id))),
            Some(_) => {
                plan.wrong(row, "parent", "that comment is on something else");
                Ok(None)
            }
            None => {
                // A row that is wrong or left out has been told of already.
                if !plan.is_without(row, &id) {
                    plan.wrong(
                        row,
                        "parent",
                        format!("there is no comment {id}, neither in the file nor here"),
                    );
                }
                Ok(None)
            }
        }
    }

    /// How many comments are written.
    pub fn len(&self) -> usize {
        self.comments.len()
    }

    /// Writes some of what was decided.
    pub fn write(&self, cx: &mut Cx<'_, '_>, entities: &[Planned], range: Range<usize>) -> Result<()> {
        for (before, after, index) in &self.comments[range] {
            // What is new has its number only now.
            let after = Comment { entity: entities[*index].entity.reference_id.clone(), ..after.clone() };
            match before {
                None => add(cx, after)?,
                Some(before) => change(cx, before.clone(), after)?,
            };
            cx.steps.advance();
        }
        Ok(())
    }
}

/// Notes what a row says otherwise about a comment that is there.
fn keep(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: usize, before: &Comment) -> Result<()> {
    let (maker_id, created_at) = (Some(before.author_id.as_str()), before.created_at);
    plan.note_kept(cx, row, &Kept { name: "the comment", maker: "author", maker_id, created_at })?;
    for (field, stored) in [("quote", &before.quote), ("parent", &before.parent_id)] {
        if let Some(told) = plan.text(row, field)
            && stored.as_deref() != Some(told)
        {
            plan.note(row, field, NOT_CHANGED, "the comment has another one");
        }
    }
    Ok(())
}
