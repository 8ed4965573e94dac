//! Background processes: output, stdin, signals.

use std::sync::Arc;

use axum::Json;
use axum::body::Body as HttpBody;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::SharedSandboxes;
use super::commands::{CommandStreamEvent, last_heard, listened};
use super::extractors::{JsonBody, PathParams, QueryParams, RawBody, RawBytes};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{
    BackgroundProcess, Caller, ExecuteRequest, ProcessControl, ProcessView, TranscriptRetention,
    TranscriptStream,
};

/// List of background processes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProcessList {
    /// Background processes, oldest first; ended ones are listed for ten minutes.
    processes: Vec<ProcessView>,
}

/// List background processes.
#[utoipa::path(get, path = "/api/sandboxes/{id}/processes", tag = "commands", params(("id" = String, Path)),
    responses((status = 200, body = ProcessList), (status = 404, description = "Sandbox not found.", body = ErrorBody)))]
pub(super) async fn list(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<Json<ProcessList>, ApiError> {
    let all = sandboxes.find(&caller, &id)?.processes();
    Ok(Json(ProcessList { processes: all.iter().map(|process| ProcessView::from(&**process)).collect() }))
}

/// Start a background process.
///
/// The last 17 MiB of its output are kept; it is never blocked by a missing reader. Its stdin stays open.
#[utoipa::path(post, path = "/api/sandboxes/{id}/processes", tag = "commands", params(("id" = String, Path)), request_body = ExecuteRequest,
    responses((status = 201, description = "Started.", body = ProcessView),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "No permission to enter the working directory.", body = ErrorBody),
        (status = 404, description = "Sandbox or working directory not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused or stopped.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 422, description = "Invalid command.", body = ErrorBody)))]
pub(super) async fn start(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
    JsonBody(execute): JsonBody<ExecuteRequest>,
) -> Result<(StatusCode, Json<ProcessView>), ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    // The default timeout of commands does not apply to background processes such as servers.
    let request = execute.request(None)?;
    let running = entry.start(request, TranscriptRetention::Last).await?;
    Ok((StatusCode::CREATED, Json(ProcessView::from(&*running))))
}

fn find(
    sandboxes: &SharedSandboxes,
    caller: &Caller,
    id: &str,
    process: &str,
) -> Result<Arc<BackgroundProcess>, ApiError> {
    sandboxes.find(caller, id)?.process(process)
}

/// Get a background process.
#[utoipa::path(get, path = "/api/sandboxes/{id}/processes/{process}", tag = "commands",
    params(("id" = String, Path), ("process" = String, Path)),
    responses((status = 200, body = ProcessView), (status = 404, description = "Sandbox or process not found.", body = ErrorBody)))]
pub(super) async fn get(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, process)): PathParams<(String, String)>,
) -> Result<Json<ProcessView>, ApiError> {
    Ok(Json(ProcessView::from(&*find(&sandboxes, &caller, &id, &process)?)))
}

/// Kill a background process with its children, and remove it.
#[utoipa::path(delete, path = "/api/sandboxes/{id}/processes/{process}", tag = "commands",
    params(("id" = String, Path), ("process" = String, Path)),
    responses((status = 200, description = "The ended process.", body = ProcessView), (status = 404, description = "Sandbox or process not found.", body = ErrorBody)))]
pub(super) async fn end(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, process)): PathParams<(String, String)>,
) -> Result<Json<ProcessView>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let running = entry.process(&process)?;
    if running.control(ProcessControl::Kill).await {
        running.ended().await;
    }
    entry.forget(&process);
    Ok(Json(ProcessView::from(&*running)))
}

/// Stream the output of a background process as server-sent events.
#[utoipa::path(get, path = "/api/sandboxes/{id}/processes/{process}/events", tag = "commands",
    params(("id" = String, Path), ("process" = String, Path),
        ("Last-Event-ID" = Option<u64>, Header, description = "Number of the last event received; the stream continues after it.")),
    responses((status = 200, description = "Event stream.", content_type = "text/event-stream", body = CommandStreamEvent),
        (status = 404, description = "Sandbox or process not found.", body = ErrorBody),
        (status = 422, description = "Invalid Last-Event-ID.", body = ErrorBody)))]
pub(super) async fn events(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, process)): PathParams<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let running = entry.process(&process)?;
    Ok(listened(&entry, running, last_heard(&headers)?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ProcessLogsQuery {
    /// Output stream; default: both.
    stream: Option<LogStream>,
    /// Only the last bytes; at most 1 GiB.
    #[param(minimum = 0, maximum = 1_073_741_824)]
    tail: Option<u64>,
}

/// Maximum of `tail`.
const MAX_TAIL: u64 = 1 << 30;

/// Output stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogStream {
    Stdout,
    Stderr,
}

/// Get the recorded output of a background process.
#[utoipa::path(get, path = "/api/sandboxes/{id}/processes/{process}/logs", tag = "commands",
    params(("id" = String, Path), ("process" = String, Path), ProcessLogsQuery),
    responses((status = 200, description = "The output.", content_type = "application/octet-stream", body = RawBytes),
        (status = 404, description = "Sandbox or process not found.", body = ErrorBody),
        (status = 422, description = "Invalid stream or tail.", body = ErrorBody)))]
