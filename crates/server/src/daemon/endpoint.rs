//! Socket and lock file of the sandbox daemon.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Socket and lock file of the sandbox daemon of one data directory.
#[derive(Debug, Clone)]
pub struct DaemonEndpoint {
    directory: PathBuf,
    name: String,
}

impl DaemonEndpoint {
    /// Endpoint for an existing data directory. The socket is not inside it because a socket path has at most 108 bytes.
    pub fn of(data_directory: &Path) -> io::Result<Self> {
        let data_directory = data_directory.canonicalize()?;
        let hash = blake3::hash(data_directory.as_os_str().as_encoded_bytes());
        Ok(Self { directory: runtime_directory()?, name: hash.to_hex()[..16].to_owned() })
    }

    /// Name derived from the data directory, unique among daemons.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(format!("keeper-{}.sock", self.name))
    }

    /// Locks the endpoint for this process while the returned file is open; `None` if another process holds the lock.
    pub fn try_lock(&self) -> io::Result<Option<File>> {
        let path = self.directory.join(format!("keeper-{}.lock", self.name));
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Directory that only this user can access and that does not survive a reboot.
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
    // In a world-writable directory such as /tmp, another user may have created it first.
    let metadata = fs::symlink_metadata(&directory)?;
    if !metadata.is_dir() || metadata.uid() != user.as_raw() || metadata.mode() & 0o077 != 0 {
        let problem =
            format!("{} belongs to another user or is accessible to other users", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    Ok(directory)
}
