//! Init process of a sandbox: it sets up the sandbox around itself, then starts programs in it and reaps them.

mod connections;
mod enter;
mod files;
mod inspect;
mod jobs;
mod leader;
mod program;
mod serve;

pub(super) use enter::begins_as_usual;
pub(super) use files::Layer;
pub(crate) use inspect::namespaces;
pub(super) use menace_guest::terminals::resize;
pub(super) use program::forget_handlers;
pub(super) use serve::{keep_only, main, spare_main};
