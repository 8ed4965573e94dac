//! The tables, as the rest of this crate sees them.

pub(crate) mod call;
pub(crate) mod event;
pub(crate) mod memory;
pub(crate) mod metric;
pub(crate) mod outcome;
pub(crate) mod patch;
pub(crate) mod run;
pub(crate) mod workflow;
