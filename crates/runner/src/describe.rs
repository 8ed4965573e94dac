//! Descriptions of sections by the harness, one request for each module.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use menace_model::calls::{CallSpec, RawOutcome, SectionDescription};
use menace_model::harness::{DescribeRequest, HarnessFailure, HarnessReply, HarnessRequest, StagedReply};
use menace_sandbox::SandboxError;

use crate::callable_section::CallableSection;
use crate::executor::CallExecutor;
use crate::scheduler::{UNLIMITED, run_all};

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
    let jobs = by_module.into_iter().map(|(module, indices)| {
        let sections = indices.iter().map(|index| targets[*index].section.name.clone()).collect();
        let request = HarnessRequest::Describe(DescribeRequest { module, sections });
        let executor = Arc::clone(executor);
        async move {
            let outcome = executor.execute(&CallSpec::new(request).timeout(LONGEST_IMPORT)).await?;
            Ok::<_, SandboxError>((indices, outcome))
        }
    });
    let outcomes = run_all(UNLIMITED, jobs, || {}).await?;
    for (indices, outcome) in outcomes {
        let described = match &outcome.reply {
            Some(HarnessReply::Describe(StagedReply::Done(reply))) => Some(&reply.sections),
            _ => None,
        };
        for index in indices {
            let target = &mut targets[index];
            let description = described.and_then(|sections| sections.get(&target.section.name)).cloned();
            let missing = || SectionDescription::Missing { missing: missing_reason(&outcome) };
            target.described = Some(description.unwrap_or_else(missing));
        }
    }
    Ok(())
}

fn missing_reason(outcome: &RawOutcome) -> String {
    if outcome.timed_out {
        return "the import of its module timed out".into();
    }
    match (&outcome.reply, outcome.signal, outcome.exit_code) {
        (Some(HarnessReply::Describe(reply)), ..) => match reply.done() {
            Err(HarnessFailure::Raised(error)) => {
                format!("failed to import its module: {}: {}", error.exception, error.message)
            }
            Err(HarnessFailure::Refused(why)) => format!("failed to import its module: {why}"),
            Ok(_) => "the harness did not describe it".into(),
        },
        (Some(HarnessReply::Malformed { problem }), ..) => {
            format!("malformed description of its module: {problem}")
        }
        (_, Some(signal), _) => format!("the import of its module was killed by signal {signal}"),
        (_, None, Some(code)) => format!("the import of its module exited with code {code}"),
        _ => "the import of its module ended without an answer".into(),
    }
}
