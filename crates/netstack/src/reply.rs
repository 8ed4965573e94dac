//! Packets that the netstack creates itself: datagrams, refusals, echo replies.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    Icmpv4DstUnreachable, Icmpv4Packet, Icmpv4Repr, Icmpv6DstUnreachable, Icmpv6Packet, Icmpv6Repr,
    IpAddress, IpProtocol, IpRepr, Ipv4Packet, Ipv4Repr, Ipv6Packet, Ipv6Repr, TcpControl, TcpPacket,
    TcpRepr, TcpSeqNumber, UdpPacket, UdpRepr,
};

use crate::packet::{IpPacket, TcpHeader};

const HOPS: u8 = 64;
/// Bytes of a packet that are quoted in an ICMP message to its sender.
const QUOTED: usize = 512;

/// Creates a UDP datagram; `None` if it is too long, or if its addresses differ in IP version.
pub(crate) fn datagram(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Option<Vec<u8>> {
    let udp = UdpRepr { src_port: from.port(), dst_port: to.port() };
    let length = udp.header_len() + payload.len();
    if length > usize::from(u16::MAX) - 20 {
        return None;
    }
    let (source, destination) = (IpAddress::from(from.ip()), IpAddress::from(to.ip()));
    let (mut bytes, start) = envelope(from.ip(), to.ip(), IpProtocol::Udp, length)?;
    let mut packet = UdpPacket::new_unchecked(bytes.get_mut(start..)?);
    let checksums = ChecksumCapabilities::default();
    udp.emit(
        &mut packet,
        &source,
        &destination,
        payload.len(),
        |space| space.copy_from_slice(payload),
        &checksums,
    );
    Some(bytes)
}

/// Creates the reset with which a closed port answers a segment; `None` if the segment is itself a reset.
pub(crate) fn reset(packet: &IpPacket, header: &TcpHeader) -> Option<Vec<u8>> {
    if header.rst {
        return None;
    }
    let length = i32::try_from(header.length).ok()?;
    let (seq_number, ack_number) = if header.ack {
        (TcpSeqNumber(header.acknowledgement), None)
    } else {
        (TcpSeqNumber(0), Some(TcpSeqNumber(header.sequence.wrapping_add(length))))
    };
    let tcp = TcpRepr {
        src_port: header.destination,
        dst_port: header.source,
        control: TcpControl::Rst,
        seq_number,
        ack_number,
        window_len: 0,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None, None, None],
        timestamp: None,
        payload: &[],
    };
    let (from, to) = (packet.destination, packet.source);
    let (mut bytes, start) = envelope(from, to, IpProtocol::Tcp, tcp.buffer_len())?;
    let mut segment = TcpPacket::new_unchecked(bytes.get_mut(start..)?);
    tcp.emit(&mut segment, &from.into(), &to.into(), &ChecksumCapabilities::default());
    Some(bytes)
}

/// Reason in a destination-unreachable message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnreachableReason {
    /// The port is closed.
    Port,
    /// There is no route to the host.
    Host,
    /// The policy does not allow it.
    Prohibited,
}

/// Creates a destination-unreachable message to the sender of a packet.
pub(crate) fn unreachable(packet: &IpPacket, why: UnreachableReason) -> Option<Vec<u8>> {
    match (packet.destination, packet.source) {
        (IpAddr::V4(from), IpAddr::V4(to)) => unreachable_v4(packet.bytes, from, to, why),
        (IpAddr::V6(from), IpAddr::V6(to)) => unreachable_v6(packet.bytes, from, to, why),
        _ => None,
    }
}

fn unreachable_v4(bytes: &[u8], from: Ipv4Addr, to: Ipv4Addr, why: UnreachableReason) -> Option<Vec<u8>> {
    let quoted = Ipv4Packet::new_checked(bytes).ok()?;
    let header = Ipv4Repr::parse(&quoted, &ChecksumCapabilities::ignored()).ok()?;
    let start = usize::from(quoted.header_len());
    let data = bytes.get(start..bytes.len().min(start + QUOTED))?;
    let reason = match why {
        UnreachableReason::Port => Icmpv4DstUnreachable::PortUnreachable,
        UnreachableReason::Host => Icmpv4DstUnreachable::HostUnreachable,
        UnreachableReason::Prohibited => Icmpv4DstUnreachable::CommProhibited,
    };
    message_v4(from, to, &Icmpv4Repr::DstUnreachable { reason, header, data })
}

fn unreachable_v6(bytes: &[u8], from: Ipv6Addr, to: Ipv6Addr, why: UnreachableReason) -> Option<Vec<u8>> {
    let quoted = Ipv6Packet::new_checked(bytes).ok()?;
    let header = Ipv6Repr::parse(&quoted).ok()?;
    let start = quoted.header_len();
    let data = bytes.get(start..bytes.len().min(start + QUOTED))?;
    let reason = match why {
        UnreachableReason::Port => Icmpv6DstUnreachable::PortUnreachable,
        UnreachableReason::Host => Icmpv6DstUnreachable::AddrUnreachable,
        UnreachableReason::Prohibited => Icmpv6DstUnreachable::AdminProhibit,
    };
    message_v6(from, to, &Icmpv6Repr::DstUnreachable { reason, header, data })
}

