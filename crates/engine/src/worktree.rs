//! Git worktree of a run. The user's working tree is never changed: kept patches are commits on a branch in a separate
//! worktree, and candidates are copies of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::workbench::EngineError;

/// A copy of the code with a proposal applied. Dropping it removes the copy.
pub(crate) struct Candidate {
    directory: tempfile::TempDir,
}

impl Candidate {
    /// Copies a directory into `scratch` and overwrites `files`.
    pub(crate) fn of(
        root: &Path,
        scratch: &Path,
        files: &BTreeMap<String, String>,
    ) -> Result<Self, EngineError> {
        let wrong = |path: &Path| {
            let path = path.display().to_string();
            move |source| EngineError::File { doing: "copy", path, source }
        };
        let directory =
            tempfile::Builder::new().prefix("candidate-").tempdir_in(scratch).map_err(wrong(scratch))?;
        copy(root, directory.path()).map_err(wrong(root))?;
        for (path, text) in files {
            let target = directory.path().join(path);
            write(&target, text).map_err(wrong(&target))?;
        }
        Ok(Self { directory })
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }
}

fn write(target: &Path, text: &str) -> std::io::Result<()> {
    if let Some(directory) = target.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(target, text)
}

/// Directories that are not copied.
const LEFT_OUT: [&str; 4] = [".git", "__pycache__", "sandbox_data", ".ruff_cache"];

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let target = to.join(&name);
        if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, &target)?;
        } else if kind.is_dir() {
            if !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                std::fs::create_dir(&target)?;
                copy(&entry.path(), &target)?;
            }
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// A branch, checked out in its own worktree.
#[derive(Debug)]
pub struct Worktree {
    /// Git repository that has the branch.
    git: PathBuf,
    /// Directory of the worktree.
    checkout: PathBuf,
    /// Directory inside the worktree that is improved.
    root: PathBuf,
    branch: String,
    /// Time of all commits, fixed so that the same decisions produce the same commits.
    unix_seconds: i64,
}

impl Worktree {
    /// Creates a branch at `HEAD` of the repository that contains `directory` and checks it out in `checkout`. A
    /// directory outside any repository is copied into a new repository there. An existing checkout is reused
    /// unchanged.
    pub async fn open(
        directory: &Path,
        checkout: &Path,
        branch: &str,
        unix_seconds: i64,
    ) -> Result<Self, EngineError> {
        let tracked = git(directory, &["ls-files", "--error-unmatch", "."], &[]).await;
        let prefix = git(directory, &["rev-parse", "--show-prefix"], &[]).await;
        let (home, root) = match (tracked, prefix) {
            (Ok(_), Ok(prefix)) => {
                let top = git(directory, &["rev-parse", "--show-toplevel"], &[]).await?;
                (PathBuf::from(top.trim()), checkout.join(prefix.trim()))
            }
            _ => (checkout.to_owned(), checkout.to_owned()),
        };
        let made =
            Self { git: home, checkout: checkout.to_owned(), root, branch: branch.to_owned(), unix_seconds };
        made.clear_scratch()?;
        if checkout.join(".git").exists() {
            return Ok(made);
        }
        if made.is_own() {
            made.begin_own(directory).await?;
        } else {
            let target = checkout.display().to_string();
            git(&made.git, &["worktree", "prune"], &[]).await?;
            let exists = git(&made.git, &["rev-parse", "--verify", "--quiet", branch], &[]).await.is_ok();
            let arguments: &[&str] = if exists {
                &["worktree", "add", "--quiet", "--force", &target, branch]
            } else {
                &["worktree", "add", "--quiet", "-b", branch, &target, "HEAD"]
            };
            git(&made.git, arguments, &[]).await?;
        }
        Ok(made)
    }

    /// Directory of the candidates. Leftovers of a killed run are removed when the worktree is opened.
    pub fn scratch(&self) -> PathBuf {
        self.checkout.with_file_name("candidates")
    }

