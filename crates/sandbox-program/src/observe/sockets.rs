//! The sockets of a network that listen, as the kernel lists them.
//!
//! It does so in some twenty microseconds over a netlink socket. Its tables in `/proc` take milliseconds,
//! since it looks through all places for connections to write them; they serve where there is no such socket.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// A socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) inode: u64,
    pub(super) address: SocketAddr,
}

/// Asks the kernel about sockets. It is opened before the filter, which opens it to no one.
pub(crate) struct SocketList(Option<OwnedFd>);

const SOCK_DIAG: u32 = 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const DONE: u16 = 3;
const TCP: u8 = 6;
/// The bit of the state `LISTEN`.
const LISTENING: u32 = 1 << 10;
const HEADER: usize = 16;
const REQUEST: usize = 56;
const FAMILIES: [u8; 2] = [2, 10];

impl SocketList {
    pub(crate) fn open() -> Self {
        let protocol = NonZeroU32::new(SOCK_DIAG).map(Protocol::from_raw);
        let flags = SocketFlags::CLOEXEC;
        Self(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol).ok())
    }

    pub(super) fn is_quick(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn servers(&self) -> Vec<Server> {
        let asked = self.0.as_ref().ok_or(Errno::NOTSOCK).and_then(|socket| {
            let mut servers = Vec::new();
            for family in FAMILIES {
                ask(socket, family, &mut servers)?;
            }
            Ok(servers)
        });
        asked.unwrap_or_else(|_| of_tables())
    }
}

fn ask(socket: &OwnedFd, family: u8, servers: &mut Vec<Server>) -> Result<(), Errno> {
    let mut request = Vec::with_capacity(HEADER + REQUEST);
    request.extend_from_slice(&72_u32.to_ne_bytes());
    request.extend_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend_from_slice(&REQUEST_DUMP.to_ne_bytes());
    request.extend_from_slice(&[0; 8]);
    request.extend_from_slice(&[family, TCP, 0, 0]);
    request.extend_from_slice(&LISTENING.to_ne_bytes());
    request.resize(HEADER + REQUEST, 0);
    send(socket, &request, SendFlags::empty())?;
    let mut answer = vec![0; 32 << 10];
    loop {
        let (length, _) = recv(socket, &mut answer[..], RecvFlags::empty())?;
        let mut rest = &answer[..length];
        while let Some(header) = rest.get(..HEADER) {
            let size = word(header, 0).ok_or(Errno::BADMSG)? as usize;
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            let message = rest.get(..size).filter(|_| size >= HEADER).ok_or(Errno::BADMSG)?;
            match kind {
                DONE => return Ok(()),
                SOCK_DIAG_BY_FAMILY => servers.extend(server(&message[HEADER..])),
                _ => return Err(Errno::OPNOTSUPP),
            }
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Of a `struct inet_diag_msg`.
fn server(message: &[u8]) -> Option<Server> {
    let port = u16::from_be_bytes([*message.get(4)?, *message.get(5)?]);
    let source: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    let ip: IpAddr = match message.first()? {
        2 => Ipv4Addr::new(source[0], source[1], source[2], source[3]).into(),
        _ => Ipv6Addr::from(source).into(),
    };
    Some(Server { inode: word(message, 68)?.into(), address: SocketAddr::new(ip, port) })
}

fn of_tables() -> Vec<Server> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let tables = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(of_line).collect()
}

fn of_line(line: &str) -> Option<Server> {
    const LISTENS: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    if *fields.get(3)? != LISTENS {
        return None;
    }
    let (ip, port) = fields.get(1)?.split_once(':')?;
    let address = SocketAddr::new(address(ip)?, u16::from_str_radix(port, 16).ok()?);
    Some(Server { inode: fields.get(9)?.parse().ok()?, address })
}

/// Words of four bytes, each as this machine reads the bytes in their order on the wire.
fn address(text: &str) -> Option<IpAddr> {
    let mut bytes = [0; 16];
    let words = text.as_bytes().chunks(8);
    for (word, to) in words.zip(bytes.chunks_mut(4)) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        to.copy_from_slice(&word.to_ne_bytes());
    }
    match text.len() {
        8 => Some(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()),
        32 => Some(Ipv6Addr::from(bytes).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn both_ways_list_the_same_sockets() {
        let open = ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"];
        let open: Vec<_> = open.iter().filter_map(|at| TcpListener::bind(at).ok()).collect();
        let (list, tables) = (SocketList::open(), of_tables());
        let servers = list.servers();
        for listener in open {
            let address = listener.local_addr().expect("bound");
            let find = |servers: &[Server]| {
                servers.iter().find(|server| server.address == address).map(|server| server.inode)
            };
            assert!(find(&servers).is_some(), "{address} is not in {servers:?}");
            assert_eq!(find(&servers), find(&tables), "{address}");
        }
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0";
        let address = SocketAddr::from(([127, 0, 0, 1], 8080));
        if cfg!(target_endian = "little") {
            assert_eq!(of_line(line), Some(Server { inode: 4711, address }));
        }
        assert_eq!(of_line(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(of_line("  sl  local_address rem_address"), None);
    }
}
