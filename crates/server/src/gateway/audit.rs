//! Audit trail: one line for each request that changes state, written before the caller receives the response.

use serde::Serialize;

/// One request in the audit trail.
#[derive(Debug, Serialize)]
pub(super) struct AuditedRequest<'a> {
    pub(super) at: String,
    pub(super) key: Option<&'a str>,
    pub(super) peer: String,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) status: u16,
    pub(super) took_ms: f64,
}
