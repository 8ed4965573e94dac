//! Where the process that holds sandboxes is reached.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The socket and the lock of the process that holds the sandboxes of one data directory.
#[derive(Debug, Clone)]
pub struct Place {
    directory: PathBuf,
    name: String,
}

impl Place {
    /// The place for a data directory that is there. The socket is not in it, because the path of a socket must be short.
    pub fn of(data_directory: &Path) -> io::Result<Self> {
        let data_directory = data_directory.canonicalize()?;
        let hash = blake3::hash(data_directory.as_os_str().as_encoded_bytes());
        Ok(Self { directory: runtime_directory()?, name: hash.to_hex()[..16].to_owned() })
    }

    /// What tells it from those of other data directories.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(format!("keeper-{}.sock", self.name))
    }

    /// Holds the place for this process, as long as the file is open; nothing if another one has it.
    pub fn hold(&self) -> io::Result<Option<File>> {
        let path = self.directory.join(format!("keeper-{}.lock", self.name));
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A directory that only this user can use, and that is gone after a restart of the machine.
fn runtime_directory() -> io::Result<PathBuf> {
    let user = rustix::process::geteuid();
    let directory = match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir())
    {
        Some(directory) => directory.join("menace-keepers"),
        None if user.is_root() => PathBuf::from("/run/menace-keepers"),
        None => std::env::temp_dir().join(format!("menace-keepers-{}", user.as_raw())),
    };
    match DirBuilder::new().mode(0o700).create(&directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // In a directory that everybody can write to, somebody else may have made it first.
    let metadata = fs::symlink_metadata(&directory)?;
    if !metadata.is_dir() || metadata.uid() != user.as_raw() || metadata.mode() & 0o077 != 0 {
        let problem = format!("{} is open to others, or belongs to them", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    Ok(directory)
}
