//! Hosts, and patterns for them.

use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

use crate::error::Problem;
use crate::error::quoted;
use crate::path_pattern::Specificity;

/// A host as it is compared: lower case, in punycode, without a dot at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// Takes the host of a URL, with or without a port. `None` for what is no host.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, port) = split_port(text)?;
        Some(Self { name: normal(name)?, port })
    }

    /// With the port, if there is none yet.
    #[must_use]
    pub fn with_port(mut self, port: Option<u16>) -> Self {
        self.port = self.port.or(port);
        self
    }

    /// The name as it is compared.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is this machine, a network of its own, or a place that only machines on the same
    /// wire have: what a pattern for all hosts does not stand for.
    #[must_use]
    pub fn is_private(&self) -> bool {
        if self.name == "localhost" || self.name.ends_with(".localhost") {
            return true;
        }
        match self.address() {
            Some(IpAddr::V4(address)) => is_private_v4(address),
            Some(IpAddr::V6(address)) => is_private_v6(address),
            None => false,
        }
    }

    fn address(&self) -> Option<IpAddr> {
        let name = self.name.trim_start_matches('[').trim_end_matches(']');
        name.parse().ok()
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Whether an address is one that needs a grant of its own.
#[must_use]
pub fn is_private_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || a == 0
        || (a == 100 && (64..128).contains(&b)) // carriers' own
        || (a == 198 && (b == 18 || b == 19)) // for measurements
        || a >= 240
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    if let Some(inside) = address.to_ipv4_mapped().or_else(|| address.to_ipv4()) {
        return address.is_loopback() || is_private_v4(inside);
    }
    let first = address.segments()[0];
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || first & 0xfe00 == 0xfc00
        || first & 0xffc0 == 0xfe80
        || (first == 0x64 && address.segments()[1] == 0xff9b) // IPv4 behind a translator
        || first == 0x2002 // and inside of it
}

fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let behind_bracket = text.rfind(']').map_or(0, |at| at + 1);
    match text[behind_bracket..].split_once(':') {
        None => Some((text, None)),
        // More than one colon without brackets: an address of IPv6.
        Some((_, port)) if behind_bracket == 0 && port.contains(':') => Some((text, None)),
        Some((name, port)) => {
            let name = &text[..behind_bracket + name.len()];
            let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            Some((name, Some(port.parse().ok().filter(|_| digits)?)))
        }
    }
}

fn normal(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Some(match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        });
    }
    let name = idna::domain_to_ascii(name).ok()?.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name).to_owned();
    let fits = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    // A name whose last part is a number is an address in an odd spelling.
    let last = name.rsplit('.').next().unwrap_or("");
    let is_number = last.bytes().all(|b| b.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    (name.len() <= 253 && name.split('.').all(fits) && !is_number).then_some(name)
}

/// A pattern for hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPattern {
    which: Which,
    port: Option<u16>,
    pub(crate) specificity: Specificity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    /// `*`: all but those of [`Host::is_private`].
    Public,
    /// `*.example.com`: with the dot in front.
    Below(String),
    /// This one.
    Exact(String),
}

impl HostPattern {
    pub(crate) fn compile(text: &str) -> Result<Self, Problem> {
        let bad = || {
            let said = format!(
                "{} is no host: write `example.com`, `*.example.com` or `*`, with a port or without",
                quoted(text)
            );
            Problem::new(said)
        };
        let (name, port) = split_port(text).ok_or_else(bad)?;
        let which = match name.strip_prefix("*.") {
            _ if name == "*" => Which::Public,
            Some(rest) => Which::Below(format!(".{}", normal(rest).ok_or_else(bad)?)),
            None => Which::Exact(normal(name).ok_or_else(bad)?),
        };
        let port_length = port.map_or(0, |port| port.to_string().len() + 1);
        let specificity = match &which {
            Which::Public => Specificity::new(port_length, 1),
            Which::Below(name) => Specificity::new(name.len() + port_length, 1),
            Which::Exact(name) => Specificity::new(name.len() + port_length, 0),
        };
        Ok(Self { which, port, specificity })
    }

    /// `*` without a port.
    pub(crate) fn is_everything(&self) -> bool {
        self.which == Which::Public && self.port.is_none()
    }

    pub(crate) fn matches(&self, host: &Host) -> bool {
        let port_fits = self.port.is_none() || self.port == host.port;
        port_fits
            && match &self.which {
                Which::Public => !host.is_private(),
                Which::Below(suffix) => {
                    host.name.len() > suffix.len() && host.name.ends_with(suffix.as_str())
                }
                Which::Exact(name) => host.name == *name,
            }
    }

    pub(crate) fn text(&self) -> String {
        let name = match &self.which {
            Which::Public => "*".to_owned(),
            Which::Below(suffix) => format!("*{suffix}"),
            Which::Exact(name) => name.clone(),
        };
        self.port.map_or_else(|| name.clone(), |port| format!("{name}:{port}"))
    }
}

/// All patterns that `text` comes to, its braces and variables written out. Variables are
/// directories, so a host pattern with one comes to nothing; an unknown one is an error.
pub(crate) fn compile(text: &str) -> Result<Vec<HostPattern>, Problem> {
    if text.starts_with("{workspace}")
        || text.starts_with("{ad-hoc}")
        || text.starts_with("{user-data}")
    {
        return Err(Problem::new("a directory is no host"));
    }
    crate::variables::alternatives(text)?.iter().map(|text| HostPattern::compile(text)).collect()
}
