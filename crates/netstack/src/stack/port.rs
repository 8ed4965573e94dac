//! Network device of one connection, for the TCP library: its incoming packet, and the link to the sandbox.

use std::time::Instant;

use smoltcp::phy::{
    Checksum as Calculated, ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken,
};

use super::air::Air;
use super::entry::{Key, Meta};
use super::tun::Checksum;

pub(super) struct Port<'a> {
    pub(super) incoming: Option<&'a [u8]>,
    pub(super) air: &'a mut Air,
    pub(super) meta: &'a mut Meta,
    pub(super) key: Key,
    pub(super) now: Instant,
    pub(super) longest_packet: usize,
}

pub(super) struct Incoming<'a>(&'a [u8]);

pub(super) struct Outgoing<'a> {
    air: &'a mut Air,
    meta: &'a mut Meta,
    key: Key,
    now: Instant,
}

impl Device for Port<'_> {
    type RxToken<'a>
        = Incoming<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = Outgoing<'a>
    where
        Self: 'a;

    fn receive(&mut self, _: smoltcp::time::Instant) -> Option<(Incoming<'_>, Outgoing<'_>)> {
        let incoming = Incoming(self.incoming.take()?);
        Some((incoming, Outgoing { air: self.air, meta: self.meta, key: self.key, now: self.now }))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<Outgoing<'_>> {
        let has_room = self.air.has_room(self.now);
        has_room.then_some(Outgoing { air: self.air, meta: self.meta, key: self.key, now: self.now })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        capabilities(self.longest_packet)
    }
}

/// Capabilities of the device. Packets within one machine are not corrupted, so segments have no checksums; only the
/// bodies of mock responses are corrupted on purpose.
fn capabilities(longest_packet: usize) -> DeviceCapabilities {
    let mut checksum = ChecksumCapabilities::ignored();
    checksum.ipv4 = Calculated::Tx;
    let mut capabilities = DeviceCapabilities::default();
    capabilities.medium = Medium::Ip;
    capabilities.max_transmission_unit = longest_packet;
    capabilities.checksum = checksum;
    capabilities
}

impl RxToken for Incoming<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

impl TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        self.air.arrive(self.key, self.meta, (length, Checksum::Segment), self.now, write)
    }
}
