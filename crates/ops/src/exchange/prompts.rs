//! Imports prompts, for administrators.

use std::collections::BTreeMap;

use ::exchange::RecordKind;
use store::model::{DEFAULT_PROJECT_ID, Kind, Reference, reference_id};
use store::prompt::{self, Prompt};
use store::types::fold;

use super::notes::{Kept, TAKEN, is_of_another, what_to_do};
use super::plan::{Outcome, Plan};
use super::rows::Row;
use crate::context::{Cx, overtaken};
use crate::error::Result;
use crate::input::{Description, Text, Title};
use crate::prompt::{change, check_secrets, record};

/// The planned writes, each with its row and the stored prompt.
#[derive(Default)]
pub(super) struct Prompts {
    prompts: Vec<(usize, Option<Prompt>, Prompt)>,
}

/// Plans the rows.
pub(super) fn plan(cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>) -> Result<Prompts> {
    let mut prompts = Prompts::default();
    plan.each_row(cx, RecordKind::Prompt, |cx, plan, row| prompts.row(cx, plan, row))?;
    Ok(prompts)
}

impl Prompts {
    fn row(&mut self, cx: &mut Cx<'_, '_>, plan: &mut Plan<'_>, row: &Row) -> Result<()> {
        let name = Text::<1, 100>::new(row.text("name").unwrap_or_default().to_owned());
        let content = Text::<1, 50_000>::new(row.text("content").unwrap_or_default().to_owned());
        let name = plan.checked(row, "name", name).map(Text::into_string);
        let content = plan.checked(row, "content", content).map(Text::into_string);
        let id = plan.id(row);
        let reference = row.text("reference_id").and_then(|text| plan.reference(text));
        let number = match &reference {
            Some(Reference::Numbered { kind: Kind::Prompt, project: None, number }) => Some(*number),
            None if row.text("reference_id").is_none() => None,
            _ => {
                plan.wrong(row, "reference_id", "expected a reference id such as PROMPT-001");
                None
            }
        };
        let before = match (&reference, &name) {
            (Some(reference), _) if number.is_some() => prompt::find(cx.tx, reference)?,
            (None, Some(name)) => prompt::find_by_name(cx.tx, name)?,
            _ => None,
        };
        let mut after = match &before {
            Some(known) => {
                keep(cx, plan, row, known, id.as_deref())?;
                known.clone()
            }
            None => blank(cx, plan, row, number, id)?,
        };
        after.name = name.unwrap_or(after.name);
        after.content = content.unwrap_or(after.content);
        self.fill(plan, row, &mut after)?;
        self.check(cx, plan, row, before.as_ref(), &after)?;
        if after.number > 0 {
            plan.references.insert(row.index, after.reference_id.clone());
        }
        if before.as_ref() == Some(&after) {
            plan.note_version(row, &after.reference_id, after.version);
            return Ok(());
        }
        if let Some(before) = &before {
            plan.check_version(row, &before.reference_id, before.version);
        }
        plan.needs_administrator(row, "name");
        if !plan.is_wrong(row) {
            plan.decide(row, if before.is_none() { Outcome::Created } else { Outcome::Updated });
            self.prompts.push((row.index, before, after));
        }
        Ok(())
    }

    fn fill(&self, plan: &mut Plan<'_>, row: &Row, prompt: &mut Prompt) -> Result<()> {
        if let Some(text) = row.text("title")
            && let Some(title) = plan.checked(row, "title", Title::new(text.to_owned()))
        {
            prompt.title = title.into_string();
        }
        if prompt.title.is_empty() {
            prompt.title = prompt.name.clone();
        }
        if let Some(text) = row.text("description")
            && let Some(text) = plan.checked(row, "description", Description::new(text.to_owned()))
        {
            prompt.description = Some(text.into_string());
        }
        match row.text("role").map(str::to_lowercase) {
            Some(role) if role == "user" || role == "assistant" => prompt.role = role,
            Some(role) => plan.wrong(row, "role", format!("expected user or assistant, found {role:?}")),
            None => {}
        }
        prompt.active = row.flag("active").unwrap_or(prompt.active);
        Ok(())
    }

