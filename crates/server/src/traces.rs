//! OpenTelemetry spans of requests: children of the caller's span, parents of the spans of the process that answers.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use opentelemetry::global::get_text_map_propagator;
use opentelemetry::propagation::{Extractor, Injector};
use tracing::{Instrument, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Path prefixes used as span names, so that requests for arbitrary paths do not create arbitrarily many names.
const KINDS: [&str; 8] = [
    "/api/sandboxes",
    "/api/snapshots",
    "/api/events",
    "/api/dashboard",
    "/api/docs",
    "/mcp",
    "/metrics",
    "/healthz",
];

/// Span of a request whose route is not known yet.
pub(crate) fn of_caller(request: &Request) -> Span {
    span(request, kind(request.uri().path()))
}

fn kind(path: &str) -> &'static str {
    let is_of =
        |kind: &&&str| path.strip_prefix(**kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    KINDS.iter().find(is_of).copied().unwrap_or_default()
}

/// Middleware that handles a request inside a span named after its route.
pub(crate) async fn follow(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    let span = span(&request, &route.unwrap_or_default());
    let response = next.run(request).instrument(span.clone()).await;
    record_status(&span, response.status());
    response
}

fn span(request: &Request, route: &str) -> Span {
    let span = tracing::info_span!(
        "request",
        otel.name = format!("{} {route}", request.method()).trim_end(),
        otel.kind = "server",
        otel.status_code = tracing::field::Empty,
        http.request.method = request.method().as_str(),
        http.response.status_code = tracing::field::Empty,
        url.path = request.uri().path(),
    );
    let parent =
        get_text_map_propagator(|propagator| propagator.extract(&TraceHeaderExtractor(request.headers())));
    // Fails if no trace collector is configured; then the span needs no parent.
    let _ = span.set_parent(parent);
    span
}

/// Records the status of the response.
pub(crate) fn record_status(span: &Span, status: StatusCode) {
    // The OpenTelemetry layer sends unsigned integers as strings.
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// Adds the current trace context to the headers of a forwarded request.
pub(crate) fn inject_context(headers: &mut HeaderMap) {
    let context = Span::current().context();
    get_text_map_propagator(|propagator| {
        propagator.inject_context(&context, &mut TraceHeaderInjector(headers));
    });
}

struct TraceHeaderExtractor<'a>(&'a HeaderMap);

impl Extractor for TraceHeaderExtractor<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

struct TraceHeaderInjector<'a>(&'a mut HeaderMap);

impl Injector for TraceHeaderInjector<'_> {
    fn set(&mut self, key: &str, value: String) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(key), HeaderValue::try_from(value)) {
            self.0.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn span_names_contain_nothing_from_the_caller() {
        assert_eq!(kind("/api/sandboxes/sb-1f/execute"), "/api/sandboxes");
        assert_eq!(kind("/metrics"), "/metrics");
        assert_eq!((kind("/api/sandboxes-of-others"), kind("/wp-login.php")), ("", ""));
    }
}
