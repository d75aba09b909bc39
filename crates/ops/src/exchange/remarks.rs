//! Imports comments.

use std::ops::Range;

use ::exchange::RecordKind;
use store::comment::{self, Comment};
use store::model::{Kind, Reference};

use super::names::Names;
use super::naming::comment_name;
use super::notes::{Kept, NOT_CHANGED, TAKEN, what_to_do};
use super::plan::{Outcome, Plan};
use super::rows::Row;
use super::things::{Planned, Remark};
use super::work::Written;
use crate::comment::{add, change, check_author, find_visible};
use crate::context::Cx;
use crate::error::Result;
use crate::input::Text;

/// The planned writes, as rows whose comments are on the shelf. Replies come after their parents.
#[derive(Default)]
pub(super) struct Remarks {
    rows: Vec<u32>,
}

/// Plans the rows.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Remarks> {
    let mut remarks = Remarks::default();
    let rows = in_order(plan)?;
    plan.each_of(cx, &rows, |cx, plan, row| {
        if remarks.row(cx, plan, row)?.is_none() {
            plan.forget(row);
        }
        cx.steps.advance();
        Ok(())
    })?;
    Ok(remarks)
}

/// The rows, each after its parent. Replies in a cycle are a problem.
fn in_order(plan: &mut Plan<'_>) -> Result<Vec<u32>> {
    let rows = plan.rows.of_kind(RecordKind::Comment);
    let mut places = Names::with_room(rows.len());
    for (place, index) in rows.iter().enumerate() {
        let row = plan.rows.get(*index as usize)?;
        match row.text("id") {
            _ if plan.is_left_out(&row) => plan.leave_out(&row),
            Some(id) => _ = places.insert(id, place),
            None => {}
        }
    }
    // For each row its first reply, and its next sibling.
    let (mut first, mut next) = (vec![NOBODY; rows.len()], vec![NOBODY; rows.len()]);
    let (mut ordered, mut is_left) = (Vec::with_capacity(rows.len()), vec![false; rows.len()]);
    for (place, index) in rows.iter().enumerate().rev() {
        let row = plan.rows.get(*index as usize)?;
        if plan.is_left_out(&row) {
            continue;
        }
        match row.text("parent").and_then(|parent| places.get(parent)) {
            Some(parent) => {
                next[place] = std::mem::replace(&mut first[parent], place as u32);
                is_left[place] = true;
            }
            None => ordered.push(place as u32),
        }
    }
    ordered.reverse();
    let mut n_followed = 0;
    while let Some(place) = ordered.get(n_followed) {
        let mut answer = first[*place as usize];
        while answer != NOBODY {
            ordered.push(answer);
            is_left[answer as usize] = false;
            answer = next[answer as usize];
        }
        n_followed += 1;
    }
    for place in (0..rows.len()).filter(|place| is_left[*place]) {
        let row = plan.rows.get(rows[place] as usize)?;
        plan.wrong(&row, "parent", "the comments reply to each other in a cycle");
    }
    ordered.iter_mut().for_each(|place| *place = rows[*place as usize]);
    Ok(ordered)
}

/// The absence of a row.
const NOBODY: u32 = u32::MAX;

impl Remarks {
    fn row(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row) -> Result<Option<()>> {
        let on = plan.named(cx, row, "entity", None)?;
        if plan.outcomes[row.index] == Outcome::LeftOut {
            return Ok(None);
        }
        let content = row.text("content").unwrap_or_default().to_owned();
        let content = plan.checked(row, "content", Text::<1, 50_000>::new(content)).map(Text::into_string);
        let given_id = plan.id(row);
        if on.as_ref().is_some_and(|on| on.entity.kind == Kind::SteeringDocument) {
            plan.wrong(row, "entity", "steering documents take no comments");
        }
        if given_id.as_ref().is_some_and(|id| known_row(plan, id).is_some()) {
            plan.wrong(row, "id", "this comment is in the file twice");
        }
        // A hidden comment may have the id, which the caller must not learn.
        let (stored, is_taken) = match &given_id {
            Some(id) => (find_visible(cx, id)?, comment::find(cx.tx, id)?.is_some()),
            None => (None, false),
        };
        if let (Some(_), Some(done)) = (&on, done(cx, plan, row, given_id.as_deref())?) {
            let is_live = done.deleted_at.is_none();
            remember(plan, row, given_id.as_deref(), (Some(done.clone()), done, None))?;
            return Ok(is_live.then_some(()));
        }
        if let (Some(on), Some(before)) = (&on, &stored)
            && before.entity_id == on.entity.id
        {
            return self.known(cx, plan, row, on, (before.clone(), content));
        }
        let parent_id = parent(cx, plan, row, on.as_ref().map(|on| on.entity.id.as_str()))?;
        if plan.outcomes[row.index] == Outcome::LeftOut {
            return Ok(None);
        }
        let quote = row.text("quote").map(|quote| Text::<1, 5_000>::new(quote.to_owned()));
        let quote = quote.and_then(|quote| plan.checked(row, "quote", quote)).map(Text::into_string);
        let made = plan.made(cx, row, "author")?;
        let version = plan.version(row).unwrap_or(1);
        let (Some(on), Some(content), Some(parent_id), false) = (on, content, parent_id, plan.is_wrong(row))
        else {
            return Ok(None);
        };
        if let Some(other) = &stored {
            plan.note(row, "id", TAKEN, format!("a comment on {} has it", other.entity));
        }
        let is_detached = row.flag("detached").unwrap_or(false);
        let entity = &on.entity;
        let anchor = quote.as_deref().filter(|_| !is_detached);
        let anchor = anchor.and_then(|quote| comment::locate(entity, quote, row.number("anchor_start")));
        let new = Comment {
            id: given_id.clone().filter(|_| !is_taken).unwrap_or_else(|| plan.new_id(row.index)),
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
            resolved: row.flag("resolved").unwrap_or(false),
            version,
            created_at: made.created_at,
            updated_at: made.updated_at,
            deleted_at: None,
            deletion_id: None,
            purged_at: None,
        };
        plan.decide(row, Outcome::Created);
        remember(plan, row, given_id.as_deref(), (None, new, on.row))?;
        self.rows.push(row.index as u32);
        Ok(Some(()))
    }