pub(super) async fn logs(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, process)): PathParams<(String, String)>,
    QueryParams(which): QueryParams<ProcessLogsQuery>,
) -> Result<Response, ApiError> {
    let running = find(&sandboxes, &caller, &id, &process)?;
    if which.tail.is_some_and(|tail| tail > MAX_TAIL) {
        return Err(ApiError::invalid(format!("tail: 0 to {MAX_TAIL}")));
    }
    let is_wanted = |stream: TranscriptStream| {
        which
            .stream
            .is_none_or(|wanted| (wanted == LogStream::Stdout) == (stream == TranscriptStream::Stdout))
    };
    let mut bytes: Vec<u8> = Vec::new();
    for chunk in running.transcript.all().iter().filter(|chunk| is_wanted(chunk.stream)) {
        bytes.extend_from_slice(&chunk.bytes);
    }
    if let Some(tail) = which.tail {
        let tail = usize::try_from(tail).unwrap_or(usize::MAX);
        bytes.drain(..bytes.len().saturating_sub(tail));
    }
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], HttpBody::from(bytes)).into_response())
}

/// Request to send a signal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SignalRequest {
    /// Name or number, such as `TERM`, `SIGINT` or `9`.
    #[schema(value_type = String, example = "TERM")]
    signal: serde_json::Value,
}

/// Signal numbers by name, equal on all supported Linux architectures.
const SIGNALS: [(&str, i32); 11] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("TERM", 15),
    ("CONT", 18),
    ("STOP", 19),
    ("WINCH", 28),
];

fn signal_number(signal: &serde_json::Value) -> Option<i32> {
    let text = match signal {
        serde_json::Value::Number(number) => number.to_string(),
        serde_json::Value::String(text) => text.to_uppercase(),
        _ => return None,
    };
    let name = text.trim_start_matches("SIG");
    let by_name = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    by_name.or_else(|| text.parse().ok()).filter(|number| (1..=64).contains(number))
}

/// Send a signal to a background process.
#[utoipa::path(post, path = "/api/sandboxes/{id}/processes/{process}/signal", tag = "commands",
    params(("id" = String, Path), ("process" = String, Path)), request_body = SignalRequest,
    responses((status = 204, description = "Sent."),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 404, description = "Sandbox or process not found.", body = ErrorBody),
        (status = 409, description = "The process has ended.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 422, description = "Invalid signal.", body = ErrorBody)))]
pub(super) async fn signal(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, process)): PathParams<(String, String)>,
    JsonBody(which): JsonBody<SignalRequest>,
) -> Result<StatusCode, ApiError> {
    let running = find(&sandboxes, &caller, &id, &process)?;
    let number = signal_number(&which.signal)
        .ok_or_else(|| ApiError::invalid("signal: expected a name such as TERM, or 1 to 64"))?;
    if running.control(ProcessControl::Signal(number)).await {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(has_ended(&process))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StdinQuery {
    /// Close stdin after writing.
    close: Option<bool>,
}

/// Write to the stdin of a background process.
#[utoipa::path(post, path = "/api/sandboxes/{id}/processes/{process}/stdin", tag = "commands",
    params(("id" = String, Path), ("process" = String, Path), StdinQuery),
    request_body(content = Option<RawBytes>, content_type = "application/octet-stream"),
    responses((status = 204, description = "Written."),
        (status = 404, description = "Sandbox or process not found.", body = ErrorBody),
        (status = 409, description = "The process has ended or no longer reads its stdin.", body = ErrorBody),
        (status = 422, description = "Invalid query.", body = ErrorBody)))]
pub(super) async fn stdin(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, process)): PathParams<(String, String)>,
    QueryParams(last): QueryParams<StdinQuery>,
    RawBody(bytes): RawBody,
) -> Result<StatusCode, ApiError> {
    let running = find(&sandboxes, &caller, &id, &process)?;
    if !bytes.is_empty() && !running.write(&bytes).await {
        return Err(has_ended(&process));
    }
    if last.close == Some(true) {
        running.close_stdin().await;
    }
    Ok(StatusCode::NO_CONTENT)
}

fn has_ended(process: &str) -> ApiError {
    ApiError::conflict("process_ended", format!("process {process} has ended or no longer reads its stdin"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::signal_number;

    #[test]
    fn signals_are_parsed_by_name_and_number() {
        for (signal, number) in [
            (json!("TERM"), Some(15)),
            (json!("sigint"), Some(2)),
            (json!(9), Some(9)),
            (json!("12"), Some(12)),
            (json!(0), None),
            (json!("65"), None),
            (json!("NOPE"), None),
            (json!([]), None),
        ] {
            assert_eq!(signal_number(&signal), number, "{signal}");
        }
    }
}
