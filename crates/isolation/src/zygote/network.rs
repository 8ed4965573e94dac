//! Reuse of the network namespace of a slot as long as it is unused.
//!
//! A network namespace is the most expensive part of a sandbox: it costs as much as all its other namespaces and
//! mounts. No process inside has the right to change it, and sockets end with their processes. The only state that a
//! call could leave behind is that of connections, which requires that packets have passed through the only
//! interface.

use std::fs;
use std::io;

use rustix::thread::UnshareFlags;

use crate::{StepContext, StepError, StepKind, loopback};

/// The kernel's counters of the interfaces in this network namespace.
const COUNTERS: &str = "/proc/self/net/dev";

/// Creates a new network namespace for this process if a packet has passed through the present one.
pub(super) fn renew_if_used() -> Result<(), StepError> {
    let counters = fs::read_to_string(COUNTERS).step(|| format!("read {COUNTERS}"))?;
    if is_unused(&counters).step(|| format!("parse {COUNTERS}"))? {
        return Ok(());
    }
    renew()
}

/// Creates a new network namespace for this process.
pub(super) fn renew() -> Result<(), StepError> {
    // SAFETY: a network namespace affects only sockets that are opened later, and this process opens none but the one
    // that brings up loopback.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
        .step_of(StepKind::Namespace, || "create a network namespace")?;
    loopback::bring_up()
}

/// Whether all counters of all interfaces are zero. The file has two lines of headings, then a line for each
/// interface.
fn is_unused(counters: &str) -> io::Result<bool> {
    let mut interfaces = 0;
    let mut is_unused = true;
    for line in counters.lines().skip(2) {
        let (_, numbers) = line.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
        is_unused &= numbers.split_whitespace().all(|number| number == "0");
        interfaces += 1;
    }
    if interfaces == 0 { Err(io::ErrorKind::InvalidData.into()) } else { Ok(is_unused) }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::forked_child;

    fn number() -> u64 {
        use std::os::unix::fs::MetadataExt;
        fs::metadata("/proc/self/ns/net").unwrap().ino()
    }

    #[test]
    fn a_network_is_kept_until_a_packet_was_sent() {
        forked_child::run_as_root_of_a_user_namespace(|| {
            // SAFETY: the process has one thread that matters, and no sockets.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
            loopback::bring_up().unwrap();
            let first = number();
            // A socket that only listens sends no packets.
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            renew_if_used().unwrap();
            assert_eq!(number(), first);
            drop(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            renew_if_used().unwrap();
            assert_ne!(number(), first);
            drop(TcpListener::bind("127.0.0.1:0").unwrap());
        });
    }

    #[test]
    fn invalid_counters_are_an_error() {
        for text in ["", "one\ntwo\n", "one\ntwo\nlo 0 0\n"] {
            is_unused(text).unwrap_err();
        }
        assert!(is_unused("one\ntwo\n    lo:       0       0\n").unwrap());
        assert!(!is_unused("one\ntwo\n    lo:       0       1\n").unwrap());
    }
}
