//! Prometheus metrics of the sandbox daemon. Names are those of the first edition.

mod classic;
mod cleaning;
mod sandboxes;

pub(crate) use classic::{CONTENT_TYPE, classic};
pub(crate) use cleaning::Worker;
pub(crate) use sandboxes::Metrics;
