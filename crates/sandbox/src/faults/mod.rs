//! Fault injection into system calls, for any program and its descendants.
//!
//! The seccomp filter of a sandbox reports the system calls that a rule matches to a supervisor thread in menace, which
//! continues them, fails them, delays them, or writes corrupted bytes. Without rules no additional call is reported,
//! and calls cost the same as before.

mod corrupt;
mod injector;
mod intercepted_thread;
mod syscalls;

pub(crate) use injector::FaultInjector;
pub(crate) use syscalls::numbers;
