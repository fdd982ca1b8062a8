//! The hosts that one command reaches by name: who decides about them, and what became of each.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// How many hosts are noted. What a command adds beyond is not.
#[cfg(target_os = "linux")]
const MAX_NOTED: usize = 200;

/// Decides about the hosts of a command. Names are in small letters, without a dot at their end.
pub trait HostRules: fmt::Debug + Send + Sync {
    /// Whether a command may reach this host, at this port or, without one, at some port. A host is a name,
    /// or an address as it is written in a URL.
    fn allows(&self, host: &str, port: Option<u16>) -> bool;

    /// Whether an address is denied, whichever name leads there.
    fn denies(&self, address: SocketAddr) -> bool;

    /// Where a name leads by a word of the host's own. `None`: where the system says.
    fn lead(&self, name: &str) -> Option<Lead>;

    /// Whether a name may lead to this address: it is one of the public internet.
    fn may_lead_to(&self, address: IpAddr) -> bool;
}

/// Where the host leads a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lead {
    /// The address, which may be any.
    pub address: IpAddr,
    /// The port in place of that which a command asks for.
    pub port: Option<u16>,
}

impl Lead {
    /// What is dialled for this port.
    #[must_use]
    pub fn at(self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address, self.port.unwrap_or(port))
    }
}

/// What became of a host that a command asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Connections were opened. Whether the other end took them, the command knows.
    Opened,
    /// It may not be reached.
    Refused,
    /// The name leads to addresses outside of the public internet alone.
    Private,
    /// There is no such name.
    Unknown,
    /// It could not be looked up, or no connection could be begun.
    Failed,
    /// The command has asked for too many names.
    TooMany,
}

/// A host that a command asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its name, or its address.
    pub host: String,
    /// The port. `None`: it was only looked up.
    pub port: Option<u16>,
    /// What became of it.
    pub verdict: Verdict,
    /// How often.
    pub count: u32,
}

type Key = (String, Option<u16>, Verdict);

/// The hosts of one command.
#[derive(Debug)]
pub struct Connections {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no command is run there"))]
    pub(crate) rules: Box<dyn HostRules>,
    noted: Mutex<BTreeMap<Key, u32>>,
}

impl Connections {
    /// None yet.
    #[must_use]
    pub fn new(rules: Box<dyn HostRules>) -> Self {
        Self { rules, noted: Mutex::default() }
    }

    /// Those so far, in the order of their names. An allowed name that was only looked up is not there.
    #[must_use]
    pub fn list(&self) -> Vec<Connection> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = |((host, port, verdict), count): (&Key, &u32)| Connection {
            host: host.clone(),
            port: *port,
            verdict: *verdict,
            count: *count,
        };
        noted.iter().map(connection).collect()
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn note(&self, host: &str, port: Option<u16>, verdict: Verdict) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = noted.len() >= MAX_NOTED;
        let key = (host.to_owned(), port, verdict);
        if let Some(count) = noted.get_mut(&key) {
            *count = count.saturating_add(1);
        } else if !is_full {
            noted.insert(key, 1);
        }
    }
}
