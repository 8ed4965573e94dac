//! What is counted, for Prometheus. Names are those of the first edition.

mod cleaning;
mod sandboxes;

pub(crate) use cleaning::Worker;
pub(crate) use sandboxes::Metrics;
