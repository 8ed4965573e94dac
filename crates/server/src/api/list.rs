//! Finding sandboxes, a page at a time.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Shared;
use super::caller::Asked;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, Entry, SandboxPage, Status};

/// Sandboxes of a page if nobody says how many, and at most.
const USUAL: usize = 100;
const MOST: usize = 1000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// How many at most.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    #[param(pattern = "^[0-9a-f]{1,15}\\.[A-Za-z0-9-]{1,64}$")]
    cursor: Option<String>,
    /// Only these.
    status: Option<Status>,
    /// Only those whose owner calls them so.
    project_name: Option<String>,
    /// Only those with this label: `name` or `name=value`. Several are separated by commas, and all have to be there.
    label: Option<String>,
    /// Only those that have this text in their id, name or labels.
    q: Option<String>,
}

impl Filter {
    fn takes(&self, entry: &Entry) -> bool {
        let now = entry.now();
        let has_label = |wanted: &str| match wanted.split_once('=') {
            Some((name, value)) => now.labels.get(name).is_some_and(|label| label == value),
            None => now.labels.contains_key(wanted),
        };
        let has_text = |text: &String| {
            entry.id.contains(text.as_str())
                || now.project_name.contains(text.as_str())
                || now
                    .labels
                    .iter()
                    .any(|(name, value)| name.contains(text.as_str()) || value.contains(text.as_str()))
        };
        self.status.is_none_or(|status| status == now.status)
            && self.project_name.as_ref().is_none_or(|name| *name == now.project_name)
            && self.label.as_ref().is_none_or(|labels| labels.split(',').all(has_label))
            && self.q.as_ref().is_none_or(has_text)
    }
}

/// List sandboxes
#[utoipa::path(get, path = "/api/sandboxes", tag = "sandboxes", params(Filter),
    responses((status = 200, body = SandboxPage), (status = 422, description = "No such filter or cursor.", body = ErrorBody)))]
pub(super) async fn list(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Asked(filter): Asked<Filter>,
) -> Result<Json<SandboxPage>, ApiError> {
    let limit = filter.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(ApiError::invalid(format!("limit: 1 to {MOST}")));
    }
    let after = filter.cursor.as_deref().map(position).transpose()?;
    let place = |entry: &Arc<Entry>| (entry.created_ms, entry.id.clone());
    let mut found: Vec<Arc<Entry>> = sandboxes.all(&caller);
    found.retain(|entry| after.as_ref().is_none_or(|after| place(entry) > *after) && filter.takes(entry));
    let next_cursor = (found.len() > limit).then(|| found.get(limit - 1).map(cursor)).flatten();
    found.truncate(limit);
    Ok(Json(SandboxPage { sandboxes: found.iter().map(|entry| entry.view()).collect(), next_cursor }))
}

fn cursor(entry: &Arc<Entry>) -> String {
    format!("{:x}.{}", entry.created_ms, entry.id)
}

fn position(cursor: &str) -> Result<(i64, String), ApiError> {
    let read = |cursor: &str| {
        let (created, id) = cursor.split_once('.')?;
        Some((i64::from_str_radix(created, 16).ok()?, id.to_owned()))
    };
    read(cursor).ok_or_else(|| {
        ApiError::invalid("cursor: that is none of ours").hint("take next_cursor of the page before")
    })
}
