//! The sandbox's interface, from menace's side.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes before each packet: `struct virtio_net_hdr`.
pub(super) const HEADER: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum is not calculated, and whoever gets the packet need not look at it.
const WITHOUT_CHECKSUM: u8 = 1;
/// Where the checksum of a segment is in its header.
const TCP_CHECKSUM: u16 = 16;

/// Who calculated the checksum of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    /// Nobody: it is a segment of TCP that never leaves this machine.
    Segment,
    /// Whoever made the packet.
    Whole,
}

#[derive(Debug)]
pub(super) struct Tun {
    device: OwnedFd,
}

impl Tun {
    pub(super) fn new(device: OwnedFd) -> Self {
        Self { device }
    }

    /// Reads the next packet into a buffer; its length, or nothing if there is none now.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.device, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a packet whose first [`HEADER`] bytes are room for the header. One that the kernel does not take is lost,
    /// as on any link.
    pub(super) fn write(&self, buffer: &mut [u8], checksum: Checksum) {
        let (header, packet) = buffer.split_at_mut(HEADER);
        header.fill(0);
        if checksum == Checksum::Segment {
            let start: u16 = match packet.first().map(|byte| byte >> 4) {
                Some(4) => packet.first().map_or(20, |byte| u16::from(byte & 0xf) * 4),
                _ => 40,
            };
            let [start_low, start_high] = start.to_ne_bytes();
            let [offset_low, offset_high] = TCP_CHECKSUM.to_ne_bytes();
            let fields = [WITHOUT_CHECKSUM, 0, 0, 0, 0, 0, start_low, start_high, offset_low, offset_high];
            header.copy_from_slice(&fields);
        }
        if let Err(error) = rustix::io::write(&self.device, buffer) {
            tracing::debug!("the kernel did not take a packet: {error}");
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
