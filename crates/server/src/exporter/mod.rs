//! What there is in a data directory, for Prometheus: looked at when it is asked for, so that whoever wrote it need not run.

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
