//! Finds the Python files of a repository.
//!
//! `.gitignore` files apply (and no other ignore files) whether or not the repository is a git checkout. Hidden
//! directories, virtual environments and the user's excludes are not entered. Symlinked directories are not followed,
//! so a loop of them cannot trap the walk; a symlink to a file is read like the file.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use menace_model::inventory::Diagnostic;
use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Failure to walk a repository.
#[derive(Debug, Error)]
pub enum WalkError {
    /// The root does not exist or cannot be opened.
    #[error("failed to read repository {path}: {source}")]
    Root {
        /// Root of the repository.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The root is a file.
    #[error("repository {path} is not a directory")]
    NotADirectory {
        /// Root of the repository.
        path: PathBuf,
    },
    /// `.gitignore` is a pipe or a device.
    #[error("failed to read {path}: not a regular file")]
    IgnoreFile {
        /// Path of the ignore file.
        path: PathBuf,
    },
    /// An exclude pattern is not a valid glob.
    #[error("invalid exclude pattern {pattern:?}: {source}")]
    Pattern {
        /// Pattern as the user wrote it.
        pattern: String,
        /// Parse error of the pattern.
        source: globset::Error,
    },
}

impl ErrorDetails for WalkError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Root { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                ErrorClass::NotFound
            }
            Self::Root { .. } | Self::IgnoreFile { .. } => ErrorClass::Environment,
            Self::NotADirectory { .. } | Self::Pattern { .. } => ErrorClass::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Root { .. } => "pass the path of a directory with Python files",
            Self::NotADirectory { .. } => "pass the directory that contains it",
            Self::IgnoreFile { .. } => "remove it",
            Self::Pattern { .. } => "write a glob such as 'vendor/*'",
        };
        Some(text.to_owned())
    }
}

/// File metadata that tells whether the file may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    pub(crate) size: u64,
    pub(crate) modified_ns: i128,
    pub(crate) changed_ns: i128,
    pub(crate) inode: u64,
}

/// A Python file, not read yet.
#[derive(Debug)]
pub(crate) struct PythonFile {
    /// Path relative to the root, with `/` as the separator.
    pub(crate) path: String,
    pub(crate) absolute: PathBuf,
    pub(crate) stamp: FileStamp,
    /// Whether the file has no `.py` extension, but a Python shebang.
    pub(crate) is_script: bool,
}

/// Result of a walk, sorted by path.
#[derive(Debug, Default)]
pub(crate) struct RepositoryFiles {
    pub(crate) files: Vec<PythonFile>,
    /// `pyproject.toml`, `setup.cfg`, `setup.py` and other files that declare entry points, relative to the root.
    pub(crate) project_files: Vec<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Directories that are virtual environments.
    environments: Vec<String>,
}

/// Walks `root`. `excludes` are directory names or globs over relative paths.
pub(crate) fn walk(root: &Path, excludes: &[String]) -> Result<RepositoryFiles, WalkError> {
    let metadata =
        std::fs::metadata(root).map_err(|source| WalkError::Root { path: root.to_owned(), source })?;
    if !metadata.is_dir() {
        return Err(WalkError::NotADirectory { path: root.to_owned() });
    }
    std::fs::read_dir(root).map_err(|source| WalkError::Root { path: root.to_owned(), source })?;
    if let Some(path) = irregular_ignore_file(root) {
        return Err(WalkError::IgnoreFile { path });
    }
    let left_out = exclude_set(excludes)?;
    let found = Arc::new(Mutex::new(RepositoryFiles::default()));
    // The walker also reads the `.gitignore` of every directory above the root, and cannot skip a single one.
    let irregular_above = root.ancestors().skip(1).find_map(irregular_ignore_file);
    let filter = WalkFilter { root: root.to_owned(), excluded: left_out, found: Arc::clone(&found) };
    WalkBuilder::new(root)
        .require_git(false)
        .git_global(false)
        .git_ignore(irregular_above.is_none())
        .ignore(false)
        .git_exclude(false)
        .filter_entry(move |entry| filter.is_entered(entry))
        .threads(2)
        .build_parallel()
        .run(|| {
            Box::new(|entry| {
                let seen = classify_entry(root, entry);
                found.lock().expect("no thread panics while it holds the list").extend(seen);
                WalkState::Continue
            })
        });
    let mut walked = std::mem::take(&mut *found.lock().expect("no thread panics while it holds the list"));
    walked.remove_environments();
    let is_setup_file =
        |file: &&PythonFile| file.absolute.ends_with("setup.py") && file.stamp.size <= MAX_PROJECT_FILE_BYTES;
    let setup_files = walked.files.iter().filter(is_setup_file);
    walked.project_files.extend(setup_files.map(|file| file.path.clone()));
    walked.diagnostics.extend(irregular_above.map(|path| Diagnostic {
        path: path.to_string_lossy().into_owned(),
        line: None,
        message: "not a regular file; all .gitignore files were ignored".to_owned(),
    }));
    walked.files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    walked.project_files.sort_unstable();
    walked.diagnostics.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(walked)
}

