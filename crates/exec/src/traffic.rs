//! How many bytes the connections of a command have carried.
//!
//! The command has the sockets, and a copy here would keep a connection open that it has closed. So the
//! kernel is asked (`sock_diag`): it reports each socket of this machine's network when that is gone, and
//! those that are still there when the command has ended.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{socket_cookie, socket_domain};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, getsockname, recv, send,
    socket_with,
};

/// How many open connections are watched. The bytes of further ones are not known.
const MAX_WATCHED: usize = 1024;
/// How long the ends of connections are waited for when the command has ended: the kernel reports them a
/// little later.
const LATE: Duration = Duration::from_millis(20);

/// Reports of sockets of TCP that are gone: over IPv4, and over IPv6.
const GONE: u32 = 1 | 1 << 2;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const INET_DIAG_INFO: u16 = 2;

const HEADER: usize = 16;
/// Of `struct inet_diag_msg`, from the beginning of the message.
const COOKIE: usize = HEADER + 44;
const ATTRIBUTES: usize = HEADER + 72;
/// Of `struct tcp_info`.
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;
const BYTES_SENT: usize = 200;
const BYTES_RETRANSMITTED: usize = 208;

/// What a connection has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Carried {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Whether the other end has ever answered.
    pub(crate) was_open: bool,
}

/// The connections whose bytes are to be known, and what they are noted under.
#[derive(Debug)]
pub(crate) struct Traffic<K> {
    /// `None`: not opened yet, or the system does not tell.
    socket: Option<Arc<OwnedFd>>,
    is_refused: bool,
    watched: HashMap<u64, Watched<K>>,
}

#[derive(Debug)]
struct Watched<K> {
    key: K,
    family: u8,
    own: SocketAddr,
    other: SocketAddr,
}

impl<K> Default for Traffic<K> {
    fn default() -> Self {
        Self { socket: None, is_refused: false, watched: HashMap::new() }
    }
}

impl<K> Traffic<K> {
    /// What is readable when there is news.
    pub(crate) fn socket(&self) -> Option<Arc<OwnedFd>> {
        self.socket.clone()
    }

    /// Watches a socket that connects to `other`.
    pub(crate) fn watch(&mut self, socket: &OwnedFd, other: SocketAddr, key: K) {
        if self.watched.len() >= MAX_WATCHED || self.open().is_none() {
            return;
        }
        let watched = || -> Result<(u64, Watched<K>), Errno> {
            let own = SocketAddr::try_from(getsockname(socket)?)?;
            let family = if socket_domain(socket)? == AddressFamily::INET6 { 10 } else { 2 };
            Ok((socket_cookie(socket)?, Watched { key, family, own, other }))
        };
        self.watched.extend(watched());
    }

    /// Watches it no more.
    pub(crate) fn forget(&mut self, socket: &OwnedFd) {
        if let Ok(cookie) = socket_cookie(socket) {
            self.watched.remove(&cookie);
        }
    }

    fn open(&mut self) -> Option<&Arc<OwnedFd>> {
        if self.socket.is_none() && !self.is_refused {
            match subscribe() {
                Ok(socket) => self.socket = Some(Arc::new(socket)),
                Err(_) => self.is_refused = true,
            }
        }
        self.socket.as_ref()
    }

    /// Takes the reports that are there, and gives what is known of connections that are gone.
    pub(crate) fn hear(&mut self) -> Vec<(K, Carried)> {
        let mut heard = Vec::new();
        let Some(socket) = self.socket.clone() else { return heard };
        let mut block = [0; 8192];
        loop {
            match recv(&*socket, &mut block, RecvFlags::DONTWAIT) {
                Ok((_, count)) => {
                    for report in reports(&block[..count.min(block.len())]) {
                        let Report::Socket(cookie, carried) = report else { continue };
                        heard.extend(self.watched.remove(&cookie).map(|one| (one.key, carried)));
                    }
                }
                // More were gone at once than there is room for. Those are not known.
                Err(Errno::INTR | Errno::NOBUFS) => {}
                Err(_) => return heard,
            }
        }
    }

