//! Both ends of a connection over the loopback interface: one for a command, and one for its relay.
//!
//! A pair of unix sockets would do, but for programs that ask a socket for its addresses or set options of TCP.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_socket_keepalive, set_socket_oobinline, set_socket_reuseaddr, set_socket_reuseport,
    set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay,
};
use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind, connect, getsockname,
    ipproto, listen, shutdown, socket_with,
};

/// How long an end may take to be connected. It takes no time, unless other programs of this machine
/// connect to the same port.
const MAX_TIME: Duration = Duration::from_millis(500);
/// After this time without a byte, it is found out whether the other end is still there: a program that has
/// closed it may have left it half open.
const QUIET: Duration = Duration::from_secs(30);

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);
const HERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

/// A connection of a command, and its relay's end.
pub(super) struct Pair {
    pub(super) client: OwnedFd,
    pub(super) own: OwnedFd,
}

impl Pair {
    pub(super) fn open(is_v6: bool) -> Result<Self, Errno> {
        let (listener, at) = listener(1)?;
        let client = begin(at, is_v6)?;
        let from = port_of(&client)?;
        let limit = Timespec::try_from(MAX_TIME).ok();
        loop {
            // Another program may have connected. Nothing is said to it.
            match acceptfrom_with(&listener, FLAGS) {
                Ok((own, Some(peer))) => match SocketAddr::try_from(peer) {
                    Ok(peer) if peer == SocketAddr::from((Ipv4Addr::LOCALHOST, from)) => {
                        prepare(&own)?;
                        return Ok(Self { client, own });
                    }
                    _ => {}
                },
                Ok((_, None)) | Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::AGAIN) => {
                    let mut polled = [PollFd::new(&listener, PollFlags::IN)];
                    if poll(&mut polled, limit.as_ref())? == 0 {
                        return Err(Errno::AGAIN);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// A connection of a command that connects as long as its relay has no target. It is what a socket that does
/// not wait is to be: a program that has given it a time hears when that is over, and does other things
/// until then.
pub(super) struct Late {
    pub(super) client: OwnedFd,
    /// Its queue is full, so it answers nobody.
    listener: OwnedFd,
    _filler: OwnedFd,
    at: SocketAddr,
    from: u16,
}

impl Late {
    pub(super) fn open(is_v6: bool) -> Result<Self, Errno> {
        let (listener, at) = listener(0)?;
        let filler = begin(at, false)?;
        let client = begin(at, is_v6)?;
        let from = port_of(&client)?;
        Ok(Self { client, listener, _filler: filler, at, from })
    }

    /// Connects it. The relay's end calls from the port that is called, which TCP has as a case of its own
    /// (RFC 9293, 3.5): it does not wait until the command's end tries again.
    pub(super) fn complete(self) -> Result<OwnedFd, Errno> {
        let own = socket()?;
        bind(&own, &self.at)?;
        prepare(&own)?;
        match connect(&own, &SocketAddr::from((Ipv4Addr::LOCALHOST, self.from))) {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => {
                let limit = Timespec::try_from(MAX_TIME).ok();
                if poll(&mut [PollFd::new(&own, PollFlags::OUT)], limit.as_ref())? == 0 {
                    self.fail();
                    return Err(Errno::TIMEDOUT);
                }
            }
            Err(error) => {
                self.fail();
                return Err(error);
            }
        }
        drop(self.listener);
        Ok(own)
    }

    /// Has the command hear that there is no connection.
    pub(super) fn fail(&self) {
        let _ = shutdown(&self.client, Shutdown::Both);
    }
}

/// Sets up an end that is a relay's.
pub(super) fn prepare(socket: &OwnedFd) -> Result<(), Errno> {
    set_tcp_nodelay(socket, true)?;
    set_socket_oobinline(socket, true)?;
    set_socket_keepalive(socket, true)?;
    set_tcp_keepidle(socket, QUIET)?;
    set_tcp_keepintvl(socket, QUIET)
}

fn socket() -> Result<OwnedFd, Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
    // Ports of connections that have ended lately are free, and `Late` calls from the port it listens at.
    set_socket_reuseaddr(&socket, true)?;
    set_socket_reuseport(&socket, true)?;
    Ok(socket)
}

fn listener(backlog: i32) -> Result<(OwnedFd, SocketAddr), Errno> {
    let listener = socket()?;
    bind(&listener, &HERE)?;
    listen(&listener, backlog)?;
    let at = SocketAddr::try_from(getsockname(&listener)?)?;
    Ok((listener, at))
}

/// A socket of the caller's kind that connects there.
fn begin(at: SocketAddr, is_v6: bool) -> Result<OwnedFd, Errno> {
    let try_begin = |family, at: SocketAddr| {
        let socket = socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
        match connect(&socket, &at) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error),
        }
    };
    if is_v6 {
        let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
        let at = SocketAddrV6::new(mapped, at.port(), 0, 0);
        if let Ok(socket) = try_begin(AddressFamily::INET6, at.into()) {
            return Ok(socket);
        }
    }
    try_begin(AddressFamily::INET, at)
}

fn port_of(socket: &OwnedFd) -> Result<u16, Errno> {
    Ok(SocketAddr::try_from(getsockname(socket)?)?.port())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use rustix::net::sockopt::socket_error;

    use super::*;

    fn talk(client: OwnedFd, own: OwnedFd) {
        let mut ends = [TcpStream::from(client), TcpStream::from(own)];
        for end in &ends {
            end.set_nonblocking(false).expect("set");
        }
        for (from, to) in [(0, 1), (1, 0)] {
            ends[from].write_all(b"said").expect("sent");
            let mut heard = [0; 4];
            ends[to].read_exact(&mut heard).expect("received");
            assert_eq!(&heard, b"said");
        }
        let [client, own] = ends;
        assert_eq!(
            client.peer_addr().expect("an address").port(),
            own.local_addr().expect("one").port()
        );
    }

    #[test]
    fn both_ends_are_connected() {
        for is_v6 in [false, true] {
            let Pair { client, own } = Pair::open(is_v6).expect("a pair");
            talk(client, own);
        }
    }

    #[test]
    fn a_late_one_is_connected_when_it_is_completed() {
        for is_v6 in [false, true] {
            let late = Late::open(is_v6).expect("an end");
            let client = late.client.try_clone().expect("a copy");
            let is_there = |client: &OwnedFd| {
                let now = Timespec::default();
                poll(&mut [PollFd::new(client, PollFlags::OUT)], Some(&now)).expect("polled") > 0
            };
            assert!(!is_there(&client));
            let own = late.complete().expect("the other end");
            assert!(is_there(&client));
            assert_eq!(socket_error(&client).expect("asked"), Ok(()));
            talk(client, own);
        }
    }

    #[test]
    fn a_late_one_that_fails_says_so() {
        let late = Late::open(false).expect("an end");
        late.fail();
        assert_eq!(socket_error(&late.client).expect("asked"), Err(Errno::CONNRESET));
    }
}
