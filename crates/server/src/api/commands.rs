//! Commands: to their end, or streamed so that a listener that was cut off goes on where it was.

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

use super::Shared;
use super::caller::{Body, Named};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{
    Caller, Chunk, CommandEnd, Entry, Execute, Executed, Keeping, Running, State as Progress, Stream,
};

/// How often a listener hears that we are still there.
const PING: Duration = Duration::from_secs(15);

/// Run a command to its end
#[utoipa::path(post, path = "/api/sandboxes/{id}/execute", tag = "commands", params(("id" = String, Path)), request_body = Execute,
    responses((status = 200, description = "It ended, or was killed because its time was over.", body = Executed),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox, or no such directory in it.", body = ErrorBody),
        (status = 403, description = "The directory may not be entered.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused or stopped.", body = ErrorBody),
        (status = 410, description = "The sandbox is gone.", body = ErrorBody),
        (status = 415, description = "The body is not said to be JSON.", body = ErrorBody),
        (status = 422, description = "That cannot be run.", body = ErrorBody)))]
pub(super) async fn execute(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
    Body(execute): Body<Execute>,
) -> Result<Json<Executed>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let request = execute.request(entry.now().timeout)?;
    let outcome = entry.execute(request).await?;
    let usage = &outcome.usage;
    let cpu_ms = usage.cpu_user_ms.zip(usage.cpu_system_ms).map(|(user, system)| user + system);
    sandboxes.metrics.executed(entry.backend, cpu_ms);
    Ok(Json(outcome.into()))
}

/// Run a command and hear what it prints at once, as server-sent events
///
/// The events are `init`, `stdout`, `stderr`, `exit`, `error` and `ping`. A listener that is cut off goes on with
/// `GET …/processes/{process}/events` and `Last-Event-ID`: the command waits for it, and nothing is lost.
#[utoipa::path(post, path = "/api/sandboxes/{id}/exec", tag = "commands", params(("id" = String, Path)), request_body = Execute,
    responses((status = 200, description = "What happens, event by event.", content_type = "text/event-stream", body = StreamEvent),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "The directory may not be entered.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox, or no such directory in it.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused or stopped.", body = ErrorBody),
        (status = 410, description = "The sandbox is gone.", body = ErrorBody),
        (status = 415, description = "The body is not said to be JSON.", body = ErrorBody),
        (status = 422, description = "That cannot be run.", body = ErrorBody)))]
pub(super) async fn exec(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
    Body(execute): Body<Execute>,
) -> Result<Response, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let request = execute.request(entry.now().timeout)?;
    let running = entry.start(request, Keeping::All).await?;
    running.close_stdin().await;
    Ok(listened(&entry, running, 0))
}

/// Data of an event.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum StreamEvent {
    /// `init`: the command runs.
    Init {
        /// What to ask for to go on listening.
        process_id: String,
    },
    /// `stdout` and `stderr`: it printed.
    Printed {
        /// What, as text or in base64.
        data: String,
        /// `base64` if it is no text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encoding: Option<String>,
    },
    /// `exit`: it ended.
    Exit {
        /// With this code.
        exit_code: Option<i32>,
        /// How.
        #[serde(flatten)]
        end: Box<CommandEnd>,
    },
    /// `error`: there is no more to hear, and why.
    Error {
        /// For programs.
        code: String,
        /// For people.
        message: String,
    },
}

/// What was heard last, as the listener says.
pub(super) fn last_heard(headers: &HeaderMap) -> Result<u64, ApiError> {
    let Some(header) = headers.get("last-event-id") else { return Ok(0) };
    let number = header.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| ApiError::invalid("Last-Event-ID: that is none of our numbers"))
}

/// What a command prints after a number, as events.
pub(super) fn listened(entry: &Arc<Entry>, running: Arc<Running>, after: u64) -> Response {
    let events = events(Arc::clone(entry), running, after);
    let kept = KeepAlive::new().interval(PING).event(Event::default().event("ping").data("{}"));
    let mut response = Sse::new(events).keep_alive(kept).into_response();
    // A proxy that waits for more before it passes something on would make a stream useless.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    response
}

/// Where a listener is.
enum Place {
    Init,
    After(u64, std::vec::IntoIter<Chunk>),
    End,
}

fn events(
    entry: Arc<Entry>,
    running: Arc<Running>,
    after: u64,
) -> impl FutureStream<Item = Result<Event, Infallible>> {
    unfold((entry, running, Place::Init), move |(entry, running, place)| async move {
        let (event, place) = next(&entry, &running, place, after).await?;
        Some((Ok(event), (entry, running, place)))
    })
}

async fn next(entry: &Entry, running: &Running, place: Place, after: u64) -> Option<(Event, Place)> {
    let (number, mut chunks) = match place {
        Place::Init => {
            let event = event("init", None, &StreamEvent::Init { process_id: running.id.clone() });
            return Some((event, Place::After(after, Vec::new().into_iter())));
        }
        Place::After(number, chunks) => (number, chunks),
        Place::End => return None,
    };
    let _used = entry.used();
    if chunks.len() == 0 {
        chunks = match running.transcript.after(number).await {
            Ok(chunks) => chunks.into_iter(),
            Err(lost) => {
                let message = format!("what came before event {} is not kept any more", lost.first);
                let lost = StreamEvent::Error { code: "events_lost".into(), message };
                return Some((event("error", None, &lost), Place::End));
            }
        };
    }
    match chunks.next() {
        Some(chunk) => {
            let name = if chunk.stream == Stream::Stdout { "stdout" } else { "stderr" };
            let number = chunk.number;
            Some((event(name, Some(number), &printed(chunk.bytes)), Place::After(number, chunks)))
        }
        None => Some((ended(running).await, Place::End)),
    }
}

async fn ended(running: &Running) -> Event {
    match running.ended().await {
        Progress::Ended(outcome, _) => {
            let end = Box::new(CommandEnd::from(&*outcome));
            event("exit", None, &StreamEvent::Exit { exit_code: outcome.exit_code, end })
        }
        Progress::Lost(message, _) => {
            event("error", None, &StreamEvent::Error { code: "command_lost".into(), message })
        }
        Progress::Running => {
            let message = "it is not known how it ended".to_owned();
            event("error", None, &StreamEvent::Error { code: "command_lost".into(), message })
        }
    }
}

fn printed(bytes: Vec<u8>) -> StreamEvent {
    match String::from_utf8(bytes) {
        Ok(data) => StreamEvent::Printed { data, encoding: None },
        Err(error) => StreamEvent::Printed {
            data: STANDARD.encode(error.as_bytes()),
            encoding: Some("base64".to_owned()),
        },
    }
}

fn event(name: &str, number: Option<u64>, data: &StreamEvent) -> Event {
    let text = serde_json::to_string(data).unwrap_or_default();
    let event = Event::default().event(name).data(text);
    match number {
        Some(number) => event.id(number.to_string()),
        None => event,
    }
}
