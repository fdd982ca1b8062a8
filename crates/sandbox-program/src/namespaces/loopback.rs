//! The loopback interface of a new network namespace, which begins switched off.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::errno;

/// `SIOCSIFFLAGS`, in the type that `ioctl` takes here.
const SET_FLAGS: libc::Ioctl = 0x8914;
/// `SIOCSIFADDR` and `SIOCSIFNETMASK`.
const SET_ADDRESS: libc::Ioctl = 0x8916;
const SET_NETMASK: libc::Ioctl = 0x891C;

/// Switches it on. It then has its addresses, `127.0.0.1` and `::1`.
pub(super) fn up() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut request = request_for(b"lo");
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

/// Gives the interface, which is up, one more address and the network around it. Programs that look
/// whether this machine has any address of IPv4 find one, and the addresses of that network have a route.
pub(super) fn add_address((address, length): (Ipv4Addr, u8)) -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
    for (number, value) in [(SET_ADDRESS, address), (SET_NETMASK, Ipv4Addr::from(mask))] {
        let mut request = request_for(b"lo:1");
        let mut to: libc::sockaddr = libc::sockaddr {
            sa_family: libc::sa_family_t::try_from(libc::AF_INET).unwrap_or_default(),
            sa_data: [0; 14],
        };
        // Behind two bytes of a port, as in `struct sockaddr_in`.
        for (to, from) in to.sa_data[2..].iter_mut().zip(value.octets()) {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        request.ifr_ifru.ifru_addr = to;
        // SAFETY: the request is what this number takes, and the name in it ends with a zero.
        if unsafe { libc::ioctl(socket.as_raw_fd(), number, &raw const request) } < 0 {
            return Err(errno::last());
        }
    }
    Ok(())
}

fn request_for(name: &[u8]) -> libc::ifreq {
    // SAFETY: all of its bytes may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        // The type differs between architectures; the letters are in both.
        *to = libc::c_char::try_from(*from).unwrap_or_default();
    }
    request
}
