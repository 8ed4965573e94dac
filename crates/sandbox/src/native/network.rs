//! Network of a sandbox: validation, interface, certificate authority for mocks, start.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use menace_isolation::StepContext;
use menace_isolation::queue_discipline::NetemOptions;
use menace_isolation::root::{ALL_TRUSTED, TRUSTED};
use menace_isolation::tun::{self, TunInterface};
use menace_model::ErrorDetails;
use menace_model::network::{LinkConditions, NetworkMode as Asked, NetworkSpec, PacketShaper};
use menace_netstack::{LONGEST_PACKET, MockCertificateAuthority, Netstack, SANDBOX_V4, SANDBOX_V6};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::launcher_handle::unsupported;
use crate::SandboxError;

/// A requested network that is not started yet.
pub(super) struct RequestedNetwork {
    spec: NetworkSpec,
    /// Certificate authority that signs the certificates of mocks.
    authority: Option<Arc<MockCertificateAuthority>>,
}

/// Interface of every sandbox with a network.
pub(super) const INTERFACE: TunInterface =
    TunInterface { v4: SANDBOX_V4, v6: SANDBOX_V6, longest_packet: LONGEST_PACKET, netem: None };

/// Environment variables that make programs trust the mocks' authority beside the system's.
pub(super) const TRUST: [(&str, &str); 7] = [
    ("SSL_CERT_FILE", ALL_TRUSTED),
    ("REQUESTS_CA_BUNDLE", ALL_TRUSTED),
    ("CURL_CA_BUNDLE", ALL_TRUSTED),
    ("GIT_SSL_CAINFO", ALL_TRUSTED),
    ("PIP_CERT", ALL_TRUSTED),
    ("AWS_CA_BUNDLE", ALL_TRUSTED),
    ("NODE_EXTRA_CA_CERTS", TRUSTED),
];

impl RequestedNetwork {
    /// Network that a spec requests; `None` if it requests none.
    pub(super) fn from_policy(asked: &Asked) -> Result<Option<Self>, SandboxError> {
        let Asked::Managed(spec) = asked else { return Ok(None) };
        check(spec)?;
        let authority = spec.mocks.as_ref().map(|_| new_authority()).transpose()?.map(Arc::new);
        Ok(Some(Self { spec: (**spec).clone(), authority }))
    }

    /// Interface to create in the sandbox.
    pub(super) fn interface(&self) -> TunInterface {
        let netem =
            (self.spec.shaper == PacketShaper::Netem).then(|| netem(&self.spec.shape.out, self.spec.seed));
        TunInterface { netem, ..INTERFACE }
    }

    /// Certificate that programs must trust.
    pub(super) fn trusted(&self) -> Option<String> {
        self.authority.as_ref().map(|authority| authority.certificate())
    }

    /// Environment variables for programs.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let is_needed = self.authority.is_some();
        TRUST.iter().filter(move |_| is_needed).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
    }

    /// Starts the network on the host's end of the sandbox's interface.
    pub(super) fn start(self, interface: Option<OwnedFd>) -> Result<Netstack, SandboxError> {
        let interface = interface
            .ok_or_else(|| SandboxError::Protocol("the sandbox did not send its network interface".into()))?;
        Netstack::start(interface, self.spec, self.authority)
            .map_err(SandboxError::io("start the network of a sandbox"))
    }
}

fn netem(link: &LinkConditions, seed: u64) -> NetemOptions {
    NetemOptions {
        delay: link.delay,
        jitter: link.jitter,
        loss: link.loss,
        duplicate: link.duplicate,
        reorder: link.reorder,
        rate: link.rate.map(|bits| bits / 8),
        seed,
    }
}

/// Creates the interface in the network namespace of a call, on a thread that enters that namespace for it.
pub(super) fn make_interface(network: OwnedFd) -> Result<OwnedFd, SandboxError> {
    let made = std::thread::spawn(move || {
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
            .step(|| "enter the network of a call")?;
        tun::make(&INTERFACE)
    });
    let made = made
        .join()
        .map_err(|_| SandboxError::Protocol("the thread that creates the interface panicked".into()))?;
    made.map_err(|error| unsupported(&error))
}

/// Creates a certificate authority for one sandbox.
pub(super) fn new_authority() -> Result<MockCertificateAuthority, SandboxError> {
    MockCertificateAuthority::new()
        .map_err(|error| SandboxError::Protocol(format!("failed to create a certificate: {error}")))
}

/// Rejects an invalid network spec.
pub(super) fn check(spec: &NetworkSpec) -> Result<(), SandboxError> {
    menace_netstack::check(spec).map_err(|error| SandboxError::Refused {
        problem: error.to_string(),
        hint: error.hint().unwrap_or_default(),
    })
}
