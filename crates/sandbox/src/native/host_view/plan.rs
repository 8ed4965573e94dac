//! Plan of the visible files.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use menace_isolation::root::SkeletonEntry;
use serde::{Deserialize, Serialize};

use super::HostDescription;
use super::privacy::{PrivacyRules, may_link};
use super::system::SYSTEM_DIRECTORIES;
use super::tree::{HostSymlink, HostTree, is_within};

/// Maximum number of directories examined for installations. It bounds the time for a nonsensical `PATH`.
const MAXIMUM_EXAMINED: usize = 512;

/// Files of the host that are visible inside. The launcher applies the entries in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostView {
    /// In the order of their targets: parents come before their children.
    pub(crate) entries: Vec<SkeletonEntry>,
    /// `PATH` inside.
    pub(crate) path: String,
    /// Variables without which a toolchain would look for its files in the home directory, which is another one inside.
    pub(crate) environment: BTreeMap<String, String>,
}

/// Plan under construction.
#[derive(Debug)]
pub(super) struct HostViewPlan {
    pub(super) tree: HostTree,
    pub(super) privacy: PrivacyRules,
    entries: Vec<SkeletonEntry>,
    environment: BTreeMap<String, String>,
    examined: HashSet<PathBuf>,
}

impl HostViewPlan {
    pub(super) fn new(host: &HostDescription) -> Self {
        let tree = HostTree::new(&host.root);
        let privacy = PrivacyRules::new(&tree, host.home.as_deref());
        Self {
            tree,
            privacy,
            entries: Vec::with_capacity(128),
            environment: BTreeMap::new(),
            examined: HashSet::new(),
        }
    }

    /// Continues a finished plan.
    pub(super) fn continued(host: &HostDescription, view: &HostView) -> Self {
        let entries = view.entries.clone();
        Self { entries, ..Self::new(host) }
    }

    /// Shows a path that this program names itself, without a privacy check. A path that is not UTF-8 is left out: it
    /// could not be sent to the process that mounts it.
    pub(super) fn bind_public(&mut self, resolved: &Path, target: &Path) {
        if !self.shows(target) && resolved.to_str().is_some() {
            let source = self.tree.on_host(resolved).into_owned();
            self.entries.push(SkeletonEntry::Bind { source, target: target.to_path_buf() });
        }
    }

    /// Shows a path without links, unless it must not be shown. Returns whether it is visible.
    pub(super) fn bind(&mut self, path: &Path) -> bool {
        if self.privacy.may_show(path) {
            self.bind_public(path, path);
        }
        self.shows(path)
    }

    /// Repeats a link of the host, unless it is not UTF-8.
    pub(super) fn link(&mut self, link: HostSymlink) {
        if link.can_travel() && !self.shows(&link.at) && !self.has_link(&link.at) {
            self.entries.push(SkeletonEntry::Link { target: link.at, to: link.to });
        }
    }

    pub(super) fn file(&mut self, target: &str, content: String) {
        self.entries.push(SkeletonEntry::File { target: PathBuf::from(target), content });
    }

    /// Adds an empty directory that a program expects.
    pub(super) fn directory(&mut self, target: &Path) {
        if target.to_str().is_some() && !self.shows(target) {
            self.entries.push(SkeletonEntry::Directory { target: target.to_path_buf() });
        }
    }

    /// Sets a variable unless a toolchain earlier on `PATH` has set it.
    pub(super) fn variable(&mut self, name: &str, value: &Path) {
        if let Some(value) = value.to_str() {
            self.environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
    }

    /// Whether a directory is to be examined: each once, and up to a maximum that no reasonable `PATH` reaches.
    pub(super) fn examine(&mut self, directory: &Path) -> bool {
        self.examined.len() < MAXIMUM_EXAMINED && self.examined.insert(directory.to_path_buf())
    }

    /// Whether a path without links is in a bound directory.
    pub(super) fn shows(&self, path: &Path) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry, SkeletonEntry::Bind { target, .. } if is_within(path, target)))
    }

    /// Whether it is in a directory that is bound because of `PATH`, so that its installation is known.
    pub(super) fn shows_for_path(&self, path: &Path) -> bool {
        self.shows(path) && !SYSTEM_DIRECTORIES.iter().any(|system| is_within(path, Path::new(system)))
    }

    /// Repeats the links on the way to a visible path. Returns whether all of them could be repeated: without one of
    /// them the path does not exist inside.
    pub(super) fn show_links(&mut self, links: &[HostSymlink]) -> bool {
        let possible = links.iter().all(|link| self.shows(&link.at) || (may_link(link) && link.can_travel()));
        if possible {
            for link in links {
                self.link(link.clone());
            }
        }
        possible
    }

    pub(super) fn finish(self, path: String) -> HostView {
        HostView { entries: in_order(self.entries), path, environment: self.environment }
    }

    /// Entries that were added to the continued plan.
    pub(super) fn finish_addition(self, view: &HostView) -> Vec<SkeletonEntry> {
        let mut entries = in_order(self.entries);
        entries.retain(|entry| !view.entries.contains(entry));
        entries
    }

    fn has_link(&self, at: &Path) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry, SkeletonEntry::Link { target, .. } if target.as_os_str() == at.as_os_str()))
    }
}

/// Leaves out entries below a bind, and adds the missing parent directories.
fn in_order(mut entries: Vec<SkeletonEntry>) -> Vec<SkeletonEntry> {
    sort_by_target(&mut entries);
    let mut kept: Vec<SkeletonEntry> = Vec::with_capacity(entries.len() * 2);
    let mut bound: Option<PathBuf> = None;
    let mut directories: HashSet<PathBuf> = HashSet::new();
    for entry in entries {
        if bound.as_deref().is_some_and(|bound| is_within(entry.target(), bound)) {
            continue;
        }
        if let SkeletonEntry::Bind { target, .. } = &entry {
            bound = Some(target.clone());
        }
        let parents = entry.target().ancestors().skip(1).filter(|parent| parent.parent().is_some());
        let mut missing: Vec<PathBuf> =
            parents.take_while(|parent| !directories.contains(*parent)).map(Path::to_path_buf).collect();
        // From the top down. Other entries of these directories come after this entry, so the order stays.
        while let Some(target) = missing.pop() {
            directories.insert(target.clone());
            kept.push(SkeletonEntry::Directory { target });
        }
        if !matches!(&entry, SkeletonEntry::Directory { target } if !directories.insert(target.clone())) {
            kept.push(entry);
        }
    }
    kept
}

/// Sorts a directory right before its content: with the slash as the lowest byte, `/a/b` sorts before `/a-b`.
fn sort_by_target(entries: &mut [SkeletonEntry]) {
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    entries.sort_by(|one, other| {
        let one = one.target().as_os_str().as_bytes().iter().map(key);
        one.cmp(other.target().as_os_str().as_bytes().iter().map(key))
    });
}
