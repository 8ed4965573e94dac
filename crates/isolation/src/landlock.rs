//! Landlock: a second barrier behind the mounts, for files, and for signals and abstract sockets where supported.
//!
//! Linux has it since 5.13 and has added access rights since; the ABI number says which ones it supports. A
//! restricted process can no longer mount, so this step comes after all mounts.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

use menace_model::{ErrorClass, ErrorDetails};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use thiserror::Error;

/// A process could not be restricted.
#[derive(Debug, Error)]
pub enum LandlockError {
    /// The kernel supports Landlock but did not create a ruleset.
    #[error("failed to create a Landlock ruleset: {0}")]
    CreateRuleset(#[source] io::Error),
    /// The root directory could not be opened.
    #[error("failed to open / for Landlock: {0}")]
    OpenRoot(#[source] io::Error),
    /// A directory or file could not be inspected.
    #[error("failed to inspect descriptor {descriptor} for Landlock: {source}")]
    Inspect {
        /// Descriptor number.
        descriptor: RawFd,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A rule was refused.
    #[error("failed to add a Landlock rule for descriptor {descriptor}: {source}")]
    AddRule {
        /// Descriptor of the file that the rule is about.
        descriptor: RawFd,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The rules were not enforced.
    #[error("failed to restrict this thread with Landlock: {0}")]
    Restrict(#[source] io::Error),
}

impl ErrorDetails for LandlockError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::CreateRuleset(_)
            | Self::OpenRoot(_)
            | Self::Inspect { .. }
            | Self::AddRule { .. }
            | Self::Restrict(_) => ErrorClass::Unsupported,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Restrict(_) => Some("set no_new_privs first".into()),
            Self::CreateRuleset(_) | Self::OpenRoot(_) | Self::Inspect { .. } | Self::AddRule { .. } => None,
        }
    }
}

/// Allows this thread, and all that it starts, to read and execute everything that is visible, and to change only
/// what lies beneath the `writable` directories and files. Descriptors that are already open keep their rights.
///
/// From ABI 6 on, the thread can also neither signal processes nor reach abstract sockets outside of the restriction.
/// Returns the ABI that was used, and 0 on a kernel without Landlock, where nothing is restricted.
pub fn restrict(writable: &[BorrowedFd<'_>]) -> Result<u32, LandlockError> {
    let abi = supported_abi()?;
    if abi == 0 {
        return Ok(0);
    }
    let handled = rights_known_to(abi);
    let ruleset = create_ruleset(&RulesetAttributes {
        handled_access_fs: handled,
        handled_access_net: 0,
        scoped: if abi >= 6 { SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL } else { 0 },
    })?;
    let root = openat(CWD, "/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| LandlockError::OpenRoot(error.into()))?;
    add_rule(&ruleset, root.as_raw_fd(), READ_AND_EXECUTE)?;
    for path in writable {
        let rights = if is_directory(*path)? { handled } else { handled & RIGHTS_OF_FILES };
        add_rule(&ruleset, path.as_raw_fd(), rights)?;
    }
    restrict_self(&ruleset)?;
    Ok(abi)
}

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEVICE: u64 = 1 << 15;

const READ_AND_EXECUTE: u64 = EXECUTE | READ_FILE | READ_DIRECTORY;

/// The kernel refuses a rule that gives a file the rights of a directory.
const RIGHTS_OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;

const SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1 << 0;
const SCOPE_SIGNAL: u64 = 1 << 1;

/// Newest ABI in use; of later ABIs only this subset is used.
const NEWEST_ABI_IN_USE: u32 = 6;

/// The rights were numbered as they were added. The first ABI has 13 of them, from execution to creating links; under
/// it a file cannot move to another directory at all, as the right to do so (REFER) came with the second.
fn rights_known_to(abi: u32) -> u64 {
    let count = match abi {
        0 => 0,
        1 => 13,
        2 => 14,
        // The fourth ABI added rights for the network.
        3 | 4 => 15,
        _ => 16,
    };
    (1 << count) - 1
}

/// `struct landlock_ruleset_attr`. An older kernel accepts the longer structure when the unknown fields are zero.
#[repr(C)]
struct RulesetAttributes {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneathAttributes {
    allowed_access: u64,
    parent_fd: i32,
}

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: libc::c_int = 1;

fn supported_abi() -> Result<u32, LandlockError> {
    // SAFETY: with this flag the kernel takes no structure and answers with a number.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<RulesetAttributes>(),
            0_usize,
            CREATE_RULESET_VERSION,
        )
    };
    if let Ok(abi) = u32::try_from(answer) {
        return Ok(abi.min(NEWEST_ABI_IN_USE));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Not built in, or not enabled at boot.
        Some(libc::ENOSYS | libc::EOPNOTSUPP) => Ok(0),
        _ => Err(LandlockError::CreateRuleset(error)),
    }
}

fn create_ruleset(attributes: &RulesetAttributes) -> Result<OwnedFd, LandlockError> {
    let attributes: *const RulesetAttributes = attributes;
    // SAFETY: the kernel reads as many bytes as we say the structure has.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, attributes, size_of::<RulesetAttributes>(), 0_u32)
    };
    match RawFd::try_from(answer) {
        // SAFETY: an answer that is not negative is a new descriptor that nothing else owns.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(LandlockError::CreateRuleset(io::Error::last_os_error())),
    }
}

fn add_rule(ruleset: &OwnedFd, path: RawFd, allowed_access: u64) -> Result<(), LandlockError> {
    let attributes = PathBeneathAttributes { allowed_access, parent_fd: path };
    // SAFETY: for this type of rule the kernel reads one `landlock_path_beneath_attr`, and `attributes` is one.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            RULE_PATH_BENEATH,
            &raw const attributes,
            0_u32,
        )
    };
    if answer != 0 {
        return Err(LandlockError::AddRule { descriptor: path, source: io::Error::last_os_error() });
    }
    Ok(())
}

