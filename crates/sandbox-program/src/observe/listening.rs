//! The ports at which a command listens: sockets that its processes have open.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect as connect_to, socket_with};

use super::processes;
use super::sockets::{Server, SocketList};

/// How long a server on the same machine may take to accept a connection into its queue.
const CONNECT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How long a socket must have listened. Programs such as Vite try a port first: they listen there, close
/// the socket at once, and listen again. Whoever connects to the first socket loses the connection.
const SETTLED: Duration = Duration::from_millis(6);

/// What was found at the last look.
#[derive(Default)]
pub(super) struct Listening {
    /// When each socket was seen first.
    since: BTreeMap<u64, Instant>,
    seen: Vec<u64>,
    ports: Vec<u16>,
}

impl Listening {
    /// The ports of the sockets that have settled, in ascending order.
    pub(super) fn ports(&mut self, list: &SocketList, is_alone: bool) -> Vec<u16> {
        self.ports_at(Instant::now(), list.servers(), |servers| own_servers(servers, is_alone))
    }

    fn ports_at(
        &mut self,
        now: Instant,
        mut servers: Vec<Server>,
        own_servers: impl FnOnce(&[Server]) -> Vec<Server>,
    ) -> Vec<u16> {
        let before = std::mem::take(&mut self.since);
        self.since = servers
            .iter()
            .map(|server| (server.inode, before.get(&server.inode).copied().unwrap_or(now)))
            .collect();
        servers.retain(|server| now.duration_since(self.since[&server.inode]) >= SETTLED);
        let inodes: Vec<u64> = servers.iter().map(|server| server.inode).collect();
        // A socket stays with its processes, so that the same sockets have the same owners.
        if inodes != self.seen {
            let own = own_servers(&servers);
            let ports: BTreeSet<u16> = own.iter().map(|server| server.address.port()).collect();
            (self.seen, self.ports) = (inodes, ports.into_iter().collect());
        }
        self.ports.clone()
    }
}

/// The lowest port at which the command listens now, for however short a time.
pub(crate) fn served_port(list: &SocketList, is_alone: bool) -> Option<u16> {
    own_servers(&list.servers(), is_alone).iter().map(|server| server.address.port()).min()
}

/// Connects to the server that the command has at a port.
pub(crate) fn connect(port: u16, list: &SocketList, is_alone: bool) -> Result<OwnedFd, Errno> {
    let own = own_servers(&list.servers(), is_alone);
    let mut servers: Vec<SocketAddr> = own.iter().map(|server| server.address).collect();
    servers.retain(|address| address.port() == port);
    // Of two, that of the older protocol.
    let mut address =
        *servers.iter().min_by_key(|address| address.is_ipv6()).ok_or(Errno::CONNREFUSED)?;
    if address.ip().is_unspecified() {
        let ip: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(ip);
    }
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect_to(&socket, &address) {
        Ok(()) => return Ok(socket),
        Err(Errno::INPROGRESS | Errno::INTR) => {}
        Err(error) => return Err(error),
    }
    match poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&CONNECT)) {
        Ok(0) => Err(Errno::TIMEDOUT),
        Ok(_) => socket_error(&socket)?.map(|()| socket),
        Err(error) => Err(error),
    }
}

/// Those that a process of the command has open.
fn own_servers(servers: &[Server], is_alone: bool) -> Vec<Server> {
    let mut left: BTreeMap<u64, Server> =
        servers.iter().map(|server| (server.inode, *server)).collect();
    let mut own = Vec::new();
    for process in processes::of_command(is_alone) {
        if left.is_empty() {
            break;
        }
        let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        let links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        own.extend(links.filter_map(|link| left.remove(&inode_of(link.to_str()?)?)));
    }
    own
}

/// Of `socket:[123]`.
fn inode_of(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_known_by_its_link() {
        assert_eq!(inode_of("socket:[12]"), Some(12));
        assert_eq!(inode_of("pipe:[12]"), None);
    }
    fn server(inode: u64, port: u16) -> Server {
        Server { inode, address: (Ipv4Addr::LOCALHOST, port).into() }
    }

    #[test]
    fn a_socket_that_only_tries_a_port_is_not_reported() {
        let start = Instant::now();
        let mut listening = Listening::default();
        let mut ports = |ms: u64, servers: &[Server]| {
            let now = start + Duration::from_millis(ms);
            listening.ports_at(now, servers.to_vec(), <[Server]>::to_vec)
        };
        // The trial, then the server itself, at the same port.
        assert_eq!(ports(0, &[server(1, 80)]), []);
        assert_eq!(ports(4, &[server(2, 80)]), []);
        assert_eq!(ports(8, &[server(2, 80), server(3, 90)]), []);
        assert_eq!(ports(12, &[server(2, 80), server(3, 90)]), [80]);
        assert_eq!(ports(16, &[server(2, 80), server(3, 90)]), [80, 90]);
        // Its end is reported at once.
        assert_eq!(ports(20, &[server(3, 90)]), [90]);
        // A number that the kernel gives again is another socket.
        assert_eq!(ports(24, &[server(2, 80), server(3, 90)]), [90]);
    }
}
