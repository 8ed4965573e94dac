//! Logs of the services of `menace up`, and the audit trail.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::state::{DashboardState, unavailable};
use crate::error::ApiError;

/// Maximum number of bytes read at a time, by default from the end.
const MAX_BYTES: u64 = 256 << 10;

#[derive(Debug, Deserialize)]
pub(super) struct LogQuery {
    after: Option<u64>,
}

/// Names of the available logs.
pub(super) async fn list(State(place): State<Arc<DashboardState>>) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({"version": 1, "logs": log_paths(&place)?.into_keys().collect::<Vec<_>>()})))
}

/// End of a log, or its new lines after an offset: complete lines, and the offset of the next one.
pub(super) async fn show(
    State(place): State<Arc<DashboardState>>,
    Path(name): Path<String>,
    Query(from): Query<LogQuery>,
) -> Result<Json<Value>, ApiError> {
    let mut logs = log_paths(&place)?;
    let path =
        logs.remove(&name).ok_or_else(|| unavailable("log_not_found", format!("no log named {name:?}")))?;
    let read = |error: std::io::Error| ApiError::internal(format!("{}: {error}", path.display()));
    let LogExcerpt { lines, next, is_cut } = lines(&path, from.after).map_err(read)?;
    Ok(Json(json!({"version": 1, "lines": lines, "next": next, "is_cut": is_cut})))
}

/// Paths of logs by name. User input never becomes part of a path.
fn log_paths(place: &DashboardState) -> Result<BTreeMap<String, PathBuf>, ApiError> {
    let mut found = BTreeMap::new();
    let audit = &place.sources.audit;
    if audit.is_file() {
        found.insert("audit".to_owned(), audit.clone());
    }
    let directory = place.sources.data.join("logs");
    let entries = match std::fs::read_dir(&directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(ApiError::internal(format!("{}: {error}", directory.display()))),
        Ok(entries) => entries,
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".log"));
        if let Some(name) = name {
            found.insert(name.to_owned(), path.clone());
        }
    }
    Ok(found)
}

struct LogExcerpt {
    lines: Vec<String>,
    next: u64,
    /// True if content before the first line was skipped.
    is_cut: bool,
}

fn lines(path: &FilePath, after: Option<u64>) -> std::io::Result<LogExcerpt> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    // A file that became shorter was rotated.
    let offset = after.filter(|after| *after <= length).unwrap_or(0);
    let start = offset.max(length.saturating_sub(MAX_BYTES));
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let is_cut = start > offset;
    // Incomplete lines at both ends are skipped.
    let first = if is_cut {
        bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
    } else {
        0
    };
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(first, |at| at + 1).max(first);
    let text = String::from_utf8_lossy(&bytes[first..end]);
    Ok(LogExcerpt { lines: text.lines().map(str::to_owned).collect(), next: start + end as u64, is_cut })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_lines_are_shown_once_and_a_rotated_file_starts_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("loop.log");
        std::fs::write(&path, "one\ntwo\nhal").unwrap();
        let seen = lines(&path, None).unwrap();
        assert_eq!(
            (seen.lines, seen.next, seen.is_cut),
            (vec!["one".to_owned(), "two".to_owned()], 8, false)
        );
        std::fs::write(&path, "one\ntwo\nhalf\n").unwrap();
        assert_eq!(lines(&path, Some(8)).unwrap().lines, ["half"]);
        std::fs::write(&path, "new\n").unwrap();
        assert_eq!(lines(&path, Some(13)).unwrap().lines, ["new"]);
        std::fs::write(&path, "a line of a long log\n".repeat(20_000)).unwrap();
        let long = lines(&path, None).unwrap();
        assert!(long.is_cut && long.lines.iter().all(|line| line == "a line of a long log"));
        assert_eq!((long.next, lines(&path, Some(long.next)).unwrap().lines.len()), (420_000, 0));
    }
}
