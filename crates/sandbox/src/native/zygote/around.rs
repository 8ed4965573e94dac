//! The world around one call, while it is made.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use menace_net::Network;

use super::base::Base;
use super::call::{RawOutcome, World};
use super::calls::ZygoteOptions;
use crate::SandboxError;
use crate::faults::Supervisor;
use crate::native::network::{check, make_interface};

/// A network and whoever answers for system calls. Both end with it.
pub(super) struct Around {
    network: Option<Network>,
    supervisor: Option<Supervisor>,
}

impl Around {
    /// There is nothing around a call.
    pub(super) fn nothing() -> Self {
        Self { network: None, supervisor: None }
    }

    /// Takes what the caller has handed over, in the order in which its plan names it.
    pub(super) fn start(
        mut handed_over: VecDeque<OwnedFd>,
        options: &ZygoteOptions,
        world: &World,
        base: &Base,
    ) -> Result<Self, SandboxError> {
        let mut next = || {
            let missing = || SandboxError::Protocol("a call did not hand over its world".into());
            handed_over.pop_front().ok_or_else(missing)
        };
        let network = if options.has_network {
            let spec = world.network.clone().unwrap_or_default();
            check(&spec)?;
            let handed_over = next()?;
            let interface = if base.is_privileged() { make_interface(handed_over)? } else { handed_over };
            let network = Network::start(interface, spec, Some(Arc::clone(&base.authority)));
            Some(network.map_err(SandboxError::io("start the network of a call"))?)
        } else {
            None
        };
        let supervisor = if options.asked.is_empty() {
            None
        } else {
            let seed = world.network.as_ref().map_or(0, |network| network.seed);
            // All that runs there is the interpreter; rules for calls name the files that are the call's.
            let supervisor = Supervisor::start(next()?, &world.faults, seed, PathBuf::new());
            Some(supervisor.map_err(SandboxError::io("start to answer for system calls"))?)
        };
        Ok(Self { network, supervisor })
    }

    /// Adds what was seen to what came of the call.
    pub(super) fn tell(self, outcome: &mut RawOutcome) -> Result<(), SandboxError> {
        if let Some(network) = &self.network {
            outcome.network =
                network.report().map_err(SandboxError::io("ask the network of a call what it has seen"))?;
        }
        if let Some(supervisor) = &self.supervisor {
            outcome.faults = supervisor.report()?;
        }
        Ok(())
    }
}
