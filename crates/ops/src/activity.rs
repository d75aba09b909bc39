//! The changes of projects, by people and agents.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use store::Mode;
use store::activity::{self, ChangeFilter, ProjectChange};
use store::project::Projects;

use crate::context::Cx;
use crate::entity::place::name_places;
use crate::error::Result;
use crate::input::{Limit, Offset, Text};
use crate::operation::{Columns, Command, Effect, Operation, Route, command, get};
use crate::page::{Cursor, Page, page_after, window};
use crate::project;

/// List the changes of a project or of all projects, newest first: who changed what and when, and whether it was a person or an
/// agent.
///
/// Changes by agents have `via: mcp`, and the name of their token. Long text is cut; the history of an entity has the full text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListChanges {
    /// The key or id of a project; default: all projects that the caller can see.
    project: Option<Text<1, 64>>,
    /// Only changes by agents.
    #[serde(default)]
    by_agents: bool,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// The name of the list in its cursors.
const LIST: &str = "changes";
/// How much of a text is shown.
const TEXT_MAX_CHARS: usize = 200;

impl Operation for ListChanges {
    type Output = Page<ProjectChange>;
    const NAME: &'static str = "list_changes";
    const COMMANDS: &'static [Command] = &[command("changes")];
    const ROUTES: &'static [Route] = &[get("/projects/{project}/changes"), get("/changes")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] = &[(
        None,
        &["created_at", "actor", "via", "token", "operation", "project", "reference_id", "title", "changes"],
    )];
    const MODE: Option<Mode> = Some(Mode::Snapshot);
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<ProjectChange>> {
        let projects = match &self.project {
            Some(name) => Projects::One(project::find(cx, name)?.id),
            None => cx.projects("project", None)?,
        };
        let filter = ChangeFilter { projects, by_agents: self.by_agents };
        let window = window(self.limit, self.offset);
        let after = self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?;
        let mut changes = activity::list(cx.tx, &filter, after.as_ref(), window.0 + 1, window.1)?;
        name_places(cx, &mut changes.iter_mut().map(|change| &mut change.changes).collect::<Vec<_>>())?;
        changes.iter_mut().flat_map(|change| change.changes.values_mut()).for_each(cut);
        let total = activity::count(cx.tx, &filter)?;
        Ok(page_after(changes, total, window, |last| {
            Cursor::at(LIST, &(last.created_at.microseconds(), &last.id))
        }))
    }
}

/// Cuts the texts of a pair of values.
pub(crate) fn cut(pair: &mut Value) {
    for value in pair.as_array_mut().into_iter().flatten() {
        if let Value::String(text) = value
            && let short = words::cut(text, TEXT_MAX_CHARS)
            && short.len() < text.len()
        {
            *text = format!("{short}…");
        }
    }
}
