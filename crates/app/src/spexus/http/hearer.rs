//! Decides which changes a listener receives: only those of what they could read at that moment.

use std::collections::HashSet;

use ops::{Caller, Effect};
use store::member::{self, Viewer};
use store::revision::{Change, SESSIONS_ENDED};
use store::{Mode, Tx};

use super::App;

/// Somebody who listens to changes.
pub struct Hearer {
    user_id: String,
    /// Whether they receive changes of users, tokens and sessions, as administrators do.
    sees_accounts: bool,
    /// Whom the store is asked for, where the token is narrowed to some projects.
    narrowed: Option<Viewer>,
}

impl Hearer {
    /// A caller as a hearer.
    pub fn of(caller: &Caller) -> Hearer {
        Hearer {
            user_id: caller.user_id.clone(),
            sees_accounts: caller.may(Effect::Administers).is_ok(),
            narrowed: caller.viewer().filter(|viewer| viewer.token_id.is_some()).cloned(),
        }
    }

    /// Whether they receive a change.
    pub async fn hears(&self, app: &App, change: &Change) -> bool {
        // A view that is not shared is its owner's alone, and belongs to no project here.
        let is_own_view = change.entity_kind == "saved_view" && change.project_id.is_none();
        let is_account = change.is_about_account() || change.entity_kind == "session" || is_own_view;
        change.entity_kind != SESSIONS_ENDED
            && (!is_account || self.sees_accounts)
            && self.hears_of(app, change.project_id.as_deref(), change.audience.as_deref()).await
    }

    /// Whether they receive changes in a project. The audience is the users who see it; none means everybody.
    pub async fn hears_of(
        &self,
        app: &App,
        project_id: Option<&str>,
        audience: Option<&HashSet<String>>,
    ) -> bool {
        if audience.is_some_and(|users| !users.contains(&self.user_id)) {
            return false;
        }
        let (Some(project_id), Some(viewer)) = (project_id, &self.narrowed) else { return true };
        let (project_id, viewer) = (project_id.to_owned(), viewer.clone());
        let body = move |tx: &mut Tx<'_>| member::role(tx, &viewer, &project_id);
        let role = crate::streamable::ask(app.engine.store(), Mode::Point, body).await;
        role.is_ok_and(|role| role.is_some())
    }
}
