//! netem: the kernel's own network shaping, put on the loopback interface of a network namespace of our own.

use std::time::Duration;

use menace_enter::queue_discipline::{self, Netem};
use rustix::io::Errno;

use super::namespaces::{Kind, enter};
use super::refusal::{Refusal, at};

/// The loopback interface is the first one of every network namespace.
const LOOPBACK: i32 = 1;

/// Shapes a loopback interface. A discipline that every kernel has is put there first, so that a refusal of the second
/// one says something about netem and not about us.
pub(super) fn netem() -> Result<String, Refusal> {
    enter(Kind::Net)?;
    queue_discipline::set(LOOPBACK, "pfifo", &[]).map_err(at("set any queue discipline"))?;
    let netem = Netem { delay: Duration::from_millis(1), ..Netem::default() };
    netem.set(LOOPBACK).map_err(|errno| match errno {
        Errno::NOENT => {
            Refusal::Absent { what: "the kernel has other queue disciplines but not netem".to_owned() }
        }
        errno => at("set the queue discipline netem")(errno),
    })?;
    Ok("a loopback interface was shaped".to_owned())
}
