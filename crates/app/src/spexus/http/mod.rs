//! HTTP: every route of every operation through one function, and what surrounds them.

mod address;
mod agents;
mod answer;
mod arguments;
pub mod body;
mod connections;
mod endpoint;
mod events;
pub mod exports;
mod file;
mod guard;
mod guesses;
mod health;
mod hearer;
mod holder;
mod hub;
mod issuer_keys;
mod limits;
mod listener;
mod metrics;
pub mod openapi;
pub mod outgoing;
mod page;
mod patterns;
mod process;
pub mod progress;
mod refusals;
mod request;
mod session;
mod streams;
mod telemetry;
mod traces;
mod upload;
mod uploads;
mod web;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{self, HeaderName, HeaderValue};
use axum::response::Response;
use axum::routing::{MethodFilter, get, on};
use ops::{Engine, Issuers, Method};
use tower_http::cors::CorsLayer;

pub use self::address::Proxies;
pub use self::answer::insert;
pub use self::connections::ConnectionLimits;
pub use self::issuer_keys::is_issuer;
pub use self::limits::LimitSettings;
pub use self::listener::{ConnectionOptions, Listener, Tls};
pub use self::request::{decode, request_id};
pub use self::telemetry::Telemetry;
use self::uploads::Uploads;

use self::agents::Agents;
use self::answer::not_found;
use self::endpoint::Endpoint;
use self::exports::Exports;
use self::health::Health;
use self::hub::Hub;
use self::issuer_keys::IssuerKeys;
use self::limits::Limits;
use self::metrics::Metrics;
use self::refusals::Noted;
use self::streams::Streams;
use self::traces::Traces;
use crate::requirements::ToolOptions;
use crate::streamable::Feed;
use crate::tmkb::Patterns;

/// Everything that requests share.
pub struct App {
    engine: Engine,
    limits: Arc<Limits>,
    metrics: Metrics,
    telemetry: Telemetry,
    hub: Hub,
    /// What agents hear of changes.
    feed: Feed,
    health: Health,
    options: HttpOptions,
    exports: Arc<Exports>,
    /// Files that people are about to import.
    uploads: Uploads,
    /// Streams of changes that are open.
    streams: Arc<Streams>,
    /// Refusals that are in the audit trail already.
    noted: Noted,
    /// The folders whose traces pages show.
    traces: Arc<Traces>,
    /// The threat patterns.
    patterns: Arc<Patterns>,
}

/// What can be chosen for the server.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Where the server is reached from outside; decides cookies and which pages may call it.
    pub public_url: String,
    /// Other origins whose pages may call it.
    pub allowed_origins: Vec<String>,
    /// How long a request may take.
    pub request_timeout: Duration,
    /// How long a client may take nothing of an answer.
    pub write_timeout: Duration,
    /// How large the file of an import may be.
    pub import_max_bytes: usize,
    /// How often one may ask.
    pub limits: LimitSettings,
    /// Whether only this machine can reach the server.
    pub is_loopback: bool,
    /// Whether the server shows the demonstration, in which a sign-in link needs no click.
    pub is_demo: bool,
    /// How the server introduces itself to agents.
    pub profile: mcp::Profile,
    /// Which tools agents are shown.
    pub tools: ToolOptions,
    /// The folders whose traces pages show, each with the key of its project.
    pub traces: Vec<(String, PathBuf)>,
    /// Whose identities of CI runs are accepted.
    pub oidc_issuers: Vec<String>,
}

/// The client's network address, put there by the listener.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

impl App {
    /// An application on a store.
    pub fn new(store: store::Store, options: HttpOptions, telemetry: Telemetry) -> Arc<App> {
        let limits = Arc::new(Limits::new(&options.limits));
        let gate = limits.clone();
        let keys = Arc::new(IssuerKeys::new(&options.oidc_issuers));
        let issuers = Issuers::new(options.oidc_issuers.clone(), options.public_url.clone(), keys);
        let patterns = Arc::new(Patterns::default());
        let engine = Engine::new(store)
            .behind(Arc::new(move |caller| gate.admit(caller)))
            .trusting(issuers)
            .knowing(patterns.clone());
        let hub = Hub::start(engine.clone());
        Arc::new(App {
            metrics: Metrics::new(engine.clone()),
            telemetry,
            engine,
            limits,
            hub,
            feed: Feed::default(),
            health: Health::default(),
            streams: Streams::new(options.limits.streams as usize),
            noted: Noted::default(),
            traces: Arc::new(Traces::start(&options.traces)),
            patterns,
            options,
            exports: Arc::default(),
            uploads: Uploads::default(),
        })
    }

    /// Sends what telemetry is left.
    pub fn finish_telemetry(&self) {
        self.telemetry.finish();
    }

    /// Ends streams that would otherwise never end.
    pub fn close_streams(&self) {
        self.feed.close();
        self.hub.close();
    }
}

/// Every route there is.
pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for entry in ops::OPERATIONS {
        for route in entry.routes {
            let endpoint = Arc::new(Endpoint::new(entry, route));
            let handler = {
                let endpoint = endpoint.clone();
                move |State(app): State<Arc<App>>, request: Request| async move {
                    if progress::is_wanted(request.headers()) && !endpoint.entry.answers_file {
                        return progress::stream(endpoint, app, request);
                    }
                    endpoint.serve(app, request).await
                }
            };
            router = router.route(&endpoint.pattern(), on(filter(route.method), handler));
        }
    }
    router
        .merge(Agents::start(&app).router(agents::PATH))
        .route("/api/v1/events", get(events::stream))
        .route("/api/v1/openapi.json", get(openapi::serve))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/metrics", get(metrics::serve))
        .merge(web::router())
        .route("/reference", get(page::reference))
        .fallback(unknown_path)
        .method_not_allowed_fallback(answer::method_not_allowed)
        .layer(tower::util::option_layer(other_origins(&app.options)))
        .with_state(app)
}

/// Lets the pages of listed origins read answers. Without any listed, no page of another site can.
fn other_origins(options: &HttpOptions) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> =
        options.allowed_origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let headers = [
        "authorization",
        "content-type",
        "if-match",
        "idempotency-key",
        "x-request-id",
        "last-event-id",
        "mcp-protocol-version",
        "mcp-session-id",
        "mcp-method",
        "mcp-name",
        "x-mcp-toolsets",
        "spexus-output-schemas",
    ];
    let exposed = [
        "etag",
        "location",
        "retry-after",
        "x-request-id",
        "idempotency-replayed",
        "mcp-session-id",
        "www-authenticate",
    ];
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_credentials(true)
        .allow_methods([
            http::Method::GET,
            http::Method::POST,
            http::Method::PUT,
            http::Method::PATCH,
            http::Method::DELETE,
        ])
        .allow_headers(headers.map(HeaderName::from_static))
        .expose_headers(exposed.map(HeaderName::from_static));
    Some(layer)
}

async fn unknown_path(request: Request) -> Response<Body> {
    // Whoever mistypes an address in a browser is shown a page.
    let is_page = request.method() == http::Method::GET && !request.uri().path().starts_with("/api/");
    let accepted = request.headers().get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
    match accepted.filter(|accepted| is_page && accepted.contains("text/html")) {
        Some(_) => web::nowhere(request.uri().path()),
        None => not_found(&request),
    }
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}
