//! Source lines as they were during a run, if that version is still available.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use menace_store::{RunRecord, Store};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::error::ApiError;

/// Context lines before and after a line.
const CONTEXT_LINES: u64 = 4;

/// Source code of a run.
pub(super) struct RunSourceCode {
    repository: PathBuf,
    /// Prefix of the content hash of each file, by path.
    files: BTreeMap<String, String>,
    /// Commit that a cycle called, if the run is a cycle of `menace auto`.
    base: Option<String>,
}

impl RunSourceCode {
    pub(super) async fn of(store: &Store, run: &RunRecord) -> Result<Self, ApiError> {
        // A cycle of `menace auto` calls a commit of its branch, not the user's files.
        let loops = store.runs(200).await?;
        let base = loops.iter().find_map(|other| other.known_options().cycle_of(&run.id)?.base.clone());
        let options = run.known_options();
        Ok(Self {
            repository: options.repository.as_deref().unwrap_or(&run.repository).into(),
            files: options.files,
            base: base.filter(|base| is_commit(base)),
        })
    }

    /// Lines around a line, or the reason why they are unavailable.
    pub(super) async fn around(&self, path: &str, line: u64) -> Value {
        let text = match self.text(path).await {
            Ok(text) => text,
            Err(reason) => return json!({"unavailable": reason}),
        };
        let first = line.saturating_sub(CONTEXT_LINES).max(1);
        let lines: Vec<Value> = text
            .lines()
            .enumerate()
            .map(|(number, text)| (number as u64 + 1, text))
            .filter(|(number, _)| (first..=line + CONTEXT_LINES).contains(number))
            .map(|(number, text)| json!([number, text]))
            .collect();
        json!({"lines": lines})
    }

    async fn text(&self, path: &str) -> Result<String, String> {
        // Paths come from tracebacks of untrusted code.
        let is_plain = |part: Component| matches!(part, Component::Normal(_));
        if path.is_empty() || !Path::new(path).components().all(is_plain) {
            return Err(format!("{path} is not a path in the repository"));
        }
        let known = self.files.get(path);
        let is_same = |content: &[u8]| {
            known.is_some_and(|known| blake3::hash(content).to_hex().starts_with(known.as_str()))
        };
        let here = self.repository.join(path);
        if let Ok(content) = std::fs::read(&here)
            && is_same(&content)
        {
            return Ok(String::from_utf8_lossy(&content).into_owned());
        }
        match self.committed(path).await {
            Some(content) if is_same(&content) => Ok(String::from_utf8_lossy(&content).into_owned()),
            _ if known.is_none() => Err("the run did not record the hash of this file".to_owned()),
            _ => Err("the file has changed since the call".to_owned()),
        }
    }

    async fn committed(&self, path: &str) -> Option<Vec<u8>> {
        let base = self.base.as_ref()?;
        let shown = Command::new("git")
            .arg("-C")
            .arg(&self.repository)
            .args(["-c", "core.fsmonitor=false", "cat-file", "blob", &format!("{base}:{path}")])
            .stdin(std::process::Stdio::null())
            .output();
        shown.await.ok().filter(|shown| shown.status.success()).map(|shown| shown.stdout)
    }
}

fn is_commit(text: &str) -> bool {
    text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_lines_of_the_called_version_are_shown() {
        let directory = tempfile::tempdir().unwrap();
        let content = (1..=20).map(|number| format!("line {number}\n")).collect::<String>();
        std::fs::write(directory.path().join("a.py"), &content).unwrap();
        let hash = blake3::hash(content.as_bytes()).to_hex()[..16].to_owned();
        let mut source = RunSourceCode {
            repository: directory.path().into(),
            files: [("a.py".to_owned(), hash)].into(),
            base: None,
        };
        let lines = source.around("a.py", 6).await;
        assert_eq!(
            (&lines["lines"][0], lines["lines"].as_array().unwrap().len()),
            (&json!([2, "line 2"]), 9)
        );
        for path in ["../a.py", "/etc/passwd", "", "b.py"] {
            assert!(source.around(path, 1).await["unavailable"].is_string(), "{path}");
        }
        source.files = [("a.py".to_owned(), "0".repeat(16))].into();
        assert_eq!(source.around("a.py", 6).await["unavailable"], "the file has changed since the call");
    }
}
