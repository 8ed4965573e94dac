//! The dashboard: runs, their cells, patches, metrics, modules, events, settings (docs/design/020).
//!
//! It reads a data directory that other processes write to. Its only write operation is the decision about a patch: kept or
//! reverted.

mod assets;
mod calls;
mod cell;
mod events;
mod feed;
mod graph;
mod guard;
mod history;
mod logs;
mod matrix;
mod patches;
mod place;
mod plot;
mod progress;
mod routes;
mod runs;
mod seeds;
mod series;
mod serve;
mod shared;
mod source;

pub use place::{Reading, Repository, Sources};
pub use routes::{Dashboard, is_ours, is_page};
pub use serve::{DashboardError, listen};
