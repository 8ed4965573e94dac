//! Probe of netem, the kernel's network shaping, on the loopback interface of a new network namespace.

use std::time::Duration;

use menace_isolation::queue_discipline::{self, NetemOptions};
use rustix::io::Errno;

use super::failure::{ProbeFailure, syscall_failed};
use super::namespaces::{ProbedNamespace, enter};

/// Index of the loopback interface, the first one of every network namespace.
const LOOPBACK: i32 = 1;

/// Shapes a loopback interface. First sets pfifo, which every kernel has, so that a failure of the second step is a
/// statement about netem.
pub(super) fn netem() -> Result<String, ProbeFailure> {
    enter(ProbedNamespace::Net)?;
    queue_discipline::set(LOOPBACK, "pfifo", &[])
        .map_err(syscall_failed("set the queue discipline pfifo"))?;
    let netem = NetemOptions { delay: Duration::from_millis(1), ..NetemOptions::default() };
    netem.set(LOOPBACK).map_err(|errno| match errno {
        Errno::NOENT => {
            ProbeFailure::Absent { what: "the kernel has queue disciplines, but not netem".to_owned() }
        }
        errno => syscall_failed("set the queue discipline netem")(errno),
    })?;
    Ok("shaped a loopback interface".to_owned())
}
