//! MCP over HTTP, for any server: one path that takes messages by POST, opens streams, and ends sessions.
//!
//! What is particular to a server is its [`Host`]: who may ask, and what happens when something changed. Sessions and
//! what they are subscribed to are in the store, so that any process that shares it can answer the next request.

mod feed;
mod head;
mod post;
mod reply;
mod running;
mod sessions;
mod stream;

use std::any::Any;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use mcp::{Id, Profile, Server, Ticket};
use tokio::sync::oneshot;

pub use self::feed::{Feed, Following, News};
pub use self::reply::Refusal;
pub use self::sessions::{ask, by_session};

use self::sessions::Sessions;

/// What may be waited for.
pub type Wait<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Who serves.
pub trait Host: Send + Sync + 'static {
    /// Finds out who asks, and whether they may now.
    fn admit<'a>(&'a self, head: &'a Parts, request_id: &'a str) -> Wait<'a, Result<Visitor, Refusal>>;

    /// Who listens on a stream that such a request has opened; none where they may not, or no longer.
    fn hearer<'a>(&'a self, head: &'a Parts) -> Wait<'a, Option<Box<dyn Hears>>>;

    /// Whether a visitor may begin another conversation.
    fn admit_session(&self, _visitor: &Visitor) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether a visitor may ask so many things more at once.
    fn admit_more(&self, _visitor: &Visitor, _n_more: u32) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether a caller may open another stream, which lasts until the returned guard is dropped.
    fn admit_stream(&self, _visitor: &Visitor, _head: &Parts) -> Result<Box<dyn Any + Send + Sync>, Refusal> {
        Ok(Box::new(()))
    }

    /// News from now on.
    fn follow(&self) -> Wait<'_, Option<Following>>;

    /// Whether a page of this origin may ask.
    fn is_origin_allowed(&self, origin: &str, host: Option<&str>) -> bool;

    /// Whether this is a name of the server, where that is known.
    fn is_host_allowed(&self, host: &str) -> bool;

    /// Takes note of what came of a message.
    fn observe(&self, seen: &Seen<'_>);
}

/// Somebody who listens.
pub trait Hears: Send + Sync {
    /// Whether they may hear of some news.
    fn hears<'a>(&'a self, news: &'a News) -> Wait<'a, bool>;
}

/// Who asks.
pub struct Visitor {
    /// The id under which sessions are theirs.
    pub user_id: String,
    /// What they are counted by when they begin conversations: the token, or the user where none was shown.
    pub counted_by: String,
    /// What people call them.
    pub username: String,
    /// What answers them.
    pub server: Arc<dyn Server>,
}

/// What came of a message, for logs and counters.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The method of HTTP.
    pub http_method: &'a Method,
    /// The method of the message, where it is one that is served.
    pub method: &'static str,
    /// The tool that was called, if any.
    pub tool: Option<&'a str>,
    /// The status of the answer.
    pub status: StatusCode,
    /// What went wrong.
    pub error: Option<&'a mcp::Error>,
    /// The revision that was spoken.
    pub revision: &'a str,
    /// Who asked.
    pub user: &'a str,
    /// The program that asked, in its own words, where it said so now.
    pub client: Option<&'a str>,
    /// The request's id in logs.
    pub request_id: &'a str,
    /// How long it took.
    pub elapsed: Duration,
    /// What the client sent along, for tracing.
    pub head: &'a Parts,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long a request may take.
    pub request_timeout: Duration,
}

/// The streams of each session, by number, each with what ends it.
type Listening = HashMap<String, Vec<(u64, oneshot::Sender<()>)>>;

/// The endpoint.
pub struct Endpoint {
    profile: Arc<Profile>,
    host: Arc<dyn Host>,
    sessions: Sessions,
    options: Options,
    /// Requests under way, by who sent them: another request may give them up.
    running: Mutex<HashMap<(String, Id), Arc<Ticket>>>,
    /// The streams that each session listens on. Notifications go to the newest, and to the one before it once that is closed. A stream
    /// that is taken out of here ends.
    listening: Mutex<Listening>,
}

impl Endpoint {
    /// An endpoint whose sessions are in this store.
    pub fn new(
        profile: Profile,
        host: Arc<dyn Host>,
        store: store::Store,
        options: Options,
    ) -> Arc<Endpoint> {
        Arc::new(Endpoint {
            profile: Arc::new(profile),
            host,
            sessions: Sessions::new(store),
            options,
            running: Mutex::default(),
            listening: Mutex::default(),
        })
    }

    /// The endpoint under a path.
    pub fn router<S: Clone + Send + Sync + 'static>(self: Arc<Self>, path: &str) -> Router<S> {
        Router::new().route(path, any(serve)).with_state(self)
    }

    fn listening(&self) -> MutexGuard<'_, Listening> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<(String, Id), Arc<Ticket>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let id = crate::spexus::http::request_id(&head.headers);
    let mut response = match head.method {
        Method::POST => endpoint.post(head, body, &id).await,
        Method::GET => endpoint.open_stream(head, &id).await,
        Method::DELETE => endpoint.end_session(head, &id).await,
        _ => {
            let allowed = "GET, POST, DELETE";
            Refusal::method_not_allowed(allowed, format!("expected one of {allowed}")).response(None)
        }
    };
    crate::spexus::http::insert(response.headers_mut(), header::HeaderName::from_static("x-request-id"), &id);
    response
}
