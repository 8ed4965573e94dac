//! Arguments that somebody gave: written down, of earlier runs, in templates, or made by plugins.

mod history;
mod plugins;
mod templates;

use menace_model::inventory::Inventory;
use menace_model::settings::StubStrategy;
use menace_runner::{ArgumentSource, CallableSection, GivenStub};
use menace_store::Store;
use serde_json::Value;

use crate::calling::RepositoryExecutor;
use crate::configuration::Configuration;
use crate::terminal::{count, note};

use super::usage::UsageError;

/// What calls of these targets are given beside what menace makes itself.
pub(super) async fn given(
    configuration: &Configuration,
    inventory: &Inventory,
    targets: &[CallableSection],
    store: &Store,
    calling: &RepositoryExecutor,
) -> anyhow::Result<Vec<GivenStub>> {
    let settings = &configuration.settings().stubs;
    let mut stubs = match (written(configuration)?, settings.stub_strategy) {
        (written, _) if !written.is_empty() => written,
        (_, Some(StubStrategy::Synthetic)) => return Err(UsageError::NoModel.into()),
        (_, Some(StubStrategy::History)) => history::of_last_run(store, inventory, targets).await?,
        (_, Some(StubStrategy::Templates) | None) => templates::read(configuration)?,
        (_, Some(_)) => Vec::new(),
    };
    for plugin in plugins::files(&settings.stub_plugins)? {
        stubs = plugins::apply(&plugin, stubs, targets, calling).await?;
    }
    if !stubs.is_empty() {
        note(&format!("{} given", count(stubs.len(), "set") + " of arguments"));
    }
    Ok(stubs)
}

/// What arguments are chosen from that nobody gave.
pub(super) fn source(configuration: &Configuration) -> ArgumentSource {
    match configuration.settings().stubs.stub_strategy {
        Some(StubStrategy::Signature) => ArgumentSource::Signature,
        Some(StubStrategy::Random) => ArgumentSource::Random,
        _ => ArgumentSource::Smart,
    }
}

/// What is in `SANDBOX_INPUT_STUBS`.
fn written(configuration: &Configuration) -> Result<Vec<GivenStub>, UsageError> {
    let Some(text) = &configuration.settings().stubs.input_stubs else { return Ok(Vec::new()) };
    let wrong = |problem: String| UsageError::InputStubs(problem);
    let value: Value = serde_json::from_str(text.as_str()).map_err(|error| wrong(error.to_string()))?;
    let items = match value {
        Value::Array(items) => items,
        one => vec![one],
    };
    items
        .iter()
        .map(|item| match item {
            Value::Object(values) => Ok(GivenStub::of_json(values)),
            other => Err(wrong(format!("{other} is no dictionary of arguments"))),
        })
        .collect()
}