    fn check(
        &self,
        cx: &mut Cx<'_, '_>,
        plan: &mut Plan<'_>,
        row: &Row,
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
        // A prompt that this file renames does not conflict.
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

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.prompts.is_empty()
    }

    /// Writes the plan: deactivations first, because at most one prompt is active.
    pub fn write(&self, cx: &mut Cx<'_, '_>, references: &mut BTreeMap<usize, String>) -> Result<()> {
        if self.prompts.iter().any(|(_, _, after)| after.active)
            && let Some(active) = prompt::active(cx.tx)?
            && !self
                .prompts
                .iter()
                .any(|(_, before, _)| before.as_ref().is_some_and(|known| known.id == active.id))
        {
            change(cx, active, None, |prompt| prompt.active = false)?;
        }
        let mut prompts = self.prompts.clone();
        prompts.sort_by_key(|(_, _, after)| after.active);
        let brought = self.prompts.iter().filter(|(_, before, _)| before.is_none());
        if let Some(last) = brought.map(|(_, _, after)| after.number).max().filter(|last| *last > 0) {
            cx.tx.reserve_numbers(DEFAULT_PROJECT_ID, Kind::Prompt.name(), last)?;
        }
        for (row, before, mut after) in prompts {
            let written = match before {
                Some(before) => change(cx, before, None, |prompt| *prompt = after)?,
                None if after.number == 0 => {
                    after.number = cx.next_number(DEFAULT_PROJECT_ID, Kind::Prompt)?;
                    after.reference_id = reference_id("", Kind::Prompt, after.number);
                    crate::prompt::add(cx, after)?
                }
                None => {
                    if !prompt::insert(cx.tx, &after)? {
                        return Err(overtaken(&after.reference_id));
                    }
                    record(cx, None, &after)?;
                    after
                }
            };
            references.insert(row, written.reference_id);
        }
        Ok(())
    }
}

/// Reports deleted prompts, and notes differences from stored ones.
fn keep(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    known: &Prompt,
    given_id: Option<&str>,
) -> Result<()> {
    let name = &known.reference_id;
    if let Some(deleted_at) = known.deleted_at {
        let message = format!("{name} was deleted at {deleted_at}");
        plan.wrong(row, "reference_id", message + what_to_do(known.purged_at));
    }
    if let Some(id) = given_id.filter(|id| *id != known.id) {
        match prompt::find(cx.tx, &Reference::Id(id.to_owned()))? {
            Some(other) => plan.wrong(row, "id", is_of_another(&other.reference_id, name)),
            None => plan.note_unchanged(row, "id", name, &known.id, id),
        }
    }
    let (maker_id, created_at) = (known.creator_id.as_deref(), known.created_at);
    plan.note_kept(cx, row, &Kept { name, maker: "creator", maker_id, created_at })
}

/// A new prompt without text.
fn blank(
    cx: &mut Cx<'_, '_>,
    plan: &mut Plan<'_>,
    row: &Row,
    number: Option<i64>,
    given_id: Option<String>,
) -> Result<Prompt> {
    let number = number.filter(|number| plan.may_bring(row, *number));
    let made = plan.made(cx, row, "creator")?;
    let version = plan.version(row).unwrap_or(1);
    let mut id = plan.new_id(row.index);
    if let Some(given_id) = given_id {
        match prompt::find(cx.tx, &Reference::Id(given_id.clone()))? {
            Some(other) => plan.note(row, "id", TAKEN, format!("{} has it", other.reference_id)),
            None => id = given_id,
        }
    }
    let number = number.unwrap_or(0);
    Ok(Prompt {
        id,
        reference_id: reference_id("", Kind::Prompt, number),
        number,
        name: String::new(),
        title: String::new(),
        description: None,
        content: String::new(),
        role: "user".to_owned(),
        active: false,
        creator_id: Some(made.by_id),
        creator: Some(made.by),
        version,
        created_at: made.created_at,
        updated_at: made.updated_at,
        deleted_at: None,
        deletion_id: None,
        purged_at: None,
    })
}
