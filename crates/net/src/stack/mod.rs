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
mod patience;
mod port;
mod spoken_name;
mod tcp;
mod tun;
mod worker;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};

use menace_model::network::{Link, NetworkReport, NetworkSpec, Shaper};

use self::inbox::Closing;
pub(crate) use self::inbox::{Command, Inbox};
use self::worker::Worker;
use crate::mock::Authority;

/// The network of a sandbox. It ends when it is dropped.
#[derive(Debug)]
pub struct Network {
    inbox: Arc<Inbox>,
    has_authority: bool,
    /// What the kernel does to packets.
    netem: Option<Link>,
}

impl Network {
    /// Takes the other end of a sandbox's interface. Mocks identify themselves with certificates of the authority.
    pub fn start(
        interface: OwnedFd,
        spec: NetworkSpec,
        authority: Option<Arc<Authority>>,
    ) -> io::Result<Self> {
        let (has_authority, netem) = (authority.is_some(), done_by_netem(&spec));
        let inbox = Arc::new(Inbox::new()?);
        let mut worker = Worker::new(interface, spec, authority, Arc::clone(&inbox))?;
        let work = move || {
            let _closed_at_the_end = Closing(Arc::clone(&worker.inbox));
            worker.run();
        };
        std::thread::Builder::new().name("menace: network".into()).spawn(work)?;
        Ok(Self { inbox, has_authority, netem })
    }

    /// Other rules from now on. Connections that they would not allow are broken off.
    pub fn change(&self, spec: NetworkSpec) {
        self.inbox.tell(Command::Change(Box::new(spec)));
    }

    /// Whether mocks can identify themselves, so that there can be some.
    pub fn has_authority(&self) -> bool {
        self.has_authority
    }

    /// Whether what the kernel does to packets can stay as it is under other rules: it cannot be told others.
    pub fn suits_netem(&self, spec: &NetworkSpec) -> bool {
        done_by_netem(spec) == self.netem
    }

    /// What was seen so far. It is an error if the thread has ended: nothing is not what was seen then.
    pub fn report(&self) -> io::Result<NetworkReport> {
        let (sender, receiver) = mpsc::channel();
        self.inbox.tell(Command::Report(sender));
        receiver.recv().map_err(|_| io::Error::other("the network of a sandbox has ended before its time"))
    }
}

fn done_by_netem(spec: &NetworkSpec) -> Option<Link> {
    (spec.shaper == Shaper::Netem).then_some(spec.shape.out)
}

impl Drop for Network {
    fn drop(&mut self) {
        // The thread ends by itself. The kernel takes tens of milliseconds to remove an interface, and nobody has to wait for
        // that.
        self.inbox.tell(Command::End);
    }
}
