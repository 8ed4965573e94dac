//! The network that a sandbox is given, before and while it is there.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use menace_enter::Step;
use menace_enter::queue_discipline::Netem;
use menace_enter::root::{ALL_TRUSTED, TRUSTED};
use menace_enter::tun::{self, Interface};
use menace_model::network::{Link, Network as Asked, NetworkSpec, Shaper};
use menace_net::{Authority, LONGEST_PACKET, Network, SANDBOX_V4, SANDBOX_V6};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::handle::unsupported;
use crate::SandboxError;

/// A network that was asked for.
pub(super) struct Planned {
    spec: NetworkSpec,
    /// Who vouches for mocks.
    authority: Option<Arc<Authority>>,
}

/// What every sandbox with a network has.
pub(super) const INTERFACE: Interface =
    Interface { v4: SANDBOX_V4, v6: SANDBOX_V6, longest_packet: LONGEST_PACKET, netem: None };

/// Variables by which programs are told what to trust, beside what the system trusts.
pub(super) const TRUST: [(&str, &str); 7] = [
    ("SSL_CERT_FILE", ALL_TRUSTED),
    ("REQUESTS_CA_BUNDLE", ALL_TRUSTED),
    ("CURL_CA_BUNDLE", ALL_TRUSTED),
    ("GIT_SSL_CAINFO", ALL_TRUSTED),
    ("PIP_CERT", ALL_TRUSTED),
    ("AWS_CA_BUNDLE", ALL_TRUSTED),
    ("NODE_EXTRA_CA_CERTS", TRUSTED),
];

impl Planned {
    /// The network that a spec asks for; `None` if it asks for none.
    pub(super) fn of(asked: &Asked) -> Result<Option<Self>, SandboxError> {
        let Asked::Managed(spec) = asked else { return Ok(None) };
        check(spec)?;
        let authority = spec.mocks.as_ref().map(|_| new_authority()).transpose()?.map(Arc::new);
        Ok(Some(Self { spec: (**spec).clone(), authority }))
    }

    /// The interface that the sandbox is to have.
    pub(super) fn interface(&self) -> Interface {
        let netem = (self.spec.shaper == Shaper::Netem).then(|| netem(&self.spec.shape.out, self.spec.seed));
        Interface { netem, ..INTERFACE }
    }

    /// What programs are to trust.
    pub(super) fn trusted(&self) -> Option<String> {
        self.authority.as_ref().map(|authority| authority.certificate())
    }

    /// Variables for programs.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let is_needed = self.authority.is_some();
        TRUST.iter().filter(move |_| is_needed).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
    }

    /// Takes the other end of the sandbox's interface.
    pub(super) fn start(self, interface: Option<OwnedFd>) -> Result<Network, SandboxError> {
        let interface = interface
            .ok_or_else(|| SandboxError::Protocol("a sandbox did not hand over its interface".into()))?;
        Network::start(interface, self.spec, self.authority)
            .map_err(SandboxError::io("start the network of a sandbox"))
    }
}

fn netem(link: &Link, seed: u64) -> Netem {
    Netem {
        delay: link.delay,
        jitter: link.jitter,
        loss: link.loss,
        duplicate: link.duplicate,
        reorder: link.reorder,
        rate: link.rate.map(|bits| bits / 8),
        seed,
    }
}

/// Makes the interface in a network namespace of others, on a thread that is in it for so long.
pub(super) fn make_interface(network: OwnedFd) -> Result<OwnedFd, SandboxError> {
    let made = std::thread::spawn(move || {
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
            .step(|| "enter the network of a call")?;
        tun::make(&INTERFACE)
    });
    let made = made.join().map_err(|_| SandboxError::Protocol("making an interface panicked".into()))?;
    made.map_err(|error| unsupported(&error))
}

/// A new authority for one sandbox.
pub(super) fn new_authority() -> Result<Authority, SandboxError> {
    Authority::new().map_err(|error| SandboxError::Protocol(format!("no certificate could be made: {error}")))
}

/// Refuses what no network can be like.
pub(super) fn check(spec: &NetworkSpec) -> Result<(), SandboxError> {
    menace_net::check(spec).map_err(|problem| SandboxError::Refused {
        problem,
        hint: "shares are between 0 and 1, a rate is above 0, and menace itself can do more than netem"
            .into(),
    })
}
