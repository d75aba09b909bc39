//! Sessions: stored in the store, queried without blocking a thread.

use std::collections::HashMap;

use store::mcp_session::{self, Session};
use store::{Error, ErrorKind, Mode, Store, Tx};
use tokio::sync::oneshot;

use crate::spexus::now;

#[derive(Clone)]
pub(super) struct Sessions {
    store: Store,
    /// The id of this server among those that share the store.
    server: String,
}

type Result<T> = store::Result<T>;

impl Sessions {
    pub(super) fn new(store: Store) -> Sessions {
        Sessions { store, server: ops::new_id(now()) }
    }

    /// Begins a session and returns its id.
    pub(super) async fn begin(&self, user_id: &str, revision: &str, client: &str) -> Result<String> {
        let id = ops::new_id(now());
        let session = Session {
            id: id.clone(),
            user_id: user_id.to_owned(),
            revision: revision.to_owned(),
            client: client.to_owned(),
            used_at: now(),
        };
        self.ask(Mode::Aside, move |tx| mcp_session::insert(tx, &session)).await?;
        Ok(id)
    }

    /// The session of a user with this id.
    pub(super) async fn find(&self, id: &str, user_id: &str) -> Result<Option<Session>> {
        let (id, now) = (id.to_owned(), now());
        let found = self.ask(Mode::Point, move |tx| mcp_session::find(tx, &id, now)).await?;
        let found = found.filter(|session| session.user_id == user_id);
        if let Some(session) = found.as_ref().filter(|session| session.is_touch_due(now)) {
            let id = session.id.clone();
            // Nobody waits for it; a session whose use could not be recorded expires a little earlier.
            self.store.run(Mode::Aside, move |tx| mcp_session::touch(tx, &id, now), |_: Result<()>| {});
        }
        Ok(found)
    }

    /// Whether there still is a session with this id.
    pub(super) async fn is_kept(&self, id: &str) -> Result<bool> {
        let (id, now) = (id.to_owned(), now());
        Ok(self.ask(Mode::Point, move |tx| mcp_session::find(tx, &id, now)).await?.is_some())
    }

    /// Whether other servers may have streams of the same sessions.
    pub(super) fn is_shared(&self) -> bool {
        self.store.is_remote()
    }

    /// Claims a session for this server's notifications.
    pub(super) async fn claim(&self, id: &str) -> Result<()> {
        let (id, server) = (id.to_owned(), self.server.clone());
        self.ask(Mode::Aside, move |tx| mcp_session::claim(tx, &id, &server, now())).await
    }

    /// Renews the claim while this server has a stream of the session.
    pub(super) async fn keep_claim(&self, id: &str) -> Result<()> {
        let (id, server) = (id.to_owned(), self.server.clone());
        self.ask(Mode::Aside, move |tx| mcp_session::keep_claim(tx, &id, &server, now())).await
    }

    /// Gives up the claim. Nobody waits for it.
    pub(super) fn release(&self, id: &str) {
        let (id, server) = (id.to_owned(), self.server.clone());
        let body = move |tx: &mut Tx<'_>| mcp_session::release(tx, &id, &server);
        self.store.run(Mode::Aside, body, |_: Result<()>| {});
    }

    /// Whether a claim is this server's.
    pub(super) fn is_ours(&self, claim: &str) -> bool {
        claim == self.server
    }

    pub(super) async fn end(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.ask(Mode::Aside, move |tx| mcp_session::delete(tx, &id)).await
    }

    /// False if the session has the maximal number of subscriptions.
    pub(super) async fn subscribe(&self, id: &str, topic: &str, uri: &str) -> Result<bool> {
        let (id, topic, uri) = (id.to_owned(), topic.to_owned(), uri.to_owned());
        self.ask(Mode::Aside, move |tx| mcp_session::subscribe(tx, &id, &topic, &uri)).await
    }

    pub(super) async fn unsubscribe(&self, id: &str, topic: &str) -> Result<()> {
        let (id, topic) = (id.to_owned(), topic.to_owned());
        self.ask(Mode::Aside, move |tx| mcp_session::unsubscribe(tx, &id, &topic)).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        mode: Mode,
        body: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        ask(&self.store, mode, body).await
    }
}

/// Queries the store without blocking a thread.
pub async fn ask<T: Send + 'static>(
    store: &Store,
    mode: Mode,
    body: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = oneshot::channel();
    store.run(mode, body, move |result: Result<T>| {
        let _ = sender.send(result);
    });
    let dropped = |_| Err(Error::new(ErrorKind::Internal, "the store dropped the question"));
    receiver.await.unwrap_or_else(dropped)
}

/// The sessions to notify about these resources, with the URIs of their clients.
pub fn by_session<'a>(
    tx: &mut Tx<'_>,
    topics: impl Iterator<Item = &'a str>,
) -> Result<HashMap<String, Vec<String>>> {
    let mut by_session: HashMap<String, Vec<String>> = HashMap::new();
    for topic in topics {
        for (session, uri) in mcp_session::subscribers(tx, topic)? {
            by_session.entry(session).or_default().push(uri);
        }
    }
    Ok(by_session)
}
