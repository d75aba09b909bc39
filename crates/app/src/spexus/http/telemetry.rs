//! OpenTelemetry: a span for every request, sent where `OTEL_EXPORTER_OTLP_ENDPOINT` says. Without it nothing is done.
//! The other variables of OpenTelemetry (headers, service name, sampler) are read by its own crates.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

/// How long the last spans may take to leave at the end.
const LAST_SPANS_TIME: Duration = Duration::from_secs(3);

/// Sends spans, if it is configured.
pub struct Telemetry {
    sending: Option<(SdkTracerProvider, SdkTracer)>,
}

/// What a span says about a request.
pub struct Request<'a> {
    /// The operation.
    pub operation: &'static str,
    /// The HTTP method.
    pub method: &'a str,
    /// The path with the names of its parameters.
    pub route: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// The id of the request.
    pub id: &'a str,
    /// The user's name.
    pub user: &'a str,
    /// How long it took.
    pub elapsed: Duration,
}

impl Telemetry {
    /// Reads the environment. A configuration that makes no sense is logged, and the server goes on without.
    pub fn start() -> Telemetry {
        let names = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
        if names.iter().all(|name| std::env::var_os(name).is_none_or(|value| value.is_empty())) {
            return Telemetry { sending: None };
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        match SpanExporter::builder().with_http().build() {
            Ok(exporter) => {
                let mut resource = Resource::builder();
                if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
                    resource = resource.with_service_name("spexus");
                }
                let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
                let resource = resource.with_attribute(version).build();
                let provider = SdkTracerProvider::builder()
                    .with_batch_exporter(exporter)
                    .with_resource(resource)
                    .build();
                let tracer = provider.tracer("spexus");
                Telemetry { sending: Some((provider, tracer)) }
            }
            Err(error) => {
                tracing::error!("OpenTelemetry is configured, but cannot start: {error}");
                Telemetry { sending: None }
            }
        }
    }

    /// Sends a span for a request that is done, below the caller's own if the headers name one.
    pub fn record(&self, headers: &HeaderMap, request: &Request<'_>) {
        let Some((_, tracer)) = &self.sending else { return };
        let given: HashMap<String, String> = ["traceparent", "tracestate"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), headers.get(name)?.to_str().ok()?.to_owned())))
            .collect();
        let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &given);
        let end = SystemTime::now();
        let attributes = [
            KeyValue::new("http.request.method", request.method.to_owned()),
            KeyValue::new("http.route", request.route.to_owned()),
            KeyValue::new("http.response.status_code", i64::from(request.status)),
            KeyValue::new("spexus.operation", request.operation),
            KeyValue::new("spexus.request_id", request.id.to_owned()),
            KeyValue::new("user.name", request.user.to_owned()),
        ];
        let span = tracer
            .span_builder(format!("{} {}", request.method, request.route))
            .with_kind(SpanKind::Server)
            .with_start_time(end - request.elapsed)
            .with_attributes(attributes)
            .start_with_context(tracer, &parent);
        let context = parent.with_span(span);
        if request.status >= 500 {
            context.span().set_status(Status::error(""));
        }
        context.span().end_with_timestamp(end);
    }

    /// Sends what is left.
    pub fn finish(&self) {
        if let Some((provider, _)) = &self.sending
            && let Err(error) = provider.shutdown_with_timeout(LAST_SPANS_TIME)
        {
            tracing::warn!("the last spans were not sent: {error}");
        }
    }
}
