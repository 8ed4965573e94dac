//! Network policy: decides whether a destination is allowed, denied or mocked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use menace_model::network::{HOST_NAME, HostPattern, NetworkDestination, NetworkSpec};

use crate::addresses::is_gateway;
use crate::dns_names::DnsNameTable;

/// Decision about a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DestinationDecision {
    /// A mock answers for this host.
    Mock { host: String },
    /// The flow is forwarded to this address. If it was allowed by a name, the server name in its TLS `ClientHello` must be
    /// one of `names`.
    Pass { to: SocketAddr, names: Option<Vec<String>> },
    /// The flow is refused.
    Refuse { reason: &'static str },
}

/// Decision about a DNS query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DnsDecision {
    /// Answered with a stand-in address, for which a mock answers.
    Mocked,
    /// Answered with the address of the netstack itself.
    Gateway,
    /// Resolved by the name server.
    Resolve,
    /// Answered with NXDOMAIN.
    Refuse,
}

pub(crate) const NOT_ALLOWED: &str = "no rule allows it";
const PRIVATE: &str = "the address is not public, and no rule names it";
const OWN_HOST: &str = "the address belongs to this host, and no rule names it";

/// Decides about a flow to this address.
pub(crate) fn decide(spec: &NetworkSpec, names: &DnsNameTable, to: SocketAddr) -> DestinationDecision {
    let known = names.of_address(to.ip());
    if is_gateway(to.ip()) {
        return decide_loopback(spec, to);
    }
    if let Some(host) = names.mocked(to.ip()) {
        let answers = crate::mock::answers(spec, host, to.port());
        return if answers {
            DestinationDecision::Mock { host: host.to_owned() }
        } else {
            DestinationDecision::Refuse { reason: "no mock answers on this port" }
        };
    }
    let literal = to.ip().to_string();
    if crate::mock::answers(spec, &literal, to.port()) {
        return DestinationDecision::Mock { host: literal };
    }
    decide_allowed(&spec.allow, known, to)
}

fn decide_loopback(spec: &NetworkSpec, to: SocketAddr) -> DestinationDecision {
    if crate::mock::names_host(spec, HOST_NAME, to.port()) {
        return DestinationDecision::Mock { host: HOST_NAME.to_owned() };
    }
    for loopback in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        let is_named = |rule: &NetworkDestination| {
            rule.matches_port(to.port())
                && (rule.host.names_address(loopback)
                    || loopback.is_ipv4() && rule.host == HostPattern::Name(HOST_NAME.to_owned()))
        };
        if spec.allow.iter().any(is_named) {
            return DestinationDecision::Pass { to: SocketAddr::new(loopback, to.port()), names: None };
        }
    }
    DestinationDecision::Refuse { reason: "no rule names the loopback interface of the host" }
}

fn decide_allowed(rules: &[NetworkDestination], known: &[String], to: SocketAddr) -> DestinationDecision {
    let open: Vec<&NetworkDestination> = rules.iter().filter(|rule| rule.matches_port(to.port())).collect();
    if open.iter().any(|rule| rule.host.names_address(to.ip())) {
        return DestinationDecision::Pass { to, names: None };
    }
    if is_special(to.ip()) {
        return DestinationDecision::Refuse { reason: if open.is_empty() { NOT_ALLOWED } else { PRIVATE } };
    }
    let named: Vec<String> = known
        .iter()
        .filter(|name| open.iter().any(|rule| rule.host != HostPattern::Any && rule.host.matches_name(name)))
        .cloned()
        .collect();
    let is_open = open.iter().any(|rule| rule.host == HostPattern::Any);
    if named.is_empty() && !is_open {
        return DestinationDecision::Refuse { reason: NOT_ALLOWED };
    }
    if is_of_this_host(to.ip()) {
        return DestinationDecision::Refuse { reason: OWN_HOST };
    }
    DestinationDecision::Pass { to, names: (!is_open).then_some(named) }
}

/// Decides about a DNS query for a name.
pub(crate) fn decide_name(spec: &NetworkSpec, name: &str) -> DnsDecision {
    if name == HOST_NAME {
        return DnsDecision::Gateway;
    }
    if crate::mock::answers_name(spec, name) {
        return DnsDecision::Mocked;
    }
    if spec.allow.iter().any(|rule| rule.host.matches_name(name)) {
        DnsDecision::Resolve
    } else {
        DnsDecision::Refuse
    }
}

/// Whether an address in a name server's answer may be returned to the sandbox: an allowed name must not give access to a
/// private address that no rule names.
pub(crate) fn may_be_answered(spec: &NetworkSpec, address: IpAddr) -> bool {
    !is_special(address) || spec.allow.iter().any(|rule| rule.host.names_address(address))
}

/// Whether an address is not public. IPv4 addresses embedded in IPv6 addresses are checked as well.
pub(crate) fn is_special(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_special_v4(address),
        IpAddr::V6(address) => is_special_v6(address),
    }
}

fn is_special_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || first == 0
        || first >= 240
        // Carrier-grade NAT, protocol assignments, benchmarking (the addresses of the sandbox are here).
        || (first == 100 && second & 0xc0 == 64)
        || (first, second, third) == (192, 0, 0)
        || (first == 198 && second & 0xfe == 18)
        // Host agent of Azure: a public address that only its virtual machines reach.
        || address.octets() == [168, 63, 129, 16]
}

