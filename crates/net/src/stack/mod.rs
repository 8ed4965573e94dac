//! The network of one sandbox, on a thread of its own.
//!
//! ```text
//! sandbox ─ tun ─ air (delay, loss, …) ─ flows ─┬─ socket of the host      allowed
//!                                               ├─ socket pair ─ mock      mocked
//!                                               ├─ names, echoes           answered here
//!                                               └─ reset, unreachable      refused
//! ```

mod air;
mod clock;
mod commands;
mod entry;
mod flows;
mod inbox;
mod open;
mod port;
mod spoken_name;
mod tcp;
mod tun;
mod worker;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};

use menace_model::network::{NetworkReport, NetworkSpec};

pub(crate) use self::inbox::{Command, Inbox};
use self::worker::Worker;
use crate::mock::Authority;

/// The network of a sandbox. It ends when it is dropped.
#[derive(Debug)]
pub struct Network {
    inbox: Arc<Inbox>,
    has_authority: bool,
}

impl Network {
    /// Takes the other end of a sandbox's interface. Mocks identify themselves with certificates of the authority.
    pub fn start(
        interface: OwnedFd,
        spec: NetworkSpec,
        authority: Option<Arc<Authority>>,
    ) -> io::Result<Self> {
        let has_authority = authority.is_some();
        let inbox = Arc::new(Inbox::new()?);
        let mut worker = Worker::new(interface, spec, authority, Arc::clone(&inbox))?;
        std::thread::Builder::new().name("menace: network".into()).spawn(move || worker.run())?;
        Ok(Self { inbox, has_authority })
    }

    /// Other rules from now on. Connections that they would not allow are broken off.
    pub fn change(&self, spec: NetworkSpec) {
        self.inbox.tell(Command::Change(Box::new(spec)));
    }

    /// Whether mocks can identify themselves, so that there can be some.
    pub fn has_authority(&self) -> bool {
        self.has_authority
    }

    /// What was seen so far.
    pub fn report(&self) -> NetworkReport {
        let (sender, receiver) = mpsc::channel();
        self.inbox.tell(Command::Report(sender));
        // There is no answer only if the thread has panicked, which it says itself.
        receiver.recv().unwrap_or_default()
    }

    /// What was seen since the last time, and a new beginning: flows that are left are broken off, and chance begins
    /// where it did at first.
    pub fn renew(&self, spec: Option<NetworkSpec>) -> NetworkReport {
        let (sender, receiver) = mpsc::channel();
        self.inbox.tell(Command::Renew(spec.map(Box::new), sender));
        receiver.recv().unwrap_or_default()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // The thread ends by itself. The kernel takes tens of milliseconds to remove an interface, and nobody has to wait for
        // that.
        self.inbox.tell(Command::End);
    }
}