fn restrict_self(ruleset: &OwnedFd) -> Result<(), LandlockError> {
    // SAFETY: the call takes two integers and touches no memory.
    if unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) } != 0 {
        return Err(LandlockError::Restrict(io::Error::last_os_error()));
    }
    Ok(())
}

fn is_directory(path: BorrowedFd<'_>) -> Result<bool, LandlockError> {
    let status = fstat(path)
        .map_err(|error| LandlockError::Inspect { descriptor: path.as_raw_fd(), source: error.into() })?;
    Ok(FileType::from_raw_mode(status.st_mode) == FileType::Directory)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        io::ErrorKind,
        os::{fd::AsFd, linux::net::SocketAddrExt, unix::net as unix},
        path::Path,
        process::Command,
    };

    use super::*;
    use crate::{capabilities::no_new_privileges, forked_child};

    fn restricted(writable: &[&Path], assertions: impl FnOnce(u32)) {
        forked_child::run(|| {
            no_new_privileges().unwrap();
            let writable: Vec<File> = writable.iter().map(|path| File::open(path).unwrap()).collect();
            let abi = restrict(&writable.iter().map(AsFd::as_fd).collect::<Vec<_>>()).unwrap();
            assert_ne!(abi, 0, "this test needs a kernel with Landlock");
            assertions(abi);
        });
    }

    fn permission_denied<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    }

    fn truncate(path: &Path) -> io::Result<()> {
        let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
        // SAFETY: reads the path up to its zero byte.
        match unsafe { libc::truncate(path.as_ptr(), 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[test]
    fn writes_stay_beneath_the_writable_directories() {
        let inside = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("old"), "old").unwrap();
        restricted(&[inside.path()], |abi| {
            fs::create_dir_all(inside.path().join("a/b")).unwrap();
            fs::write(inside.path().join("a/file"), "text").unwrap();
            if abi >= 2 {
                fs::rename(inside.path().join("a/file"), inside.path().join("a/b/file")).unwrap();
            }
            assert_eq!(fs::read_to_string(outside.path().join("old")).unwrap(), "old");
            assert!(Command::new("true").status().unwrap().success());
            assert!(permission_denied(fs::write(outside.path().join("new"), "")));
            assert!(permission_denied(fs::write(outside.path().join("old"), "")));
            assert!(permission_denied(fs::remove_file(outside.path().join("old"))));
            assert!(permission_denied(fs::create_dir(outside.path().join("directory"))));
            if abi >= 3 {
                assert!(permission_denied(truncate(&outside.path().join("old"))));
            }
        });
        assert_eq!(fs::read_to_string(outside.path().join("old")).unwrap(), "old");
    }

    #[test]
    fn a_single_file_can_be_writable() {
        restricted(&[Path::new("/dev/null")], |_| {
            fs::write("/dev/null", "text").unwrap();
            assert!(permission_denied(fs::write("/dev/zero", "text")));
        });
    }

    #[test]
    fn neither_signals_nor_abstract_sockets_leave_the_sandbox() {
        let name = format!("menace-landlock-{}", std::process::id());
        let address = unix::SocketAddr::from_abstract_name(&name).unwrap();
        let _listener = unix::UnixListener::bind_addr(&address).unwrap();
        let test = rustix::process::getpid();
        unix::UnixStream::connect_addr(&address).expect("reachable without restriction");
        restricted(&[], |abi| {
            assert!(abi >= 6, "this test needs Landlock ABI 6, Linux 6.12");
            assert!(permission_denied(unix::UnixStream::connect_addr(&address)));
            assert_eq!(rustix::process::test_kill_process(test), Err(rustix::io::Errno::PERM));
        });
    }

    #[test]
    fn without_no_new_privileges_it_is_an_error_for_a_user_without_capabilities() {
        forked_child::run_as_root_of_a_user_namespace(|| {
            crate::capabilities::drop_all().unwrap();
            assert!(matches!(restrict(&[]), Err(LandlockError::Restrict(_))));
        });
    }

    #[test]
    fn each_abi_handles_its_own_rights() {
        let expected = [(1, 0x1fff), (2, 0x3fff), (3, 0x7fff), (4, 0x7fff), (5, 0xffff), (6, 0xffff)];
        for (abi, rights) in expected {
            assert_eq!(rights_known_to(abi), rights, "ABI {abi}");
        }
    }
}
