//! The scheduler of all calls: which calls share an import, how many run concurrently, and in which order their outcomes
//! are returned.

mod batch;
mod call_list;
mod call_scheduler;
mod slots;

pub(crate) use batch::{BatchPurpose, CallBatch};
pub use call_scheduler::CallScheduler;
pub(crate) use call_scheduler::{CallSource, FinishedBatch};
pub(crate) use slots::{CallNeeds, UNLIMITED, run_all};
