//! Destinations of network rules: hosts by name or address, and ports.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{ErrorClass, ErrorDetails};

/// Hosts and a port, such as `api.example.com:443`, `*.example.com`, `10.0.0.0/8` or `[2001:db8::1]:80`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkDestination {
    /// Pattern of hosts.
    pub host: HostPattern,
    /// Port; `None` for all ports.
    pub port: Option<u16>,
}

/// A pattern of hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HostPattern {
    /// All public hosts.
    Any,
    /// One name.
    Name(String),
    /// Every name below this one, at any depth.
    Below(String),
    /// A range of addresses: the prefix and its length in bits.
    Range(IpAddr, u8),
}

/// A text that is not a destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid destination '{0}': expected a name, *.name, *, an address or a range of addresses, \
     with or without :PORT, such as api.example.com:443 or 10.0.0.0/8"
)]
pub struct DestinationError(String);

impl ErrorDetails for DestinationError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}

impl HostPattern {
    /// Whether a host name matches. Address ranges match no name.
    pub fn matches_name(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Name(expected) => expected == name,
            Self::Below(above) => {
                name.strip_suffix(above.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            Self::Range(..) => false,
        }
    }

    /// Whether an address is named explicitly, by itself or in a range; `*` does not count.
    pub fn names_address(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::Range(IpAddr::V4(network), bits), IpAddr::V4(address)) => {
                same_beginning(u128::from(network.to_bits()), u128::from(address.to_bits()), 32, *bits)
            }
            (Self::Range(IpAddr::V6(network), bits), IpAddr::V6(address)) => {
                same_beginning(network.to_bits(), address.to_bits(), 128, *bits)
            }
            _ => false,
        }
    }
}

fn same_beginning(left: u128, right: u128, width: u32, bits: u8) -> bool {
    let rest = width.saturating_sub(u32::from(bits));
    left.checked_shr(rest).unwrap_or(0) == right.checked_shr(rest).unwrap_or(0)
}

impl FromStr for HostPattern {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || DestinationError(text.to_owned());
        if text == "*" {
            return Ok(Self::Any);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        if let Ok(address) = address.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            let width = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.unwrap_or(width);
            return if bits <= width { Ok(Self::Range(address, bits)) } else { Err(wrong()) };
        }
        if bits.is_some() {
            return Err(wrong());
        }
        match text.strip_prefix("*.") {
            Some(above) => Ok(Self::Below(name(above).ok_or_else(wrong)?)),
            None if text == "localhost" => Ok(Self::Range(IpAddr::from([127, 0, 0, 1]), 32)),
            None => Ok(Self::Name(name(text).ok_or_else(wrong)?)),
        }
    }
}

/// A host name in lower case and without its final dot, if it is valid.
fn name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    (text.len() <= 253 && text.split('.').all(is_label)).then_some(text)
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("*"),
            Self::Name(name) => formatter.write_str(name),
            Self::Below(above) => write!(formatter, "*.{above}"),
            Self::Range(address, 32) if address.is_ipv4() => write!(formatter, "{address}"),
            Self::Range(address, 128) => write!(formatter, "{address}"),
            Self::Range(address, bits) => write!(formatter, "{address}/{bits}"),
        }
    }
}

impl NetworkDestination {
    /// Whether a port matches.
    pub fn matches_port(&self, port: u16) -> bool {
        self.port.is_none_or(|expected| expected == port)
    }
}

impl FromStr for NetworkDestination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || DestinationError(text.to_owned());
        // An IPv6 address contains colons; with a port it is in brackets.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, Some(port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong)?))
            }
            _ => (text, None),
        };
        Ok(Self { host: host.parse().map_err(|_| wrong())?, port })
    }
}

impl fmt::Display for NetworkDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.port) {
            (HostPattern::Range(IpAddr::V6(_), _), Some(port)) => write!(formatter, "[{}]:{port}", self.host),
            (host, Some(port)) => write!(formatter, "{host}:{port}"),
            (host, None) => write!(formatter, "{host}"),
        }
    }
}

macro_rules! as_text {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = DestinationError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    };
}

as_text!(HostPattern);
as_text!(NetworkDestination);

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> HostPattern {
        text.parse().unwrap()
    }

    #[test]
    fn destinations_round_trip() {
        for text in [
            "api.example.com:443",
            "*.example.com",
            "*",
            "10.0.0.0/8",
            "10.1.2.3:80",
            "2001:db8::/32",
            "[2001:db8::1]:443",
        ] {
            assert_eq!(text.parse::<NetworkDestination>().unwrap().to_string(), text);
        }
        assert_eq!("API.Example.com.".parse::<NetworkDestination>().unwrap().to_string(), "api.example.com");
    }

    #[test]
    fn invalid_destinations_are_rejected() {
        for text in [
            "",
            ":443",
            "a b",
            "10.0.0.0/33",
            "example.com/8",
            "example.com:0",
            "example.com:https",
            "a..b",
            "*.",
        ] {
            text.parse::<NetworkDestination>().unwrap_err();
        }
    }

    #[test]
    fn a_wildcard_matches_subdomains_only() {
        let below = host("*.example.com");
        assert!(below.matches_name("a.example.com") && below.matches_name("a.b.example.com"));
        assert!(!below.matches_name("example.com") && !below.matches_name("badexample.com"));
        assert!(!below.matches_name(".example.com"));
    }

    #[test]
    fn ranges_match_only_their_addresses() {
        let names = |pattern: &str, address: &str| host(pattern).names_address(address.parse().unwrap());
        assert!(names("10.0.0.0/8", "10.255.0.1") && !names("10.0.0.0/8", "11.0.0.1"));
        assert!(names("0.0.0.0/0", "1.2.3.4") && !names("0.0.0.0/0", "::1"));
        assert!(names("::/0", "2001:db8::1") && names("2001:db8::/32", "2001:db8:1::"));
        assert!(!names("*", "10.0.0.1"));
    }
}
