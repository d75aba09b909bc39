//! Imports prompts, for administrators.

use ::exchange::Kind as RecordKind;
use store::model::{DEFAULT_PROJECT_ID, Kind, Reference, reference_id};
use store::prompt::{self, Prompt};
use store::types::fold;

use super::plan::{Outcome, Plan};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Description, Text, Title};
use crate::prompt::{change, check_secrets, record};

/// What will be written, each with its row and what is stored now.
#[derive(Default)]
pub(super) struct Prompts {
    prompts: Vec<(usize, Option<Prompt>, Prompt)>,
}

/// Decides what the rows do.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Prompts> {
    let mut prompts = Prompts::default();
    for row in plan.rows(RecordKind::Prompt) {
        prompts.row(cx, plan, row)?;
    }
    Ok(prompts)
}

impl Prompts {
    fn row(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: usize) -> Result<()> {
        let name = Text::<1, 100>::new(plan.text(row, "name").unwrap_or_default().to_owned());
        let content = Text::<1, 50_000>::new(plan.text(row, "content").unwrap_or_default().to_owned());
        let name = plan.checked(row, "name", name);
        let content = plan.checked(row, "content", content);
        let (Some(name), Some(content)) = (name, content) else { return Ok(()) };
        let reference = plan.text(row, "reference_id").and_then(|text| plan.reference(text));
        let number = match &reference {
            Some(Reference::Numbered { kind: Kind::Prompt, project: None, number }) => Some(*number),
            None if plan.text(row, "reference_id").is_none() => None,
            _ => {
                plan.wrong(row, "reference_id", "expected a reference id such as PROMPT-001");
                return Ok(());
            }
        };
        let before = match &reference {
            Some(reference) => prompt::find(cx.tx, reference)?,
            None => prompt::find_by_name(cx.tx, name.as_str())?,
        };
        if let Some(deleted_at) = before.as_ref().and_then(|before| before.deleted_at) {
            plan.wrong(row, "reference_id", format!("it was deleted at {deleted_at}; restore it first"));
            return Ok(());
        }
        let Some(mut after) =
            before.clone().map_or_else(|| blank(cx, plan, row, number), |known| Ok(Some(known)))?
        else {
            return Ok(());
        };
        (after.name, after.content) = (name.into_string(), content.into_string());
        self.fill(plan, row, &mut after)?;
        self.check(cx, plan, row, before.as_ref(), &after)?;
        plan.references[row] = (after.number > 0).then(|| after.reference_id.clone());
        if plan.is_wrong(row) || before.as_ref() == Some(&after) || !plan.needs_administrator(row, "name") {
            return Ok(());
        }
        if let Some(before) = &before {
            plan.is_stale(row, &before.reference_id, before.version);
        }
        plan.decide(row, if before.is_none() { Outcome::Created } else { Outcome::Updated });
        self.prompts.push((row, before, after));
        Ok(())
    }

    fn fill(&self, plan: &mut Plan<'_>, row: usize, prompt: &mut Prompt) -> Result<()> {
        if let Some(text) = plan.text(row, "title")
            && let Some(title) = plan.checked(row, "title", Title::new(text.to_owned()))
        {
            prompt.title = title.into_string();
        }
        if prompt.title.is_empty() {
            prompt.title = prompt.name.clone();
        }
        if let Some(text) = plan.text(row, "description")
            && let Some(text) = plan.checked(row, "description", Description::new(text.to_owned()))
        {
            prompt.description = Some(text.into_string());
        }
        match plan.text(row, "role").map(str::to_lowercase) {
            Some(role) if role == "user" || role == "assistant" => prompt.role = role,
            Some(role) => plan.wrong(row, "role", format!("expected user or assistant, found {role:?}")),
            None => {}
        }
        prompt.active = plan.records[row].flag("active").unwrap_or(prompt.active);
        Ok(())
    }

