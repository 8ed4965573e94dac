//! `menace sandbox attach`: runs an agent in a sandbox with the current directory, and exports its changes.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use menace_model::sandbox::WORKSPACE;
use menace_sandbox::Sandbox;
use similar::TextDiff;

use crate::exit::MenaceExit;
use crate::terminal::{count, note};

/// Export of the changes that an agent made.
pub(super) struct WorkspaceChangeExport {
    /// Host directory that is mounted at `/workspace`.
    pub(super) directory: PathBuf,
    /// Path of the patch to write.
    pub(super) patch: Option<PathBuf>,
    /// Whether to apply the changes to the directory.
    pub(super) apply: bool,
}

/// Changes of files in the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
struct WorkspaceFileChanges {
    /// New content and mode of files, by path in the directory.
    written: BTreeMap<PathBuf, (Vec<u8>, u32)>,
    /// Targets of new symbolic links, by path in the directory.
    linked: BTreeMap<PathBuf, PathBuf>,
    /// Deleted files.
    deleted: Vec<PathBuf>,
}

impl WorkspaceChangeExport {
    /// Exports the changes. The directory is not touched before all changes have been read.
    pub(super) async fn export(
        &self,
        sandbox: &Arc<dyn Sandbox>,
        exit: MenaceExit,
    ) -> anyhow::Result<MenaceExit> {
        let recorded = sandbox.changes().await?;
        let mut archive = Vec::new();
        sandbox.get(Path::new(WORKSPACE), &mut archive).await?;
        let of_workspace = |path: &String| Path::new(path).strip_prefix(WORKSPACE).ok().map(Path::to_owned);
        let written: Vec<PathBuf> = recorded.written.iter().filter_map(of_workspace).collect();
        let mut changed = read(&archive, &written)?;
        changed.deleted = recorded.deleted.iter().filter_map(of_workspace).collect();
        let files = changed.written.len() + changed.linked.len() + changed.deleted.len();
        if let Some(path) = &self.patch {
            let (text, files) = patch(&self.directory, &changed)?;
            std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?;
            note(&format!("{} changed; wrote {}", count(files, "file"), path.display()));
        }
        if self.apply {
            apply(&self.directory, &changed)?;
            note(&format!("{} changed in {}", count(files, "file"), self.directory.display()));
        }
        if self.patch.is_none() && !self.apply && files > 0 {
            note(&format!(
                "{} changed and discarded with the sandbox; keep the changes with --patch FILE or --apply",
                count(files, "file")
            ));
        }
        Ok(exit)
    }
}

/// Reads the written files from an archive of the workspace.
fn read(archive: &[u8], written: &[PathBuf]) -> anyhow::Result<WorkspaceFileChanges> {
    let mut changed = WorkspaceFileChanges::default();
    let prefix = Path::new(WORKSPACE).file_name().unwrap_or_default();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        let Ok(path) = name.strip_prefix(prefix) else { continue };
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || !written.iter().any(|one| one == path) {
            continue;
        }
        let path = path.to_owned();
        if let Some(target) = entry.link_name()?.filter(|_| entry.header().entry_type().is_symlink()) {
            changed.linked.insert(path, target.into_owned());
        } else if entry.header().entry_type().is_file() {
            let mode = entry.header().mode().unwrap_or(0o644) & 0o777;
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            changed.written.insert(path, (content, mode));
        }
    }
    Ok(changed)
}

/// Patch for `git apply` and `patch -p1`, and the number of files in it. Links and files that are not text are left out
/// with a note, because neither tool could apply them.
fn patch(directory: &Path, changed: &WorkspaceFileChanges) -> anyhow::Result<(String, usize)> {
    let mut parts = Vec::new();
    for (path, (after, _)) in &changed.written {
        let before = match std::fs::read(directory.join(path)) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
        };
        parts.push(file_diff(path, before.as_deref(), Some(after)));
    }
    for path in &changed.deleted {
        let before = std::fs::read(directory.join(path)).ok();
        parts.push(file_diff(path, before.as_deref(), None));
    }
    for path in changed.linked.keys() {
        note(&format!("{} is now a symbolic link, which the patch does not contain", path.display()));
    }
    parts.retain(|part| !part.is_empty());
    Ok((parts.concat(), parts.len()))
}

