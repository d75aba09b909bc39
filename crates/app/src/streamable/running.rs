//! Calls in flight: how they are cancelled, how they end, and what is stored then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp::{Answer, Error, Id, Request, Revision, Session, Ticket};
use serde_json::Value;

use super::Endpoint;

/// What is stored after a call has succeeded. The call itself consumes its arguments.
pub(super) enum After {
    Nothing,
    Begin(Revision),
    Subscribe(String),
    Unsubscribe(String),
}

impl After {
    pub(super) fn of(request: &Request) -> After {
        match request {
            Request::Initialize(revision) => After::Begin(*revision),
            Request::Subscribe(uri) => After::Subscribe(uri.clone()),
            Request::Unsubscribe(uri) => After::Unsubscribe(uri.clone()),
            _ => After::Nothing,
        }
    }
}

/// How a call ended.
pub(super) enum Ran {
    Answer(Answer),
    /// It was cancelled; there may be an answer.
    GivenUp(Option<Answer>),
    /// Its time is over.
    Late,
}

/// The result of a call.
pub(super) struct Answered {
    pub(super) after: After,
    /// The answer, which may wait for the rest of a batch.
    pub(super) message: Option<Vec<u8>>,
    pub(super) error: Option<Error>,
    /// The client has cancelled it.
    pub(super) is_given_up: bool,
}

pub(super) fn finish(session: &mut Session, after: After, ran: Ran, timeout: Duration) -> Answered {
    let is_given_up = matches!(ran, Ran::GivenUp(_));
    let (message, error) = match ran {
        Ran::Answer(answer) | Ran::GivenUp(Some(answer)) => {
            let error = answer.error.clone();
            (session.finish(answer), error)
        }
        Ran::GivenUp(None) | Ran::Late => {
            let late = session.expire(Instant::now(), timeout);
            let message = late.into_iter().filter_map(|(_, message)| message).next_back();
            let error = message.as_deref().and_then(error_in);
            (message, error)
        }
    };
    Answered { after, message, error, is_given_up }
}

/// The error that a message carries.
fn error_in(message: &[u8]) -> Option<Error> {
    let message: Value = serde_json::from_slice(message).ok()?;
    let error = message.get("error")?;
    let (code, text) = (error["code"].as_i64()?, error["message"].as_str()?);
    Some(Error { data: error.get("data").cloned(), ..Error::new(code, text) })
}

/// A request in flight. It is cancelled when nobody waits for it any more.
pub(super) struct Running {
    endpoint: Arc<Endpoint>,
    /// None if no other request can cancel it: ids of 2026-07-28 are known only to their sender.
    key: Option<(String, Id)>,
    ticket: Arc<Ticket>,
}

impl Running {
    pub(super) fn new(endpoint: Arc<Endpoint>, key: Option<String>, ticket: Arc<Ticket>) -> Running {
        let key = key.map(|key| (key, ticket.id.clone()));
        if let Some(key) = &key {
            endpoint.running().insert(key.clone(), ticket.clone());
        }
        Running { endpoint, key, ticket }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ticket.cancel();
        let Some(key) = &self.key else { return };
        let mut running = self.endpoint.running();
        if running.get(key).is_some_and(|ticket| Arc::ptr_eq(ticket, &self.ticket)) {
            running.remove(key);
        }
    }
}
