//! What the synthetic addresses of one command stand for.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use toolwright_sandbox::wire::SYNTHETIC;

use crate::connections::Lead;

/// How many pairs of a name and an address a command may have.
const MAX_LEADS: usize = 4096;
/// How many names a command may ask for, and how many bytes they may have together. They are bounded
/// because each lookup carries the name to its servers.
const MAX_NAMES: usize = 1024;
const MAX_NAME_BYTES: usize = 32 << 10;

/// What synthetic addresses stand for, in the order in which they were given out.
#[derive(Default)]
pub(super) struct Leads {
    given: Vec<(String, Lead)>,
    numbers: HashMap<(String, IpAddr), usize>,
    /// What names led to after they were agreed to.
    found: HashMap<String, Vec<Lead>>,
    names: HashSet<String>,
    name_bytes: usize,
}

impl Leads {
    /// Whether one more name may be asked for.
    pub(super) fn admit(&mut self, name: &str) -> bool {
        if self.names.contains(name) {
            return true;
        }
        let bytes = self.name_bytes + name.len();
        let has_room = self.names.len() < MAX_NAMES && bytes <= MAX_NAME_BYTES;
        if has_room {
            self.name_bytes = bytes;
            self.names.insert(name.to_owned());
        }
        has_room
    }

    pub(super) fn synthetic(&mut self, name: &str, lead: Lead) -> Option<u32> {
        let key = (name.to_owned(), lead.address);
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if self.given.len() < MAX_LEADS => {
                let number = self.given.len();
                self.given.push((name.to_owned(), lead));
                self.numbers.insert(key, number);
                number
            }
            None => return None,
        };
        // The first one is that of the interface.
        u32::from(SYNTHETIC.0).checked_add(u32::try_from(number + 1).ok()?)
    }

    /// Where a name leads that was looked up after it was agreed to.
    pub(super) fn found(&self, name: &str) -> Option<&[Lead]> {
        self.found.get(name).map(Vec::as_slice)
    }

    /// Keeps where a name leads. What was found first stays.
    pub(super) fn find(&mut self, name: &str, leads: Vec<Lead>) {
        self.found.entry(name.to_owned()).or_insert(leads);
    }

    pub(super) fn lead(&self, address: IpAddr) -> Option<&(String, Lead)> {
        let IpAddr::V4(address) = address else { return None };
        let number = u32::from(address).checked_sub(u32::from(SYNTHETIC.0))?.checked_sub(1)?;
        self.given.get(usize::try_from(number).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn lead(address: &str) -> Lead {
        Lead { address: address.parse().expect("an address"), port: None }
    }

    #[test]
    fn an_address_stands_for_one_name_at_one_address() {
        let mut leads = Leads::default();
        let first = leads.synthetic("a.example", lead("192.0.2.1")).expect("room");
        let second = leads.synthetic("b.example", lead("192.0.2.1")).expect("room");
        let third = leads.synthetic("a.example", lead("192.0.2.2")).expect("room");
        assert_eq!(leads.synthetic("a.example", lead("192.0.2.1")), Some(first));
        assert!(first != second && second != third && first != third);
        let of = |number: u32| leads.lead(Ipv4Addr::from(number).into()).cloned();
        assert_eq!(of(second), Some(("b.example".to_owned(), lead("192.0.2.1"))));
        assert_eq!(of(third + 1), None);
        assert_eq!(of(u32::from(SYNTHETIC.0)), None);
        assert_eq!(leads.lead("127.0.0.1".parse().expect("an address")), None);
    }

    #[test]
    fn names_are_counted() {
        let mut leads = Leads::default();
        let long = "a".repeat(200);
        let admitted = (0..1000).filter(|number| leads.admit(&format!("{long}{number}"))).count();
        assert!((100..200).contains(&admitted), "{admitted}");
        assert!(leads.admit(&format!("{long}0")), "a known one is no new one");
        let mut leads = Leads::default();
        assert_eq!((0..5000).filter(|number| leads.admit(&number.to_string())).count(), MAX_NAMES);
    }
}