fn file_diff(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let side = |prefix: &str, content: Option<&[u8]>| {
        content.map_or_else(|| "/dev/null".to_owned(), |_| format!("{prefix}/{}", path.display()))
    };
    let text = |content: Option<&[u8]>| std::str::from_utf8(content.unwrap_or_default()).map(str::to_owned);
    let (Ok(old), Ok(new)) = (text(before), text(after)) else {
        note(&format!("{} is not a text file and not in the patch; copy it with --apply", path.display()));
        return String::new();
    };
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(&old, &new).unified_diff().header(&side("a", before), &side("b", after)).to_string()
}

/// Applies the changes to the directory without writing through symbolic links.
fn apply(directory: &Path, changed: &WorkspaceFileChanges) -> anyhow::Result<()> {
    for path in &changed.deleted {
        let place = safe(directory, path)?;
        match std::fs::remove_file(&place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("failed to remove {}", place.display()));
            }
            _ => {}
        }
    }
    for (path, (content, mode)) in &changed.written {
        let place = safe(directory, path)?;
        let failed = || format!("failed to write {}", place.display());
        let parent = place.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent).with_context(failed)?;
        // The new file is renamed into place, so that the destination is complete at any time.
        let file = tempfile::NamedTempFile::new_in(parent).with_context(failed)?;
        std::fs::write(file.path(), content).with_context(failed)?;
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(*mode);
        std::fs::set_permissions(file.path(), permissions).with_context(failed)?;
        file.persist(&place).with_context(failed)?;
    }
    for (path, target) in &changed.linked {
        let place = safe(directory, path)?;
        if std::fs::symlink_metadata(&place).is_ok() {
            std::fs::remove_file(&place).with_context(|| format!("failed to replace {}", place.display()))?;
        }
        std::os::unix::fs::symlink(target, &place)
            .with_context(|| format!("failed to link {}", place.display()))?;
    }
    Ok(())
}

/// Path of a file of the sandbox in the directory. A parent directory that is a symbolic link is an error, because an
/// agent could redirect the write with it.
fn safe(directory: &Path, path: &Path) -> anyhow::Result<PathBuf> {
    let mut place = directory.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        place.push(part);
        let is_link = std::fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_symlink());
        anyhow::ensure!(!is_link, "{} is a symbolic link; refusing to write through it", place.display());
    }
    Ok(directory.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_contains_the_changes() {
        let path = Path::new("a/b.txt");
        assert_eq!(
            file_diff(path, Some(b"x\ny\n"), Some(b"x\nz\n")),
            "--- a/a/b.txt\n+++ b/a/b.txt\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
        );
        assert!(file_diff(path, None, Some(b"new\n")).starts_with("--- /dev/null\n+++ b/a/b.txt\n"));
        assert!(file_diff(path, Some(b"old\n"), None).contains("+++ /dev/null\n"));
        assert_eq!(file_diff(path, Some(b"x"), Some(b"\xff")), "");
        assert_eq!(file_diff(path, Some(b"x"), Some(b"x")), "");
    }

    #[test]
    fn only_files_in_the_patch_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        let mut changed = WorkspaceFileChanges::default();
        changed.written.insert("text.txt".into(), (b"x\n".to_vec(), 0o644));
        changed.written.insert("picture.png".into(), (b"\xff\xfe".to_vec(), 0o644));
        changed.linked.insert("link".into(), "text.txt".into());
        let (text, files) = patch(directory.path(), &changed).unwrap();
        assert_eq!(files, 1);
        assert!(text.contains("text.txt") && !text.contains("picture.png"), "{text}");
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), directory.path().join("way")).unwrap();
        let mut changed = WorkspaceFileChanges::default();
        changed.written.insert("way/out.txt".into(), (b"x".to_vec(), 0o644));
        assert!(apply(directory.path(), &changed).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        std::os::unix::fs::symlink(outside.path().join("target"), directory.path().join("link")).unwrap();
        let mut changed = WorkspaceFileChanges::default();
        changed.written.insert("link".into(), (b"x".to_vec(), 0o600));
        apply(directory.path(), &changed).unwrap();
        assert!(!outside.path().join("target").exists(), "a file was written through the link");
        assert_eq!(std::fs::read(directory.path().join("link")).unwrap(), b"x");
    }
}
