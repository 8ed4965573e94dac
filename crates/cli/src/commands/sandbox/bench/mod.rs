//! `menace sandbox bench`: what a sandbox costs, beside bubblewrap and docker.

mod at_once;
mod census;
mod command;
mod contender;
mod docker;
mod error;
mod figures;
mod idle;
mod interruption;
mod line_up;
mod native;
mod program;
mod progress;
mod race;
mod report;
mod samples;
mod timeout_tree;
mod zygote;

pub(super) use command::run;
pub(crate) use error::BenchError;