fn is_special_v6(address: Ipv6Addr) -> bool {
    let words = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_special_v4(Ipv4Addr::new(a, b, c, d))
    };
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        // Site-local and documentation.
        || words[0] & 0xffc0 == 0xfec0
        || (words[0], words[1]) == (0x2001, 0x0db8)
        // IPv4 addresses embedded in IPv6: NAT64, 6to4, Teredo, and the deprecated compatible and translated forms.
        || (words[0] == 0x64 && words[1] == 0xff9b && embedded(words[6], words[7]))
        || (words[0] == 0x2002 && embedded(words[1], words[2]))
        || (words[0], words[1]) == (0x2001, 0)
        || words[..6] == [0; 6]
        || (words[..4] == [0; 4] && words[4] == 0xffff && words[5] == 0)
        // Discard-only, benchmarking, documentation, segment routing.
        || words[..4] == [0x100, 0, 0, 0]
        || words[..3] == [0x2001, 2, 0]
        || words[0] & 0xfff0 == 0x3ff0
        || words[0] == 0x5f00
}

/// Whether it is an address of this machine: a socket can be bound only to such an address.
fn is_of_this_host(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(rules: &[&str]) -> NetworkSpec {
        NetworkSpec {
            allow: rules.iter().map(|rule| rule.parse().unwrap()).collect(),
            ..NetworkSpec::default()
        }
    }

    fn passes(rules: &[&str], to: &str) -> bool {
        matches!(
            decide(&spec(rules), &DnsNameTable::default(), to.parse().unwrap()),
            DestinationDecision::Pass { .. }
        )
    }

    #[test]
    fn flows_are_refused_without_a_rule() {
        assert!(!passes(&[], "93.184.216.34:443"));
        assert!(passes(&["*"], "93.184.216.34:443"));
        assert!(passes(&["*:443"], "93.184.216.34:443") && !passes(&["*:443"], "93.184.216.34:80"));
        assert!(passes(&["*"], "[2606:2800:220:1::1]:443"));
    }

    #[test]
    fn non_public_addresses_have_to_be_named() {
        for address in [
            "10.0.0.1:80",
            "172.16.0.1:80",
            "192.168.1.1:80",
            "127.0.0.1:80",
            "169.254.169.254:80",
            "100.64.0.1:80",
            "0.0.0.0:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "198.18.0.9:80",
            "192.0.0.192:80",
            "[::1]:80",
            "[::]:80",
            "[fe80::1]:80",
            "[fd00:ec2::254]:80",
            "[::ffff:10.0.0.1]:80",
            "[64:ff9b::a9fe:a9fe]:80",
            "[2002:a00:1::]:80",
            "[::a00:1]:80",
            "[ff02::1]:80",
        ] {
            assert!(!passes(&["*"], address), "{address}");
        }
        assert!(
            passes(&["10.0.0.0/8"], "10.0.0.1:80") && passes(&["169.254.169.254:80"], "169.254.169.254:80")
        );
        assert!(!passes(&["10.0.0.0/8:443"], "10.0.0.1:80"));
    }

    #[test]
    fn a_name_allows_its_resolved_addresses() {
        let (spec, mut names) = (spec(&["api.example.com:443"]), DnsNameTable::default());
        let to: SocketAddr = "93.184.216.34:443".parse().unwrap();
        assert_eq!(decide(&spec, &names, to), DestinationDecision::Refuse { reason: NOT_ALLOWED });
        names.pin("api.example.com", &[to.ip()]);
        names.pin("other.example.com", &[to.ip()]);
        let names_allowed = Some(vec!["api.example.com".to_owned()]);
        assert_eq!(decide(&spec, &names, to), DestinationDecision::Pass { to, names: names_allowed });
        let port = SocketAddr::new(to.ip(), 80);
        assert_eq!(decide(&spec, &names, port), DestinationDecision::Refuse { reason: NOT_ALLOWED });
        let private: SocketAddr = "10.0.0.1:443".parse().unwrap();
        names.pin("api.example.com", &[private.ip()]);
        assert_eq!(decide(&spec, &names, private), DestinationDecision::Refuse { reason: PRIVATE });
        assert!(!may_be_answered(&spec, private.ip()));
    }

    #[test]
    fn the_host_loopback_has_to_be_named() {
        assert!(!passes(&["*"], "198.18.0.1:8080"));
        let expected = DestinationDecision::Pass { to: "127.0.0.1:8080".parse().unwrap(), names: None };
        for rule in ["127.0.0.1:8080", "localhost:8080", "host.menace.internal"] {
            let decided =
                decide(&spec(&[rule]), &DnsNameTable::default(), "198.18.0.1:8080".parse().unwrap());
            assert_eq!(decided, expected, "{rule}");
        }
    }

    #[test]
    fn names_are_resolved_only_if_a_rule_names_them() {
        let spec = spec(&["*.example.com", "10.0.0.0/8"]);
        assert_eq!(decide_name(&spec, "a.example.com"), DnsDecision::Resolve);
        assert_eq!(decide_name(&spec, "example.org"), DnsDecision::Refuse);
        assert_eq!(decide_name(&spec, HOST_NAME), DnsDecision::Gateway);
    }
}
