//! Valid and malicious archives: names are written unchecked, which the `tar` crate would refuse.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use menace_sandbox::{Sandbox, SandboxError};
use tar::{Archive, Builder, EntryType, Header};

/// Entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArchiveItem {
    Directory,
    File(Vec<u8>),
    Executable(Vec<u8>),
    Link(String),
    HardLink(String),
}

impl ArchiveItem {
    pub(crate) fn text(text: &str) -> Self {
        Self::File(text.as_bytes().to_vec())
    }
}

/// Serializes an archive.
pub(crate) fn tarball(items: &[(&str, ArchiveItem)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, item) in items {
        let (kind, mode, content, target) = match item {
            ArchiveItem::Directory => (EntryType::Directory, 0o755, &[][..], None),
            ArchiveItem::File(bytes) => (EntryType::Regular, 0o644, bytes.as_slice(), None),
            ArchiveItem::Executable(bytes) => (EntryType::Regular, 0o755, bytes.as_slice(), None),
            ArchiveItem::Link(target) => (EntryType::Symlink, 0o777, &[][..], Some(target)),
            ArchiveItem::HardLink(target) => (EntryType::Link, 0o644, &[][..], Some(target)),
        };
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name.as_bytes());
        if let Some(target) = target {
            old.linkname[..target.len()].copy_from_slice(target.as_bytes());
        }
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Unpacks items into a directory of a sandbox.
pub(crate) async fn put(
    sandbox: &dyn Sandbox,
    directory: &str,
    items: &[(&str, ArchiveItem)],
) -> Result<(), SandboxError> {
    sandbox.put(Path::new(directory), &mut tarball(items).as_slice()).await
}

/// Packs a path of a sandbox and returns the entries by their names.
pub(crate) async fn get(
    sandbox: &dyn Sandbox,
    path: &str,
) -> Result<BTreeMap<String, ArchiveItem>, SandboxError> {
    let mut bytes = Vec::new();
    sandbox.get(Path::new(path), &mut bytes).await?;
    let mut archive = Archive::new(bytes.as_slice());
    Ok(archive.entries().unwrap().map(|entry| item(&mut entry.unwrap())).collect())
}

fn item(entry: &mut tar::Entry<'_, impl Read>) -> (String, ArchiveItem) {
    let name = entry.path().unwrap().to_str().unwrap().trim_end_matches('/').to_owned();
    let is_executable = entry.header().mode().unwrap() & 0o111 != 0;
    let item = match entry.header().entry_type() {
        EntryType::Directory => ArchiveItem::Directory,
        EntryType::Symlink => {
            ArchiveItem::Link(entry.link_name().unwrap().unwrap().to_str().unwrap().to_owned())
        }
        EntryType::Regular => {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            if is_executable { ArchiveItem::Executable(bytes) } else { ArchiveItem::File(bytes) }
        }
        other => panic!("{name} has the entry type {other:?}"),
    };
    (name, item)
}
