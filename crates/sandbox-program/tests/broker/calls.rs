//! Calls as a command makes them. An error is its negative number.

use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};

use libc::{c_int, c_long};

pub(crate) const V4: c_int = libc::AF_INET;
pub(crate) const V6: c_int = libc::AF_INET6;

pub(crate) fn call<const N: usize>(number: c_long, first: [c_long; N]) -> i64 {
    let args: [c_long; 6] = std::array::from_fn(|place| first.get(place).copied().unwrap_or(0));
    // SAFETY: callers pass addresses that are null, invalid or of memory that lives.
    let result =
        unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) };
    if result == -1 {
        -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    } else {
        result
    }
}

/// A new TCP socket.
pub(crate) fn tcp(family: c_int) -> c_long {
    call(libc::SYS_socket, [family.into(), libc::SOCK_STREAM.into()])
}

/// The same, which does not wait.
pub(crate) fn hasty_tcp() -> c_long {
    call(libc::SYS_socket, [V4.into(), c_long::from(libc::SOCK_STREAM | libc::SOCK_NONBLOCK)])
}

/// An address as the kernel reads it.
pub(crate) fn bytes(address: SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { V4 } else { V6 };
    let mut bytes = u16::try_from(family).unwrap().to_ne_bytes().to_vec();
    bytes.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => {
            bytes.extend(ip.octets());
            bytes.extend([0; 8]);
        }
        IpAddr::V6(ip) => {
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.extend([0; 4]);
        }
    }
    bytes
}

pub(crate) fn at(ip: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), port)
}

/// `connect` or `bind` with an address in memory.
pub(crate) fn with(number: c_long, socket: c_long, address: &[u8]) -> i64 {
    call(number, [socket, place(address), address.len().try_into().unwrap()])
}

pub(crate) fn connect(socket: c_long, address: SocketAddr) -> i64 {
    with(libc::SYS_connect, socket, &bytes(address))
}

pub(crate) fn bind(socket: c_long, address: SocketAddr) -> i64 {
    with(libc::SYS_bind, socket, &bytes(address))
}

pub(crate) fn listen(socket: c_long) -> i64 {
    call(libc::SYS_listen, [socket, 8])
}

pub(crate) fn close(fd: c_long) -> i64 {
    call(libc::SYS_close, [fd])
}

pub(crate) fn set(socket: c_long, level: c_int, option: c_int, value: &[u8]) -> i64 {
    let len = value.len().try_into().unwrap();
    call(libc::SYS_setsockopt, [socket, level.into(), option.into(), place(value), len])
}

/// The value of an option of sockets.
pub(crate) fn get<const N: usize>(socket: c_long, option: c_int) -> [u8; N] {
    let (mut value, mut len) = ([0; N], [N]);
    let places = [place_mut(&mut value), place_mut(&mut len)];
    let answer = call(
        libc::SYS_getsockopt,
        [socket, libc::SOL_SOCKET.into(), option.into(), places[0], places[1]],
    );
    assert_eq!(answer, 0, "{option}");
    value
}

/// Where values are, for a call that reads them.
pub(crate) fn place<T>(values: &[T]) -> c_long {
    values.as_ptr().expose_provenance().cast_signed() as c_long
}

/// Where values are, for a call that writes them.
pub(crate) fn place_mut<T>(values: &mut [T]) -> c_long {
    values.as_mut_ptr().expose_provenance().cast_signed() as c_long
}

/// Where a socket is (`getsockname`) or leads (`getpeername`): port and IPv4 address.
pub(crate) fn address_by(number: c_long, socket: c_long) -> (u16, [u8; 4]) {
    let (mut address, mut len) = ([0_u8; 28], [28_u32]);
    call(number, [socket, place_mut(&mut address), place_mut(&mut len)]);
    let [_, _, port @ .., a, b, c, d] = *address.first_chunk::<8>().unwrap();
    (u16::from_be_bytes(port), [a, b, c, d])
}

/// A server outside of the command, at an address that no test passes on.
pub(crate) fn server(ip: &str) -> (TcpListener, u16) {
    let listener = TcpListener::bind(at(ip, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// An address of this machine that is not of the loopback interface.
pub(crate) fn outside() -> Option<IpAddr> {
    let socket = UdpSocket::bind(at("0.0.0.0", 0)).unwrap();
    let route = socket.connect(at("192.0.2.1", 9));
    let own = route.ok().map(|()| socket.local_addr().unwrap().ip());
    if own.is_none() {
        println!("no interface but loopback: left out");
    }
    own
}