    fn check(
        &self,
        cx: &mut Cx<'_, '_>,
        plan: &mut Plan<'_>,
        row: usize,
        before: Option<&Prompt>,
        after: &Prompt,
    ) -> Result<()> {
        if let Err(error) = check_secrets(&after.content, after.description.as_deref()) {
            plan.wrong_by(row, "content", error);
        }
        let of_file =
            |(_, _, other): &&(usize, Option<Prompt>, Prompt)| fold(&other.name) == fold(&after.name);
        let of_store = prompt::find_by_name(cx.tx, &after.name)?;
        let of_store = of_store.filter(|other| before.is_none_or(|before| before.id != other.id));
        // One that gets another name by this file is not in the way.
        let is_renamed = |other: &Prompt| {
            self.prompts
                .iter()
                .any(|(_, before, _)| before.as_ref().is_some_and(|before| before.id == other.id))
        };
        if let Some(other) = of_store.filter(|other| !is_renamed(other)) {
            plan.wrong(row, "name", format!("the name is taken by {}", other.reference_id));
        } else if self.prompts.iter().any(|other| of_file(&other)) {
            plan.wrong(row, "name", "the name is in the file twice");
        }
        if after.active && self.prompts.iter().any(|(_, _, other)| other.active) {
            plan.wrong(row, "active", "at most one prompt is active");
        }
        Ok(())
    }

    /// Writes what was decided: what ceases to be active first, for at most one is.
    pub fn write(mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<()> {
        if self.prompts.iter().any(|(_, _, after)| after.active)
            && let Some(active) = prompt::active(cx.tx)?
            && !self
                .prompts
                .iter()
                .any(|(_, before, _)| before.as_ref().is_some_and(|known| known.id == active.id))
        {
            change(cx, active, None, |prompt| prompt.active = false)?;
        }
        self.prompts.sort_by_key(|(_, _, after)| after.active);
        let brought = self.prompts.iter().filter(|(_, before, _)| before.is_none());
        if let Some(last) = brought.map(|(_, _, after)| after.number).max().filter(|last| *last > 0) {
            cx.tx.reserve_numbers(DEFAULT_PROJECT_ID, Kind::Prompt.name(), last)?;
        }
        for (row, before, mut after) in self.prompts {
            let written = match before {
                Some(before) => change(cx, before, None, |prompt| *prompt = after)?,
                None if after.number == 0 => {
                    after.number = prompt::next_number(cx.tx)?;
                    after.reference_id = reference_id("", Kind::Prompt, after.number);
                    crate::prompt::add(cx, after)?
                }
                None => {
                    if !prompt::insert(cx.tx, &after)? {
                        let message =
                            format!("{} has just been made by somebody else; try again", after.reference_id);
                        return Err(Error::conflict(message));
                    }
                    record(cx, None, &after)?;
                    after
                }
            };
            plan.references[row] = Some(written.reference_id);
        }
        Ok(())
    }
}

/// A new prompt without text; none when something is wrong with the row.
fn blank(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: usize,
    number: Option<i64>,
) -> Result<Option<Prompt>> {
    let (creator_id, creator) = plan.maker(cx, row, "creator")?;
    let created_at = plan.time(row, "created_at").unwrap_or(cx.now());
    let updated_at = plan.time(row, "updated_at").unwrap_or(created_at);
    let version = plan.version(row).unwrap_or(1);
    let id = match plan.id(row) {
        Some(id) if prompt::find(cx.tx, &Reference::Id(id.clone()))?.is_none() => id,
        _ => cx.new_id(),
    };
    if plan.is_wrong(row) {
        return Ok(None);
    }
    let number = number.unwrap_or(0);
    Ok(Some(Prompt {
        id,
        reference_id: reference_id("", Kind::Prompt, number),
        number,
        name: String::new(),
        title: String::new(),
        description: None,
        content: String::new(),
        role: "user".to_owned(),
        active: false,
        creator_id: Some(creator_id),
        creator: Some(creator),
        version,
        created_at,
        updated_at,
        deleted_at: None,
        deletion_id: None,
        purged_at: None,
    }))
}