    /// A stored comment: its text and whether it is resolved may change.
    fn known(
        &mut self,
        cx: &mut Cx<'_, '_>,
        plan: &mut Plan<'_>,
        row: &Row,
        on: &Planned,
        (before, content): (Comment, Option<String>),
    ) -> Result<Option<()>> {
        if let Some(deleted_at) = before.deleted_at {
            let message = format!("this comment was deleted at {deleted_at}");
            plan.wrong(row, "id", message + what_to_do(before.purged_at));
        }
        let mut after = before.clone();
        after.content = content.unwrap_or(after.content);
        after.resolved = row.flag("resolved").unwrap_or(after.resolved);
        keep(cx, plan, row, &before)?;
        remember(plan, row, Some(&before.id), (Some(before.clone()), after.clone(), on.row))?;
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
            self.rows.push(row.index as u32);
        }
        Ok(Some(()))
    }

    /// The number of planned writes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Writes some of the plan.
    pub fn write(&self, cx: &mut Cx<'_, '_>, written: &mut Written, range: Range<usize>) -> Result<()> {
        for row in &self.rows[range] {
            let Remark { before, mut comment, entity_row } = written.items.get(*row as usize)?;
            // New entities have their numbers only now.
            comment.entity = written.reference_of(entity_row, comment.entity)?;
            match before {
                None => add(cx, comment)?,
                Some(before) => change(cx, before, comment)?,
            };
            cx.steps.advance();
        }
        Ok(())
    }
}

/// The comment that a row has created or changed before its import stopped.
fn done(cx: &mut Cx<'_, '_>, plan: &Plan<'_>, row: &Row, given_id: Option<&str>) -> Result<Option<Comment>> {
    for id in given_id.map(str::to_owned).into_iter().chain([plan.new_id(row.index)]) {
        if plan.is_done(&id) {
            return find_visible(cx, &id);
        }
    }
    Ok(None)
}

/// The parent of a row's comment, if it is a reply. None at all if the parent does not exist.
fn parent(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    entity_id: Option<&str>,
) -> Result<Option<Option<String>>> {
    let Some(text) = row.text("parent") else { return Ok(Some(None)) };
    let Some(Reference::Id(id)) = Reference::parse(text) else {
        plan.wrong(row, "parent", format!("expected the id of a comment, found {text:?}"));
        return Ok(None);
    };
    let found = match known_row(plan, &id) {
        Some(other) => {
            let Remark { comment, .. } = plan.items.get(other)?;
            Some((comment.id, comment.entity_id))
        }
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
            // A wrong or skipped row was reported already.
            if !plan.is_without_comment(row, &id) {
                plan.wrong(row, "parent", format!("there is no comment {id}, neither in the file nor here"));
            }
            Ok(None)
        }
    }
}

/// The row of the file with the comment with this id.
fn known_row(plan: &Plan<'_>, id: &str) -> Option<usize> {
    plan.names.get(&comment_name(id)).filter(|row| plan.items.has(*row))
}

/// Puts a comment on the shelf under its id in the file: the stored one, the new one, and the row of its
/// entity.
fn remember(
    plan: &mut Plan<'_>,
    row: &Row,
    id: Option<&str>,
    (before, comment, entity_row): (Option<Comment>, Comment, Option<usize>),
) -> Result<()> {
    if let Some(id) = id {
        plan.names.insert(&comment_name(id), row.index);
    }
    plan.items.put(row.index, &Remark { before, comment, entity_row })
}

/// Notes differences between a row and the stored comment.
fn keep(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row, before: &Comment) -> Result<()> {
    let (maker_id, created_at) = (Some(before.author_id.as_str()), before.created_at);
    plan.note_kept(cx, row, &Kept { name: "the comment", maker: "author", maker_id, created_at })?;
    for (field, stored) in [("quote", &before.quote), ("parent", &before.parent_id)] {
        if let Some(told) = row.text(field)
            && stored.as_deref() != Some(told)
        {
            plan.note(row, field, NOT_CHANGED, "the comment has another one");
        }
    }
    Ok(())
}