enum WalkedEntry {
    Nothing,
    File(PythonFile),
    ProjectFile(String),
    Problem(Diagnostic),
    Environment(String),
}

impl RepositoryFiles {
    fn extend(&mut self, seen: WalkedEntry) {
        match seen {
            WalkedEntry::Nothing => {}
            WalkedEntry::File(file) => self.files.push(file),
            WalkedEntry::ProjectFile(path) => self.project_files.push(path),
            WalkedEntry::Problem(diagnostic) => self.diagnostics.push(diagnostic),
            WalkedEntry::Environment(directory) => self.environments.push(directory),
        }
    }

    fn remove_environments(&mut self) {
        if self.environments.is_empty() {
            return;
        }
        let environments = std::mem::take(&mut self.environments);
        let is_inside =
            |path: &str| environments.iter().any(|directory| path.starts_with(directory.as_str()));
        self.files.retain(|file| !is_inside(&file.path));
        self.project_files.retain(|path| !is_inside(path));
        self.diagnostics.retain(|diagnostic| !is_inside(&diagnostic.path));
    }
}

fn classify_entry(root: &Path, entry: Result<DirEntry, ignore::Error>) -> WalkedEntry {
    let entry = match entry {
        Ok(entry) => entry,
        Err(error) => return WalkedEntry::Problem(walk_problem(root, &error)),
    };
    if entry.file_type().is_none_or(|kind| kind.is_dir()) {
        return WalkedEntry::Nothing;
    }
    let path = relative(root, entry.path());
    let name = entry.file_name();
    if name == "pyvenv.cfg" && entry.depth() > 1 {
        return WalkedEntry::Environment(path.trim_end_matches("pyvenv.cfg").to_owned());
    }
    if is_project_file(name) {
        let is_usable = std::fs::metadata(entry.path())
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_PROJECT_FILE_BYTES);
        return if is_usable { WalkedEntry::ProjectFile(path) } else { WalkedEntry::Nothing };
    }
    let has_python_extension = has_python_extension(Path::new(name));
    if !has_python_extension && Path::new(name).extension().is_some() {
        return WalkedEntry::Nothing;
    }
    let metadata = match std::fs::metadata(entry.path()) {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(_) => return WalkedEntry::Nothing,
        Err(error) if has_python_extension => {
            return WalkedEntry::Problem(Diagnostic {
                path,
                line: None,
                message: format!("failed to read: {error}"),
            });
        }
        Err(_) => return WalkedEntry::Nothing,
    };
    let is_script = !has_python_extension;
    if is_script && !(metadata.mode() & 0o111 != 0 && has_python_shebang(entry.path())) {
        return WalkedEntry::Nothing;
    }
    WalkedEntry::File(PythonFile { path, absolute: entry.into_path(), stamp: stamp(&metadata), is_script })
}

