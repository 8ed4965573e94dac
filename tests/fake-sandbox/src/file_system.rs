//! Files of one fake sandbox: a map from absolute paths to nodes, and the original map from the host.
//!
//! A node is shared with the map of the host until it is written to, so "was it written" is a comparison of pointers,
//! and writing the same bytes again counts as written like it does in an overlay.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_model::sandbox::FileChanges;

use crate::error_number;

/// File system object at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FakeFileNode {
    Directory { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
    Link { target: PathBuf },
    Null,
    Zero,
}

impl FakeFileNode {
    pub(crate) const FILE_MODE: u32 = 0o644;
    pub(crate) const DIRECTORY_MODE: u32 = 0o755;

    pub(crate) fn directory() -> Self {
        Self::Directory { mode: Self::DIRECTORY_MODE }
    }

    fn size(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => bytes.len() as u64,
            Self::Directory { .. } | Self::Link { .. } | Self::Null | Self::Zero => 0,
        }
    }

    fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }
}

pub(crate) type FakeFileNodes = BTreeMap<PathBuf, Arc<FakeFileNode>>;

/// File system of a fake sandbox. All methods except [`FakeFileSystem::resolve`] expect absolute, resolved paths.
#[derive(Debug)]
pub(crate) struct FakeFileSystem {
    nodes: FakeFileNodes,
    host: FakeFileNodes,
    read_only: Vec<PathBuf>,
    limit: u64,
    used: u64,
}

impl FakeFileSystem {
    /// Starts with the files of the host, of which those below `read_only` cannot be changed, and space for `limit`
    /// bytes.
    pub(crate) fn new(host: FakeFileNodes, read_only: Vec<PathBuf>, limit: u64) -> Self {
        Self { nodes: host.clone(), host, read_only, limit, used: 0 }
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&FakeFileNode> {
        self.nodes.get(path).map(Arc::as_ref)
    }

    /// All nodes below a directory, parents before children.
    pub(crate) fn below<'a>(
        &'a self,
        directory: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a FakeFileNode)> {
        self.nodes
            .range(directory.to_owned()..)
            .map(|(path, node)| (path.as_path(), node.as_ref()))
            .skip_while(move |(path, _)| *path == directory)
            .take_while(move |(path, _)| path.starts_with(directory))
    }

