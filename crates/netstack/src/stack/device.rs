//! Network device of one connection, for the TCP library: its incoming packet, and the link to the sandbox.

use std::time::Instant;

use smoltcp::phy::{
    Checksum as Calculated, ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken,
};

use super::flow_entry::{FlowKey, FlowProgress};
use super::link::SimulatedLink;
use super::tun::ChecksumState;

pub(super) struct ConnectionDevice<'a> {
    pub(super) incoming: Option<&'a [u8]>,
    pub(super) air: &'a mut SimulatedLink,
    pub(super) meta: &'a mut FlowProgress,
    pub(super) key: FlowKey,
    pub(super) now: Instant,
    pub(super) longest_packet: usize,
}

pub(super) struct DeviceReceiveToken<'a>(&'a [u8]);

pub(super) struct DeviceTransmitToken<'a> {
    air: &'a mut SimulatedLink,
    meta: &'a mut FlowProgress,
    key: FlowKey,
    now: Instant,
}

impl Device for ConnectionDevice<'_> {
    type RxToken<'a>
        = DeviceReceiveToken<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = DeviceTransmitToken<'a>
    where
        Self: 'a;

    fn receive(
        &mut self,
        _: smoltcp::time::Instant,
    ) -> Option<(DeviceReceiveToken<'_>, DeviceTransmitToken<'_>)> {
        let incoming = DeviceReceiveToken(self.incoming.take()?);
        Some((incoming, DeviceTransmitToken { air: self.air, meta: self.meta, key: self.key, now: self.now }))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<DeviceTransmitToken<'_>> {
        let has_room = self.air.has_room(self.now);
        has_room.then_some(DeviceTransmitToken {
            air: self.air,
            meta: self.meta,
            key: self.key,
            now: self.now,
        })
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

impl RxToken for DeviceReceiveToken<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

impl TxToken for DeviceTransmitToken<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        self.air.send_to_sandbox(self.key, self.meta, (length, ChecksumState::Segment), self.now, write)
    }
}
