//! Packing and unpacking of a fake sandbox's files as tar archives, and snapshots, which are archives with a list of
//! deletions.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use menace_model::sandbox::{SandboxSpec, WORKSPACE};
use menace_sandbox::{SandboxError, SandboxSnapshot};
use tar::{Builder, Entry, EntryType, Header};

use crate::error_number;
use crate::file_system::{FakeFileNode, FakeFileSystem};
use crate::resolve::FinalSymlink;

/// Packs a file or directory with paths relative to its parent.
pub(crate) fn pack(files: &FakeFileSystem, path: &Path) -> Result<Vec<u8>, SandboxError> {
    let cannot = |error: io::Error| inside("pack", path, error);
    let top = files.resolve(Path::new(WORKSPACE), path, FinalSymlink::Keep).map_err(cannot)?;
    let node = files.get(&top).ok_or_else(error_number::missing).map_err(cannot)?;
    let parent = top.parent().unwrap_or(Path::new("/"));
    let nodes = std::iter::once((top.as_path(), node)).chain(files.below(&top));
    pack_nodes(nodes, parent).map_err(cannot)
}

/// Unpacks an archive into a directory, which is created if missing.
pub(crate) fn unpack(
    files: &mut FakeFileSystem,
    directory: &Path,
    archive: impl Read,
) -> Result<(), SandboxError> {
    if !directory.is_absolute() {
        return Err(inside(
            "unpack into",
            directory,
            io::Error::new(io::ErrorKind::InvalidInput, "the directory is not absolute"),
        ));
    }
    let directory = enter(files, Path::new("/"), directory, Path::new("/"))
        .map_err(|error| inside("unpack into", directory, error))?;
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().map_err(SandboxError::io("read the archive"))? {
        let mut entry = entry.map_err(SandboxError::io("read the archive"))?;
        let path = entry.path().map_err(SandboxError::io("read the archive"))?.into_owned();
        unpack_entry(files, &directory, &path, &mut entry).map_err(|error| inside("unpack", &path, error))?;
    }
    Ok(())
}

/// Copies the written files and the list of deleted ones.
pub(crate) fn snapshot(files: &FakeFileSystem, spec: &SandboxSpec) -> Result<SandboxSnapshot, SandboxError> {
    let packed = pack_nodes(files.changed_nodes().into_iter(), Path::new("/"))
        .map_err(SandboxError::io("pack the snapshot"))?;
    let mut file = tempfile::NamedTempFile::new().map_err(SandboxError::io("create the snapshot file"))?;
    io::Write::write_all(&mut file, &packed).map_err(SandboxError::io("write the snapshot"))?;
    let changes = files.changes();
    let removed = changes.deleted.iter().map(PathBuf::from).collect();
    Ok(SandboxSnapshot { spec: spec.clone(), changes, removed, archive: Arc::new(file.into_temp_path()) })
}

/// Applies the deletions and the written files of a snapshot.
pub(crate) fn restore(files: &mut FakeFileSystem, snapshot: &SandboxSnapshot) -> Result<(), SandboxError> {
    for deleted in &snapshot.changes.deleted {
        delete_with_empty_parents(files, Path::new(deleted))
            .map_err(|error| inside("delete", Path::new(deleted), error))?;
    }
    let archive = std::fs::File::open(&**snapshot.archive).map_err(SandboxError::io("open the snapshot"))?;
    unpack(files, Path::new("/"), io::BufReader::new(archive))
}

/// Deletes a file and the parents that become empty: they may have been deleted too. If not, they are part of the
/// archive.
fn delete_with_empty_parents(files: &mut FakeFileSystem, path: &Path) -> io::Result<()> {
    if files.get(path).is_some() {
        files.remove(path)?;
    }
    for parent in path.ancestors().skip(1).filter(|parent| *parent != Path::new(WORKSPACE)) {
        if files.below(parent).next().is_some() {
            break;
        }
        files.remove(parent)?;
    }
    Ok(())
}