    /// What the rest of them has carried, for a command that has ended.
    pub(crate) fn settle(&mut self) -> Vec<(K, Carried)> {
        let mut heard = self.hear();
        let Some(socket) = self.socket.take() else { return heard };
        let still_there: Vec<_> =
            self.watched.iter().map(|(cookie, one)| one.question(*cookie)).collect();
        self.socket = Some(Arc::clone(&socket));
        let until = Instant::now() + LATE;
        for question in still_there {
            if send(&*socket, &question, SendFlags::DONTWAIT).is_ok() {
                heard.extend(self.hear());
            }
        }
        while !self.watched.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !is_readable(&socket, left) {
                break;
            }
            heard.extend(self.hear());
        }
        self.socket = None;
        self.is_refused = true;
        self.watched.clear();
        heard
    }
}

impl<K> Watched<K> {
    /// `struct inet_diag_req_v2` for the socket of this number.
    fn question(&self, cookie: u64) -> Vec<u8> {
        let mut text = Vec::with_capacity(72);
        text.extend_from_slice(&72_u32.to_ne_bytes());
        text.extend_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        text.extend_from_slice(&NLM_F_REQUEST.to_ne_bytes());
        text.extend_from_slice(&[0; 8]);
        // TCP, with its counters, in any state.
        text.extend_from_slice(&[self.family, 6, 1 << (INET_DIAG_INFO - 1), 0]);
        text.extend_from_slice(&u32::MAX.to_ne_bytes());
        text.extend_from_slice(&self.own.port().to_be_bytes());
        text.extend_from_slice(&self.other.port().to_be_bytes());
        for end in [self.own, self.other] {
            let mut address = [0; 16];
            match (end.ip(), self.family) {
                (IpAddr::V4(v4), 2) => address[..4].copy_from_slice(&v4.octets()),
                (IpAddr::V4(v4), _) => address.copy_from_slice(&v4.to_ipv6_mapped().octets()),
                (IpAddr::V6(v6), _) => address.copy_from_slice(&v6.octets()),
            }
            text.extend_from_slice(&address);
        }
        text.extend_from_slice(&[0; 4]);
        text.extend_from_slice(&cookie.to_ne_bytes());
        text
    }
}

fn subscribe() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    bind(&socket, &SocketAddrNetlink::new(0, GONE))?;
    Ok(socket)
}

fn is_readable(socket: impl AsFd, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).ok();
    poll(&mut [PollFd::new(&socket, PollFlags::IN)], limit.as_ref()).is_ok_and(|count| count > 0)
}

enum Report {
    Socket(u64, Carried),
    Other,
}

/// The messages of a packet. What is cut off is not there.
fn reports(mut packet: &[u8]) -> Vec<Report> {
    let mut all = Vec::new();
    while let Some(length) = u32_at(packet, 0).and_then(|length| usize::try_from(length).ok()) {
        if length < HEADER || length > packet.len() {
            break;
        }
        all.push(report(&packet[..length]).unwrap_or(Report::Other));
        packet = packet.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    all
}

fn report(message: &[u8]) -> Option<Report> {
    match u16_at(message, 4)? {
        SOCK_DIAG_BY_FAMILY => {}
        NLMSG_ERROR => return Some(Report::Other),
        _ => return None,
    }
    let cookie = u64_at(message, COOKIE)?;
    let mut attributes = message.get(ATTRIBUTES..)?;
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let length = usize::from(length);
        let content = attributes.get(4..length)?;
        if kind == INET_DIAG_INFO {
            return Some(Report::Socket(cookie, carried(content)?));
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

fn carried(info: &[u8]) -> Option<Carried> {
    // What begins a connection counts as one byte when it is acknowledged.
    let acked = u64_at(info, BYTES_ACKED)?;
    let sent = match (u64_at(info, BYTES_SENT), u64_at(info, BYTES_RETRANSMITTED)) {
        (Some(sent), Some(again)) => sent.saturating_sub(again),
        _ => acked.saturating_sub(1),
    };
    let received = u64_at(info, BYTES_RECEIVED)?;
    Some(Carried { sent, received, was_open: acked > 0 })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|part| u16::from_ne_bytes(*part))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|part| u32::from_ne_bytes(*part))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|part| u64::from_ne_bytes(*part))
}

#[cfg(test)]
mod tests;