    /// Bytes of written files that still exist.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn is_full(&self) -> bool {
        self.used >= self.limit
    }

    /// Creates a node or replaces one that is neither a directory nor a device.
    pub(crate) fn insert(&mut self, path: &Path, node: FakeFileNode) -> io::Result<()> {
        self.check_writable(path)?;
        match path.parent().map(|parent| self.get(parent)) {
            Some(Some(FakeFileNode::Directory { .. })) => {}
            Some(Some(_)) => return Err(error_number::not_a_directory()),
            Some(None) => return Err(error_number::missing()),
            None => return Err(error_number::is_directory()),
        }
        match self.get(path) {
            Some(FakeFileNode::Null | FakeFileNode::Zero) => return Err(error_number::not_allowed()),
            Some(FakeFileNode::Directory { .. }) if !node.is_directory() => {
                return Err(error_number::is_directory());
            }
            Some(existing) if node.is_directory() && !existing.is_directory() => {
                return Err(error_number::exists());
            }
            _ => {}
        }
        let taken = self.used - self.written_size(path);
        if node.size() > self.limit.saturating_sub(taken) {
            return Err(error_number::disk_full());
        }
        self.used = taken + node.size();
        self.nodes.insert(path.to_owned(), Arc::new(node));
        Ok(())
    }

    /// Appends as many bytes to a file as there is space for, at least one, and returns their number.
    pub(crate) fn append(&mut self, path: &Path, more: &[u8]) -> io::Result<usize> {
        self.check_writable(path)?;
        let taken = self.used - self.written_size(path);
        let Some(node) = self.nodes.get_mut(path) else { return Err(error_number::missing()) };
        let size = node.size();
        let free = usize::try_from(self.limit.saturating_sub(taken + size)).unwrap_or(usize::MAX);
        let fits = more.len().min(free);
        if fits == 0 && !more.is_empty() {
            return Err(error_number::disk_full());
        }
        match Arc::make_mut(node) {
            FakeFileNode::File { bytes, .. } => bytes.extend_from_slice(&more[..fits]),
            FakeFileNode::Directory { .. } => return Err(error_number::is_directory()),
            FakeFileNode::Link { .. } | FakeFileNode::Null | FakeFileNode::Zero => {
                return Err(error_number::invalid());
            }
        }
        self.used = taken + size + fits as u64;
        Ok(fits)
    }

    /// Changes the mode of a file or directory.
    pub(crate) fn set_mode(&mut self, path: &Path, new_mode: u32) -> io::Result<()> {
        let node = match self.get(path) {
            Some(FakeFileNode::File { bytes, .. }) => {
                FakeFileNode::File { mode: new_mode, bytes: bytes.clone() }
            }
            Some(FakeFileNode::Directory { .. }) => FakeFileNode::Directory { mode: new_mode },
            Some(_) => return Err(error_number::not_allowed()),
            None => return Err(error_number::missing()),
        };
        self.insert(path, node)
    }

    /// Removes a file, a link or an empty directory.
    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.check_writable(path)?;
        match self.get(path) {
            None => return Err(error_number::missing()),
            Some(FakeFileNode::Null | FakeFileNode::Zero) => return Err(error_number::not_allowed()),
            Some(_) if self.below(path).next().is_some() => return Err(error_number::not_empty()),
            Some(_) => {}
        }
        self.used -= self.written_size(path);
        self.nodes.remove(path);
        Ok(())
    }

    /// Creates a directory and its missing parents.
    pub(crate) fn make_directories(&mut self, path: &Path) -> io::Result<()> {
        match self.get(path) {
            Some(FakeFileNode::Directory { .. }) => return Ok(()),
            Some(_) => return Err(error_number::not_a_directory()),
            None => {}
        }
        if let Some(parent) = path.parent() {
            self.make_directories(parent)?;
        }
        self.insert(path, FakeFileNode::directory())
    }

    /// Differences to the files of the host.
    pub(crate) fn changes(&self) -> FileChanges {
        let written =
            self.nodes.keys().filter(|path| self.is_written(path) && !is_directory(&self.nodes, path));
        let deleted = self.host.keys().filter(|path| {
            !is_directory(&self.host, path) && self.nodes.get(*path).is_none_or(|node| node.is_directory())
        });
        FileChanges { written: texts(written), deleted: texts(deleted) }
    }

    /// Nodes of a snapshot: written nodes, and the directories above written or deleted ones.
    pub(crate) fn changed_nodes(&self) -> Vec<(&Path, &FakeFileNode)> {
        let gone = self.host.keys().filter(|path| !self.nodes.contains_key(*path));
        let changed: Vec<&PathBuf> =
            self.nodes.keys().filter(|path| self.is_written(path)).chain(gone).collect();
        let mut snapshot_nodes: BTreeMap<&Path, &FakeFileNode> = BTreeMap::new();
        for path in changed {
            let ancestors = path.ancestors().filter_map(|ancestor| Some((ancestor, self.get(ancestor)?)));
            snapshot_nodes
                .extend(ancestors.filter(|(ancestor, node)| *ancestor == path || node.is_directory()));
        }
        snapshot_nodes.remove(Path::new("/"));
        snapshot_nodes.into_iter().collect()
    }

    fn is_written(&self, path: &Path) -> bool {
        match (self.nodes.get(path), self.host.get(path)) {
            (Some(now), Some(before)) => !Arc::ptr_eq(now, before),
            (now, _) => now.is_some(),
        }
    }

    fn written_size(&self, path: &Path) -> u64 {
        if self.is_written(path) { self.get(path).map_or(0, FakeFileNode::size) } else { 0 }
    }

    fn check_writable(&self, path: &Path) -> io::Result<()> {
        if self.read_only.iter().any(|mount| path.starts_with(mount)) {
            return Err(error_number::read_only());
        }
        Ok(())
    }
}

fn is_directory(nodes: &FakeFileNodes, path: &Path) -> bool {
    nodes.get(path).is_some_and(|node| node.is_directory())
}

fn texts<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
    paths.map(|path| path.to_string_lossy().into_owned()).collect()
}
