//! Call environment of one call while it runs: its network and its fault injector.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use menace_model::calls::{CallEnvironment, RawOutcome};
use menace_netstack::Netstack;

use super::base_sandbox::BaseSandbox;
use super::isolated_calls::ZygoteOptions;
use crate::SandboxError;
use crate::faults::FaultInjector;
use crate::native::network::{check, make_interface};

/// Running network and fault injector of one call. Both end with it.
pub(super) struct RunningCallEnvironment {
    network: Option<Netstack>,
    supervisor: Option<FaultInjector>,
}

impl RunningCallEnvironment {
    /// Environment without network and faults.
    pub(super) fn empty() -> Self {
        Self { network: None, supervisor: None }
    }

    /// Starts network and fault injector on the descriptors of the call's process, in the order of its plan.
    pub(super) fn start(
        mut handed_over: VecDeque<OwnedFd>,
        options: &ZygoteOptions,
        environment: &CallEnvironment,
        base: &BaseSandbox,
    ) -> Result<Self, SandboxError> {
        let mut next = || {
            let missing =
                || SandboxError::Protocol("the call did not send the descriptors of its environment".into());
            handed_over.pop_front().ok_or_else(missing)
        };
        let network = if options.has_network {
            let spec = environment.network.clone().unwrap_or_default();
            check(&spec)?;
            let handed_over = next()?;
            let interface = if base.is_privileged() { make_interface(handed_over)? } else { handed_over };
            let network = Netstack::start(interface, spec, Some(Arc::clone(&base.authority)));
            Some(network.map_err(SandboxError::io("start the network of a call"))?)
        } else {
            None
        };
        let supervisor = if options.asked.is_empty() {
            None
        } else {
            let seed = environment.network.as_ref().map_or(0, |network| network.seed);
            // The interpreter is the only program there; fault rules of calls name the files of the call.
            let supervisor = FaultInjector::start(next()?, &environment.faults, seed, PathBuf::new());
            Some(supervisor.map_err(SandboxError::io("start the fault injector of a call"))?)
        };
        Ok(Self { network, supervisor })
    }

    /// Adds the network report and the fault counts to the outcome.
    pub(super) fn add_reports_to(self, outcome: &mut RawOutcome) -> Result<(), SandboxError> {
        if let Some(network) = &self.network {
            outcome.network =
                network.report().map_err(SandboxError::io("read the network report of a call"))?;
        }
        if let Some(supervisor) = &self.supervisor {
            outcome.faults = supervisor.report()?;
        }
        Ok(())
    }
}
