//! System calls that go wrong on purpose, for any program and all that it starts.
//!
//! The filter of a sandbox reports the calls that a rule is about to a supervisor in menace, which lets the kernel go on
//! with them, fails them, holds them for a while, or writes something else instead. Without rules nothing is reported
//! that was not before, and calls cost what they did.

mod calls;
mod corrupt;
mod supervisor;
mod target;

pub(crate) use calls::numbers;
pub(crate) use supervisor::Supervisor;
