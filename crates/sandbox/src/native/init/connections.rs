//! Connections to programs of the sandbox, opened where they can be reached: in its network namespace.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

/// A socket that is connected, or about to be: whoever gets it waits for that, because nobody may wait here. Programs that
/// listen on one of the two loopback addresses alone are found as well.
pub(super) fn open(port: u16) -> io::Result<OwnedFd> {
    match open_to(IpAddr::V4(Ipv4Addr::LOCALHOST), port) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            // What the first address said is what most people mean.
            open_to(IpAddr::V6(Ipv6Addr::LOCALHOST), port).map_err(|_| error)
        }
        result => result,
    }
}

fn open_to(address: IpAddr, port: u16) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddr::new(address, port)) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}
