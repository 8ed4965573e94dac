//! Commands: run to completion, or streamed so that a client can reconnect and continue.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::Stream as FutureStream;
use futures_util::stream::unfold;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SharedSandboxes;
use super::extractors::{JsonBody, PathParams};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{
    BackgroundProcess, BackgroundProcessState as Progress, Caller, CommandTermination, ExecuteRequest,
    ExecuteResponse, SandboxEntry, TranscriptChunk, TranscriptRetention, TranscriptStream,
};

/// Interval of `ping` events.
const PING: Duration = Duration::from_secs(15);

/// Run a command and wait for its end.
#[utoipa::path(post, path = "/api/sandboxes/{id}/execute", tag = "commands", params(("id" = String, Path)), request_body = ExecuteRequest,
    responses((status = 200, description = "The command ended or timed out.", body = ExecuteResponse),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 404, description = "Sandbox or working directory not found.", body = ErrorBody),
        (status = 403, description = "No permission to enter the working directory.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused or stopped.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 422, description = "Invalid command.", body = ErrorBody)))]
pub(super) async fn execute(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
    JsonBody(execute): JsonBody<ExecuteRequest>,
) -> Result<Json<ExecuteResponse>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let request = execute.request(entry.now().timeout)?;
    let outcome = entry.execute(request).await?;
    let usage = &outcome.usage;
    let cpu_ms = usage.cpu_user_ms.zip(usage.cpu_system_ms).map(|(user, system)| user + system);
    sandboxes.metrics.executed(entry.backend, cpu_ms);
    Ok(Json(outcome.into()))
}

/// Run a command and stream its output as server-sent events.
///
/// The events are `init`, `stdout`, `stderr`, `exit`, `error` and `ping`. After a disconnect, continue with
/// `GET …/processes/{process}/events` and `Last-Event-ID`: the command is blocked meanwhile, so no output is lost.
#[utoipa::path(post, path = "/api/sandboxes/{id}/exec", tag = "commands", params(("id" = String, Path)), request_body = ExecuteRequest,
    responses((status = 200, description = "Event stream.", content_type = "text/event-stream", body = CommandStreamEvent),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "No permission to enter the working directory.", body = ErrorBody),
        (status = 404, description = "Sandbox or working directory not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused or stopped.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 422, description = "Invalid command.", body = ErrorBody)))]
pub(super) async fn exec(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
    JsonBody(execute): JsonBody<ExecuteRequest>,
) -> Result<Response, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let request = execute.request(entry.now().timeout)?;
    let running = entry.start(request, TranscriptRetention::All).await?;
    running.close_stdin().await;
    Ok(listened(&entry, running, 0))
}

/// Data of a server-sent event.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum CommandStreamEvent {
    /// `init`: the command has started.
    Init {
        /// Id of the process, for reconnecting.
        process_id: String,
    },
    /// `stdout` and `stderr`: output.
    Printed {
        /// Output as text or base64.
        data: String,
        /// `base64` if the output is not valid UTF-8.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encoding: Option<String>,
    },
    /// `exit`: the command has ended.
    Exit {
        /// Exit code.
        exit_code: Option<i32>,
        /// Termination and resource usage.
        #[serde(flatten)]
        end: Box<CommandTermination>,
    },
    /// `error`: the stream ends because of an error.
    Error {
        /// Error code for programs.
        code: String,
        /// Error message for people.
        message: String,
    },
}

/// Number in the `Last-Event-ID` header; 0 without one.
pub(super) fn last_heard(headers: &HeaderMap) -> Result<u64, ApiError> {
    let Some(header) = headers.get("last-event-id") else { return Ok(0) };
    let number = header.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| ApiError::invalid("Last-Event-ID: not a valid event number"))
}

/// Response with the output of a process after a number, as server-sent events.
pub(super) fn listened(entry: &Arc<SandboxEntry>, running: Arc<BackgroundProcess>, after: u64) -> Response {
    let events = events(Arc::clone(entry), running, after);
    let kept = KeepAlive::new().interval(PING).event(Event::default().event("ping").data("{}"));
    let mut response = Sse::new(events).keep_alive(kept).into_response();
    // nginx would otherwise buffer the stream.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    response
}

/// Position of a reader in the stream.
enum CommandStreamPosition {
    Init,
    After(u64, std::vec::IntoIter<TranscriptChunk>),
    End,
}

fn events(
    entry: Arc<SandboxEntry>,
    running: Arc<BackgroundProcess>,
    after: u64,
) -> impl FutureStream<Item = Result<Event, Infallible>> {
    unfold((entry, running, CommandStreamPosition::Init), move |(entry, running, place)| async move {
        let (event, place) = next(&entry, &running, place, after).await?;
        Some((Ok(event), (entry, running, place)))
    })
}

async fn next(
    entry: &SandboxEntry,
    running: &BackgroundProcess,
    place: CommandStreamPosition,
    after: u64,
) -> Option<(Event, CommandStreamPosition)> {
    let (number, mut chunks) = match place {
        CommandStreamPosition::Init => {
            let event = event("init", None, &CommandStreamEvent::Init { process_id: running.id.clone() });
            return Some((event, CommandStreamPosition::After(after, Vec::new().into_iter())));
        }
        CommandStreamPosition::After(number, chunks) => (number, chunks),
        CommandStreamPosition::End => return None,
    };
    let _used = entry.used();
    if chunks.len() == 0 {
        chunks = match running.transcript.after(number).await {
            Ok(chunks) => chunks.into_iter(),
            Err(lost) => {
                let message = format!("output before event {} is no longer available", lost.first);
                let lost = CommandStreamEvent::Error { code: "events_lost".into(), message };
                return Some((event("error", None, &lost), CommandStreamPosition::End));
            }
        };
    }
    match chunks.next() {
        Some(chunk) => {
            let name = if chunk.stream == TranscriptStream::Stdout { "stdout" } else { "stderr" };
            let number = chunk.number;
            Some((
                event(name, Some(number), &output_event(chunk.bytes)),
                CommandStreamPosition::After(number, chunks),
            ))
        }
        None => Some((end_event(running).await, CommandStreamPosition::End)),
    }
}

async fn end_event(running: &BackgroundProcess) -> Event {
    match running.ended().await {
        Progress::Ended(outcome, _) => {
            let end = Box::new(CommandTermination::from(&*outcome));
            event("exit", None, &CommandStreamEvent::Exit { exit_code: outcome.exit_code, end })
        }
        Progress::Lost(message, _) => {
            event("error", None, &CommandStreamEvent::Error { code: "command_lost".into(), message })
        }
        Progress::Running => {
            let message = "the end of the process could not be observed".to_owned();
            event("error", None, &CommandStreamEvent::Error { code: "command_lost".into(), message })
        }
    }
}

fn output_event(bytes: Vec<u8>) -> CommandStreamEvent {
    match String::from_utf8(bytes) {
        Ok(data) => CommandStreamEvent::Printed { data, encoding: None },
        Err(error) => CommandStreamEvent::Printed {
            data: STANDARD.encode(error.as_bytes()),
            encoding: Some("base64".to_owned()),
        },
    }
}

fn event(name: &str, number: Option<u64>, data: &CommandStreamEvent) -> Event {
    let text = serde_json::to_string(data).unwrap_or_default();
    let event = Event::default().event(name).data(text);
    match number {
        Some(number) => event.id(number.to_string()),
        None => event,
    }
}
