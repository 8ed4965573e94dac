//! Decides the response to a request, and the fault to inject.

use std::path::Path;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use menace_model::network::{FlowRequest, MockFallback, MockFault, MockResponse};
use serde_json::{Value, json};

use super::body::MockBody;
use super::drift::drift;
use super::plausible::plausible;
use super::rules::{MatchedMockRule, ValidatedMockRules};

/// Longest recorded path or host, in characters.
const LONGEST_RECORDED: usize = 500;

/// Reaction to a request.
#[derive(Debug)]
pub(super) enum MockReaction {
    Answer(Box<Response<MockBody>>),
    /// The connection is reset.
    Reset,
    /// No response is ever sent.
    Stall,
}

/// Decision about a request.
#[derive(Debug)]
pub(super) struct MockDecision {
    pub(super) delay: Duration,
    pub(super) reaction: MockReaction,
    pub(super) record: FlowRequest,
}

/// Decides about a request to a host.
pub(super) fn respond(
    rules: &ValidatedMockRules,
    (host, port): (&str, u16),
    request: &Parts,
    body: &[u8],
) -> MockDecision {
    let fitting = rules.find(host, port, request, body);
    let mut record = FlowRequest {
        method: request.method.to_string(),
        host: named_host(request).map_or_else(|| host.to_owned(), |named| shortened(&named)),
        path: shortened(request.uri.path_and_query().map_or("", |path| path.as_str())),
        rule: fitting.map(|fitting| fitting.number),
        fault: fitting.and_then(|fitting| fitting.fault),
        ..FlowRequest::default()
    };
    let answer = fitting.map(|fitting| &fitting.rule.respond);
    let delay = answer.and_then(|answer| answer.delay).unwrap_or_default();
    let reaction = match record.fault {
        Some(MockFault::Reset) => MockReaction::Reset,
        Some(MockFault::Stall) => MockReaction::Stall,
        _ => MockReaction::Answer(Box::new(build_response(rules, fitting, request, body, &mut record))),
    };
    if let MockReaction::Answer(response) = &reaction {
        record.status = Some(response.status().as_u16());
    }
    MockDecision { delay, reaction, record }
}

/// Beginning of a text, for the record.
fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_RECORDED).collect()
}

/// Host that the request names in its URI or its Host header.
fn named_host(request: &Parts) -> Option<String> {
    let header = request.headers.get(hyper::header::HOST).and_then(|value| value.to_str().ok());
    request.uri.host().or(header).map(str::to_owned)
}

fn build_response(
    rules: &ValidatedMockRules,
    fitting: Option<MatchedMockRule<'_>>,
    request: &Parts,
    body: &[u8],
    record: &mut FlowRequest,
) -> Response<MockBody> {
    let refused = match record.fault {
        Some(MockFault::Unauthorized) => Some(StatusCode::UNAUTHORIZED),
        Some(MockFault::Forbidden) => Some(StatusCode::FORBIDDEN),
        Some(MockFault::Unavailable) => Some(StatusCode::SERVICE_UNAVAILABLE),
        _ => None,
    };
    if let Some(status) = refused {
        return error(status);
    }
    let is_plausible = rules.mocks.fallback == MockFallback::Plausible;
    let fallback = || {
        let (kind, bytes) = plausible(request, body, &rules.mocks.fields);
        (kind, Bytes::from(bytes))
    };
    let (kind, mut bytes) = match fitting.map(|fitting| fitting.body) {
        Some(Ok(Some(content))) => content.clone(),
        Some(Ok(None)) | None if is_plausible => fallback(),
        Some(Ok(None)) => ("", Bytes::new()),
        Some(Err(problem)) => {
            tracing::warn!("failed to read the body of a mock's response: {problem}");
            return error(StatusCode::INTERNAL_SERVER_ERROR);
        }
        None => return error(StatusCode::NOT_FOUND),
    };
    if rules.mocks.drift > 0.0 && kind.starts_with("application/json") {
        record.drifted = apply_drift(&mut bytes, rules);
    }
    if record.fault == Some(MockFault::Corrupt) {
        bytes = corrupted(&bytes);
    }
    let is_cut = record.fault == Some(MockFault::Truncate);
    let content = if is_cut { MockBody::half(bytes) } else { MockBody::whole(bytes) };
    with_headers(Response::new(content), kind, fitting.map(|fitting| &fitting.rule.respond))
}

