//! A host directory that sandboxes get as workspace or mount, and a fingerprint that shows whether they changed it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use menace_model::sandbox::{SandboxSpec, WorkspaceContent};
use tempfile::TempDir;

pub(crate) struct HostDirectory {
    temporary: TempDir,
}

impl HostDirectory {
    /// Creates a directory with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let temporary = tempfile::Builder::new().prefix("menace-conformance-").tempdir().unwrap();
        fs::create_dir(temporary.path().join("repository")).unwrap();
        let directory = Self { temporary };
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.temporary.path().join("repository")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Spec of a sandbox that has the directory as workspace.
    pub(crate) fn copied_on_write(&self) -> SandboxSpec {
        SandboxSpec { workspace: WorkspaceContent::CopyOnWrite(self.path()), ..SandboxSpec::default() }
    }

    /// Hash over names, modes and contents.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        add(&self.path(), &mut hasher);
        hasher.finalize().to_string()
    }
}

fn add(path: &Path, hasher: &mut blake3::Hasher) {
    let metadata = fs::symlink_metadata(path).unwrap();
    hasher.update(format!("{} {:o}\n", path.display(), metadata.permissions().mode()).as_bytes());
    if metadata.is_dir() {
        let mut below: Vec<PathBuf> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        below.sort();
        for path in &below {
            add(path, hasher);
        }
    } else if metadata.is_symlink() {
        hasher.update(fs::read_link(path).unwrap().as_os_str().as_encoded_bytes());
    } else {
        hasher.update(&fs::read(path).unwrap());
    }
}
