//! The network of a sandbox, from the arguments.

use menace_model::network::{
    MockFallback, MockSpec, NetworkConditions, NetworkMode, NetworkSpec, PacketShaper,
};

use crate::arguments::{NetworkArguments, NetworkModeArgument};
use crate::commands::usage::UsageError;
use menace_app::mock_rules::read_mocks;

/// The requested network.
pub(super) fn network(arguments: &NetworkArguments) -> anyhow::Result<NetworkMode> {
    let shape = shape(arguments);
    let is_none = arguments.net.iter().all(|reach| *reach == NetworkModeArgument::None);
    if is_none {
        let is_shaped =
            !shape.is_clear() || shape.window.is_some() || arguments.shaper != PacketShaper::default();
        if is_shaped || arguments.dns.is_some() {
            return Err(UsageError::NoNetwork.into());
        }
        return Ok(NetworkMode::None);
    }
    if arguments.net.contains(&NetworkModeArgument::None) {
        return Err(UsageError::NoneAndMore.into());
    }
    let mut spec = NetworkSpec {
        shape,
        shaper: arguments.shaper,
        seed: arguments.seed,
        resolver: arguments.dns,
        ..NetworkSpec::default()
    };
    for reach in &arguments.net {
        match reach {
            NetworkModeArgument::None | NetworkModeArgument::Deny => {}
            NetworkModeArgument::Allow(rules) => spec.allow.extend(rules.iter().cloned()),
            NetworkModeArgument::Mock(path) => merge(&mut spec.mocks, read_mocks(path)?),
        }
    }
    Ok(NetworkMode::Managed(Box::new(spec)))
}

fn shape(arguments: &NetworkArguments) -> NetworkConditions {
    let (latency, jitter) = (arguments.latency.unwrap_or_default(), arguments.jitter.unwrap_or_default());
    let mut shape = NetworkConditions::symmetric(latency, jitter).both(|link| {
        link.loss = arguments.loss.unwrap_or(0.0);
        link.duplicate = arguments.duplicate.unwrap_or(0.0);
        link.reorder = arguments.reorder.unwrap_or(0.0);
        link.rate = arguments.bandwidth;
    });
    shape.partition.clone_from(&arguments.partition);
    shape.window = arguments.fault_window;
    shape
}

fn merge(into: &mut Option<MockSpec>, more: MockSpec) {
    let mocks = into.get_or_insert_default();
    mocks.rules.extend(more.rules);
    mocks.fields.extend(more.fields);
    mocks.drift = mocks.drift.max(more.drift);
    if more.fallback == MockFallback::Plausible {
        mocks.fallback = MockFallback::Plausible;
    }
}
