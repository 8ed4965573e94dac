//! Prometheus exporters of a data directory. They read its files at every scrape, so no other process has to run.

mod figures;
mod listen;
mod synergy;
mod values;
mod watch;

pub use figures::Figures;
pub(crate) use listen::answer;
pub use listen::{Collect, Exporter, ExporterError};
pub use synergy::SynergyFigures;
pub use watch::Watched;
