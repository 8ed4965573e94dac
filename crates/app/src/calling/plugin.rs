//! Plugins: Python files that extend menace. They run in a sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::calls::CallSpec;
use menace_model::harness::{HarnessFailure, HarnessReply, HarnessRequest, StagedReply};

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

/// Calls a plugin. Returns its reply, or a description of its failure. `of_kind` selects the reply to the request.
pub(crate) async fn call_plugin<T: Clone>(
    calling: &RepositoryExecutor,
    request: HarnessRequest,
    timeout: Duration,
    of_kind: impl FnOnce(HarnessReply) -> Option<StagedReply<T>>,
) -> Result<Result<T, String>, AppError> {
    let outcome = calling.executor.execute(&CallSpec::new(request).timeout(timeout)).await?;
    let Some(reply) = outcome.reply else {
        return Ok(Err(if outcome.timed_out {
            format!("timed out after {} s", timeout.as_secs())
        } else {
            "exited without a reply".to_owned()
        }));
    };
    if let HarnessReply::Malformed { problem } = &reply {
        return Ok(Err(format!("malformed reply: {problem}")));
    }
    let Some(reply) = of_kind(reply) else { return Ok(Err("unexpected kind of reply".to_owned())) };
    Ok(reply.done().cloned().map_err(|failure| match failure {
        HarnessFailure::Refused(why) => why.to_owned(),
        HarnessFailure::Raised(error) => format!("raised {}: {}", error.exception, error.message),
    }))
}
