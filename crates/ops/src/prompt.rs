//! Prompts: texts for agents. The active one is part of the instructions that agents get at the start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Mode;
use store::model::{DEFAULT_PROJECT_ID, Kind};
use store::prompt::{self, Prompt};

use crate::context::{Cx, overtaken};
use crate::entity::TAKEN_MAX;
use crate::error::{Error, Result};
use crate::input::{Description, Id, Limit, Offset, Patch, Set, Text, Title, Version};
use crate::operation::{
    Change, Columns, Command, Effect, Operation, Route, Shape, Tool, command, create, delete, get, patch,
    post, put, tool, versioned_output,
};
use crate::page::{Cursor, Page, page, window_from};
use crate::purge::{self, Purged};
use crate::secret;
use crate::versioned::{self, Versioned as _, new_deletion};

pub(crate) use crate::versioned::record;

versioned_output!(Prompt, version, reference_id);

/// The speaker of a prompt.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Speaker {
    /// The user.
    #[default]
    User,
    /// The assistant.
    Assistant,
}

impl Speaker {
    const fn name(self) -> &'static str {
        match self {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        }
    }
}

/// Create a prompt.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePrompt {
    /// The name for agents; unique among prompts.
    name: Text<1, 100>,
    /// The title for people.
    title: Title,
    /// The text.
    content: Text<1, 50_000>,
    /// Its purpose.
    description: Option<Description>,
    /// The speaker.
    #[serde(default)]
    role: Speaker,
}

impl Operation for CreatePrompt {
    type Output = Prompt;
    const NAME: &'static str = "create_prompt";
    const COMMANDS: &'static [Command] = &[command("prompt create")];
    const ROUTES: &'static [Route] = &[create("/prompts")];
    const TOOLS: &'static [Tool] = &[tool(
        "prompts",
        r#"{"name": "review", "title": "Review", "content": "Review the open requirements, the critical ones first."}"#,
    )];
    const EFFECT: Effect = Effect::Administers;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Prompt> {
        check_name(cx, self.name.as_str(), None)?;
        check_secrets(self.content.as_str(), self.description.as_ref().map(Text::as_str))?;
        let caller = cx.caller()?;
        let number = cx.next_number(DEFAULT_PROJECT_ID, Kind::Prompt)?;
        let new = Prompt {
            id: cx.new_id(),
            reference_id: store::model::reference_id("", Kind::Prompt, number),
            number,
            name: (&self.name).into(),
            title: (&self.title).into(),
            description: self.description.as_ref().map(Into::into),
            content: (&self.content).into(),
            role: self.role.name().to_owned(),
            active: false,
            creator_id: Some(caller.user_id.clone()),
            creator: Some(caller.username.clone()),
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
            deleted_at: None,
            deletion_id: None,
            purged_at: None,
        };
        add(cx, new)
    }
}

/// Inserts a new prompt. If an import has taken its number, it gets the next one.
pub(crate) fn add(cx: &mut Cx<'_, '_>, mut new: Prompt) -> Result<Prompt> {
    for _ in 0..TAKEN_MAX {
        if prompt::insert(cx.tx, &new)? {
            record(cx, None, &new)?;
            return Ok(new);
        }
        new.number = cx.next_number(DEFAULT_PROJECT_ID, Kind::Prompt)?;
        new.reference_id = store::model::reference_id("", Kind::Prompt, new.number);
    }
    Err(Error::conflict("no free number for a prompt was found"))
}

/// Change a prompt.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdatePrompt {
    /// The prompt, such as `PROMPT-001`.
    prompt_id: Id,
    /// The name for agents.
    #[serde(default)]
    name: Set<Text<1, 100>>,
    /// The title for people.
    #[serde(default)]
    title: Set<Title>,
    /// The text.
    #[serde(default)]
    content: Set<Text<1, 50_000>>,
    /// Its purpose; null clears it.
    #[serde(default)]
    description: Patch<Description>,
    /// The speaker.
    #[serde(default)]
    role: Set<Speaker>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for UpdatePrompt {
    type Output = Prompt;
    const NAME: &'static str = "update_prompt";
    const COMMANDS: &'static [Command] = &[command("prompt update")];
    const ROUTES: &'static [Route] = &[patch("/prompts/{prompt_id}")];
    const TOOLS: &'static [Tool] =
        &[tool("prompts", r#"{"prompt_id": "PROMPT-002", "description": "What to look at on Mondays"}"#)];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["prompt_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Prompt> {
        let before = find_live(cx, &self.prompt_id)?;
        if let Some(name) = &self.name.0 {
            check_name(cx, name.as_str(), Some(&before.id))?;
        }
        change(cx, before, self.expected_version, |prompt| {
            if let Some(name) = &self.name.0 {
                prompt.name = name.into();
            }
            if let Some(title) = &self.title.0 {
                prompt.title = title.into();
            }
            if let Some(content) = &self.content.0 {
                prompt.content = content.into();
            }
            prompt.description = self.description.apply(prompt.description.take(), |text| text.into());
            if let Some(role) = self.role.0 {
                prompt.role = role.name().to_owned();
            }
        })
    }
}

/// Read a prompt.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPrompt {
    /// The prompt, such as `PROMPT-001`.
    prompt_id: Id,
    /// Even if it is deleted.
    #[serde(default)]
    include_deleted: bool,
}

