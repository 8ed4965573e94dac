//! The dashboard: runs, their cells, patches, metrics, modules, events, settings (docs/design/020).
//!
//! It reads a data directory that other processes write to. Its only write operation is the decision about a patch: kept or
//! reverted.

mod assets;
mod calls;
mod cell;
mod event_feed;
mod events;
mod guard;
mod history;
mod legacy;
mod logs;
mod matrix;
mod module_graph;
mod patches;
mod plot;
mod progress;
mod response_cache;
mod routes;
mod runs;
mod series;
mod source_code;
mod standalone;
mod state;

pub use routes::{Dashboard, is_dashboard_path, is_page};
pub use standalone::{DashboardError, listen};
pub use state::{DashboardSources, RepositoryScanner, ScannedRepository};
