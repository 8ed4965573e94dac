//! Probe of Landlock: the process drops its right to read files, and then cannot read them.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::thread::set_no_new_privs;

use super::failure::{ProbeFailure, step_failed, syscall_failed};
use super::process::last_errno;

const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;
const LANDLOCK_ACCESS_FS_READ_FILE: u64 = 1 << 2;

/// File that can be read before the restriction and not after.
const PROBED_FILE: &str = "/proc/self/status";

/// Restricts this process to reading no file at all.
pub(super) fn landlock() -> Result<String, ProbeFailure> {
    File::open(PROBED_FILE).map_err(step_failed(format!("open {PROBED_FILE} before the restriction")))?;
    let version = create_ruleset(None, LANDLOCK_CREATE_RULESET_VERSION)?;
    let descriptor = create_ruleset(Some(&LANDLOCK_ACCESS_FS_READ_FILE), 0)?;
    let descriptor = libc::c_int::try_from(descriptor).expect("a descriptor is a C int");
    // SAFETY: the kernel has just created this descriptor for this process, and nothing else owns it.
    let ruleset = unsafe { OwnedFd::from_raw_fd(descriptor) };
    set_no_new_privs(true).map_err(syscall_failed("set no_new_privs"))?;
    // SAFETY: the call takes a descriptor and flags, and no pointer.
    let restricted = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    if restricted != 0 {
        return Err(syscall_failed("restrict this process with Landlock")(last_errno()));
    }
    match File::open(PROBED_FILE) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(format!("ABI {version}")),
        Err(error) => Err(step_failed(format!("get EACCES for {PROBED_FILE} after the restriction"))(error)),
        Ok(_) => Err(ProbeFailure::Ineffective {
            step: "Landlock",
            observed: format!("{PROBED_FILE} can still be read"),
        }),
    }
}

/// Creates a ruleset that handles these accesses; without accesses, queries the Landlock ABI version.
fn create_ruleset(handled: Option<&u64>, flags: libc::c_uint) -> Result<i64, ProbeFailure> {
    let (pointer, size) = match handled {
        Some(handled) => (std::ptr::from_ref(handled), size_of::<u64>()),
        None => (std::ptr::null(), 0),
    };
    // SAFETY: `landlock_ruleset_attr` began as this one 64-bit field, and the kernel reads no more than `size` bytes
    // of it, which `handled` has; or none where the pointer is null.
    let result = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, pointer, size, flags) };
    if result >= 0 { Ok(result) } else { Err(syscall_failed("create a Landlock ruleset")(last_errno())) }
}
