//! Descriptions of sections by the harness, one request for each module.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use menace_model::calls::SectionDescription;
use menace_sandbox::SandboxError;
use menace_sandbox::native::CallSpec;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::callable_section::CallableSection;
use crate::executor::CallExecutor;

/// Timeout of the import of a module.
const LONGEST_IMPORT: Duration = Duration::from_secs(20);

/// Fills in the harness's description of each target.
pub async fn describe(
    executor: &Arc<dyn CallExecutor>,
    targets: &mut [CallableSection],
) -> Result<(), SandboxError> {
    let mut by_module: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, target) in targets.iter().enumerate() {
        by_module.entry(target.module.clone()).or_default().push(index);
    }
    let mut asked = JoinSet::new();
    for (module, indices) in by_module {
        let sections: Vec<&str> = indices.iter().map(|index| targets[*index].section.name.as_str()).collect();
        let request = json!({"kind": "describe", "module": module, "sections": sections});
        let executor = Arc::clone(executor);
        asked.spawn(async move {
            let outcome = executor.execute(&CallSpec::new(request).timeout(LONGEST_IMPORT)).await;
            (indices, outcome)
        });
    }
    while let Some(answered) = asked.join_next().await {
        let (indices, outcome) =
            answered.map_err(|error| SandboxError::Protocol(format!("a describe task failed: {error}")))?;
        let outcome = outcome?;
        let answer = outcome.returned.clone().unwrap_or_default();
        for index in indices {
            let target = &mut targets[index];
            target.described = Some(match answer["sections"].get(&target.section.name) {
                Some(described) => parse_description(described),
                None => SectionDescription::Missing { missing: missing_reason(&answer, &outcome) },
            });
        }
    }
    Ok(())
}

fn parse_description(described: &Value) -> SectionDescription {
    serde_json::from_value(described.clone()).unwrap_or_else(|error| SectionDescription::Missing {
        missing: format!("failed to parse its description: {error}"),
    })
}

fn missing_reason(answer: &Value, outcome: &menace_sandbox::native::RawOutcome) -> String {
    if outcome.timed_out {
        return "the import of its module timed out".into();
    }
    match (&answer["error"]["exception"], outcome.signal, outcome.exit_code) {
        (Value::String(exception), _, _) => {
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            format!("failed to import its module: {exception}: {message}")
        }
        (_, Some(signal), _) => format!("the import of its module was killed by signal {signal}"),
        (_, None, Some(code)) => format!("the import of its module exited with code {code}"),
        _ => "the import of its module ended without an answer".into(),
    }
}
