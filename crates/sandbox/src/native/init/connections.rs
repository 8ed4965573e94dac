//! Connections to programs of the sandbox, opened in its network namespace.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

/// Opens a socket that is connected or connecting: the receiver waits for the connection, because the init process
/// must not block. Programs that listen on only one of the two loopback addresses are found as well.
pub(super) fn open(port: u16) -> io::Result<OwnedFd> {
    match open_to(IpAddr::V4(Ipv4Addr::LOCALHOST), port) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            // The error of the IPv4 address is the one that most users expect.
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
