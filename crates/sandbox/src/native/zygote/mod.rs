//! Isolated Python calls in milliseconds: a warm interpreter in a base sandbox forks for every call.

mod around;
mod base;
mod batch;
mod call;
mod calls;
mod interpreter;
mod keeper;
mod line;
mod marshal;
mod pool;
mod slots;

pub use call::{CallLimits, CallSpec, RawOutcome, World};
pub use calls::{Zygote, ZygoteOptions};
pub use pool::Zygotes;
