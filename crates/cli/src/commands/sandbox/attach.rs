//! `menace sandbox attach`: an agent in a sandbox with the current directory, and what it changed as a patch.

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

/// What becomes of what an agent changed.
pub(super) struct WorkspaceChangeExport {
    /// The directory that is `/workspace` inside.
    pub(super) directory: PathBuf,
    /// Where a patch is written.
    pub(super) patch: Option<PathBuf>,
    /// Whether the directory is changed alike.
    pub(super) apply: bool,
}

/// What an agent did to files of the directory.
#[derive(Debug, Default, PartialEq, Eq)]
struct WorkspaceFileChanges {
    /// New content and rights of files, by their paths in the directory.
    written: BTreeMap<PathBuf, (Vec<u8>, u32)>,
    /// Where links lead that were made.
    linked: BTreeMap<PathBuf, PathBuf>,
    /// Files that are gone.
    deleted: Vec<PathBuf>,
}

impl WorkspaceChangeExport {
    /// Takes what changed out of the sandbox. The directory is not touched before all of it is here.
    pub(super) async fn export(
        &self,
        sandbox: &Arc<dyn Sandbox>,
        exit: MenaceExit,
    ) -> anyhow::Result<MenaceExit> {
        let seen = sandbox.changes().await?;
        let mut archive = Vec::new();
        sandbox.get(Path::new(WORKSPACE), &mut archive).await?;
        let of_workspace = |path: &String| Path::new(path).strip_prefix(WORKSPACE).ok().map(Path::to_owned);
        let written: Vec<PathBuf> = seen.written.iter().filter_map(of_workspace).collect();
        let mut changed = read(&archive, &written)?;
        changed.deleted = seen.deleted.iter().filter_map(of_workspace).collect();
        let files = changed.written.len() + changed.linked.len() + changed.deleted.len();
        if let Some(path) = &self.patch {
            let (text, files) = patch(&self.directory, &changed)?;
            std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?;
            note(&format!("{} changed, see {}", count(files, "file"), path.display()));
        }
        if self.apply {
            apply(&self.directory, &changed)?;
            note(&format!("{} changed in {}", count(files, "file"), self.directory.display()));
        }
        if self.patch.is_none() && !self.apply && files > 0 {
            note(&format!(
                "{} changed and gone with the sandbox; --patch FILE or --apply keeps that",
                count(files, "file")
            ));
        }
        Ok(exit)
    }
}

/// Finds the files that were written in an archive of the workspace.
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

/// A patch that `git apply` and `patch -p1` take, and how many files are in it. What is no text is named and left out, because
/// neither could apply it.
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
        note(&format!("{} is a link now, which a patch does not say", path.display()));
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
        note(&format!("{} is no text and not in the patch; --apply takes it over", path.display()));
        return String::new();
    };
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(&old, &new).unified_diff().header(&side("a", before), &side("b", after)).to_string()
}

/// Changes the directory. A link that was there stays a link: nothing is written through it.
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
        // A new file under a new name, which then takes the place: what is there is whole at any time.
        let file = tempfile::NamedTempFile::new_in(parent).with_context(failed)?;
        std::fs::write(file.path(), content).with_context(failed)?;
        let rights = std::os::unix::fs::PermissionsExt::from_mode(*mode);
        std::fs::set_permissions(file.path(), rights).with_context(failed)?;
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

/// Where a file of the sandbox is in the directory. An agent cannot lead us elsewhere: a directory on the way that is a link is
/// refused.
fn safe(directory: &Path, path: &Path) -> anyhow::Result<PathBuf> {
    let mut place = directory.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        place.push(part);
        let is_link = std::fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_symlink());
        anyhow::ensure!(!is_link, "{} is a link, and nothing is written through it", place.display());
    }
    Ok(directory.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_says_what_changed() {
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
    fn only_what_is_in_a_patch_is_counted() {
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
        assert!(!outside.path().join("target").exists(), "it was written through the link");
        assert_eq!(std::fs::read(directory.path().join("link")).unwrap(), b"x");
    }
}
