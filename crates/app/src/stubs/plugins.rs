//! `SANDBOX_STUB_PLUGINS`: Python files that add or replace arguments. They run in a sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::calls::Recipe;
use menace_model::harness::{HarnessReply, HarnessRequest, PluginSection, StubPluginRequest};
use menace_runner::{CallableSection, GivenStub};
use serde_json::{Map, Value};

use crate::calling::{RepositoryExecutor, call_plugin, python_files};
use crate::{AppError, RequestError};

/// Timeout of a plugin for all sections.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Expands paths of files and directories to plugin files, in order.
pub(super) fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, RequestError> {
    let mut files = Vec::new();
    for path in named {
        let wrong = |problem: String| RequestError::StubPlugin { path: path.clone(), problem };
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        files.extend(python_files(path).map_err(|error| wrong(error.to_string()))?);
    }
    Ok(files)
}

/// Runs a plugin over the given arguments and returns its arguments.
pub(super) async fn apply(
    path: &Path,
    known: Vec<GivenStub>,
    targets: &[CallableSection],
    calling: &RepositoryExecutor,
) -> Result<Vec<GivenStub>, AppError> {
    let wrong = |problem: String| RequestError::StubPlugin { path: path.to_owned(), problem };
    let source = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let sections = targets.iter().map(|target| section(target, &known)).collect();
    let request =
        HarnessRequest::StubPlugin(StubPluginRequest { source, path: path.display().to_string(), sections });
    let of_kind = |reply| match reply {
        HarnessReply::StubPlugin(reply) => Some(reply),
        _ => None,
    };
    let made = call_plugin(calling, request, TIMEOUT, of_kind).await?.map_err(wrong)?.stubs;
    let of_target = |(target, all): (&CallableSection, Vec<Map<String, Value>>)| {
        let section = Some(target.name());
        all.into_iter()
            .map(move |values| GivenStub { section: section.clone(), ..GivenStub::of_json(&values) })
            .collect::<Vec<_>>()
    };
    Ok(targets.iter().zip(made).flat_map(of_target).collect())
}

/// Description of a section for a plugin.
fn section(target: &CallableSection, known: &[GivenStub]) -> PluginSection {
    let stubs = known
        .iter()
        .filter(|stub| stub.section.as_ref().is_none_or(|section| *section == target.name()))
        .map(|stub| {
            stub.arguments.iter().map(|(name, value)| (name.clone(), Recipe::to_json(value))).collect()
        })
        .collect();
    PluginSection {
        section: target.name(),
        module: target.module.clone(),
        function: target.section.name.clone(),
        parameters: target.section.parameters.iter().map(|parameter| parameter.name.clone()).collect(),
        stubs,
    }
}
