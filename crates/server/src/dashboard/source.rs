//! Lines of the code that a run was about, if it is still known what they were.

use std::path::{Component, Path, PathBuf};

use menace_store::{Run, Store};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::error::ApiError;

/// Lines that are shown before and after one.
const AROUND: u64 = 4;

/// Where the code of a run is.
pub(super) struct Source {
    repository: PathBuf,
    /// What the files were: the beginning of a hash of each, by path.
    files: Value,
    /// The commit that its calls were made of, for a cycle of a loop.
    base: Option<String>,
}

impl Source {
    pub(super) async fn of(store: &Store, run: &Run) -> Result<Self, ApiError> {
        let id = run.id.to_string();
        // A cycle of a loop is about a commit of the branch, not about the user's files.
        let loops = store.runs(200).await?;
        let cycles = loops.iter().filter_map(|other| other.options["begun"].as_array()).flatten();
        let base =
            cycles.filter(|cycle| cycle["run"] == id.as_str()).find_map(|cycle| cycle["base"].as_str());
        let named = run.options["repository"].as_str().unwrap_or(&run.repository);
        Ok(Self {
            repository: named.into(),
            files: run.options["files"].clone(),
            base: base.filter(|base| is_commit(base)).map(str::to_owned),
        })
    }

    /// Some lines, or why they cannot be shown.
    pub(super) async fn around(&self, path: &str, line: u64) -> Value {
        let text = match self.text(path).await {
            Ok(text) => text,
            Err(reason) => return json!({"unavailable": reason}),
        };
        let first = line.saturating_sub(AROUND).max(1);
        let lines: Vec<Value> = text
            .lines()
            .enumerate()
            .map(|(number, text)| (number as u64 + 1, text))
            .filter(|(number, _)| (first..=line + AROUND).contains(number))
            .map(|(number, text)| json!([number, text]))
            .collect();
        json!({"lines": lines})
    }

    async fn text(&self, path: &str) -> Result<String, String> {
        // Paths come from what untrusted code said about itself.
        let is_plain = |part: Component| matches!(part, Component::Normal(_));
        if path.is_empty() || !Path::new(path).components().all(is_plain) {
            return Err(format!("{path} is no path in the repository"));
        }
        let known = self.files[path].as_str();
        let is_same =
            |content: &[u8]| known.is_some_and(|known| blake3::hash(content).to_hex().starts_with(known));
        let here = self.repository.join(path);
        if let Ok(content) = std::fs::read(&here)
            && is_same(&content)
        {
            return Ok(String::from_utf8_lossy(&content).into_owned());
        }
        match self.committed(path).await {
            Some(content) if is_same(&content) => Ok(String::from_utf8_lossy(&content).into_owned()),
            _ if known.is_none() => Err("the run did not note what this file was".to_owned()),
            _ => Err("the file is not what it was when the call was made".to_owned()),
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
    async fn only_lines_of_the_file_that_was_called_are_shown() {
        let directory = tempfile::tempdir().unwrap();
        let content = (1..=20).map(|number| format!("line {number}\n")).collect::<String>();
        std::fs::write(directory.path().join("a.py"), &content).unwrap();
        let hash = blake3::hash(content.as_bytes()).to_hex()[..16].to_owned();
        let mut source =
            Source { repository: directory.path().into(), files: json!({"a.py": hash}), base: None };
        let lines = source.around("a.py", 6).await;
        assert_eq!(
            (&lines["lines"][0], lines["lines"].as_array().unwrap().len()),
            (&json!([2, "line 2"]), 9)
        );
        for path in ["../a.py", "/etc/passwd", "", "b.py"] {
            assert!(source.around(path, 1).await["unavailable"].is_string(), "{path}");
        }
        source.files = json!({"a.py": "0000000000000000"});
        assert_eq!(
            source.around("a.py", 6).await["unavailable"],
            "the file is not what it was when the call was made"
        );
    }
}
