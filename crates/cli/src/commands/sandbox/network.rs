//! From arguments to the network of a sandbox.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use menace_model::network::{Fallback, Mocks, Network, NetworkSpec, Shape};

use crate::arguments::{NetworkArguments, Reach};

/// The network that was asked for.
pub(super) fn network(arguments: &NetworkArguments) -> anyhow::Result<Network> {
    let shape = shape(arguments);
    let is_none = arguments.net.iter().all(|reach| *reach == Reach::None);
    if is_none {
        if !shape.is_clear() || arguments.dns.is_some() {
            bail!("there is no network to shape\nhint: add --net deny, --net allow=HOST or --net mock=FILE");
        }
        return Ok(Network::None);
    }
    if arguments.net.contains(&Reach::None) {
        bail!("--net none goes with nothing else");
    }
    let mut spec =
        NetworkSpec { shape, seed: arguments.seed, resolver: arguments.dns, ..NetworkSpec::default() };
    for reach in &arguments.net {
        match reach {
            Reach::None | Reach::Deny => {}
            Reach::Allow(rules) => spec.allow.extend(rules.iter().cloned()),
            Reach::Mock(path) => merge(&mut spec.mocks, read_mocks(path)?),
        }
    }
    Ok(Network::Managed(Box::new(spec)))
}

fn shape(arguments: &NetworkArguments) -> Shape {
    let (latency, jitter) = (arguments.latency.unwrap_or_default(), arguments.jitter.unwrap_or_default());
    let mut shape = Shape::symmetric(latency, jitter).both(|link| {
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
pub(crate) fn read_mocks(path: &Path) -> anyhow::Result<Mocks> {
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    let mocks = parse_mocks(&text).with_context(|| format!("{} has no rules for mocks", path.display()))?;
    let directory = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    menace_net::prepare(mocks, &directory).with_context(|| format!("{} cannot be used", path.display()))
}

fn parse_mocks(text: &str) -> anyhow::Result<Mocks> {
    let value: serde_json::Value = serde_saphyr::from_str(text)?;
    let value = if value.is_array() { serde_json::json!({ "rules": value }) } else { value };
    Ok(serde_json::from_value(value)?)
}

fn merge(into: &mut Option<Mocks>, more: Mocks) {
    let mocks = into.get_or_insert_default();
    mocks.rules.extend(more.rules);
    mocks.fields.extend(more.fields);
    mocks.drift = mocks.drift.max(more.drift);
    if more.fallback == Fallback::Plausible {
        mocks.fallback = Fallback::Plausible;
    }
}
