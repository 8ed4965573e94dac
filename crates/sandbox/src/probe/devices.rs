//! Probe of the TUN device, in a new network namespace.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use super::failure::{ProbeFailure, step_failed, syscall_failed};
use super::namespaces::{ProbedNamespace, enter};
use super::process::last_errno;

const DEVICE: &str = "/dev/net/tun";
const INTERFACE: &std::ffi::CStr = c"menace0";

/// Creates a TUN interface that exists only as long as this process.
pub(super) fn tun() -> Result<String, ProbeFailure> {
    enter(ProbedNamespace::Net)?;
    let device = File::options().read(true).write(true).open(DEVICE).map_err(explain)?;
    // SAFETY: `ifreq` is a plain structure of integers, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (target, byte) in request.ifr_name.iter_mut().zip(INTERFACE.to_bytes()) {
        *target = byte.cast_signed();
    }
    request.ifr_ifru.ifru_flags =
        i16::try_from(libc::IFF_TUN | libc::IFF_NO_PI).expect("the flags of an interface have 16 bits");
    // SAFETY: the kernel reads and writes one `ifreq`, which outlives the call.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result != 0 {
        return Err(syscall_failed("create a TUN interface")(last_errno()));
    }
    // SAFETY: the name is a C string, which the call only reads.
    if unsafe { libc::if_nametoindex(INTERFACE.as_ptr()) } == 0 {
        let observed = format!("interface {} does not exist", INTERFACE.to_string_lossy());
        return Err(ProbeFailure::Ineffective { step: "TUNSETIFF", observed });
    }
    Ok("created an interface in a new network namespace".to_owned())
}

fn explain(error: std::io::Error) -> ProbeFailure {
    match error.kind() {
        std::io::ErrorKind::NotFound => ProbeFailure::Explained {
            reason: format!("{DEVICE} does not exist"),
            remedy: if Path::new("/.dockerenv").exists() {
                format!("start the container with --device {DEVICE}")
            } else {
                format!("modprobe tun, or mkdir -p /dev/net && mknod -m 666 {DEVICE} c 10 200")
            },
        },
        std::io::ErrorKind::PermissionDenied => ProbeFailure::Explained {
            reason: format!("permission denied for {DEVICE}"),
            remedy: format!("chmod 666 {DEVICE} as root: it grants nothing without a network namespace"),
        },
        _ => step_failed(format!("open {DEVICE}"))(error),
    }
}
