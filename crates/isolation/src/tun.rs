//! A TUN interface, whose packets menace reads and writes: the only way out of a network namespace.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use serde::{Deserialize, Serialize};

use crate::queue_discipline::NetemOptions;
use crate::{StepContext, StepError, StepKind};

/// Configuration of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TunInterface {
    /// IPv4 address.
    pub v4: Ipv4Addr,
    /// IPv6 address, ignored where the kernel has no IPv6.
    pub v6: Ipv6Addr,
    /// MTU.
    pub longest_packet: u16,
    /// netem options for outgoing packets.
    pub netem: Option<NetemOptions>,
}

/// Length of the transmit queue: packets that wait for menace when a program sends faster than menace reads. More are
/// lost, as on any interface.
const WAITING_PACKETS: libc::c_int = 2048;

/// Name of the interface inside the sandbox.
const NAME: &[u8] = b"net0";

const DEVICE: &str = "/dev/net/tun";
/// From `linux/if_tun.h`, which the libc crate does not have for every system.
const IFF_TUN: libc::c_short = 0x0001;
const IFF_NO_PI: libc::c_short = 0x1000;
const IFF_VNET_HDR: libc::c_short = 0x4000;
const TUNSETIFF: u64 = 0x4004_54ca;
const TUNSETOFFLOAD: u64 = 0x4004_54d0;
const TUN_F_CSUM: libc::c_ulong = 0x01;

/// `AF_INET` in the type of its field.
const INTERNET: libc::sa_family_t = 2;
/// `IFF_UP` in the type of its field.
const UP: libc::c_short = 1;

/// Bytes before each packet: `struct virtio_net_hdr`, which describes the state of its checksum.
pub const HEADER: usize = 10;

/// Creates the interface in the network namespace of this process, brings it up and routes everything there that is
/// not local to the namespace. The returned descriptor is the other end; each packet begins with [`HEADER`] bytes,
/// and checksums are not calculated for packets that never leave this machine.
pub fn make(interface: &TunInterface) -> Result<OwnedFd, StepError> {
    make_at(Path::new(DEVICE), interface)
}

/// As `make`, where the device is not visible: through a descriptor from [`find`].
pub fn make_through(device: BorrowedFd, interface: &TunInterface) -> Result<OwnedFd, StepError> {
    make_at(&PathBuf::from(format!("/proc/self/fd/{}", device.as_raw_fd())), interface)
}

/// Finds the device without opening it: it belongs to the network namespace of the process that opens it.
pub fn find() -> Result<OwnedFd, StepError> {
    openat(CWD, DEVICE, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .step_of(StepKind::Open, || format!("open {DEVICE}"))
}

fn make_at(path: &Path, interface: &TunInterface) -> Result<OwnedFd, StepError> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device =
        openat(CWD, path, flags, Mode::empty()).step_of(StepKind::Open, || format!("open {DEVICE}"))?;
    let mut request = named();
    request.ifr_ifru.ifru_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    control(&device, TUNSETIFF, &raw const request).step(|| "create a network interface")?;
    // SAFETY: this ioctl takes a number.
    let offload = unsafe { libc::ioctl(device.as_raw_fd(), TUNSETOFFLOAD as _, TUN_F_CSUM) };
    if offload != 0 {
        return Err(io::Error::last_os_error()).step(|| "set the checksum offload");
    }
    configure_v4(interface)?;
    configure_v6(interface)?;
    if let Some(netem) = &interface.netem {
        netem.set(index()?).step_of(StepKind::Netem, || "shape packets with netem")?;
    }
    Ok(device)
}

fn configure_v4(interface: &TunInterface) -> Result<(), StepError> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .step(|| "open a socket for a network interface")?;
    let mut request = named();
    request.ifr_ifru.ifru_mtu = i32::from(interface.longest_packet);
    control(&socket, libc::SIOCSIFMTU, &raw const request).step(|| "set the MTU")?;
    let mut request = named();
    request.ifr_ifru.ifru_metric = WAITING_PACKETS;
    match control(&socket, libc::SIOCSIFTXQLEN, &raw const request) {
        // In a user namespace this is not permitted, and the length stays at 500.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
        result => result.step(|| "set the transmit queue length")?,
    }
    let mut request = named();
    request.ifr_ifru.ifru_addr = address(interface.v4);
    control(&socket, libc::SIOCSIFADDR, &raw const request).step(|| "set an IPv4 address")?;
    let mut request = named();
    request.ifr_ifru.ifru_netmask = address(Ipv4Addr::BROADCAST);
    control(&socket, libc::SIOCSIFNETMASK, &raw const request).step(|| "set a netmask")?;
    let mut request = named();
    request.ifr_ifru.ifru_flags = UP;
    control(&socket, libc::SIOCSIFFLAGS, &raw const request).step(|| "bring up a network interface")?;
    // SAFETY: all zero is a valid `rtentry`.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    let mut name = named().ifr_name;
    route.rt_dst = address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = address(Ipv4Addr::UNSPECIFIED);
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = name.as_mut_ptr();
    control(&socket, libc::SIOCADDRT, &raw const route).step(|| "create an IPv4 route")
}

