//! Asking the harness what sections take: once for each module.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use menace_model::calls::Described;
use menace_sandbox::SandboxError;
use menace_sandbox::native::CallSpec;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::execute::Execute;
use crate::target::Target;

/// The import of a module may take a while, but not for ever.
const LONGEST_IMPORT: Duration = Duration::from_secs(20);

/// Fills in what the harness says about each target.
pub async fn describe(executor: &Arc<dyn Execute>, targets: &mut [Target]) -> Result<(), SandboxError> {
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
            answered.map_err(|error| SandboxError::Protocol(format!("asking a module failed: {error}")))?;
        let outcome = outcome?;
        let answer = outcome.returned.clone().unwrap_or_default();
        for index in indices {
            let target = &mut targets[index];
            target.described = Some(match answer["sections"].get(&target.section.name) {
                Some(described) => understood(described),
                None => Described::Missing { missing: why_not(&answer, &outcome) },
            });
        }
    }
    Ok(())
}

fn understood(described: &Value) -> Described {
    serde_json::from_value(described.clone()).unwrap_or_else(|error| Described::Missing {
        missing: format!("what the harness says about it cannot be understood: {error}"),
    })
}

fn why_not(answer: &Value, outcome: &menace_sandbox::native::RawOutcome) -> String {
    if outcome.timed_out {
        return "the import of its module does not end".into();
    }
    match (&answer["error"]["exception"], outcome.signal, outcome.exit_code) {
        (Value::String(exception), _, _) => {
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            format!("its module cannot be imported: {exception}: {message}")
        }
        (_, Some(signal), _) => format!("the import of its module ends with signal {signal}"),
        (_, None, Some(code)) => format!("the import of its module leaves the process with exit code {code}"),
        _ => "the import of its module ends without a word".into(),
    }
}
