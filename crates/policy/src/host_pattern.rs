//! Patterns for hosts.

use std::net::IpAddr;

use crate::Host;
use crate::error::{Problem, quoted};
use crate::host::{is_private_v4, may_begin_label, normal, split_port};
use crate::path_pattern::Specificity;
use crate::variables::{NAMES, alternatives, leading_variable};

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
    /// `api*`: names that begin so, with whatever dots follow. Never an address.
    NamePrefix(String),
    /// `10.0.*`: addresses of IPv4 that begin so.
    AddressPrefix(AddressPrefix),
    /// This one.
    Exact(String),
}

/// The first numbers of an address, with a dot behind each.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AddressPrefix {
    text: String,
    /// All of its addresses are private: then it names them, as a whole address would.
    is_private: bool,
}

impl HostPattern {
    pub(crate) fn compile(text: &str) -> Result<Self, Problem> {
        let bad = || {
            let message = format!(
                "{} is no host: write `example.com`, `*.example.com`, `api*`, `10.0.0.*` or `*`, with a port or without",
                quoted(text)
            );
            Problem::new(message)
        };
        let (name, port) = split_port(text).ok_or_else(bad)?;
        let which = match (name.strip_prefix("*."), name.strip_suffix('*')) {
            (_, Some("")) => Which::Public,
            (Some(rest), None) => Which::Below(format!(".{}", normal(rest).ok_or_else(bad)?)),
            (None, Some(start)) => prefix(start, text)?,
            (None, None) => Which::Exact(normal(name).ok_or_else(bad)?),
            (Some(_), Some(_)) => return Err(bad()),
        };
        let literals = match &which {
            Which::Public => 0,
            Which::Below(text) | Which::NamePrefix(text) | Which::Exact(text) => text.len(),
            Which::AddressPrefix(start) => start.text.len(),
        };
        let port_length = port.map_or(0, |port| port.to_string().len() + 1);
        let wildcards = usize::from(!matches!(which, Which::Exact(_)));
        let specificity = Specificity::new(literals + port_length, wildcards);
        Ok(Self { which, port, specificity })
    }

    /// `*`, at one port or at all.
    pub(crate) fn is_for_all_hosts(&self) -> bool {
        self.which == Which::Public
    }

    /// `*` without a port.
    pub(crate) fn is_everything(&self) -> bool {
        self.is_for_all_hosts() && self.port.is_none()
    }

    /// Whether it opens the host. A private host is opened by its own name or address, and by
    /// nothing that only happens to fit.
    pub(crate) fn matches(&self, host: &Host) -> bool {
        self.covers(host)
            && match &self.which {
                Which::Public => !host.is_private(),
                Which::NamePrefix(start) => {
                    !host.is_private() && is_cut_between_letters(host, start)
                }
                Which::AddressPrefix(start) => start.is_private || !host.is_private(),
                Which::Below(_) | Which::Exact(_) => true,
            }
    }

    /// Whether it opens the host at some port.
    pub(crate) fn matches_some_port(&self, host: &Host) -> bool {
        self.matches(&host.clone().with_port(self.port))
    }

    /// Whether it may close the host, or have it asked for: whatever its text fits.
    pub(crate) fn covers(&self, host: &Host) -> bool {
        let name = host.name();
        let is_port = self.port.is_none() || self.port == host.port;
        is_port
            && match &self.which {
                Which::Public => true,
                Which::Below(suffix) => name.len() > suffix.len() && name.ends_with(suffix),
                Which::NamePrefix(start) => host.address().is_none() && name.starts_with(start),
                Which::AddressPrefix(start) => {
                    matches!(host.address(), Some(IpAddr::V4(_))) && name.starts_with(&start.text)
                }
                Which::Exact(own) => name == own,
            }
    }

    pub(crate) fn text(&self) -> String {
        let name = match &self.which {
            Which::Public => "*".to_owned(),
            Which::Below(suffix) => format!("*{suffix}"),
            Which::NamePrefix(start) => format!("{start}*"),
            Which::AddressPrefix(start) => format!("{}*", start.text),
            Which::Exact(name) => name.clone(),
        };
        self.port.map_or_else(|| name.clone(), |port| format!("{name}:{port}"))
    }
}

/// Whether a prefix ends between letters of a name, and not inside the encoding of others: `x*` fits
/// the spelling of `xn--…`, and no name that is displayed. A prefix that spells the encoding out means
/// it.
fn is_cut_between_letters(host: &Host, start: &str) -> bool {
    let label = start.rfind('.').map_or(0, |dot| dot + 1);
    let cut = &start[label..];
    cut.is_empty() || cut.starts_with("xn--") || !host.name()[label..].starts_with("xn--")
}

/// What stands before a `*` at the end.
fn prefix(start: &str, text: &str) -> Result<Which, Problem> {
    let start = start.to_ascii_lowercase();
    if start.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return address_prefix(&start).map(Which::AddressPrefix).ok_or_else(|| {
            let message = format!(
                "{} is no beginning of an address: write one to three of its numbers, each with a dot behind it, as in `10.0.0.*`",
                quoted(text)
            );
            Problem::new(message)
        });
    }
    let labels: Vec<&str> = start.split('.').collect();
    let fits = labels.iter().enumerate().all(|(at, label)| {
        let is_whole = at + 1 < labels.len();
        (!is_whole || !label.is_empty()) && may_begin_label(label)
    });
    if !fits || start.len() > 253 {
        let message = format!(
            "{} is no beginning of a host: only letters of ASCII, digits, `-`, `_` and single dots can stand before a `*` at the end",
            quoted(text)
        );
        return Err(Problem::new(message));
    }
    Ok(Which::NamePrefix(start))
}

fn address_prefix(start: &str) -> Option<AddressPrefix> {
    let numbers: Vec<&str> = start.strip_suffix('.')?.split('.').collect();
    if numbers.len() > 3 {
        return None;
    }
    let mut first = [0; 4];
    for (number, octet) in numbers.iter().zip(&mut first) {
        *octet = number.parse().ok()?;
        // `010` is eight to some.
        if octet.to_string() != *number {
            return None;
        }
    }
    let mut last = first;
    last[numbers.len()..].fill(255);
    let is_private = is_private_v4(first.into()) && is_private_v4(last.into());
    Some(AddressPrefix { text: start.to_owned(), is_private })
}

/// All patterns that `text` comes to, its braces and variables written out. Variables are
/// directories, so a host pattern with one comes to nothing; an unknown one is an error.
pub(crate) fn compile(text: &str) -> Result<Vec<HostPattern>, Problem> {
    if leading_variable(text).is_some_and(|(name, _)| NAMES.contains(&name)) {
        return Err(Problem::new("a directory is no host"));
    }
    alternatives(text)?.iter().map(|text| HostPattern::compile(text)).collect()
}