    fn clear_scratch(&self) -> Result<(), EngineError> {
        let scratch = self.scratch();
        let wrong = |doing| {
            let path = scratch.display().to_string();
            move |source| EngineError::File { doing, path, source }
        };
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch).map_err(wrong("remove"))?;
        }
        std::fs::create_dir_all(&scratch).map_err(wrong("create"))
    }

    fn is_own(&self) -> bool {
        self.git == self.checkout
    }

    async fn begin_own(&self, directory: &Path) -> Result<(), EngineError> {
        let wrong =
            |source| EngineError::File { doing: "copy", path: directory.display().to_string(), source };
        std::fs::create_dir_all(&self.checkout).map_err(wrong)?;
        copy(directory, &self.checkout).map_err(wrong)?;
        git(&self.checkout, &["init", "--quiet", "--initial-branch", &self.branch], &[]).await?;
        git(&self.checkout, &["add", "--all", "--force"], &[]).await?;
        self.commit_staged("initial import").await?;
        Ok(())
    }

    /// Directory of the code.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Name of the branch.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Git repository that has the branch.
    pub fn home(&self) -> &Path {
        &self.git
    }

    /// Writes files and commits them; returns the hash of the commit.
    pub async fn commit(
        &self,
        files: &BTreeMap<String, String>,
        message: &str,
    ) -> Result<String, EngineError> {
        for (path, text) in files {
            let target = self.root.join(path);
            let wrong =
                |source| EngineError::File { doing: "write", path: target.display().to_string(), source };
            write(&target, text).map_err(wrong)?;
            git(&self.root, &["add", "--", path], &[]).await?;
        }
        self.commit_staged(message).await
    }

    async fn commit_staged(&self, message: &str) -> Result<String, EngineError> {
        let date = format!("@{} +0000", self.unix_seconds);
        let variables = [
            ("GIT_AUTHOR_NAME", "menace"),
            ("GIT_AUTHOR_EMAIL", "menace@localhost"),
            ("GIT_COMMITTER_NAME", "menace"),
            ("GIT_COMMITTER_EMAIL", "menace@localhost"),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_DATE", &date),
        ];
        let arguments =
            ["-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify", "--message", message];
        git(&self.checkout, &arguments, &variables).await?;
        self.head().await
    }

    /// Hash of the last commit.
    pub async fn head(&self) -> Result<String, EngineError> {
        Ok(git(&self.checkout, &["rev-parse", "HEAD"], &[]).await?.trim().to_owned())
    }

    /// Paths below the root that differ between two commits.
    pub async fn changed(&self, from: &str, to: &str) -> Result<Vec<String>, EngineError> {
        let names = git(&self.root, &["diff", "--name-only", "--relative", from, to], &[]).await?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Resets the branch to one of its commits and discards uncommitted changes.
    pub async fn reset_to(&self, commit: &str) -> Result<(), EngineError> {
        git(&self.checkout, &["reset", "--quiet", "--hard", commit], &[]).await.map(drop)
    }

    /// Messages of menace's commits on this branch, the newest first.
    pub async fn messages(&self) -> Result<Vec<String>, EngineError> {
        let log = git(&self.checkout, &["log", "--author=menace@localhost", "--format=%B%x00"], &[]).await?;
        Ok(log
            .split('\0')
            .map(|message| message.trim().to_owned())
            .filter(|message| !message.is_empty())
            .collect())
    }

    /// Removes the checkout. The branch is deleted only if it has no commits.
    pub async fn close(self, is_empty: bool) -> Result<(), EngineError> {
        // Candidates that could not be removed are stale and may stay.
        drop(std::fs::remove_dir_all(self.scratch()));
        if self.is_own() {
            return Ok(());
        }
        let target = self.checkout.display().to_string();
        git(&self.git, &["worktree", "remove", "--force", &target], &[]).await?;
        if is_empty {
            git(&self.git, &["branch", "--quiet", "-D", &self.branch], &[]).await?;
        }
        Ok(())
    }
}

/// Runs git in a directory and returns its stdout.
async fn git(
    directory: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<String, EngineError> {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*"])
        .args(arguments)
        .envs(variables.iter().copied())
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|source| EngineError::GitStart { command: arguments.join(" "), source })?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(EngineError::Git { command: arguments.join(" "), problem });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn repository() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("part")).unwrap();
        std::fs::write(directory.path().join("part/cart.py"), "x = 1\n").unwrap();
        git(directory.path(), &["init", "--quiet"], &[]).await.unwrap();
        git(directory.path(), &["add", "--all"], &[]).await.unwrap();
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "first"];
        git(directory.path(), &identity, &[]).await.unwrap();
        directory
    }

    fn change() -> BTreeMap<String, String> {
        BTreeMap::from([("cart.py".to_owned(), "x = 2\n".to_owned())])
    }

    #[tokio::test]
    async fn a_subdirectory_is_changed_on_a_branch_and_the_users_files_stay() {
        let (home, work) = (repository().await, tempfile::tempdir().unwrap());
        let part = home.path().join("part");
        let checkout = work.path().join("tree");
        let tree = Worktree::open(&part, &checkout, "menace/r_1", 1_000_000_000).await.unwrap();
        let first = tree.commit(&change(), "a change").await.unwrap();
        assert_eq!(std::fs::read_to_string(part.join("cart.py")).unwrap(), "x = 1\n");
        assert_eq!(tree.messages().await.unwrap(), ["a change"]);
        tree.close(false).await.unwrap();
        assert!(!checkout.exists());
        let kept = git(home.path(), &["show", "menace/r_1:part/cart.py"], &[]).await.unwrap();
        assert_eq!(kept, "x = 2\n");
        assert_eq!(git(home.path(), &["status", "--porcelain"], &[]).await.unwrap(), "");
        // The same decisions produce the same commits.
        git(home.path(), &["branch", "-D", "menace/r_1"], &[]).await.unwrap();
        let again = Worktree::open(&part, &checkout, "menace/r_1", 1_000_000_000).await.unwrap();
        assert_eq!(again.commit(&change(), "a change").await.unwrap(), first);
    }

    #[tokio::test]
    async fn a_directory_without_git_gets_its_own_repository_and_an_empty_branch_is_deleted() {
        let (plain, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(plain.path().join("cart.py"), "x = 1\n").unwrap();
        let checkout = work.path().join("tree");
        let tree = Worktree::open(plain.path(), &checkout, "menace/r_2", 1).await.unwrap();
        tree.commit(&change(), "a change").await.unwrap();
        assert_eq!(tree.messages().await.unwrap(), ["a change", "initial import"]);
        assert!(!plain.path().join(".git").exists());
        let home = repository().await;
        let other = Worktree::open(home.path(), &work.path().join("other"), "menace/r_3", 1).await.unwrap();
        other.close(true).await.unwrap();
        assert!(git(home.path(), &["rev-parse", "--verify", "--quiet", "menace/r_3"], &[]).await.is_err());
    }

    #[test]
    fn a_candidate_has_the_change_and_is_removed_when_dropped() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("cart.py"), "x = 1\n").unwrap();
        std::fs::create_dir(directory.path().join("__pycache__")).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let candidate = Candidate::of(directory.path(), scratch.path(), &change()).unwrap();
        let root = candidate.root().to_owned();
        assert_eq!(std::fs::read_to_string(root.join("cart.py")).unwrap(), "x = 2\n");
        assert!(!root.join("__pycache__").exists());
        drop(candidate);
        assert!(!root.exists());
    }
}