fn configure_v6(interface: &TunInterface) -> Result<(), StepError> {
    let socket = match socket_with(AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC, None) {
        Err(rustix::io::Errno::AFNOSUPPORT) => return Ok(()),
        result => result.step(|| "open a socket for a network interface")?,
    };
    let index = index()?;
    let request = In6Ifreq { addr: in6(interface.v6), prefixlen: 128, ifindex: index };
    match control(&socket, libc::SIOCSIFADDR, &raw const request) {
        // IPv6 is supported but disabled.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EOPNOTSUPP)) => return Ok(()),
        result => result.step(|| "set an IPv6 address")?,
    }
    let route = In6Route { flags: u32::from(libc::RTF_UP), metric: 1, ifindex: index, ..In6Route::default() };
    control(&socket, libc::SIOCADDRT, &raw const route).step(|| "create an IPv6 route")
}

/// Index of the interface.
fn index() -> Result<libc::c_int, StepError> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .step(|| "open a socket for a network interface")?;
    let mut request = named();
    control(&socket, libc::SIOCGIFINDEX, &raw mut request).step(|| "find a network interface")?;
    // SAFETY: SIOCGIFINDEX has written this member.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex })
}

/// `struct in6_ifreq` of `linux/ipv6.h`.
#[repr(C)]
struct In6Ifreq {
    addr: libc::in6_addr,
    prefixlen: u32,
    ifindex: libc::c_int,
}

/// `struct in6_rtmsg` of `linux/ipv6_route.h`, whose members libc hides.
#[repr(C)]
#[derive(Default)]
struct In6Route {
    destination: [u8; 16],
    source: [u8; 16],
    gateway: [u8; 16],
    kind: u32,
    destination_length: u16,
    source_length: u16,
    metric: u32,
    info: libc::c_ulong,
    flags: u32,
    ifindex: libc::c_int,
}

fn in6(address: Ipv6Addr) -> libc::in6_addr {
    libc::in6_addr { s6_addr: address.octets() }
}

fn named() -> libc::ifreq {
    // SAFETY: all zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(NAME) {
        *place = byte.cast_signed();
    }
    request
}

/// Converts an address to the generic type.
fn address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: all zero is a valid `sockaddr`.
    let mut made: libc::sockaddr = unsafe { std::mem::zeroed() };
    made.sa_family = INTERNET;
    // The address follows the port, which takes two bytes.
    for (place, byte) in made.sa_data.iter_mut().skip(2).zip(address.octets()) {
        *place = byte.cast_signed();
    }
    made
}

fn control<T>(descriptor: &OwnedFd, request: libc::c_ulong, argument: *const T) -> io::Result<()> {
    // SAFETY: the caller passes what the request reads or writes, and it lives during the call.
    let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), request as _, argument) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use rustix::thread::UnshareFlags;

    use super::*;
    use crate::{forked_child, loopback};

    #[test]
    fn packets_to_any_address_arrive_at_the_descriptor() {
        forked_child::run_as_root_of_a_user_namespace(|| {
            // SAFETY: the process has one thread that matters, and no sockets.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
            loopback::bring_up().unwrap();
            let interface = TunInterface {
                v4: Ipv4Addr::new(198, 18, 0, 2),
                v6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
                longest_packet: 65_520,
                netem: None,
            };
            let device = make(&interface).unwrap();
            for (to, version) in [("203.0.113.7:9", 4), ("[2001:db8::7]:9", 6)] {
                let any = if version == 4 { "0.0.0.0:0" } else { "[::]:0" };
                let socket = std::net::UdpSocket::bind(any).unwrap();
                socket.send_to(b"hello", to).unwrap();
                let mut packet = [0; 2048];
                // The kernel sends IPv6 packets of its own.
                let is_ours = |length: usize, packet: &[u8]| {
                    packet[..length].ends_with(b"hello") && packet[HEADER] >> 4 == version
                };
                assert!((0..10).any(|_| {
                    rustix::io::read(&device, &mut packet).is_ok_and(|length| is_ours(length, &packet))
                }));
            }
        });
    }
}
