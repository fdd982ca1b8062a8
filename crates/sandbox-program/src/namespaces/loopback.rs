//! The loopback interface of a new network namespace, which begins switched off.

use std::os::fd::AsRawFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::errno;

/// `SIOCSIFFLAGS`, in the type that `ioctl` takes here.
const SET_FLAGS: libc::Ioctl = 0x8914;

/// Switches it on. It then has its addresses, `127.0.0.1` and `::1`.
pub(super) fn up() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all of its bytes may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        // The type differs between architectures; the letters are in both.
        *to = libc::c_char::try_from(*from).unwrap_or_default();
    }
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP).unwrap_or(1);
    // SAFETY: the request is what this number takes, and the name in it ends with a zero.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SET_FLAGS, &raw const request) };
    if result < 0 {
        return Err(errno::last());
    }
    // The interface is private, so low ports need no privilege, which a root user does not have
    // here.
    let _ = std::fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    Ok(())
}
