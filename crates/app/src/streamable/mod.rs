//! MCP over HTTP, for any server: one path that takes messages by POST, opens streams, and ends sessions.
//!
//! The specifics of a server are in its [`Host`]: authentication, and what happens on changes. Sessions and
//! their subscriptions are in the store, so that any process that shares it can answer the next request.

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

/// A boxed future.
pub type Wait<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The server behind the endpoint.
pub trait Host: Send + Sync + 'static {
    /// Authenticates the caller, and checks the right.
    fn admit<'a>(&'a self, head: &'a Parts, request_id: &'a str) -> Wait<'a, Result<Visitor, Refusal>>;

    /// The listener of a stream opened by such a request; none without the right, or if it has ended.
    fn hearer<'a>(&'a self, head: &'a Parts) -> Wait<'a, Option<Box<dyn Hears>>>;

    /// Whether a caller may start another session.
    fn admit_session(&self, _visitor: &Visitor) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether a caller may send this many more requests now.
    fn admit_more(&self, _visitor: &Visitor, _n_more: u32) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether a caller may open another stream, which lasts until the returned guard is dropped.
    fn admit_stream(&self, _visitor: &Visitor, _head: &Parts) -> Result<Box<dyn Any + Send + Sync>, Refusal> {
        Ok(Box::new(()))
    }

    /// News from now on.
    fn follow(&self) -> Wait<'_, Option<Following>>;

    /// Whether a page of this origin may send requests.
    fn is_origin_allowed(&self, origin: &str, host: Option<&str>) -> bool;

    /// Whether this is a host name of the server, if known.
    fn is_host_allowed(&self, host: &str) -> bool;

    /// Records the outcome of a message.
    fn observe(&self, seen: &Seen<'_>);
}

/// A listener.
pub trait Hears: Send + Sync {
    /// Whether they may receive some news.
    fn hears<'a>(&'a self, news: &'a News) -> Wait<'a, bool>;
}

/// The caller.
pub struct Visitor {
    /// The id to which their sessions belong.
    pub user_id: String,
    /// The id by which new sessions are limited: the token, or the user without one.
    pub counted_by: String,
    /// Their name.
    pub username: String,
    /// The server that answers them.
    pub server: Arc<dyn Server>,
}

/// The outcome of a message, for logs and metrics.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The method of HTTP.
    pub http_method: &'a Method,
    /// The method of the message, if it is a known one.
    pub method: &'static str,
    /// The tool that was called, if any.
    pub tool: Option<&'a str>,
    /// The status of the answer.
    pub status: StatusCode,
    /// The error, if any.
    pub error: Option<&'a mcp::Error>,
    /// The revision.
    pub revision: &'a str,
    /// The caller.
    pub user: &'a str,
    /// The client program, as it introduced itself in this request.
    pub client: Option<&'a str>,
    /// The request's id in logs.
    pub request_id: &'a str,
    /// How long it took.
    pub elapsed: Duration,
    /// The client's trace context.
    pub head: &'a Parts,
}

/// Options.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long a request may take.
    pub request_timeout: Duration,
}

/// The streams of each session, by number, each with a handle that ends it.
type Listening = HashMap<String, Vec<(u64, oneshot::Sender<()>)>>;

/// The endpoint.
pub struct Endpoint {
    profile: Arc<Profile>,
    host: Arc<dyn Host>,
    sessions: Sessions,
    options: Options,
    /// Requests in flight by caller: another request may cancel them.
    running: Mutex<HashMap<(String, Id), Arc<Ticket>>>,
    /// The streams of each session. Notifications go to the newest, and to the previous one once that is closed. A stream
    /// that is removed from here ends.
    listening: Mutex<Listening>,
}

impl Endpoint {
    /// An endpoint with its sessions in this store.
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

    /// The endpoint at a path.
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
