//! Hosts, as they are compared.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host as it is compared: lower case, in punycode, without a dot at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    name: String,
    pub(crate) port: Option<u16>,
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

    pub(crate) fn address(&self) -> Option<IpAddr> {
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

/// Whether an address is one of the public internet, by the registries of special-purpose addresses: what a
/// name may lead to whose owner is a stranger. `web_fetch` asks the same of its table of addresses.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !is_private_v4(address)
                && !matches!(
                    address.octets(),
                    [192, 0, 0 | 2, _]
                        | [192, 88, 99, _]
                        | [192, 31, 196, _]
                        | [192, 52, 193, _]
                        | [192, 175, 48, _]
                        | [198, 51, 100, _]
                        | [203, 0, 113, _]
                )
        }
        IpAddr::V6(address) => {
            let [first, second, third, ..] = address.segments();
            let is_assigned = first & 0xe000 == 0x2000;
            let is_special = (first == 0x2001 && (second < 0x0200 || second == 0x0db8))
                || (first == 0x2620 && second == 0x004f && third == 0x8000)
                || (first == 0x3fff && second < 0x1000);
            is_assigned && !is_special && !is_private_v6(address)
        }
    }
}

pub(crate) fn is_private_v4(address: Ipv4Addr) -> bool {
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

pub(crate) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
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

pub(crate) fn normal(name: &str) -> Option<String> {
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
    let is_label = |label: &str| !label.is_empty() && may_begin_label(label);
    // A name whose last part is a number is an address in an odd spelling.
    let last = name.rsplit('.').next().unwrap_or("");
    let is_number = last.bytes().all(|b| b.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    (name.len() <= 253 && name.split('.').all(is_label) && !is_number).then_some(name)
}

/// Whether a label of a name is, or begins with, this text.
pub(crate) fn may_begin_label(text: &str) -> bool {
    text.len() <= 63 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