fn stamp(metadata: &std::fs::Metadata) -> FileStamp {
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    FileStamp {
        size: metadata.size(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
    }
}

fn walk_problem(root: &Path, error: &ignore::Error) -> Diagnostic {
    let path = match error {
        ignore::Error::WithPath { path, .. } => relative(root, path),
        ignore::Error::WithDepth { err, .. } => return walk_problem(root, err),
        _ => String::new(),
    };
    Diagnostic { path, line: None, message: format!("failed to read: {error}") }
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn has_python_extension(name: &Path) -> bool {
    matches!(name.extension().and_then(OsStr::to_str), Some("py" | "pyw"))
}

/// Project files are written by hand; a larger file is not a project file.
const MAX_PROJECT_FILE_BYTES: u64 = 1024 * 1024;

fn is_project_file(name: &OsStr) -> bool {
    matches!(name.to_str(), Some("pyproject.toml" | "setup.cfg" | "pytest.ini" | "tox.ini"))
}

fn has_python_shebang(path: &Path) -> bool {
    let mut head = [0; 80];
    let Ok(length) = std::fs::File::open(path).and_then(|mut file| file.read(&mut head)) else {
        return false;
    };
    let first_line = head[..length].split(|byte| *byte == b'\n').next().unwrap_or_default();
    first_line.starts_with(b"#!") && first_line.windows(6).any(|window| window == b"python")
}

fn exclude_set(patterns: &[String]) -> Result<GlobSet, WalkError> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        let trimmed = pattern.trim_end_matches('/');
        // A plain name excludes a directory of that name at any depth, as in .gitignore.
        let spellings = if trimmed.contains('/') {
            vec![trimmed.trim_start_matches("./").to_owned()]
        } else {
            vec![trimmed.to_owned(), format!("**/{trimmed}")]
        };
        for spelling in spellings {
            let glob = GlobBuilder::new(&spelling)
                .literal_separator(true)
                .build()
                .map_err(|source| WalkError::Pattern { pattern: pattern.clone(), source })?;
            builder.add(glob);
        }
    }
    builder.build().map_err(|source| WalkError::Pattern { pattern: patterns.join(","), source })
}

/// Decides which directory entries the walk enters.
struct WalkFilter {
    root: PathBuf,
    excluded: GlobSet,
    found: Arc<Mutex<RepositoryFiles>>,
}

impl WalkFilter {
    fn is_entered(&self, entry: &DirEntry) -> bool {
        if entry.depth() == 0 {
            return true;
        }
        let path = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
        if !self.excluded.is_empty() && self.excluded.is_match(path) {
            return false;
        }
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        !is_directory || (!is_environment(entry) && self.is_readable(entry))
    }

    /// The walker reads `.gitignore` when it enters a directory; a pipe of that name would block it forever.
    fn is_readable(&self, entry: &DirEntry) -> bool {
        let Some(irregular) = irregular_ignore_file(entry.path()) else { return true };
        let path = relative(&self.root, &irregular);
        let message = "not a regular file; the directory was skipped".to_owned();
        let problem = WalkedEntry::Problem(Diagnostic { path, line: None, message });
        self.found.lock().expect("no thread panics while it holds the list").extend(problem);
        false
    }
}

fn irregular_ignore_file(directory: &Path) -> Option<PathBuf> {
    let path = directory.join(".gitignore");
    // Opening a directory fails immediately; opening a pipe waits for a writer, and reading a device may never end.
    let is_irregular =
        std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    is_irregular.then_some(path)
}

/// Whether a directory holds third-party code. A virtual environment has nearly all of it in `site-packages`, so it is
/// enough to drop the rest when its `pyvenv.cfg` is found; a conda environment also has the standard library, in `lib`.
fn is_environment(entry: &DirEntry) -> bool {
    match entry.file_name().to_str() {
        Some("__pycache__" | "site-packages" | "node_modules" | "__pypackages__") => true,
        Some("lib") => entry.path().with_file_name("conda-meta").exists(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line_and_a_missing_repository_is_not_a_broken_disk() {
        let root = |kind: std::io::ErrorKind| WalkError::Root { path: "/x".into(), source: kind.into() };
        let cases = [
            (root(std::io::ErrorKind::NotFound), ErrorClass::NotFound),
            (root(std::io::ErrorKind::PermissionDenied), ErrorClass::Environment),
            (WalkError::NotADirectory { path: "/x".into() }, ErrorClass::Usage),
            (WalkError::IgnoreFile { path: "/x".into() }, ErrorClass::Environment),
            (exclude_set(&["a[".to_owned()]).unwrap_err(), ErrorClass::Usage),
        ];
        for (error, class) in cases {
            let text = error.to_string();
            assert_eq!(error.class(), class, "{text}");
            assert!(!text.contains('\n') && !text.contains("hint:"), "{text}");
            assert!(error.hint().is_some_and(|hint| !hint.contains('\n')), "{text}");
        }
    }
}
