//! Paginated list of sandboxes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::SharedSandboxes;
use super::extractors::QueryParams;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, SandboxEntry, SandboxPage, SandboxStatus};

/// Default and maximum number of sandboxes on a page.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SandboxListQuery {
    /// Maximum number of results.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next_cursor` of the previous page.
    #[param(pattern = "^[0-9a-f]{1,15}\\.[A-Za-z0-9-]{1,64}$")]
    cursor: Option<String>,
    /// Filter by status.
    status: Option<SandboxStatus>,
    /// Filter by project name.
    project_name: Option<String>,
    /// Filter by label: `name` or `name=value`. Several are separated by commas; all must match.
    label: Option<String>,
    /// Filter by text in the id, project name or labels.
    q: Option<String>,
}

impl SandboxListQuery {
    fn takes(&self, entry: &SandboxEntry) -> bool {
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

/// List sandboxes.
#[utoipa::path(get, path = "/api/sandboxes", tag = "sandboxes", params(SandboxListQuery),
    responses((status = 200, body = SandboxPage), (status = 422, description = "Invalid filter or cursor.", body = ErrorBody)))]
pub(super) async fn list(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    QueryParams(filter): QueryParams<SandboxListQuery>,
) -> Result<Json<SandboxPage>, ApiError> {
    let limit = filter.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::invalid(format!("limit: 1 to {MAX_LIMIT}")));
    }
    let after = filter.cursor.as_deref().map(position).transpose()?;
    let sort_key = |entry: &Arc<SandboxEntry>| (entry.created_ms, entry.id.clone());
    let mut found: Vec<Arc<SandboxEntry>> = sandboxes.all(&caller);
    found.retain(|entry| after.as_ref().is_none_or(|after| sort_key(entry) > *after) && filter.takes(entry));
    let next_cursor = (found.len() > limit).then(|| found.get(limit - 1).map(cursor)).flatten();
    found.truncate(limit);
    Ok(Json(SandboxPage { sandboxes: found.iter().map(|entry| entry.view()).collect(), next_cursor }))
}

fn cursor(entry: &Arc<SandboxEntry>) -> String {
    format!("{:x}.{}", entry.created_ms, entry.id)
}

fn position(cursor: &str) -> Result<(i64, String), ApiError> {
    let read = |cursor: &str| {
        let (created, id) = cursor.split_once('.')?;
        Some((i64::from_str_radix(created, 16).ok()?, id.to_owned()))
    };
    read(cursor).ok_or_else(|| {
        ApiError::invalid("cursor: invalid value").hint("use next_cursor of the previous page")
    })
}
