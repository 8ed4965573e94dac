//! Names, and the addresses with which the netstack answered DNS queries for them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::addresses::stand_in;

/// Number of names that are stored. Further names cannot be resolved.
const MAX_NAMES: usize = 4096;

/// DNS answers given to the sandbox. A name keeps its addresses, even if the name server answers differently later.
#[derive(Debug, Default)]
pub(crate) struct DnsNameTable {
    /// Names whose answers contained an address.
    by_address: HashMap<IpAddr, Vec<String>>,
    /// Addresses in the answer for a name.
    pinned: HashMap<String, Vec<IpAddr>>,
    /// Mocked names by their stand-in addresses.
    mocked: HashMap<IpAddr, String>,
    stand_ins: HashMap<String, (Ipv4Addr, Ipv6Addr)>,
}

impl DnsNameTable {
    /// Names of an address.
    pub(crate) fn of_address(&self, address: IpAddr) -> &[String] {
        match self.mocked.get(&address) {
            Some(name) => std::slice::from_ref(name),
            None => self.by_address.get(&address).map_or(&[], Vec::as_slice),
        }
    }

    /// Mocked host of a stand-in address.
    pub(crate) fn mocked(&self, address: IpAddr) -> Option<&str> {
        self.mocked.get(&address).map(String::as_str)
    }

    /// Addresses in the answer for a name.
    pub(crate) fn pinned(&self, name: &str) -> Option<&[IpAddr]> {
        self.pinned.get(name).map(Vec::as_slice)
    }

    /// Stores the addresses in the answer for a name; false when there are too many names.
    pub(crate) fn pin(&mut self, name: &str, addresses: &[IpAddr]) -> bool {
        if self.pinned.len() >= MAX_NAMES && !self.pinned.contains_key(name) {
            return false;
        }
        self.pinned.entry(name.to_owned()).or_default().extend(addresses);
        for address in addresses {
            self.by_address.entry(*address).or_default().push(name.to_owned());
        }
        true
    }

    /// Stand-in addresses of a mocked name; `None` when there are too many names.
    pub(crate) fn stand_in(&mut self, name: &str) -> Option<(Ipv4Addr, Ipv6Addr)> {
        if let Some(addresses) = self.stand_ins.get(name) {
            return Some(*addresses);
        }
        if self.stand_ins.len() >= MAX_NAMES {
            return None;
        }
        let (v4, v6) = stand_in(u16::try_from(self.stand_ins.len()).ok()?)?;
        self.stand_ins.insert(name.to_owned(), (v4, v6));
        self.mocked.insert(v4.into(), name.to_owned());
        self.mocked.insert(v6.into(), name.to_owned());
        Some((v4, v6))
    }

    /// Forgets the answers of name servers, because the rules have changed.
    pub(crate) fn forget_pins(&mut self) {
        self.by_address.clear();
        self.pinned.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_stable_and_bounded() {
        let mut names = DnsNameTable::default();
        let (v4, v6) = names.stand_in("a.example").unwrap();
        assert_eq!(names.stand_in("a.example"), Some((v4, v6)));
        assert_eq!(
            (names.mocked(v4.into()), names.mocked(v6.into())),
            (Some("a.example"), Some("a.example"))
        );
        let more =
            (0..10_000).take_while(|number| names.stand_in(&format!("{number}.example")).is_some()).count();
        assert_eq!(more, MAX_NAMES - 1);
        let pins = (0..10_000).take_while(|number| names.pin(&format!("{number}"), &[])).count();
        assert_eq!(pins, MAX_NAMES);
    }
}
