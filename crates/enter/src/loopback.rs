//! Bringing up `lo`, the only interface of a new network namespace.

use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::{Step, StepError};

/// Brings up the loopback interface of the network namespace that this process is in.
pub fn bring_up() -> Result<(), StepError> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .step(|| "open a socket to bring up loopback")?;
    // SAFETY: all zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = libc::c_char::try_from(b'l').expect("ASCII fits");
    request.ifr_name[1] = libc::c_char::try_from(b'o').expect("ASCII fits");
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP).expect("the flag is 1");
    // SAFETY: SIOCSIFFLAGS reads an `ifreq`, which lives during the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()).step(|| "bring up loopback") }
}
