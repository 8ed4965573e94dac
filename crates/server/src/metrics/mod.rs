//! Prometheus metrics of the sandbox daemon. Names are those of the first edition.

mod cleanup;
mod sandboxes;
mod text_format;

pub(crate) use cleanup::CleanupWorker;
pub(crate) use sandboxes::DaemonMetrics;
pub(crate) use text_format::{CONTENT_TYPE, classic};
