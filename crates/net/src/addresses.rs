//! Addresses inside a sandbox. Those of version 4 are from the range for benchmarks (RFC 2544), which is never routed;
//! those of version 6 are unique local ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The sandbox.
pub const SANDBOX_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// The sandbox.
pub const SANDBOX_V6: Ipv6Addr = Ipv6Addr::new(PREFIX[0], PREFIX[1], PREFIX[2], 0, 0, 0, 0, 2);
/// Menace itself: its name server, and the loopback of the host behind it.
pub const GATEWAY_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Menace itself.
pub const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(PREFIX[0], PREFIX[1], PREFIX[2], 0, 0, 0, 0, 1);
/// The longest packet between the sandbox and menace.
pub const LONGEST_PACKET: u16 = 65_520;
/// The longest packet of a connection that is shaped: that of Ethernet, so that a lost packet is what it usually is.
pub(crate) const SHAPED_PACKET: usize = 1500;

const PREFIX: [u16; 3] = [0xfd6d, 0x656e, 0x6163];

/// Whether packets to this address are for menace itself.
pub(crate) fn is_gateway(address: IpAddr) -> bool {
    address == IpAddr::V4(GATEWAY_V4) || address == IpAddr::V6(GATEWAY_V6)
}

/// The addresses that stand for the so-manieth name; `None` when there are no more.
pub(crate) fn stand_in(number: u16) -> Option<(Ipv4Addr, Ipv6Addr)> {
    // None ends in 0 or 255, which some programs take for networks.
    let (high, low) = (u8::try_from(number / 254).ok()?, u8::try_from(number % 254).ok()? + 1);
    Some((
        Ipv4Addr::new(198, 19, high, low),
        Ipv6Addr::new(PREFIX[0], PREFIX[1], PREFIX[2], 1, 0, 0, 0, number.checked_add(1)?),
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn stand_ins_differ_until_there_are_no_more() {
        let all: Vec<_> = (0..=u16::MAX).map_while(stand_in).collect();
        assert_eq!(all.len(), 256 * 254);
        assert_eq!(all.iter().map(|(v4, _)| v4).collect::<HashSet<_>>().len(), all.len());
        assert_eq!(all.iter().map(|(_, v6)| v6).collect::<HashSet<_>>().len(), all.len());
    }
}
