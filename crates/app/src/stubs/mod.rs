//! Given arguments: from a setting, from earlier runs, from templates, or from plugins.

mod history;
mod plugins;
mod templates;

use menace_model::inventory::Inventory;
use menace_model::settings::StubStrategy;
use menace_runner::{ArgumentSource, CallableSection, GivenStub};
use menace_store::Store;
use serde_json::Value;

use crate::calling::RepositoryExecutor;
use crate::{AppContext, AppError, AppEvent, RequestError};

/// Given arguments for calls of these sections, in addition to generated ones.
pub(crate) async fn given(
    context: &AppContext,
    inventory: &Inventory,
    targets: &[CallableSection],
    store: &Store,
    calling: &RepositoryExecutor,
) -> Result<Vec<GivenStub>, AppError> {
    let settings = &context.settings().stubs;
    let mut stubs = match (written(context)?, settings.stub_strategy) {
        (written, _) if !written.is_empty() => written,
        (_, Some(StubStrategy::Synthetic)) => return Err(RequestError::NoModel.into()),
        (_, Some(StubStrategy::History)) => history::of_last_run(store, inventory, targets).await?,
        (_, Some(StubStrategy::Templates) | None) => templates::read(context)?,
        (_, Some(_)) => Vec::new(),
    };
    for plugin in plugins::files(&settings.stub_plugins)? {
        stubs = plugins::apply(&plugin, stubs, targets, calling).await?;
    }
    if !stubs.is_empty() {
        context.emit(AppEvent::StubsGiven { count: stubs.len() });
    }
    Ok(stubs)
}

/// Source of the generated arguments.
pub(crate) fn source(context: &AppContext) -> ArgumentSource {
    match context.settings().stubs.stub_strategy {
        Some(StubStrategy::Signature) => ArgumentSource::Signature,
        Some(StubStrategy::Random) => ArgumentSource::Random,
        _ => ArgumentSource::Smart,
    }
}

/// Arguments in `SANDBOX_INPUT_STUBS`.
fn written(context: &AppContext) -> Result<Vec<GivenStub>, RequestError> {
    let Some(text) = &context.settings().stubs.input_stubs else { return Ok(Vec::new()) };
    let wrong = |problem: String| RequestError::InputStubs(problem);
    let value: Value = serde_json::from_str(text.as_str()).map_err(|error| wrong(error.to_string()))?;
    let items = match value {
        Value::Array(items) => items,
        one => vec![one],
    };
    items
        .iter()
        .map(|item| match item {
            Value::Object(values) => Ok(GivenStub::of_json(values)),
            other => Err(wrong(format!("{other} is not a dictionary of arguments"))),
        })
        .collect()
}