impl Operation for GetPrompt {
    type Output = Prompt;
    const NAME: &'static str = "get_prompt";
    const COMMANDS: &'static [Command] = &[command("prompt show")];
    const ROUTES: &'static [Route] = &[get("/prompts/{prompt_id}")];
    const EFFECT: Effect = Effect::Reads;
    const MODE: Option<Mode> = Some(Mode::Point);
    const POSITIONAL: &'static [&'static str] = &["prompt_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Prompt> {
        match self.include_deleted {
            true => find(cx, &self.prompt_id),
            false => find_live(cx, &self.prompt_id),
        }
    }
}

/// List prompts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPrompts {
    /// Include deleted ones.
    #[serde(default)]
    include_deleted: bool,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListPrompts {
    type Output = Page<Prompt>;
    const NAME: &'static str = "list_prompts";
    const COMMANDS: &'static [Command] = &[command("prompt list")];
    const ROUTES: &'static [Route] = &[get("/prompts")];
    const TOOLS: &'static [Tool] = &[tool("prompts", r#"{"limit": 10}"#)];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["reference_id", "name", "title", "active", "version", "updated_at"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Prompt>> {
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let (prompts, total) = prompt::list(cx.tx, self.include_deleted, window.0, window.1)?;
        Ok(page(prompts, total, window))
    }
}

/// Read the active prompt, which agents get at the start.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetActivePrompt {}

impl Operation for GetActivePrompt {
    type Output = Prompt;
    const NAME: &'static str = "get_active_prompt";
    const COMMANDS: &'static [Command] = &[command("prompt active")];
    const ROUTES: &'static [Route] = &[get("/prompts/active")];
    const TOOLS: &'static [Tool] = &[tool("prompts", r#"{}"#)];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Whole);
    const MODE: Option<Mode> = Some(Mode::Point);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Prompt> {
        prompt::active(cx.tx)?.ok_or_else(|| Error::new(crate::ErrorKind::NotFound, "no prompt is active"))
    }
}

/// Make a prompt the active one; the previously active one becomes inactive.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivatePrompt {
    /// The prompt, such as `PROMPT-001`.
    prompt_id: Id,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for ActivatePrompt {
    type Output = Prompt;
    const NAME: &'static str = "activate_prompt";
    const COMMANDS: &'static [Command] = &[command("prompt activate")];
    const ROUTES: &'static [Route] = &[put("/prompts/{prompt_id}/activate")];
    const TOOLS: &'static [Tool] =
        &[tool("prompts", r#"{"prompt_id": "PROMPT-002"}"#).showing(&["prompt_id"])];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["prompt_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Prompt> {
        prompt::lock_active(cx.tx)?;
        let wanted = find_live(cx, &self.prompt_id)?;
        wanted.check_version(cx, self.expected_version)?;
        if let Some(other) = prompt::active(cx.tx)?.filter(|other| other.id != wanted.id) {
            change(cx, other, None, |prompt| prompt.active = false)?;
        }
        change(cx, wanted, None, |prompt| prompt.active = true)
    }
}

/// Delete a prompt. If it was the active one, none is active.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeletePrompt {
    /// The prompt, such as `PROMPT-001`.
    prompt_id: Id,
    /// Only list what would be deleted.
    #[serde(default)]
    dry_run: bool,
    /// As for other kinds; nothing depends on a prompt.
    #[serde(default, rename = "force")]
    _force: bool,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

/// A deleted prompt, or the preview of a deletion.
#[derive(Serialize, JsonSchema)]
pub struct DeletedPrompt {
    #[serde(flatten)]
    prompt: Prompt,
    /// Whether it is deleted now.
    deleted: bool,
}

versioned_output!(DeletedPrompt, prompt.version, prompt.reference_id);

impl Operation for DeletePrompt {
    type Output = DeletedPrompt;
    const NAME: &'static str = "delete_prompt";
    const COMMANDS: &'static [Command] = &[command("prompt delete")];
    const ROUTES: &'static [Route] = &[delete("/prompts/{prompt_id}")];
    const TOOLS: &'static [Tool] = &[tool("prompts", r#"{"prompt_id": "PROMPT-002"}"#).showing(&[
        "prompt_id",
        "dry_run",
        "expected_version",
    ])];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["prompt_id"];

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<DeletedPrompt> {
        let gone = find_live(cx, &self.prompt_id)?;
        if self.dry_run {
            gone.check_version(cx, self.expected_version)?;
            return Ok(DeletedPrompt { prompt: gone, deleted: false });
        }
        let deletion = new_deletion(cx)?;
        deletion.note(cx.tx, DEFAULT_PROJECT_ID, &gone.id)?;
        let prompt = change(cx, gone, self.expected_version, |prompt| {
            prompt.active = false;
            prompt.deleted_at = Some(deletion.at);
            prompt.deletion_id = Some(deletion.id);
        })?;
        Ok(DeletedPrompt { prompt, deleted: true })
    }
}

