//! Names and the addresses that the sandbox was told they have.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::addresses::stand_in;

/// Names that are kept. A program that asks for more is told that there are none.
const MOST_NAMES: usize = 4096;

/// What the sandbox was told. A name keeps its addresses, whatever the name server says later.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Names that were answered with an address.
    by_address: HashMap<IpAddr, Vec<String>>,
    /// The addresses that a name was answered with.
    pinned: HashMap<String, Vec<IpAddr>>,
    /// Names behind which a mock answers, by their stand-ins.
    mocked: HashMap<IpAddr, String>,
    stand_ins: HashMap<String, (Ipv4Addr, Ipv6Addr)>,
}

impl Names {
    /// The names of an address.
    pub(crate) fn of_address(&self, address: IpAddr) -> &[String] {
        match self.mocked.get(&address) {
            Some(name) => std::slice::from_ref(name),
            None => self.by_address.get(&address).map_or(&[], Vec::as_slice),
        }
    }

    /// The mocked host that an address stands for.
    pub(crate) fn mocked(&self, address: IpAddr) -> Option<&str> {
        self.mocked.get(&address).map(String::as_str)
    }

    /// The addresses that a name was answered with.
    pub(crate) fn pinned(&self, name: &str) -> Option<&[IpAddr]> {
        self.pinned.get(name).map(Vec::as_slice)
    }

    /// Remembers what a name was answered with; false when there are too many names.
    pub(crate) fn pin(&mut self, name: &str, addresses: &[IpAddr]) -> bool {
        if self.pinned.len() >= MOST_NAMES && !self.pinned.contains_key(name) {
            return false;
        }
        self.pinned.entry(name.to_owned()).or_default().extend(addresses);
        for address in addresses {
            self.by_address.entry(*address).or_default().push(name.to_owned());
        }
        true
    }

    /// The addresses that stand for a mocked name; `None` when there are too many names.
    pub(crate) fn stand_in(&mut self, name: &str) -> Option<(Ipv4Addr, Ipv6Addr)> {
        if let Some(addresses) = self.stand_ins.get(name) {
            return Some(*addresses);
        }
        if self.stand_ins.len() >= MOST_NAMES {
            return None;
        }
        let (v4, v6) = stand_in(u16::try_from(self.stand_ins.len()).ok()?)?;
        self.stand_ins.insert(name.to_owned(), (v4, v6));
        self.mocked.insert(v4.into(), name.to_owned());
        self.mocked.insert(v6.into(), name.to_owned());
        Some((v4, v6))
    }

    /// Forgets what name servers said, because other rules hold now.
    pub(crate) fn forget_pins(&mut self) {
        self.by_address.clear();
        self.pinned.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_stays_and_is_bounded() {
        let mut names = Names::default();
        let (v4, v6) = names.stand_in("a.example").unwrap();
        assert_eq!(names.stand_in("a.example"), Some((v4, v6)));
        assert_eq!(
            (names.mocked(v4.into()), names.mocked(v6.into())),
            (Some("a.example"), Some("a.example"))
        );
        let more =
            (0..10_000).take_while(|number| names.stand_in(&format!("{number}.example")).is_some()).count();
        assert_eq!(more, MOST_NAMES - 1);
        let pins = (0..10_000).take_while(|number| names.pin(&format!("{number}"), &[])).count();
        assert_eq!(pins, MOST_NAMES);
    }
}
