//! Arguments that somebody gave: `SANDBOX_INPUT_STUBS`.

use menace_runner::GivenStub;
use serde_json::Value;

use crate::configuration::Configuration;

use super::usage::UsageError;

/// What is in `SANDBOX_INPUT_STUBS`.
pub(super) fn given(configuration: &Configuration) -> Result<Vec<GivenStub>, UsageError> {
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
