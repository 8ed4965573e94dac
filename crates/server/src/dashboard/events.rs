//! Events of runs: list and stream.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, StreamExt, iter, unfold};
use menace_model::ids::RunId;
use menace_store::EventRecord;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::state::DashboardState;
use crate::error::ApiError;

/// Default and maximum number of events in a response.
const DEFAULT_LIMIT: u64 = 500;
const MAX_LIMIT: u64 = 5_000;

#[derive(Debug, Deserialize)]
pub(super) struct EventListQuery {
    run: Option<String>,
    limit: Option<u64>,
}

/// The last events, oldest first.
pub(super) async fn list(
    State(place): State<Arc<DashboardState>>,
    Query(which): Query<EventListQuery>,
) -> Result<Json<Value>, ApiError> {
    let run = which.run.as_deref().map(parse_run_id).transpose()?;
    let limit = which.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let events = place.store().await?.last_events(run.as_ref(), limit).await?;
    Ok(Json(json!({"version": 1, "events": events})))
}

/// Streams new events, starting after `Last-Event-ID` if given.
pub(super) async fn stream(
    State(place): State<Arc<DashboardState>>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let store = place.store().await?;
    // Subscribe first, then read earlier events: none is missed in between, and duplicates are filtered by id.
    let receiver = place.feed.listen(store);
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    let before = match seen {
        Some(seen) => store.events_after(seen, MAX_LIMIT).await?,
        None => Vec::new(),
    };
    let last = before.last().map_or(seen.unwrap_or(0), |event| event.id);
    let before = iter(before.into_iter().map(|event| Ok(sse_event(&event))));
    let after = unfold((receiver, last), next);
    Ok(Sse::new(before.chain(after)).keep_alive(KeepAlive::default()))
}

async fn next(
    (mut receiver, last): (Receiver<Arc<EventRecord>>, u64),
) -> Option<(Result<Event, Infallible>, (Receiver<Arc<EventRecord>>, u64))> {
    loop {
        match receiver.recv().await {
            Ok(event) if event.id <= last => {}
            Ok(event) => return Some((Ok(sse_event(&event)), (receiver, event.id))),
            // A slow client reconnects and continues after its last event.
            Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
        }
    }
}

fn sse_event(event: &EventRecord) -> Event {
    let data = json!({"id": event.id, "run": event.run, "at_ms": event.at_ms, "kind": event.kind, "detail": event.detail});
    Event::default().event("happened").id(event.id.to_string()).data(data.to_string())
}

/// Parses the id of a run.
pub(super) fn parse_run_id(text: &str) -> Result<RunId, ApiError> {
    Ok(text.parse::<RunId>()?)
}
