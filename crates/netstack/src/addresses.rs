//! Addresses inside a sandbox. The IPv4 addresses are from the benchmarking range (RFC 2544), which is never routed; the
//! IPv6 addresses are unique local ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 address of the sandbox.
pub const SANDBOX_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// IPv6 address of the sandbox.
pub const SANDBOX_V6: Ipv6Addr = Ipv6Addr::new(PREFIX[0], PREFIX[1], PREFIX[2], 0, 0, 0, 0, 2);
/// IPv4 address of the netstack itself: its name server, and the loopback interface of the host behind it.
pub const GATEWAY_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// IPv6 address of the netstack itself.
pub const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(PREFIX[0], PREFIX[1], PREFIX[2], 0, 0, 0, 0, 1);
/// Longest packet between the sandbox and the netstack (its MTU).
pub const LONGEST_PACKET: u16 = 65_520;
/// Longest packet of a shaped connection: that of Ethernet, so that a lost packet has the usual size.
pub(crate) const SHAPED_PACKET: usize = 1500;

const PREFIX: [u16; 3] = [0xfd6d, 0x656e, 0x6163];

/// Whether packets to this address are for the netstack itself.
pub(crate) fn is_gateway(address: IpAddr) -> bool {
    address == IpAddr::V4(GATEWAY_V4) || address == IpAddr::V6(GATEWAY_V6)
}

/// Stand-in addresses of the mocked name with this number; `None` when they are used up.
pub(crate) fn stand_in(number: u16) -> Option<(Ipv4Addr, Ipv6Addr)> {
    // None ends in 0 or 255, which some programs take for network or broadcast addresses.
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
    fn stand_ins_are_distinct_until_they_are_used_up() {
        let all: Vec<_> = (0..=u16::MAX).map_while(stand_in).collect();
        assert_eq!(all.len(), 256 * 254);
        assert_eq!(all.iter().map(|(v4, _)| v4).collect::<HashSet<_>>().len(), all.len());
        assert_eq!(all.iter().map(|(_, v6)| v6).collect::<HashSet<_>>().len(), all.len());
    }
}
