//! The host end of the sandbox's TUN interface.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Length of the header before each packet: `struct virtio_net_hdr`.
pub(super) const HEADER: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum is not calculated, and the receiver need not verify it.
const WITHOUT_CHECKSUM: u8 = 1;
/// Offset of the checksum in the TCP header.
const TCP_CHECKSUM: u16 = 16;

/// Checksum state of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChecksumState {
    /// Not calculated: a TCP segment that never leaves this machine.
    Segment,
    /// Calculated by the creator of the packet.
    Whole,
}

#[derive(Debug)]
pub(super) struct TunDevice {
    device: OwnedFd,
}

impl TunDevice {
    pub(super) fn new(device: OwnedFd) -> Self {
        Self { device }
    }

    /// Reads the next packet into a buffer and returns its length; `None` if there is none.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.device, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a packet whose first [`HEADER`] bytes are reserved for the header. A packet that the kernel does not accept is
    /// lost, as on any link.
    pub(super) fn write(&self, buffer: &mut [u8], checksum: ChecksumState) {
        let (header, packet) = buffer.split_at_mut(HEADER);
        header.fill(0);
        if checksum == ChecksumState::Segment {
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
            tracing::debug!("failed to write a packet to the TUN interface: {error}");
        }
    }
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
