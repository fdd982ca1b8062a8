//! What is asked of sockets, and done to them, where some are of another network.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_error, socket_protocol, socket_type};
use rustix::net::{AddressFamily, SocketType, ipproto};

use crate::broker::socket::state;
use crate::errno;

/// `SO_NETNS_COOKIE`, since Linux 5.14.
const NETWORK: libc::c_int = 71;

const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;

/// The options that the socket of a caller hands on to the one that takes its place: level and number.
pub(super) const OPTIONS: [(libc::c_int, libc::c_int); 12] = [
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
    (libc::SOL_SOCKET, libc::SO_LINGER),
    (libc::SOL_SOCKET, libc::SO_OOBINLINE),
    (libc::SOL_SOCKET, libc::SO_RCVTIMEO),
    (libc::SOL_SOCKET, libc::SO_SNDTIMEO),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
    (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT),
    (libc::IPPROTO_TCP, libc::TCP_QUICKACK),
];

/// The kernel's number for the network of a socket.
pub(crate) fn own_network(socket: impl AsFd) -> Result<u64, Errno> {
    let mut number = 0_u64;
    let mut length: libc::socklen_t = 8;
    // SAFETY: the kernel writes at most `length` bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            NETWORK,
            (&raw mut number).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(number) } else { Err(errno::last()) }
}

pub(super) fn is_tcp(socket: &OwnedFd) -> Result<bool, Errno> {
    let is_internet = matches!(socket_domain(socket)?, AddressFamily::INET | AddressFamily::INET6);
    Ok(is_internet && socket_protocol(socket)? == Some(ipproto::TCP))
}

/// Whether a call on it says nothing but where in the private network it is.
pub(super) fn is_plain(socket: &OwnedFd) -> Result<bool, Errno> {
    let domain = socket_domain(socket)?;
    Ok(matches!(domain, AddressFamily::INET | AddressFamily::INET6 | AddressFamily::NETLINK))
}

/// Whether it could be connected to an agent.
pub(super) fn is_unix_stream(socket: &OwnedFd) -> Result<bool, Errno> {
    Ok(socket_domain(socket)? == AddressFamily::UNIX && socket_type(socket)? == SocketType::STREAM)
}

/// What has become of the connection of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Connected,
    Connecting,
    Failed(Errno),
}

pub(super) fn progress(socket: &OwnedFd) -> Progress {
    let of = || -> Result<Progress, Errno> {
        // A pair is connected from its beginning.
        if socket_domain(socket)? == AddressFamily::UNIX {
            return Ok(Progress::Connected);
        }
        let progress = match state(socket)? {
            SYN_SENT => Progress::Connecting,
            ESTABLISHED => Progress::Connected,
            _ => match socket_error(socket)? {
                Err(error) => Progress::Failed(error),
                // It was connected, and the other end has closed it.
                Ok(()) => Progress::Connected,
            },
        };
        Ok(progress)
    };
    of().unwrap_or_else(Progress::Failed)
}

/// The answer to a second `connect` on a socket of the host's network.
pub(super) fn connects_again(socket: &OwnedFd) -> Errno {
    match progress(socket) {
        Progress::Connecting => Errno::ALREADY,
        Progress::Connected => Errno::ISCONN,
        Progress::Failed(error) => error,
    }
}

pub(super) fn waits(socket: &OwnedFd) -> Result<bool, Errno> {
    Ok(!fcntl_getfl(socket)?.contains(OFlags::NONBLOCK))
}

/// Has one socket take over from another what its owner has set.
pub(super) fn take_over(new: &OwnedFd, old: &OwnedFd) -> Result<(), Errno> {
    for (level, option) in OPTIONS {
        let mut value = [0_u8; 32];
        let mut length: libc::socklen_t = 32;
        // SAFETY: the kernel writes at most `length` bytes, and reads as many as it has written. An option
        // that one of the two does not have is left alone.
        unsafe {
            let (from, to) = (old.as_raw_fd(), new.as_raw_fd());
            let place = value.as_mut_ptr().cast::<libc::c_void>();
            if libc::getsockopt(from, level, option, place, &raw mut length) == 0 {
                libc::setsockopt(to, level, option, place, length);
            }
        }
    }
    let status = OFlags::NONBLOCK | OFlags::APPEND;
    let kept = fcntl_getfl(old)? & status;
    fcntl_setfl(new, (fcntl_getfl(new)? - status) | kept)
}

/// `connect` or `bind` as the caller wrote its address, on a socket that does not wait.
pub(in crate::broker) fn call_on(
    socket: &OwnedFd,
    address: &[u8],
    call: unsafe extern "C" fn(libc::c_int, *const libc::sockaddr, libc::socklen_t) -> libc::c_int,
) -> Result<(), Errno> {
    let length = libc::socklen_t::try_from(address.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the kernel reads `length` bytes.
    let result = unsafe { call(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    if result == 0 { Ok(()) } else { Err(errno::last()) }
}
