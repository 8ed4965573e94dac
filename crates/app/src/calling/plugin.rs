//! Python files that extend menace. They run in a sandbox, as everything does.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_sandbox::native::CallSpec;
use serde_json::Value;

use super::RepositoryExecutor;
use crate::AppError;

/// The Python files of a directory, in order.
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

/// What a plugin answers, or what is wrong with it.
pub(crate) async fn ask_plugin(
    calling: &RepositoryExecutor,
    request: Value,
    longest: Duration,
) -> Result<Result<Value, String>, AppError> {
    let outcome = calling.executor.execute(&CallSpec::new(request).timeout(longest)).await?;
    let answer = outcome.returned.unwrap_or_default();
    if answer["stage"] == "done" {
        return Ok(Ok(answer));
    }
    Ok(Err(match (&answer["why"], &answer["error"]) {
        (Value::String(why), _) => why.clone(),
        _ if outcome.timed_out => format!("it did not end within {} s", longest.as_secs()),
        (_, Value::Object(error)) => format!("it raised {}: {}", error["exception"], error["message"]),
        _ => "it ended without a word".to_owned(),
    }))
}
