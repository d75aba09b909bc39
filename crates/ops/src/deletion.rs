//! The deleted entities of a project, by deletion.

use schemars::JsonSchema;
use serde::Deserialize;
use store::Mode;
use store::deletion::{self, DeletedThing};

use crate::context::Cx;
use crate::error::Result;
use crate::input::{Limit, Offset, Text};
use crate::operation::{Columns, Command, Effect, Operation, Route, command, get};
use crate::page::{Cursor, Page, page_after, window};
use crate::project;

/// List the deletions in a project, newest first, each with everything it removed.
///
/// Restoring the root of a deletion restores all of it. Relationships that were deleted individually are not listed; they
/// cannot be restored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDeletions {
    /// The key or id of the project.
    project: Text<1, 64>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// The name of the list in its cursors.
const LIST: &str = "deletions";

impl Operation for ListDeletions {
    type Output = Page<DeletedThing>;
    const NAME: &'static str = "list_deletions";
    const COMMANDS: &'static [Command] = &[command("deleted")];
    const ROUTES: &'static [Route] = &[get("/projects/{project}/deletions")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["deleted_at", "deleted_by", "kind", "reference_id", "title", "n_entities", "purged_at"])];
    const MODE: Option<Mode> = Some(Mode::Snapshot);
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<DeletedThing>> {
        let project = project::find(cx, &self.project)?;
        let window = window(self.limit, self.offset);
        let after = self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?;
        let found = deletion::list(cx.tx, &project.id, after.as_ref(), window.0 + 1, window.1)?;
        let total = deletion::count(cx.tx, &project.id)?;
        Ok(page_after(found, total, window, |last| {
            Cursor::at(LIST, &(last.deleted_at.microseconds(), &last.id))
        }))
    }
}
