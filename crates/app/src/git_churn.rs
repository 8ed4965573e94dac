//! Lines changed in the last 30 days, from `git log`, which runs while the scan reads files.
//!
//! The repository is not trusted, and its git configuration can name programs: every option that could start one is
//! disabled, and nothing is fetched.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use menace_analysis::scan::{ChurnReport, ChurnedLines};

/// A running `git log`.
pub(crate) struct GitChurn {
    running: JoinHandle<ChurnReport>,
}

impl GitChurn {
    pub(crate) fn start(repository: &Path) -> Self {
        let repository = repository.to_path_buf();
        Self { running: std::thread::spawn(move || run_git_log(&repository)) }
    }

    pub(crate) fn finish(self) -> ChurnReport {
        self.running.join().unwrap_or_else(|_| Err("reading the output of git failed".to_owned()))
    }
}

fn run_git_log(repository: &Path) -> ChurnReport {
    let output = git(repository)
        .args([
            "-c",
            "log.showSignature=false",
            "--no-pager",
            "--no-optional-locks",
            "log",
            "--since=30.days",
            "--numstat",
            "-z",
            "--relative",
        ])
        .args(["--no-ext-diff", "--no-textconv", "--no-renames", "--no-merges", "--format=%x01", "--", "."])
        .output()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(changed_lines(&output.stdout));
    }
    if !is_repository(repository) {
        return Err("not a git repository".to_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(message.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ").to_owned())
}

/// Whether a directory is in a git repository, whoever owns it: by the exit status, since messages of git are translated.
fn is_repository(directory: &Path) -> bool {
    let asked = git(directory).args(["-c", "safe.directory=*", "rev-parse", "--git-dir"]).output();
    asked.is_ok_and(|output| output.status.success())
}

fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .current_dir(directory)
        .stdin(Stdio::null());
    command
}

/// Records are `added TAB deleted TAB path NUL`; a binary file has dashes; each commit starts with `\x01`.
fn changed_lines(output: &[u8]) -> HashMap<String, ChurnedLines> {
    let mut churn: HashMap<String, ChurnedLines> = HashMap::new();
    for record in output.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(record);
        let mut fields = text.trim_start_matches(['\u{1}', '\n']).splitn(3, '\t');
        let numbers = (fields.next().and_then(parse), fields.next().and_then(parse), fields.next());
        if let (Some(added), Some(deleted), Some(path)) = numbers {
            let file = churn.entry(path.to_owned()).or_default();
            file.commits += 1;
            file.added += added;
            file.deleted += deleted;
        }
    }
    churn
}

fn parse(field: &str) -> Option<u32> {
    field.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_git_and_a_repository_without_commits_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(run_git_log(directory.path()).unwrap_err(), "not a git repository");
        assert!(git(directory.path()).args(["init", "--quiet"]).status().unwrap().success());
        let without_commits = run_git_log(directory.path()).unwrap_err();
        assert_ne!(without_commits, "not a git repository");
        assert!(is_repository(directory.path()));
    }

    #[test]
    fn numstat_records_add_up_per_path() {
        let output = b"\x01\0\n3\t1\ta b.py\0-\t-\timage.png\0\x01\0\n2\t0\ta b.py\0";
        let churn = changed_lines(output);
        assert_eq!(churn["a b.py"], ChurnedLines { commits: 2, added: 5, deleted: 1 });
        assert_eq!(churn.len(), 1);
    }
}
