//! Who changed what: a line for each request that changes something, written before the caller has its answer.

use serde::Serialize;

/// One request.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    pub(super) at: String,
    pub(super) key: Option<&'a str>,
    pub(super) peer: String,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) status: u16,
    pub(super) took_ms: f64,
}
