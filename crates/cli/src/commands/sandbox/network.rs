//! From arguments to the network of a sandbox.

use std::path::{Path, PathBuf};

use menace_model::network::{
    MockFallback, MockSpec, NetworkConditions, NetworkMode, NetworkSpec, PacketShaper,
};
use serde_json::Value;

use crate::arguments::{NetworkArguments, NetworkModeArgument};
use crate::commands::usage::UsageError;

/// The network that was asked for.
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

/// Reads rules, as YAML or JSON: a list of rules, or a dictionary with `rules` and more.
pub(crate) fn read_mocks(path: &Path) -> anyhow::Result<MockSpec> {
    let wrong = |problem: String| UsageError::Mocks { path: path.to_owned(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mocks = parse_mocks(&text).map_err(wrong)?;
    let directory = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    Ok(menace_netstack::prepare(mocks, &directory).map_err(|error| wrong(error.to_string()))?)
}

/// Every rule is read by itself, so that an error can say which one it is in.
fn parse_mocks(text: &str) -> Result<MockSpec, String> {
    let mut value: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let rules = match &mut value {
        Value::Array(rules) => std::mem::take(rules),
        Value::Object(all) => match all.remove("rules") {
            Some(Value::Array(rules)) => rules,
            None => Vec::new(),
            Some(_) => return Err("`rules` is no list".into()),
        },
        _ => return Err("expected a list of rules, or a dictionary with `rules`".into()),
    };
    let rest = if value.is_array() { Value::Object(serde_json::Map::new()) } else { value };
    let mut mocks: MockSpec = serde_json::from_value(rest).map_err(|error| error.to_string())?;
    for (number, rule) in rules.into_iter().enumerate() {
        let read = serde_json::from_value(rule).map_err(|error| format!("rule {}: {error}", number + 1));
        mocks.rules.push(read?);
    }
    Ok(mocks)
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
