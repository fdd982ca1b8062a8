//! The calls themselves, made on a caller's socket. None of them waits for anybody.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_timeout, socket_domain, socket_protocol, socket_timeout,
};
use rustix::net::{AddressFamily, bind, connect, getsockname, ipproto, listen};

use super::address::is_loopback;
use crate::errno;

/// The shortest time the kernel knows: one tick of its clock, at most 10 ms.
const MIN_TIMEOUT: Duration = Duration::from_micros(1);

/// A state of TCP as `TCP_INFO` has it.
const CLOSED: u8 = 7;
const LISTENS: u8 = 10;

/// Refuses everything but TCP sockets. A command can make nothing else but connected pairs.
pub(super) fn check_tcp(socket: &OwnedFd) -> Result<(), Errno> {
    let is_internet = matches!(socket_domain(socket)?, AddressFamily::INET | AddressFamily::INET6);
    if is_internet && socket_protocol(socket)? == Some(ipproto::TCP) {
        Ok(())
    } else {
        Err(Errno::ACCESS)
    }
}

pub(super) enum Begun {
    Done(Result<(), Errno>),
    /// The caller waits, no longer than the limit of its socket, and then gets this answer.
    Waits(Option<Duration>, Errno),
}

/// Connects, or looks what has become of it.
///
/// The caller may change the socket's `O_NONBLOCK` at any time, so that it cannot be what keeps this
/// process from waiting. The limit for sending can: it is changed by the broker alone.
pub(super) fn connect_shortly(socket: &OwnedFd, address: &SocketAddr) -> Begun {
    shortly(socket, &[Errno::INPROGRESS, Errno::ALREADY], || connect(socket, address))
}

/// As [`connect_shortly`], by a call of the caller. `waiting` are the errors after which somebody who waits goes on to.
pub(super) fn shortly(
    socket: &OwnedFd,
    waiting: &[Errno],
    call: impl FnOnce() -> Result<(), Errno>,
) -> Begun {
    try_shortly(socket, waiting, call).unwrap_or_else(|error| Begun::Done(Err(error)))
}

fn try_shortly(
    socket: &OwnedFd,
    waiting: &[Errno],
    call: impl FnOnce() -> Result<(), Errno>,
) -> Result<Begun, Errno> {
    let limit = socket_timeout(socket, Timeout::Send)?;
    set_socket_timeout(socket, Timeout::Send, Some(MIN_TIMEOUT))?;
    let result = call();
    set_socket_timeout(socket, Timeout::Send, limit)?;
    Ok(match result {
        Err(error) if waiting.contains(&error) => {
            if fcntl_getfl(socket)?.contains(OFlags::NONBLOCK) {
                Begun::Done(Err(error))
            } else {
                Begun::Waits(limit, error)
            }
        }
        Err(Errno::INTR) => Begun::Waits(limit, Errno::INPROGRESS),
        result => Begun::Done(result),
    })
}

pub(super) fn bind_to(socket: &OwnedFd, address: &SocketAddr) -> Result<(), Errno> {
    bind(socket, address)
}

/// Listens, if the socket is bound to the loopback interface.
///
/// Between the check and the call, the caller can change a socket only in ways that do not matter.
/// A closed TCP socket changes its address only by `bind` and `connect`, which both come here. A
/// listening socket could be shut down meanwhile and forget its address, so it is left as it is. A
/// connecting socket, which could do the same, is refused.
pub(super) fn listen_on(socket: &OwnedFd, backlog: i32) -> Result<(), Errno> {
    let state = state(socket)?;
    let own: SocketAddr = getsockname(socket)?.try_into()?;
    match state {
        CLOSED | LISTENS if !is_loopback(own.ip()) => Err(Errno::ACCESS),
        CLOSED => listen(socket, backlog),
        LISTENS => Ok(()),
        _ => Err(Errno::INVAL),
    }
}

/// `setsockopt(SO_SNDTIMEO)` in either of its forms, as the caller put it.
pub(super) fn set_limit(socket: &OwnedFd, option: i32, value: &[u8]) -> Result<(), Errno> {
    let len = libc::socklen_t::try_from(value.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the kernel reads `len` bytes of the value.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value.as_ptr().cast(), len)
    };
    if result == 0 { Ok(()) } else { Err(errno::last()) }
}

/// Whether it neither connects nor listens, and is not connected.
pub(super) fn is_closed(socket: &OwnedFd) -> Result<bool, Errno> {
    Ok(state(socket)? == CLOSED)
}

pub(super) fn state(socket: &OwnedFd) -> Result<u8, Errno> {
    // The state is the first byte, and the kernel gives as much as there is room for.
    let mut info = [0_u8; 8];
    let mut len: libc::socklen_t = 8;
    // SAFETY: the kernel writes at most `len` bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if result == 0 { Ok(info[0]) } else { Err(errno::last()) }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};

    use rustix::net::sockopt::socket_timeout;
    use rustix::net::{SocketType, socket};

    use super::*;

    fn tcp() -> OwnedFd {
        socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket")
    }

    fn local(port: u16) -> SocketAddr {
        (IpAddr::from(Ipv4Addr::LOCALHOST), port).into()
    }

    #[test]
    fn only_tcp_passes() {
        assert_eq!(check_tcp(&tcp()), Ok(()));
        let udp = socket(AddressFamily::INET, SocketType::DGRAM, None).expect("a socket");
        assert_eq!(check_tcp(&udp), Err(Errno::ACCESS));
        let (pair, _) = std::os::unix::net::UnixStream::pair().expect("a pair");
        assert_eq!(check_tcp(&pair.into()), Err(Errno::ACCESS));
        let (pipe, _) = rustix::pipe::pipe().expect("a pipe");
        assert_eq!(check_tcp(&pipe), Err(Errno::NOTSOCK));
    }

    #[test]
    fn a_connection_is_made_at_once_and_keeps_the_limit() {
        let server = TcpListener::bind(local(0)).expect("a server");
        let address = server.local_addr().expect("its address");
        for limit in [None, Some(Duration::from_millis(1500))] {
            let socket = tcp();
            set_socket_timeout(&socket, Timeout::Send, limit).expect("a limit");
            assert!(matches!(connect_shortly(&socket, &address), Begun::Done(Ok(()))));
            assert_eq!(socket_timeout(&socket, Timeout::Send), Ok(limit));
            assert!(server.accept().is_ok());
        }
    }

    #[test]
    fn only_a_bound_socket_listens() {
        let unbound = tcp();
        assert_eq!(listen_on(&unbound, 1), Err(Errno::ACCESS));
        let wild = tcp();
        bind(&wild, &SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).expect("bound");
        assert_eq!(listen_on(&wild, 1), Err(Errno::ACCESS));
        let bound = tcp();
        bind(&bound, &local(0)).expect("bound");
        assert_eq!(listen_on(&bound, 1), Ok(()));
        assert_eq!(listen_on(&bound, 9), Ok(()));
        let server = TcpListener::bind(local(0)).expect("a server");
        let connected = TcpStream::connect(server.local_addr().expect("its address"));
        assert_eq!(listen_on(&connected.expect("connected").into(), 1), Err(Errno::INVAL));
    }
}
