//! Init process of a sandbox: it sets up the sandbox around itself, then starts programs in it and reaps them.

mod connections;
mod file_work;
mod inspect;
mod jobs;
mod leader;
mod program;
mod serve;
mod set_up;

pub(super) use file_work::WrittenLayer;
pub(crate) use inspect::namespaces;
pub(super) use menace_guest::terminals::resize;
pub(super) use program::forget_handlers;
pub(super) use serve::{close_other_descriptors, main, spare_main};
pub(super) use set_up::has_standard_start;
