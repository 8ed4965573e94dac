//! Event stream of sandboxes.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;

use super::SharedSandboxes;
use super::commands::last_heard;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, SandboxEvent};

/// Stream events of sandboxes as server-sent events.
///
/// Examples are `sandbox.created`, `sandbox.stopped` and `sandbox.destroyed`. With `Last-Event-ID` the stream continues
/// after that event; otherwise it starts with new events.
#[utoipa::path(get, path = "/api/events", tag = "service",
    params(("Last-Event-ID" = Option<u64>, Header, description = "Number of the last event received.")),
    responses((status = 200, description = "Event stream.", content_type = "text/event-stream", body = SandboxEvent),
        (status = 422, description = "Invalid Last-Event-ID.", body = ErrorBody)))]
pub(super) async fn events(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let after = match last_heard(&headers)? {
        0 => sandboxes.happenings.last(),
        number => number,
    };
    let state = (sandboxes, caller, after, VecDeque::<SandboxEvent>::new());
    let events = unfold(state, |(sandboxes, caller, mut after, mut waiting)| async move {
        if waiting.is_empty() {
            let (received, last) = sandboxes.happenings.after(after, &caller).await;
            (waiting, after) = (received.into(), last);
        }
        let next = waiting.pop_front()?;
        let data = serde_json::to_string(&next).ok()?;
        let event = Event::default().event(&next.event).id(next.number.to_string()).data(data);
        Some((Ok::<_, Infallible>(event), (sandboxes, caller, after, waiting)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}