/// Restore a deleted prompt. It is inactive.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestorePrompt {
    /// The prompt, such as `PROMPT-001`.
    prompt_id: Id,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for RestorePrompt {
    type Output = Prompt;
    const NAME: &'static str = "restore_prompt";
    const COMMANDS: &'static [Command] = &[command("prompt restore")];
    const ROUTES: &'static [Route] = &[post("/prompts/{prompt_id}/restore")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["prompt_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Prompt> {
        let gone = find(cx, &self.prompt_id)?;
        if gone.deleted_at.is_none() {
            return Err(gone.not_deleted());
        }
        gone.check_unpurged()?;
        check_name(cx, &gone.name, Some(&gone.id))?;
        change(cx, gone, self.expected_version, |prompt| {
            prompt.deleted_at = None;
            prompt.deletion_id = None;
        })
    }
}

/// Erase the text of a deleted prompt permanently, from the prompt and its history. The reference id is not reused.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgePrompt {
    /// The prompt, such as `PROMPT-001`.
    prompt_id: Id,
    /// Only list what would be erased.
    #[serde(default)]
    dry_run: bool,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for PurgePrompt {
    type Output = Purged<Prompt>;
    const NAME: &'static str = "purge_prompt";
    const COMMANDS: &'static [Command] = &[command("prompt purge")];
    const ROUTES: &'static [Route] = &[post("/prompts/{prompt_id}/purge")];
    const EFFECT: Effect = Effect::Administers;
    const CHANGE: Change = Change::Removes;
    const POSITIONAL: &'static [&'static str] = &["prompt_id"];

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Purged<Prompt>> {
        let gone = find(cx, &self.prompt_id)?;
        if self.dry_run {
            return purge::look(cx, gone, self.expected_version);
        }
        let erase = |cx: &mut Cx<'_, '_>, gone: &Prompt| match prompt::purge(cx.tx, gone, cx.now())? {
            true => Ok(()),
            false => Err(overtaken(&gone.reference_id)),
        };
        purge::purge(cx, gone, self.expected_version, erase, |cx| find(cx, &self.prompt_id))
    }
}

pub(crate) fn change(
    cx: &mut Cx<'_, '_>,
    before: Prompt,
    expected: Option<Version>,
    edit: impl FnOnce(&mut Prompt),
) -> Result<Prompt> {
    before.check_version(cx, expected)?;
    let mut after = before.clone();
    edit(&mut after);
    if after != before {
        check_secrets(&after.content, after.description.as_deref())?;
    }
    versioned::change(cx, before, after, prompt::update)
}

fn check_name(cx: &mut Cx<'_, '_>, name: &str, own_id: Option<&str>) -> Result<()> {
    match prompt::find_by_name(cx.tx, name)? {
        Some(other) if own_id != Some(&other.id) => {
            let message = format!("the name {name:?} is taken by {}", other.reference_id);
            Err(Error::conflict(message).about("name"))
        }
        _ => Ok(()),
    }
}

/// All users can read prompts, and they are sent to models, so they must not contain tokens.
pub(crate) fn check_secrets(content: &str, description: Option<&str>) -> Result<()> {
    for (field, text) in [("content", Some(content)), ("description", description)] {
        if text.is_some_and(secret::holds_token) {
            return Err(Error::field(
                field,
                "holds something that looks like a token; prompts are shown to everybody",
            ));
        }
    }
    Ok(())
}

fn find(cx: &mut Cx<'_, '_>, id: &Id) -> Result<Prompt> {
    prompt::find(cx.tx, &id.0)?.ok_or_else(|| Error::not_found("prompt", &id.0))
}

fn find_live(cx: &mut Cx<'_, '_>, id: &Id) -> Result<Prompt> {
    find(cx, id)?.live()
}
