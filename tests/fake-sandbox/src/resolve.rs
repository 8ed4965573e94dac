//! Path resolution: `.`, `..` and links, as the kernel follows them.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error_number;
use crate::file_system::{FakeFileNode, FakeFileSystem};

/// Number of links that Linux follows in one path.
const MOST_LINKS: usize = 40;

/// Whether a link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinalSymlink {
    Follow,
    Keep,
}

impl FakeFileSystem {
    /// Resolves `path` relative to `directory` to an absolute path without links. Only its last part may be missing.
    pub(crate) fn resolve(&self, directory: &Path, path: &Path, last: FinalSymlink) -> io::Result<PathBuf> {
        let mut links = 0;
        self.walk(directory.to_owned(), path, last, &mut links)
    }

    fn walk(
        &self,
        start: PathBuf,
        path: &Path,
        last: FinalSymlink,
        links: &mut usize,
    ) -> io::Result<PathBuf> {
        if path.as_os_str().is_empty() {
            return Err(error_number::missing());
        }
        let mut place = start;
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            place = self.step(place, part, is_last, last, links)?;
        }
        Ok(place)
    }

    fn step(
        &self,
        place: PathBuf,
        part: Component<'_>,
        is_last: bool,
        last: FinalSymlink,
        links: &mut usize,
    ) -> io::Result<PathBuf> {
        let name = match part {
            Component::RootDir | Component::Prefix(_) => return Ok(PathBuf::from("/")),
            Component::CurDir => return self.checked_directory(place),
            Component::ParentDir => {
                let place = self.checked_directory(place)?;
                return Ok(place.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned));
            }
            Component::Normal(name) => name,
        };
        let directory = self.checked_directory(place)?;
        let next = directory.join(name);
        match self.get(&next) {
            Some(FakeFileNode::Link { target }) if !(is_last && last == FinalSymlink::Keep) => {
                *links += 1;
                if *links > MOST_LINKS {
                    return Err(error_number::too_many_links());
                }
                let last_of_target = if is_last { last } else { FinalSymlink::Follow };
                self.walk(directory, target, last_of_target, links)
            }
            _ => Ok(next),
        }
    }

    fn checked_directory(&self, place: PathBuf) -> io::Result<PathBuf> {
        match self.get(&place) {
            Some(FakeFileNode::Directory { .. }) => Ok(place),
            Some(_) => Err(error_number::not_a_directory()),
            None => Err(error_number::missing()),
        }
    }
}
