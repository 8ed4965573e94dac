//! Brings up `lo`, the only interface of a new network namespace.

use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::{StepContext, StepError};

/// `IFF_UP` in the type of its field.
const UP: libc::c_short = 1;

/// Brings up the loopback interface of the network namespace that this process is in.
pub fn bring_up() -> Result<(), StepError> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .step(|| "open a socket to bring up loopback")?;
    // SAFETY: all zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed();
    request.ifr_name[1] = b'o'.cast_signed();
    request.ifr_ifru.ifru_flags = UP;
    // SAFETY: SIOCSIFFLAGS reads an `ifreq`, which lives during the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()).step(|| "bring up loopback") }
}
