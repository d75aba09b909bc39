//! The audit trail, for administrators.

use schemars::JsonSchema;
use serde::Deserialize;
use store::Mode;
use store::audit::{self, AuditEntry, AuditFilter};

use crate::activity::cut;
use crate::context::Cx;
use crate::entity::place::name_places;
use crate::entity::read::any_user;
use crate::error::Result;
use crate::input::{Id, Limit, Moment, Offset, Text};
use crate::operation::{Columns, Command, Effect, Operation, Route, command, get};
use crate::page::{Cursor, Page, page_after, window};

/// List the audit trail, newest first: every change, and every successful or failed login.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAudit {
    /// Only actions of this user: an id or a name.
    actor: Option<Text<1, 254>>,
    /// Only events about this entity: a UUID or a reference id.
    entity: Option<Id>,
    /// Only this operation or event, such as `create_epic` or `login_failed`.
    event: Option<Text<1, 100>>,
    /// At or after this time.
    from: Option<Moment>,
    /// At or before this time.
    to: Option<Moment>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// The name of the list in its cursors.
const LIST: &str = "audit";

impl Operation for ListAudit {
    type Output = Page<AuditEntry>;
    const NAME: &'static str = "list_audit";
    const COMMANDS: &'static [Command] = &[command("audit")];
    const ROUTES: &'static [Route] = &[get("/audit")];
    const EFFECT: Effect = Effect::Administers;
    const COLUMNS: &'static [Columns] =
        &[(None, &["created_at", "actor", "via", "event", "entity_kind", "reference_id", "name", "version"])];
    const MODE: Option<Mode> = Some(Mode::Snapshot);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<AuditEntry>> {
        let entity_id = match &self.entity {
            Some(Id(store::model::Reference::Id(id))) => Some(id.clone()),
            Some(id) => Some(cx.any_entity("entity", id)?.id),
            None => None,
        };
        let filter = AuditFilter {
            actor_id: self.actor.as_ref().map(|who| any_user(cx, "actor", who.as_str())).transpose()?,
            entity_id,
            event: self.event.as_ref().map(Into::into),
            from: self.from.map(Moment::first),
            to: self.to.map(Moment::last),
        };
        let window = window(self.limit, self.offset);
        let after = self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?;
        let mut entries = audit::list(cx.tx, &filter, after.as_ref(), window.0 + 1, window.1)?;
        name_places(
            cx,
            &mut entries.iter_mut().filter_map(|entry| entry.changes.as_mut()).collect::<Vec<_>>(),
        )?;
        entries
            .iter_mut()
            .filter_map(|entry| entry.changes.as_mut())
            .flat_map(|changes| changes.values_mut())
            .for_each(cut);
        let total = audit::count(cx.tx, &filter)?;
        Ok(page_after(entries, total, window, |last| {
            Cursor::at(LIST, &(last.created_at.microseconds(), &last.id))
        }))
    }
}
