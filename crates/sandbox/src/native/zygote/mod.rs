//! Isolated Python calls in milliseconds: a warm interpreter in a base sandbox forks for every call.

mod base_sandbox;
mod batch;
mod call_environment;
mod call_streams;
mod interpreter;
mod isolated_calls;
mod marshal;
mod pool;
mod slot_supervisor;
mod slots;

pub use isolated_calls::{Zygote, ZygoteOptions};
pub use pool::ZygotePool;