/// Creates the reply to an echo request; `None` for any other message.
pub(crate) fn echo(packet: &IpPacket, message: &[u8]) -> Option<Vec<u8>> {
    let ignored = ChecksumCapabilities::ignored();
    match (packet.destination, packet.source) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let asked = Icmpv4Packet::new_checked(message).ok()?;
            match Icmpv4Repr::parse(&asked, &ignored).ok()? {
                Icmpv4Repr::EchoRequest { ident, seq_no, data } => {
                    message_v4(from, to, &Icmpv4Repr::EchoReply { ident, seq_no, data })
                }
                _ => None,
            }
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let asked = Icmpv6Packet::new_checked(message).ok()?;
            match Icmpv6Repr::parse(&to, &from, &asked, &ignored).ok()? {
                Icmpv6Repr::EchoRequest { ident, seq_no, data } => {
                    message_v6(from, to, &Icmpv6Repr::EchoReply { ident, seq_no, data })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn message_v4(from: Ipv4Addr, to: Ipv4Addr, message: &Icmpv4Repr) -> Option<Vec<u8>> {
    let (mut bytes, start) = envelope(from.into(), to.into(), IpProtocol::Icmp, message.buffer_len())?;
    let mut packet = Icmpv4Packet::new_unchecked(bytes.get_mut(start..)?);
    message.emit(&mut packet, &ChecksumCapabilities::default());
    Some(bytes)
}

fn message_v6(from: Ipv6Addr, to: Ipv6Addr, message: &Icmpv6Repr) -> Option<Vec<u8>> {
    let (mut bytes, start) = envelope(from.into(), to.into(), IpProtocol::Icmpv6, message.buffer_len())?;
    let mut packet = Icmpv6Packet::new_unchecked(bytes.get_mut(start..)?);
    message.emit(&from, &to, &mut packet, &ChecksumCapabilities::default());
    Some(bytes)
}

/// Packet with its IP header and an empty payload, and the offset of the payload.
fn envelope(from: IpAddr, to: IpAddr, protocol: IpProtocol, length: usize) -> Option<(Vec<u8>, usize)> {
    let same_version = from.is_ipv4() == to.is_ipv4();
    if !same_version {
        return None;
    }
    let header = IpRepr::new(from.into(), to.into(), protocol, length, HOPS);
    let mut bytes = vec![0; header.buffer_len()];
    header.emit(bytes.as_mut_slice(), &ChecksumCapabilities::default());
    let start = header.header_len();
    Some((bytes, start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketContent;

    #[test]
    fn a_refusal_is_sent_to_the_source_of_the_packet() {
        for (from, to) in [("198.18.0.2:5", "1.2.3.4:6"), ("[fd00::2]:5", "[2001:db8::1]:6")] {
            let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            let bytes = datagram(from, to, &[7; 2000]).unwrap();
            let refusal =
                unreachable(&IpPacket::read(&bytes).unwrap(), UnreachableReason::Prohibited).unwrap();
            let refusal = IpPacket::read(&refusal).unwrap();
            assert_eq!((refusal.source, refusal.destination), (to.ip(), from.ip()));
            assert!(matches!(refusal.content, PacketContent::Icmp(_)));
            assert!(refusal.bytes.len() < 700);
        }
    }

    #[test]
    fn a_reset_acknowledges_the_segment_and_never_answers_a_reset() {
        let header = TcpHeader {
            source: 5,
            destination: 6,
            sequence: 41,
            acknowledgement: 0,
            length: 1,
            payload: 0,
            syn: true,
            ack: false,
            rst: false,
        };
        let bytes = datagram("198.18.0.2:5".parse().unwrap(), "1.2.3.4:6".parse().unwrap(), b"").unwrap();
        let packet = IpPacket::read(&bytes).unwrap();
        let answer = reset(&packet, &header).unwrap();
        let PacketContent::Tcp(answer) = IpPacket::read(&answer).unwrap().content else {
            panic!("not a TCP segment")
        };
        assert!(answer.rst && answer.ack);
        assert_eq!((answer.source, answer.destination, answer.acknowledgement), (6, 5, 42));
        assert_eq!(reset(&packet, &TcpHeader { rst: true, ..header }), None);
    }

    #[test]
    fn datagrams_that_are_too_long_or_of_mixed_ip_versions_are_rejected() {
        let (v4, v6): (SocketAddr, SocketAddr) = ("1.2.3.4:5".parse().unwrap(), "[::1]:5".parse().unwrap());
        assert_eq!(datagram(v4, v6, b""), None);
        assert_eq!(datagram(v4, v4, &vec![0; 65_520]), None);
    }
}
