//! What the server counts, for Prometheus.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use ops::Engine;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{App, process};

/// The counters.
pub struct Metrics {
    registry: Registry,
    engine: Engine,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<OperationLabels, Histogram>,
    messages: Family<MessageLabels, Counter>,
    message_seconds: Family<MethodLabels, Histogram>,
    revisions: Family<RevisionLabels, Counter>,
    streams: Gauge,
    waiting: Gauge,
    connections: Gauge,
    memory: Gauge,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    surface: &'static str,
    operation: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OperationLabels {
    surface: &'static str,
    operation: &'static str,
}

/// A message of an agent: its method, the tool that it calls, and what came of it.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct MessageLabels {
    method: &'static str,
    tool: &'static str,
    status: u16,
    /// The code of the error, 0 without one.
    code: i64,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct MethodLabels {
    method: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RevisionLabels {
    revision: &'static str,
}

const BUCKETS_S: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

impl Metrics {
    pub fn new(engine: Engine) -> Metrics {
        let mut registry = Registry::with_prefix("spexus");
        let requests = Family::default();
        registry.register("requests", "Requests by surface, operation and status", requests.clone());
        let seconds = Family::new_with_constructor(buckets as fn() -> Histogram);
        registry.register("request_seconds", "How long requests took", seconds.clone());
        let messages = Family::default();
        registry.register(
            "mcp_messages",
            "Messages of agents by method, tool, status and error",
            messages.clone(),
        );
        let message_seconds = Family::new_with_constructor(buckets as fn() -> Histogram);
        registry.register("mcp_message_seconds", "How long messages of agents took", message_seconds.clone());
        let revisions = Family::default();
        registry.register("mcp_revisions", "Revisions of the protocol that agents speak", revisions.clone());
        let streams = Gauge::default();
        registry.register("mcp_streams", "Streams on which agents listen", streams.clone());
        let (waiting, connections, memory) = (Gauge::default(), Gauge::default(), Gauge::default());
        registry.register("store_waiting", "Calls that wait for the store", waiting.clone());
        registry.register("store_connections", "Threads with a connection to the store", connections.clone());
        registry.register("resident_memory_bytes", "Memory that the process uses", memory.clone());
        Metrics {
            registry,
            engine,
            requests,
            seconds,
            messages,
            message_seconds,
            revisions,
            streams,
            waiting,
            connections,
            memory,
        }
    }

    /// Counts a request.
    pub fn observe(&self, operation: &'static str, surface: &'static str, status: u16, elapsed: Duration) {
        self.requests.get_or_create(&RequestLabels { surface, operation, status }).inc();
        self.seconds.get_or_create(&OperationLabels { surface, operation }).observe(elapsed.as_secs_f64());
    }

    /// Counts a message of an agent.
    pub fn observe_message(
        &self,
        method: &'static str,
        tool: Option<&'static str>,
        status: u16,
        code: Option<i64>,
        revision: &str,
        elapsed: Duration,
    ) {
        let (tool, code) = (tool.unwrap_or_default(), code.unwrap_or_default());
        self.messages.get_or_create(&MessageLabels { method, tool, status, code }).inc();
        self.message_seconds.get_or_create(&MethodLabels { method }).observe(elapsed.as_secs_f64());
        let revision = mcp::Revision::parse(revision).map_or("unknown", mcp::Revision::as_str);
        self.revisions.get_or_create(&RevisionLabels { revision }).inc();
    }

    fn text(&self, n_streams: usize) -> String {
        self.streams.set(n_streams as i64);
        let store = self.engine.store();
        self.waiting.set(store.waiting() as i64);
        self.connections.set(store.connections() as i64);
        let process = process::Figures::read().unwrap_or_default();
        self.memory.set(process.resident_bytes);
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode_registry(&mut text, &process.registry());
        let _ = encode_eof(&mut text);
        text
    }
}

fn buckets() -> Histogram {
    Histogram::new(BUCKETS_S)
}

/// `GET /metrics`.
pub async fn serve(State(app): State<Arc<App>>) -> Response<Body> {
    let mut response = Response::new(Body::from(app.metrics.text(app.feed.n_listeners())));
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
