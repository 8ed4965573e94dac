//! Python files that extend menace. They run in a sandbox, as everything does.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::calls::CallSpec;
use menace_model::harness::{HarnessFailure, HarnessReply, HarnessRequest, StagedReply};

use super::RepositoryExecutor;

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

/// Reply of a plugin, or the reason why there is none. `of_kind` selects the reply to the kind of request.
pub(crate) async fn ask_plugin<T: Clone>(
    calling: &RepositoryExecutor,
    request: HarnessRequest,
    longest: Duration,
    of_kind: impl FnOnce(HarnessReply) -> Option<StagedReply<T>>,
) -> anyhow::Result<Result<T, String>> {
    let outcome = calling.executor.execute(&CallSpec::new(request).timeout(longest)).await?;
    let Some(reply) = outcome.reply else {
        return Ok(Err(match outcome.timed_out {
            true => format!("it did not end within {} s", longest.as_secs()),
            false => "it ended without a reply".to_owned(),
        }));
    };
    if let HarnessReply::Malformed { problem } = &reply {
        return Ok(Err(format!("its reply is malformed: {problem}")));
    }
    let Some(reply) = of_kind(reply) else { return Ok(Err("its reply is of another kind".to_owned())) };
    Ok(reply.done().cloned().map_err(|failure| match failure {
        HarnessFailure::Refused(why) => why.to_owned(),
        HarnessFailure::Raised(error) => format!("it raised {}: {}", error.exception, error.message),
    }))
}
