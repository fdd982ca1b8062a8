//! The request of a caller in a private network.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{OwnedFd, RawFd};

use rustix::io::Errno;
use toolwright_sandbox::plan::SSH_AGENT;

use crate::broker::address::internet;
use crate::broker::caller::Caller;
use crate::broker::listener::Notification;
use crate::filter::{Architecture, calls};

/// The longest address that the kernel takes of a caller.
const MAX_ADDRESS_BYTES: usize = 128;

/// As long as `struct timeval`, in both forms of the option.
const LIMIT: usize = 16;

/// A call, with all that was in the caller's memory.
pub(in crate::broker) enum Request {
    Connect(Vec<u8>),
    Bind(Vec<u8>),
    Listen(i32),
    /// Which form of the option, and its value.
    SetLimit(i32, [u8; LIMIT]),
}

/// The descriptor of a caller.
#[derive(Debug, Clone, Copy)]
pub(in crate::broker) struct Place {
    pub(super) thread: u32,
    pub(super) descriptor: RawFd,
}

impl Place {
    /// Whether it closes on `execve`. Nobody would be left to close one that does not, so that is what is
    /// taken for one that cannot be looked at.
    pub(super) fn closes_on_exec(self) -> bool {
        let Self { thread, descriptor } = self;
        let text = fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}"));
        let flags = text.ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
            libc::c_int::from_str_radix(line.trim(), 8).ok()
        });
        flags.is_none_or(|flags| flags & libc::O_CLOEXEC != 0)
    }
}

/// Takes the caller's socket and its arguments. Both are the caller's only if the notification is
/// still valid afterwards.
pub(in crate::broker) fn read(
    notification: &Notification,
    caller: &Caller,
) -> Result<(OwnedFd, Place, Request), Errno> {
    let [fd, second, third, fourth, fifth, _] = notification.args;
    let place = Place { thread: notification.thread, descriptor: int(fd) };
    let socket = caller.descriptor(place.descriptor)?;
    let is = |call: calls::Call| call.number(Architecture::OURS) == Some(notification.number);
    if is(calls::SETSOCKOPT) {
        // The filter lets no other option come here.
        if usize::try_from(int(fifth)).is_ok_and(|len| len >= LIMIT) {
            let mut value = [0; LIMIT];
            caller.read(fourth, &mut value)?;
            return Ok((socket, place, Request::SetLimit(int(third), value)));
        }
        return Err(Errno::INVAL);
    }
    if is(calls::LISTEN) {
        return Ok((socket, place, Request::Listen(int(second))));
    }
    let length = usize::try_from(int(third)).map_err(|_| Errno::INVAL)?;
    if length > MAX_ADDRESS_BYTES {
        return Err(Errno::INVAL);
    }
    let mut bytes = vec![0; length];
    caller.read(second, &mut bytes)?;
    let request = if is(calls::CONNECT) { Request::Connect(bytes) } else { Request::Bind(bytes) };
    Ok((socket, place, request))
}

/// Whether an address is that of the SSH agent.
pub(in crate::broker) fn is_agent(address: &[u8]) -> bool {
    let Some((family, path)) = address.split_first_chunk() else { return false };
    let path = path.split(|byte| *byte == 0).next();
    libc::c_int::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX
        && path == Some(SSH_AGENT.as_bytes())
}

/// Where a connection is to lead.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The private network's own loopback interface.
    Loopback(SocketAddr),
    /// Somewhere else.
    Host(IpAddr, u16),
    /// Nowhere: the connection is dissolved.
    None,
}

impl Target {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Errno> {
        let family = bytes.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes));
        if family.is_some_and(|family| libc::c_int::from(family) == libc::AF_UNSPEC) {
            return Ok(Self::None);
        }
        let address = internet(bytes)?;
        let ip = match address.ip() {
            IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4),
            v4 @ IpAddr::V4(_) => v4,
        };
        // The kernel takes an unspecified address for that of this machine.
        if ip.is_loopback() || ip.is_unspecified() {
            Ok(Self::Loopback(address))
        } else {
            Ok(Self::Host(ip, address.port()))
        }
    }
}

/// As the kernel takes an `int`.
#[expect(clippy::cast_possible_truncation, reason = "the kernel truncates")]
fn int(arg: u64) -> i32 {
    arg as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(ip: [u8; 4], port: u16) -> Vec<u8> {
        let mut bytes = 2_u16.to_ne_bytes().to_vec();
        bytes.extend(port.to_be_bytes());
        bytes.extend(ip);
        bytes.extend([0; 8]);
        bytes
    }

    fn v6(ip: &str, port: u16) -> Vec<u8> {
        let mut bytes = 10_u16.to_ne_bytes().to_vec();
        bytes.extend(port.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(ip.parse::<std::net::Ipv6Addr>().expect("an address").octets());
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn only_loopback_stays_in_the_private_network() {
        for bytes in [
            v4([127, 0, 0, 1], 80),
            v4([127, 9, 9, 9], 80),
            v4([0; 4], 80),
            v6("::1", 80),
            v6("::", 80),
            v6("::ffff:127.0.0.1", 80),
        ] {
            assert!(matches!(Target::read(&bytes), Ok(Target::Loopback(_))), "{bytes:?}");
        }
        let host = |text: &str, port| Ok(Target::Host(text.parse().expect("an address"), port));
        assert_eq!(Target::read(&v4([198, 18, 0, 7], 443)), host("198.18.0.7", 443));
        assert_eq!(Target::read(&v6("::ffff:198.18.0.7", 443)), host("198.18.0.7", 443));
        assert_eq!(Target::read(&v6("2001:db8::1", 1)), host("2001:db8::1", 1));
        assert_eq!(Target::read(&v4([255; 4], 1)), host("255.255.255.255", 1));
    }

    #[test]
    fn what_is_no_address_of_the_internet_leads_nowhere() {
        assert_eq!(Target::read(&[0, 0]), Ok(Target::None));
        assert_eq!(Target::read(&[]), Err(Errno::INVAL));
        assert_eq!(Target::read(&[1, 0, b'/', b'x']), Err(Errno::AFNOSUPPORT));
        assert_eq!(Target::read(&v4([127, 0, 0, 1], 80)[..9]), Err(Errno::INVAL));
    }
}
