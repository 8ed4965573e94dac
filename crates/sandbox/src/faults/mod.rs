//! Fault injection into system calls, for any program and its descendants.
//!
//! The seccomp filter of a sandbox reports the system calls that a rule matches to a supervisor thread in menace, which
//! continues them, fails them, delays them, or writes corrupted bytes. Without rules no additional call is reported,
//! and calls cost the same as before.

mod calls;
mod corrupt;
mod supervisor;
mod target;

pub(crate) use calls::numbers;
pub(crate) use supervisor::Supervisor;
