//! A temporary repository, with a home directory beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::invocation::Invocation;

/// A directory `repository` that is scanned, a directory `home` for the cache, a directory `work` to run in.
pub struct Tree {
    directory: TempDir,
}

impl Tree {
    /// An empty repository.
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

    /// A repository with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let tree = Self::new();
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    /// The repository.
    pub fn repository(&self) -> PathBuf {
        self.directory.path().join("repository")
    }

    /// What `HOME` is set to.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// Where commands run.
    pub fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Writes a file of the repository; missing directories are made.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.repository().join(path), content.as_ref())
    }

    /// Writes a file in the directory that commands run in.
    pub fn write_in_work(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.work().join(path), content.as_ref())
    }

    /// Writes a file that may be executed.
    pub fn write_executable(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.write(path, content);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("an own file can be changed");
    }

    /// `menace` in `work`, not started yet.
    pub fn menace<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Invocation {
        Invocation::new(&self.work(), &self.home()).arguments(arguments)
    }

    /// `menace COMMAND REPOSITORY OPTIONS`, not started yet.
    pub fn reading<'a>(&self, command: &str, options: impl IntoIterator<Item = &'a str>) -> Invocation {
        self.menace([command]).arguments([self.repository()]).arguments(options)
    }

    /// The inventory, read without a cache.
    pub fn inventory(&self) -> Value {
        self.reading("scan", ["--json", "--no-cache"]).run().success().json()
    }
}

impl Default for Tree {
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
