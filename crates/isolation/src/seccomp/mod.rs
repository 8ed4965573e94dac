//! Filter of the system calls of a sandboxed program, and the errors that it gets for denied calls.

mod decision;
mod filter;
#[cfg(test)]
mod filter_tests;
#[cfg(test)]
mod kernel_tests;
mod notify;
mod table;

pub use decision::{SeccompAnswer, SeccompDecision, SyscallArgumentCheck};
pub use filter::{install, install_for_zygote, install_with_listener, prepare};
pub use notify::{DeniedSyscallCounts, receive, refusal, send};
pub use table::{SyscallRow, answer, row, rows};
