//! What a browser is shown: runs, their cells, patches, metrics, modules, events, settings (docs/design/020).
//!
//! It reads a data directory that others write to, and changes one thing: whether a patch counts as kept.

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
