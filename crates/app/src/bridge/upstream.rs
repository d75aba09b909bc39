//! Sends requests to the server: JSON-RPC by POST, each self-contained, retried within its time limit.

use std::{
    error::Error,
    future::Future,
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use mcp::{Failure, FailureKind};
use reqwest::{
    Client, Response, StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use serde_json::{Map, Value};
use tokio::{runtime::Runtime, sync::Notify, time};

use super::{
    body::{Body, BodyProblem},
    config::{BackendUrl, Config},
    events::{Piece, Pieces},
    failure,
    question::{Question, REVISION, Told},
    retry,
};
use crate::{large, logging::without_secrets, requirements::headers};

/// How often a running request checks whether it was cancelled.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);

/// A slower connection attempt is abandoned and replaced.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest pause before asking for a lost answer again, because the outcome of a write should be known soon.
const LOST_PAUSE_MAX: Duration = Duration::from_secs(2);

/// Reserved from a request's time, at most a tenth of it, so that our answer with the known facts is sent before the
/// general time-out error.
const ANSWERING_TIME: Duration = Duration::from_millis(200);

/// After how long without a byte a connection is probed.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// The server, and the connections to it.
pub struct Upstream {
    backend: BackendUrl,
    url: String,
    client: Client,
    runtime: Runtime,
    retries_max: u32,
    timeout: Duration,
    /// The prefix of request ids: unique to this process, because the id is also the key by which the
    /// server recognises a retry.
    label: String,
    n_requests: AtomicU64,
    n_retries: AtomicU64,
    served: Notify,
}

impl Upstream {
    /// Prepares the client; does not connect yet.
    pub fn new(config: &Config) -> io::Result<Self> {
        // A second start in one process, as in tests, keeps the first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        let bearer = HeaderValue::from_str(&format!("Bearer {}", config.token.0));
        let mut bearer = bearer.map_err(|_| io::Error::other("the token does not fit into a header"))?;
        bearer.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, bearer);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, accepted);
        headers.insert("mcp-protocol-version", HeaderValue::from_static(REVISION));
        headers.insert(headers::UNLISTED, HeaderValue::from_static("1"));
        if config.output_schemas {
            headers.insert(headers::OUTPUT_SCHEMAS, HeaderValue::from_static("1"));
        }
        if let Some(toolsets) = &config.toolsets {
            headers.insert(headers::TOOLSETS, HeaderValue::from_str(toolsets).map_err(io::Error::other)?);
        }
        let client = Client::builder()
            .default_headers(headers)
            // Redirects are not followed: a redirected POST becomes a GET, and the token must not be sent elsewhere.
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEPALIVE)
            .user_agent(concat!("requirements-mcp-server/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self {
            backend: config.backend.clone(),
            url: config.backend.api("/mcp"),
            client,
            runtime,
            retries_max: config.retries_max,
            timeout: config.timeout,
            label: format!("{:016x}", retry::random()),
            n_requests: AtomicU64::new(0),
            n_retries: AtomicU64::new(0),
            served: Notify::new(),
        })
    }

    /// The server's address.
    pub fn backend(&self) -> &BackendUrl {
        &self.backend
    }

    /// The number of requests, and of retries.
    pub fn counts(&self) -> (u64, u64) {
        (self.n_requests.load(Ordering::Relaxed), self.n_retries.load(Ordering::Relaxed))
    }

    /// Waits until the server has served another request, which shows that it accepts the token.
    pub async fn served(&self) {
        self.served.notified().await;
    }

    /// Runs a task concurrently with requests.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// Blocks this thread, until the result or a cancellation.
    pub fn wait<T>(&self, task: impl Future<Output = T>, is_wanted: impl Fn() -> bool) -> Option<T> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                done = task => Some(done),
                () = until_unwanted(is_wanted) => None,
            }
        })
    }

    /// Sends a request, and waits for the result. Progress is reported on this thread.
    pub fn ask(
        &self,
        mut question: Question<'_>,
        is_wanted: impl Fn() -> bool,
        told: impl Fn(Told<'_>),
    ) -> Result<Map<String, Value>, Failure> {
        self.n_requests.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        let method = question.method;
        question.request_id = format!("{}-{}", self.label, question.request_id);
        let request_id = question.request_id.clone();
        let answer = self.wait(self.answer(question, &told), is_wanted);
        let result =
            answer.unwrap_or_else(|| Err(Failure::new(FailureKind::Timeout, "the caller no longer waits")));
        let duration = started.elapsed();
        match &result {
            Ok(_) => tracing::debug!(request_id, ?duration, "{method} was answered"),
            Err(failure) => {
                tracing::warn!(request_id, ?duration, "{method}: {} ({:?})", failure.message, failure.kind)
            }
        }
        result
    }

    /// Retries until there is an answer, the time is over or the retries are used up. A write whose answer may have been lost
    /// is repeated with the
    /// same key as long as there is time: the server replays the answer, or executes what never arrived.
    async fn answer(
        &self,
        mut question: Question<'_>,
        told: &impl Fn(Told<'_>),
    ) -> Result<Map<String, Value>, Failure> {
        let timeout = question.timeout.unwrap_or(self.timeout);
        let deadline = time::Instant::from_std(question.started + timeout - ANSWERING_TIME.min(timeout / 10));
        let late = || {
            Failure::new(FailureKind::Timeout, format!("{} did not answer within {timeout:?}", self.backend))
        };
        let headers = question.headers();
        let body = question.body();
        let mut n_retries = 0;
        let mut reason = None;
        // Whether an attempt may have reached the server, so that its outcome is unknown.
        let mut is_open = false;
        let ending = |failure: Failure, is_open: bool| match (&question.look, question.name) {
            (Some(look), Some(tool)) if is_open => failure::may_have_happened(failure, tool, look),
            _ => failure,
        };
        while time::Instant::now() < deadline {
            let attempt = self.attempt(&question, &headers, body.clone(), told);
            let (failure, asked) = match time::timeout_at(deadline, attempt).await {
                Ok(Attempt::Answered(Err(failure))) if !failure::is_outcome(&failure) => {
                    return Err(ending(failure, is_open));
                }
                Ok(Attempt::Answered(answer)) => return answer,
                Ok(Attempt::Failed(failure, asked)) => (failure, asked),
                Ok(Attempt::Lost(failure, asked)) => {
                    is_open = true;
                    (failure, asked)
                }
                Err(_) => {
                    is_open = true;
                    break;
                }
            };
            // The first attempt ends eventually; asking for its answer does not count as another attempt.
            let is_running = failure::is_still_running(&failure);
            is_open |= is_running;
            let is_asked_for = is_open && question.look.is_some();
            let pause = match asked {
                Some(asked) if is_running => asked,
                asked => {
                    let longest = if is_asked_for { LOST_PAUSE_MAX } else { Duration::MAX };
                    retry::pause(n_retries).min(longest).max(asked.unwrap_or_default())
                }
            };
            let is_patient = is_running || is_asked_for || n_retries < self.retries_max;
            if !is_patient || time::Instant::now() + pause >= deadline {
                return Err(ending(failure, is_open));
            }
            tracing::info!(
                request_id = question.request_id,
                retry = n_retries + 1,
                ?pause,
                "{}: {}; trying again",
                question.method,
                failure.message
            );
            self.n_retries.fetch_add(1, Ordering::Relaxed);
            n_retries += u32::from(!is_running);
            reason = Some(failure);
            time::sleep(pause).await;
        }
        Err(ending(reason.unwrap_or_else(late), is_open))
    }

    async fn attempt(
        &self,
        question: &Question<'_>,
        headers: &HeaderMap,
        body: Vec<u8>,
        told: &impl Fn(Told<'_>),
    ) -> Attempt {
        let response = match self.client.post(&self.url).headers(headers.clone()).body(body).send().await {
            Ok(response) => response,
            Err(error) => return self.away(&error),
        };
        let status = response.status().as_u16();
        if status == 200 {
            self.served.notify_one();
        }
        let content_type = header_text(&response, header::CONTENT_TYPE).unwrap_or_default();
        let asked = header_text(&response, header::RETRY_AFTER);
        let asked = retry::asked_pause(asked.as_deref());
        let message = match self.message(response, question, told).await {
            Ok(message) => message,
            Err(Some(attempt)) => return attempt,
            Err(None) => {
                let failure = failure::from_status(status, self.url(), &content_type);
                return match retry::is_passing(status) {
                    // A proxy does not know how far the server came.
                    true if matches!(status, 502 | 504) => Attempt::Lost(failure, asked),
                    true => Attempt::Failed(failure, asked),
                    false => Attempt::Answered(Err(failure)),
                };
            }
        };
        let answer = match message {
            Message { error: Some(error), .. } => Err(failure::from_error(status, &error)),
            Message { result: Some(result), .. } => match result.get("isError") {
                Some(Value::Bool(true)) => Err(failure::from_result(&result)),
                _ => Ok(result),
            },
            Message { .. } => Err(failure::from_status(status, self.url(), &content_type)),
        };
        match answer {
            Err(failure) if retry::is_passing(status) || failure::is_still_running(&failure) => {
                let asked = asked.or_else(|| failure::asked_seconds(&failure).map(Duration::from_secs));
                Attempt::Failed(failure, asked)
            }
            answer => Attempt::Answered(answer),
        }
    }

    /// Reads the answer, which is an object or a stream of events. None if it is neither.
    async fn message(
        &self,
        mut response: Response,
        question: &Question<'_>,
        told: &impl Fn(Told<'_>),
    ) -> Result<Message, Option<Attempt>> {
        let is_stream = is_stream(&response);
        let mut pieces = Pieces::default();
        let may_be_large = matches!(question.method, "resources/read" | "tools/call" | "prompts/get");
        let mut body = Body::new(may_be_large);
        while let Some(chunk) = response.chunk().await.map_err(|error| Some(self.away(&error)))? {
            if !is_stream {
                body.add(&chunk).map_err(refused)?;
                continue;
            }
            let mut rest = &chunk[..];
            while let Some(piece) = pieces.next(&mut rest) {
                if let Piece::Data(data) = piece {
                    body.add(data).map_err(refused)?;
                    continue;
                }
                let (gathered, texts) = std::mem::replace(&mut body, Body::new(may_be_large)).end();
                if gathered.is_empty() {
                    continue;
                }
                let message: Message = serde_json::from_slice(&gathered).map_err(|_| None)?;
                if message.id == question.request_id.as_str() {
                    large::keep(texts);
                    return Ok(message);
                }
                if texts.is_empty() {
                    message.tell(&question.request_id, told);
                }
            }
        }
        let (gathered, texts) = body.end();
        let cut = || Some(Attempt::Lost(failure::away(self.url(), "the answer was cut off"), None));
        if is_stream {
            return Err(cut());
        }
        let message = serde_json::from_slice(&gathered).map_err(|error| {
            let is_cut = error.is_eof() && gathered.starts_with(b"{");
            if is_cut { cut() } else { None }
        })?;
        large::keep(texts);
        Ok(message)
    }

    /// Makes one attempt to open a stream of events; the caller decides when to retry.
    pub async fn open(&self, mut question: Question<'_>) -> Result<Response, Failure> {
        let headers = question.headers();
        let body = question.body();
        let sent = self.client.post(&self.url).headers(headers).body(body).send().await;
        let response = sent.map_err(|error| failure::away(self.url(), &cause(&error)))?;
        let status = response.status();
        let content_type = header_text(&response, header::CONTENT_TYPE).unwrap_or_default();
        if status == StatusCode::OK && is_stream(&response) {
            return Ok(response);
        }
        match self.message(response, &question, &|_| {}).await {
            Ok(Message { error: Some(error), .. }) => Err(failure::from_error(status.as_u16(), &error)),
            _ => Err(failure::from_status(status.as_u16(), self.url(), &content_type)),
        }
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn away(&self, error: &reqwest::Error) -> Attempt {
        let failure = failure::away(&self.backend.to_string(), &cause(error));
        // Without a connection nothing was sent.
        if error.is_connect() { Attempt::Failed(failure, None) } else { Attempt::Lost(failure, None) }
    }
}

/// The outcome of one attempt.
enum Attempt {
    Answered(Result<Map<String, Value>, Failure>),
    /// A retry may succeed, perhaps after the pause that the server asks for.
    Failed(Failure, Option<Duration>),
    /// The request was sent, but its answer did not arrive: the server may have executed it.
    Lost(Failure, Option<Duration>),
}

#[derive(serde::Deserialize)]
struct Message {
    #[serde(default)]
    id: Value,
    result: Option<Map<String, Value>>,
    error: Option<Value>,
    #[serde(default)]
    method: Value,
    #[serde(default)]
    params: Value,
}

impl Message {
    /// Reports a progress notification with our token.
    fn tell(&self, token: &str, told: &impl Fn(Told<'_>)) {
        let params = &self.params;
        if self.method != "notifications/progress" || params["progressToken"] != token {
            return;
        }
        let Some(progress) = params["progress"].as_f64() else { return };
        let message = params["message"].as_str().map(without_secrets);
        told(Told { progress, total: params["total"].as_f64(), message: message.as_deref() });
    }
}

async fn until_unwanted(is_wanted: impl Fn() -> bool) {
    while is_wanted() {
        time::sleep(LOOK_INTERVAL).await;
    }
}

fn header_text(response: &Response, name: HeaderName) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

fn is_stream(response: &Response) -> bool {
    header_text(response, header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Why an answer cannot be forwarded; none if it violates the protocol.
fn refused(problem: BodyProblem) -> Option<Attempt> {
    match problem {
        BodyProblem::TooLarge => Some(too_large()),
        BodyProblem::NotJson => None,
        BodyProblem::File(error) => {
            tracing::error!("a large answer cannot be kept in a file: {error}");
            Some(Attempt::Answered(Err(Failure::internal())))
        }
    }
}

fn too_large() -> Attempt {
    Attempt::Answered(Err(Failure::new(
        FailureKind::Other,
        "the answer is too large to be passed on; ask for less",
    )))
}

/// The innermost cause, which is more specific than the outer ones.
pub fn cause(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), cause)
}
