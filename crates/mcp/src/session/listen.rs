//! The subscriptions of 2026-07-28: each is a request that stays open and receives notifications about what it names.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Arrival, Session, Step, Told};
use crate::{
    error::{Error, INVALID_REQUEST},
    id::Id,
    method::Method,
    notification::{self, ListenFilter},
    request::Request,
    revision::Revision,
};

/// A `subscriptions/listen`.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) id: Id,
    pub(super) filter: ListenFilter,
    /// It receives no notifications before.
    pub(super) is_acknowledged: bool,
}

impl Session {
    /// Opens a subscription.
    pub(super) fn listen(
        &mut self,
        arrival: Arrival<'_>,
        params: &mut Map<String, Value>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        /// The number of open subscriptions per client.
        const LISTENERS_MAX: usize = 16;
        if self.listeners.len() >= LISTENERS_MAX {
            let message = format!("Invalid Request: at most {LISTENERS_MAX} subscriptions can be open");
            return Err(Error::new(INVALID_REQUEST, message));
        }
        let filter = ListenFilter::parse(params, &self.profile)?;
        let uris = filter.uris();
        let is_acknowledged = uris.is_empty();
        if is_acknowledged {
            steps.push(Step::Send(notification::acknowledged(arrival.id, &filter)));
        } else {
            // Only the server knows which of them exist.
            let request = Request::Listen(uris);
            self.start(arrival, Method::Listen, Revision::V2026_07_28, request, Told::default(), steps);
        }
        self.listeners.push(Listener { id: arrival.id.clone(), filter, is_acknowledged });
        self.is_interest_new = true;
        Ok(())
    }

    /// Starts notifying a subscription about these resources, and about the lists that it requested.
    pub(super) fn acknowledge(&mut self, id: &Id, watched: &BTreeSet<String>) -> Vec<u8> {
        let Some(listener) = self.listeners.iter_mut().find(|listener| listener.id == *id) else {
            // The session was closed in the meantime.
            return notification::listen_result(id, &self.profile);
        };
        listener.filter.keep(watched);
        listener.is_acknowledged = true;
        self.is_interest_new = true;
        notification::acknowledged(id, &listener.filter)
    }
}
