//! Temporary repository, with a home directory beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::invocation::MenaceInvocation;

/// A directory `repository` that is scanned, a directory `home` for the cache, a directory `work` to run in.
pub struct RepositoryTree {
    directory: TempDir,
}

impl RepositoryTree {
    /// Creates an empty repository.
    pub fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("menace-tests-")
            .tempdir()
            .expect("the temporary directory is writable");
        for name in ["repository", "home", "work"] {
            fs::create_dir(directory.path().join(name)).expect("a new directory is empty");
        }
        Self { directory }
    }

    /// Creates a repository with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let tree = Self::new();
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    /// Path of the repository.
    pub fn repository(&self) -> PathBuf {
        self.directory.path().join("repository")
    }

    /// Value of `HOME`.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// Working directory of commands.
    pub fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Writes a file of the repository; missing directories are created.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.repository().join(path), content.as_ref())
    }

    /// Writes a file in the directory that commands run in.
    pub fn write_in_work(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.work().join(path), content.as_ref())
    }

    /// Writes an executable file.
    pub fn write_executable(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.write(path, content);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            .expect("the owner of a file can change its mode");
    }

    /// `menace` in `work`, not started yet.
    pub fn menace<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> MenaceInvocation {
        MenaceInvocation::new(&self.work(), &self.home()).arguments(arguments)
    }

    /// `menace COMMAND REPOSITORY OPTIONS`, not started yet.
    pub fn on_repository<'a>(
        &self,
        command: &str,
        options: impl IntoIterator<Item = &'a str>,
    ) -> MenaceInvocation {
        self.menace([command]).arguments([self.repository()]).arguments(options)
    }

    /// Inventory from a scan without a cache.
    pub fn inventory(&self) -> Value {
        self.on_repository("scan", ["--json", "--no-cache"]).run().success().json()
    }
}

impl Default for RepositoryTree {
    fn default() -> Self {
        Self::new()
    }
}

fn write(path: &Path, content: &[u8]) -> PathBuf {
    let directory = path.parent().expect("a file is in a directory");
    fs::create_dir_all(directory).expect("the temporary directory is writable");
    fs::write(path, content).expect("the temporary directory is writable");
    path.to_owned()
}
