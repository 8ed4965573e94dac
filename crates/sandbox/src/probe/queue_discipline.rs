//! Probe of netem, the kernel's network shaping, on the loopback interface of a new network namespace.

use std::time::Duration;

use menace_isolation::queue_discipline::{self, Netem};
use rustix::io::Errno;

use super::namespaces::{Kind, enter};
use super::refusal::{Refusal, at};

/// Index of the loopback interface, the first one of every network namespace.
const LOOPBACK: i32 = 1;

/// Shapes a loopback interface. First sets pfifo, which every kernel has, so that a failure of the second step is a
/// statement about netem.
pub(super) fn netem() -> Result<String, Refusal> {
    enter(Kind::Net)?;
    queue_discipline::set(LOOPBACK, "pfifo", &[]).map_err(at("set the queue discipline pfifo"))?;
    let netem = Netem { delay: Duration::from_millis(1), ..Netem::default() };
    netem.set(LOOPBACK).map_err(|errno| match errno {
        Errno::NOENT => {
            Refusal::Absent { what: "the kernel has queue disciplines, but not netem".to_owned() }
        }
        errno => at("set the queue discipline netem")(errno),
    })?;
    Ok("shaped a loopback interface".to_owned())
}
