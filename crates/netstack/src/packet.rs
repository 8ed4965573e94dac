//! Parser of IP packets.

use std::net::{IpAddr, SocketAddr};

use smoltcp::wire::{IpProtocol, Ipv4Packet, Ipv6Packet, TcpPacket, UdpPacket};

/// Addresses and transport header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IpPacket<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) content: PacketContent<'a>,
    /// Whole packet, for ICMP messages that quote it.
    pub(crate) bytes: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketContent<'a> {
    Tcp(TcpHeader),
    Udp { source: u16, destination: u16, payload: &'a [u8] },
    Icmp(&'a [u8]),
    Other(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpHeader {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) sequence: i32,
    pub(crate) acknowledgement: i32,
    /// Sequence numbers that it occupies: its bytes, and one for each of SYN and FIN.
    pub(crate) length: usize,
    pub(crate) payload: usize,
    pub(crate) syn: bool,
    pub(crate) ack: bool,
    pub(crate) rst: bool,
}

impl<'a> IpPacket<'a> {
    /// Parses the headers; `None` if the packet is invalid or a fragment.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (source, destination, protocol, payload) = match bytes.first()? >> 4 {
            4 => {
                let packet = Ipv4Packet::new_checked(bytes).ok()?;
                if packet.more_frags() || packet.frag_offset() != 0 {
                    return None;
                }
                let (source, destination) = (packet.src_addr(), packet.dst_addr());
                (
                    IpAddr::V4(source),
                    IpAddr::V4(destination),
                    packet.next_header(),
                    payload_v4(bytes, &packet)?,
                )
            }
            6 => {
                let packet = Ipv6Packet::new_checked(bytes).ok()?;
                let (source, destination) = (packet.src_addr(), packet.dst_addr());
                let payload = bytes.get(packet.header_len()..packet.total_len())?;
                (IpAddr::V6(source), IpAddr::V6(destination), packet.next_header(), payload)
            }
            _ => return None,
        };
        let content = read_content(protocol, payload)?;
        Some(Self { source, destination, content, bytes })
    }

    /// Source and destination with their ports; `None` for protocols without ports.
    pub(crate) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        let (source, destination) = match self.content {
            PacketContent::Tcp(TcpHeader { source, destination, .. })
            | PacketContent::Udp { source, destination, .. } => (source, destination),
            PacketContent::Icmp(_) | PacketContent::Other(_) => return None,
        };
        Some((SocketAddr::new(self.source, source), SocketAddr::new(self.destination, destination)))
    }
}

fn payload_v4<'a>(bytes: &'a [u8], packet: &Ipv4Packet<&[u8]>) -> Option<&'a [u8]> {
    bytes.get(usize::from(packet.header_len())..usize::from(packet.total_len()))
}

fn read_content(protocol: IpProtocol, payload: &[u8]) -> Option<PacketContent<'_>> {
    Some(match protocol {
        IpProtocol::Tcp => {
            let tcp = TcpPacket::new_checked(payload).ok()?;
            PacketContent::Tcp(TcpHeader {
                source: tcp.src_port(),
                destination: tcp.dst_port(),
                sequence: tcp.seq_number().0,
                acknowledgement: tcp.ack_number().0,
                length: tcp.segment_len(),
                payload: tcp.payload().len(),
                syn: tcp.syn(),
                ack: tcp.ack(),
                rst: tcp.rst(),
            })
        }
        IpProtocol::Udp => {
            let udp = UdpPacket::new_checked(payload).ok()?;
            let payload = payload.get(8..usize::from(udp.len()))?;
            PacketContent::Udp { source: udp.src_port(), destination: udp.dst_port(), payload }
        }
        IpProtocol::Icmp | IpProtocol::Icmpv6 => PacketContent::Icmp(payload),
        other => PacketContent::Other(other.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply;

    fn udp(source: &str, destination: &str) -> Vec<u8> {
        reply::datagram(source.parse().unwrap(), destination.parse().unwrap(), b"hello").unwrap()
    }

    #[test]
    fn datagrams_of_both_ip_versions_are_parsed() {
        for (source, destination) in [("198.18.0.2:5", "1.2.3.4:6"), ("[fd00::2]:5", "[2001:db8::1]:6")] {
            let bytes = udp(source, destination);
            let packet = IpPacket::read(&bytes).unwrap();
            assert_eq!(packet.ends(), Some((source.parse().unwrap(), destination.parse().unwrap())));
            assert_eq!(packet.content, PacketContent::Udp { source: 5, destination: 6, payload: b"hello" });
        }
    }

    #[test]
    fn invalid_packets_and_fragments_are_rejected() {
        let whole = udp("198.18.0.2:5", "1.2.3.4:6");
        assert_eq!(IpPacket::read(&[]), None);
        for length in 0..whole.len() {
            assert_eq!(IpPacket::read(&whole[..length]), None, "{length}");
        }
        let mut fragment = whole.clone();
        fragment[6] |= 0x20;
        assert_eq!(IpPacket::read(&fragment), None);
        for byte in 0..whole.len() {
            let mut broken = whole.clone();
            broken[byte] ^= 0xff;
            // It may still be a packet; reading it must not panic.
            let _ = IpPacket::read(&broken);
        }
    }
}
