//! The user-space network of one sandbox, on a thread of its own.
//!
//! ```text
//! sandbox ─ tun ─ link (delay, loss, …) ─ flows ─┬─ socket of the host      allowed
//!                                                ├─ socket pair ─ mock      mocked
//!                                                ├─ DNS, echo replies       answered here
//!                                                └─ reset, unreachable      refused
//! ```

mod clock;
mod commands;
mod device;
mod flow_entry;
mod flow_setup;
mod flows;
mod inbox;
mod link;
mod retransmission;
mod server_name;
mod tcp;
mod tun;
mod worker;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};

use menace_model::network::{LinkConditions, NetworkReport, NetworkSpec, PacketShaper};

use self::inbox::InboxCloseGuard;
pub(crate) use self::inbox::{NetstackCommand, NetstackInbox};
use self::worker::NetstackWorker;
use crate::mock::MockCertificateAuthority;

/// Network of a sandbox. Its thread ends when it is dropped.
#[derive(Debug)]
pub struct Netstack {
    inbox: Arc<NetstackInbox>,
    has_authority: bool,
    /// Shaping of outgoing packets by netem in the kernel.
    netem: Option<LinkConditions>,
}

impl Netstack {
    /// Starts the network on the host end of a sandbox's interface. Mocks use certificates of the authority.
    pub fn start(
        interface: OwnedFd,
        spec: NetworkSpec,
        authority: Option<Arc<MockCertificateAuthority>>,
    ) -> io::Result<Self> {
        let (has_authority, netem) = (authority.is_some(), netem_link(&spec));
        let inbox = Arc::new(NetstackInbox::new()?);
        let mut worker = NetstackWorker::new(interface, spec, authority, Arc::clone(&inbox))?;
        let work = move || {
            let _close_on_exit = InboxCloseGuard(Arc::clone(&worker.inbox));
            worker.run();
        };
        std::thread::Builder::new().name("menace: network".into()).spawn(work)?;
        Ok(Self { inbox, has_authority, netem })
    }

    /// Replaces the specification. Connections that it does not allow are reset.
    pub fn change(&self, spec: NetworkSpec) {
        self.inbox.send(NetstackCommand::Change(Box::new(spec)));
    }

    /// Whether there is an authority, without which mocks are not possible.
    pub fn has_authority(&self) -> bool {
        self.has_authority
    }

    /// Whether a new specification has the same netem settings: those cannot be changed at run time.
    pub fn suits_netem(&self, spec: &NetworkSpec) -> bool {
        netem_link(spec) == self.netem
    }

    /// Flows so far. It is an error if the thread has ended: an empty report would be wrong then.
    pub fn report(&self) -> io::Result<NetworkReport> {
        let (sender, receiver) = mpsc::channel();
        self.inbox.send(NetstackCommand::Report(sender));
        receiver.recv().map_err(|_| io::Error::other("the network thread of the sandbox ended unexpectedly"))
    }
}

fn netem_link(spec: &NetworkSpec) -> Option<LinkConditions> {
    (spec.shaper == PacketShaper::Netem).then_some(spec.shape.out)
}

impl Drop for Netstack {
    fn drop(&mut self) {
        // The thread is not joined: the kernel takes tens of milliseconds to remove an interface, for which the caller need
        // not wait.
        self.inbox.send(NetstackCommand::End);
    }
}