fn with_headers(
    mut response: Response<MockBody>,
    kind: &'static str,
    answer: Option<&MockResponse>,
) -> Response<MockBody> {
    if !kind.is_empty() {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    let Some(answer) = answer else { return response };
    // Rules were validated when they were read.
    if let Some(status) = answer.status.and_then(|status| StatusCode::from_u16(status).ok()) {
        *response.status_mut() = status;
    }
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Body of a rule's response, and its content type; `None` if the rule has no body.
pub(super) fn content(answer: &MockResponse) -> Result<Option<(&'static str, Bytes)>, String> {
    if let Some(value) = &answer.json {
        return Ok(Some(("application/json", value.to_string().into())));
    }
    if let Some(file) = &answer.file {
        let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        return Ok(Some((kind_of(file), bytes.into())));
    }
    Ok(answer.body.as_ref().map(|body| ("text/plain; charset=utf-8", body.clone().into())))
}

fn kind_of(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("json") => "application/json",
        Some("html" | "htm") => "text/html; charset=utf-8",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        Some("csv") => "text/csv; charset=utf-8",
        Some("xml") => "application/xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        _ => "application/octet-stream",
    }
}

fn apply_drift(bytes: &mut Bytes, rules: &ValidatedMockRules) -> u64 {
    let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else { return 0 };
    let changed = drift(&mut value, rules.mocks.drift, rules.chance, &rules.mocks.fields);
    if changed > 0 {
        *bytes = value.to_string().into();
    }
    changed
}

/// Changes the first byte and every sixteenth after it.
fn corrupted(bytes: &[u8]) -> Bytes {
    let mut bytes = bytes.to_vec();
    for byte in bytes.iter_mut().step_by(16) {
        *byte ^= 0x95;
    }
    bytes.into()
}

fn error(status: StatusCode) -> Response<MockBody> {
    let body = json!({"error": status.canonical_reason().unwrap_or_default(), "status": status.as_u16()});
    let mut response = Response::new(MockBody::whole(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match status {
        StatusCode::UNAUTHORIZED => {
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer error=\"invalid_token\""));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use hyper::Request;

    use super::*;

    fn decided(mocks: Value) -> MockDecision {
        let rules = ValidatedMockRules::new(serde_json::from_value(mocks).unwrap(), 0);
        let parts = Request::builder()
            .uri("/a?b=c")
            .header("host", "api.example.com")
            .body(())
            .unwrap()
            .into_parts()
            .0;
        respond(&rules, ("api.example.com", 80), &parts, b"")
    }

    async fn answer(decided: MockDecision) -> (u16, String, Option<Vec<u8>>) {
        let MockReaction::Answer(response) = decided.reaction else { panic!("no response") };
        let (parts, body) = response.into_parts();
        let kind = parts.headers.get(CONTENT_TYPE).map_or("", |kind| kind.to_str().unwrap()).to_owned();
        (parts.status.as_u16(), kind, body.collect().await.ok().map(|body| body.to_bytes().to_vec()))
    }

    #[tokio::test]
    async fn a_rule_sets_the_response_and_is_recorded() {
        let decided = decided(json!({"rules": [
            {"host": "api.example.com", "respond": {"status": 201, "json": {"a": 1}, "headers": {"X-A": "b"}, "delay": "5ms"}}
        ]}));
        assert_eq!(decided.delay, Duration::from_millis(5));
        let record = &decided.record;
        assert_eq!(
            (record.method.as_str(), record.path.as_str(), record.status, record.rule),
            ("GET", "/a?b=c", Some(201), Some(0))
        );
        assert_eq!(answer(decided).await, (201, "application/json".into(), Some(br#"{"a":1}"#.to_vec())));
    }

    #[tokio::test]
    async fn unmatched_requests_get_not_found_or_a_plausible_response() {
        assert_eq!(answer(decided(json!({}))).await.0, 404);
        let (status, kind, _) = answer(decided(json!({"fallback": "plausible"}))).await;
        assert_eq!((status, kind.as_str()), (200, "application/json"));
    }

    #[tokio::test]
    async fn every_fault_has_its_effect() {
        let with = |fault: &str| {
            decided(json!({"rules": [{"respond": {"json": {"key": "value and more"}, "fault": fault}}]}))
        };
        assert!(matches!(with("reset").reaction, MockReaction::Reset));
        assert!(matches!(with("stall").reaction, MockReaction::Stall));
        assert_eq!(answer(with("truncate")).await.2, None);
        let whole = br#"{"key":"value and more"}"#.to_vec();
        let corrupt = answer(with("corrupt")).await.2.unwrap();
        assert!(corrupt.len() == whole.len() && corrupt != whole);
        for (fault, status) in [("unauthorized", 401), ("forbidden", 403), ("unavailable", 503)] {
            assert_eq!(answer(with(fault)).await.0, status);
        }
    }

    #[tokio::test]
    async fn drift_is_counted() {
        let decided = decided(json!({"drift": 0.5, "rules": [{"respond": {"json": {"a": 1, "b": 2}}}]}));
        assert_eq!(decided.record.drifted, 1);
        assert_ne!(answer(decided).await.2.unwrap(), br#"{"a":1,"b":2}"#);
    }
}
