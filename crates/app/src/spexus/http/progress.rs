//! Progress of long requests: whoever asks for it with a header gets the answer as lines of JSON, one for each step that is worth
//! telling, and a last one with the status and the body that the answer would have had.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use http_body_util::{BodyExt as _, Limited};
use ops::{OnProgress, Progress};
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, Sender};
use tokio::task::JoinHandle;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use super::App;
use super::answer::insert;
use super::endpoint::Endpoint;

/// The header that asks for it.
pub const HEADER: &str = "spexus-progress";
/// The type of such an answer.
pub const CONTENT_TYPE: &str = "application/x-ndjson";

/// Lines that may wait for a slow client. Steps for which there is no room are left out.
const WAITING_MAX: usize = 16;
/// How often a step is told.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// An answer is small; files are not sent this way.
const ANSWER_MAX_BYTES: usize = 64 << 20;

/// Whether the client asks for progress.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    headers.contains_key(HEADER)
}

/// Where the steps of a request are told. It travels with the request.
#[derive(Clone)]
pub struct Listener(Sender<Line>);

type Line = Result<Bytes, Infallible>;

impl Listener {
    /// What the operation tells its steps to.
    pub fn told(&self) -> OnProgress {
        let sender = self.0.clone();
        let last: Mutex<Option<Instant>> = Mutex::default();
        Box::new(move |progress: Progress| {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|last| last.elapsed() < TELL_EVERY) && !progress.is_last() {
                return;
            }
            *last = Some(Instant::now());
            let Progress { n_done, n_total, doing } = progress;
            let step = json!({"progress": {"done": n_done, "total": n_total, "doing": doing}});
            let _ = sender.try_send(line(&step));
        })
    }
}

fn line(value: &Value) -> Line {
    Ok(Bytes::from(format!("{value}\n")))
}

/// Answers with lines.
pub fn stream(endpoint: Arc<Endpoint>, app: Arc<App>, mut request: Request) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    request.extensions_mut().insert(Listener(sender.clone()));
    let work = tokio::spawn(async move {
        let response = endpoint.serve(app, request).await;
        let _ = sender.send(line(&ended(response).await)).await;
    });
    let lines = Lines { lines: ReceiverStream::new(receiver), work };
    let mut response = Response::new(Body::from_stream(lines));
    insert(response.headers_mut(), header::CONTENT_TYPE, CONTENT_TYPE);
    response
}

/// The last line.
async fn ended(response: Response<Body>) -> Value {
    let (parts, body) = response.into_parts();
    let bytes = Limited::new(body, ANSWER_MAX_BYTES).collect().await;
    let bytes = bytes.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    json!({"status": parts.status.as_u16(), "body": body})
}

/// Lines as they come. A request whose client has gone is given up.
struct Lines {
    lines: ReceiverStream<Line>,
    work: JoinHandle<()>,
}

impl Stream for Lines {
    type Item = Line;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Line>> {
        Pin::new(&mut self.lines).poll_next(context)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.work.abort();
    }
}
