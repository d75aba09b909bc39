//! Whether the server lives, and whether it can work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::json;
use store::{Store, health};
use tokio::sync::{Mutex, oneshot};

use super::App;
use super::answer::json as answer;
use super::request::request_id;

/// A store that cannot be read within this time cannot be worked with.
const PATIENCE: Duration = Duration::from_secs(2);
/// Anybody may ask, so that the store is asked at most so often.
const FRESH: Duration = Duration::from_secs(1);
/// Long imports may keep writes waiting for so long.
const BUSY_MAX: Duration = Duration::from_secs(60);

/// The process runs.
pub async fn live(request: Request) -> Response<Body> {
    let body = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    answer(StatusCode::OK, body.to_string(), &request_id(request.headers()))
}

/// The store can be read and written; with `?for=read`, that it can be read. Why it cannot is in the log: strangers may ask.
pub async fn ready(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let id = request_id(request.headers());
    let Readiness { read, write } = app.health.ask(app.engine.store()).await;
    let reads_alone = request.uri().query() == Some("for=read");
    let is_ready = read != Ability::Failed && (reads_alone || write != Ability::Failed);
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "status": if is_ready { "ok" } else { "unavailable" },
        "store": app.engine.store().engine_name(),
        "read": read,
        "write": write,
    });
    let mut response = answer(status, body.to_string(), &id);
    if !is_ready {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
    }
    response
}

/// What can be done with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Readiness {
    read: Ability,
    write: Ability,
}

/// Whether something can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ability {
    Ok,
    /// It waits for others.
    Busy,
    Failed,
}

/// What was found out last, for all who ask.
#[derive(Default)]
pub struct Health {
    state: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    last: Option<(Instant, Readiness)>,
    read: Probe,
    write: Probe,
}

impl Health {
    async fn ask(&self, store: &Store) -> Readiness {
        let mut known = self.state.lock().await;
        if let Some((at, readiness)) = known.last
            && at.elapsed() < FRESH
        {
            return readiness;
        }
        let Known { read, write, .. } = &mut *known;
        let (read, write) = tokio::join!(
            read.ask("read", Duration::ZERO, |done| health::check_read(store, done)),
            write.ask("written", BUSY_MAX, |done| health::check_write(store, done)),
        );
        let readiness = Readiness { read, write };
        known.last = Some((Instant::now(), readiness));
        readiness
    }
}

type Done = Box<dyn FnOnce(store::Result<()>) + Send>;

/// A question to the store, of which one is on its way at a time.
#[derive(Default)]
struct Probe {
    pending: Option<(Instant, oneshot::Receiver<store::Result<()>>)>,
    has_failed: bool,
}

impl Probe {
    async fn ask(&mut self, what: &str, busy_max: Duration, submit: impl FnOnce(Done)) -> Ability {
        let (since, receiver) = self.pending.get_or_insert_with(|| {
            let (sender, receiver) = oneshot::channel();
            submit(Box::new(move |result| {
                // A receiver that is gone has nobody to tell.
                let _ = sender.send(result);
            }));
            (Instant::now(), receiver)
        });
        let since = *since;
        let problem = match tokio::time::timeout(PATIENCE, receiver).await {
            Err(_) if since.elapsed() < busy_max => return Ability::Busy,
            Err(_) => Some(format!("it has not answered within {} s", since.elapsed().as_secs())),
            Ok(answered) => {
                self.pending = None;
                match answered {
                    Ok(Ok(())) => None,
                    Ok(Err(error)) => Some(error.to_string()),
                    Err(_) => Some("it dropped the question".to_owned()),
                }
            }
        };
        match (&problem, self.has_failed) {
            (Some(problem), false) => tracing::error!("the store cannot be {what}: {problem}"),
            (None, true) => tracing::info!("the store can be {what} again"),
            _ => {}
        }
        self.has_failed = problem.is_some();
        if problem.is_some() { Ability::Failed } else { Ability::Ok }
    }
}
