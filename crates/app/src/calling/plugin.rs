//! Plugins: Python files that extend menace. They run in a sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_sandbox::native::CallSpec;
use serde_json::Value;

use super::RepositoryExecutor;
use crate::AppError;

/// The Python files of a directory, sorted.
pub(crate) fn python_files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "py") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Calls a plugin. Returns its answer, or a description of its failure.
pub(crate) async fn call_plugin(
    calling: &RepositoryExecutor,
    request: Value,
    timeout: Duration,
) -> Result<Result<Value, String>, AppError> {
    let outcome = calling.executor.execute(&CallSpec::new(request).timeout(timeout)).await?;
    let answer = outcome.returned.unwrap_or_default();
    if answer["stage"] == "done" {
        return Ok(Ok(answer));
    }
    Ok(Err(match (&answer["why"], &answer["error"]) {
        (Value::String(why), _) => why.clone(),
        _ if outcome.timed_out => format!("timed out after {} s", timeout.as_secs()),
        (_, Value::Object(error)) => format!("raised {}: {}", error["exception"], error["message"]),
        _ => "exited without an answer".to_owned(),
    }))
}