fn pack_nodes<'a>(
    nodes: impl Iterator<Item = (&'a Path, &'a FakeFileNode)>,
    parent: &Path,
) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    for (path, node) in nodes {
        let name = path.strip_prefix(parent).unwrap_or(path);
        if !name.as_os_str().is_empty() {
            pack_node(&mut builder, name, node)?;
        }
    }
    builder.into_inner()
}

fn pack_node(builder: &mut Builder<Vec<u8>>, name: &Path, node: &FakeFileNode) -> io::Result<()> {
    let mut header = Header::new_gnu();
    match node {
        FakeFileNode::Directory { mode } => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(*mode);
            header.set_size(0);
            builder.append_data(&mut header, name, io::empty())
        }
        FakeFileNode::File { mode, bytes } => {
            header.set_mode(*mode);
            header.set_size(bytes.len() as u64);
            builder.append_data(&mut header, name, bytes.as_slice())
        }
        FakeFileNode::Link { target } => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            builder.append_link(&mut header, name, target)
        }
        FakeFileNode::Null | FakeFileNode::Zero => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "cannot pack a device"))
        }
    }
}

fn unpack_entry(
    files: &mut FakeFileSystem,
    directory: &Path,
    path: &Path,
    entry: &mut Entry<'_, impl Read>,
) -> io::Result<()> {
    let kind = entry.header().entry_type();
    if kind == EntryType::XGlobalHeader {
        return Ok(());
    }
    let names = names_below(path)?;
    let Some((last, above)) = names.split_last() else { return Ok(()) };
    let parent = enter(files, directory, &above.iter().collect::<PathBuf>(), directory)?;
    let place = parent.join(last);
    let mode = entry.header().mode()? & 0o7777;
    let node = match kind {
        EntryType::Directory => FakeFileNode::Directory { mode },
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            FakeFileNode::File { mode, bytes }
        }
        EntryType::Symlink => FakeFileNode::Link { target: link_target(entry)? },
        EntryType::Link => linked_file(files, directory, &link_target(entry)?)?,
        _ => return Err(io::Error::new(io::ErrorKind::Unsupported, "not a file, directory or link")),
    };
    // The last part was not resolved, so a link at this path is replaced and not written through.
    files.insert(&place, node)
}

fn link_target(entry: &Entry<'_, impl Read>) -> io::Result<PathBuf> {
    let target = entry.link_name()?;
    target.map(std::borrow::Cow::into_owned).ok_or_else(|| leaves("a link without a target"))
}

fn linked_file(files: &FakeFileSystem, directory: &Path, target: &Path) -> io::Result<FakeFileNode> {
    let names: PathBuf = names_below(target)?.iter().collect();
    let place = files.resolve(directory, &names, FinalSymlink::Keep)?;
    if !place.starts_with(directory) {
        return Err(leaves("the target leaves the directory"));
    }
    match files.get(&place) {
        Some(node @ FakeFileNode::File { .. }) => Ok(node.clone()),
        Some(_) => Err(error_number::not_allowed()),
        None => Err(error_number::missing()),
    }
}

/// Components of a path in an archive. A path with `..` or a leading `/` is an error.
fn names_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(PathBuf::from(name)),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(leaves("the path leaves the directory"));
            }
        }
    }
    Ok(names)
}

/// Follows a path and creates missing directories, but never outside `bounds`.
fn enter(files: &mut FakeFileSystem, start: &Path, path: &Path, bounds: &Path) -> io::Result<PathBuf> {
    let mut place = start.to_owned();
    for part in path.components() {
        let next = files.resolve(&place, Path::new(part.as_os_str()), FinalSymlink::Follow)?;
        if !next.starts_with(bounds) {
            return Err(leaves("a link leaves the directory"));
        }
        files.make_directories(&next)?;
        place = next;
    }
    Ok(place)
}

fn leaves(problem: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

fn inside(action: &'static str, path: &Path, source: io::Error) -> SandboxError {
    SandboxError::Inside { action, path: path.to_owned(), source }
}
