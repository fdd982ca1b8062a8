//! Sockets below the transport, and of families that have nothing to do with the internet.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::{Arguments, c_string};
use crate::descriptors::read;
use crate::internet::{family, send_to, socket, wire_address};
use crate::outcome::{Done, Outcome, Refused, attacks, check, system_call};

attacks! { raw, raw_with_header, packet, eavesdrop, family = any_family }

/// A datagram with its header, without a checksum.
fn datagram(to: SocketAddr, token: &str) -> Vec<u8> {
    let length = (8 + token.len()) as u16;
    let mut bytes = Vec::new();
    for word in [40_000, to.port(), length, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(token.as_bytes());
    bytes
}

/// The same in a packet of the internet protocol, version 4.
fn ip_packet(from: Ipv4Addr, to: SocketAddr, token: &str) -> Vec<u8> {
    let IpAddr::V4(ip) = to.ip() else { return Vec::new() };
    let body = datagram(to, token);
    let mut bytes = vec![0x45, 0];
    bytes.extend(((20 + body.len()) as u16).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, libc::IPPROTO_UDP as u8, 0, 0]);
    bytes.extend(from.octets());
    bytes.extend(ip.octets());
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
    bytes[10..12].copy_from_slice(&folded.to_be_bytes());
    bytes.extend(body);
    bytes
}

fn raw(arguments: &Arguments) -> Outcome {
    let address = arguments.address(0)?;
    let bytes = datagram(address, arguments.text(1)?);
    let to = wire_address(SocketAddr::new(address.ip(), 0));
    send_to(socket(family(address), libc::SOCK_RAW, libc::IPPROTO_UDP)?, &bytes, 0, &to)
}

fn raw_with_header(arguments: &Arguments) -> Outcome {
    let address = arguments.address(0)?;
    let bytes = ip_packet(Ipv4Addr::LOCALHOST, address, arguments.text(1)?);
    let to = wire_address(SocketAddr::new(address.ip(), 0));
    send_to(socket(family(address), libc::SOCK_RAW, libc::IPPROTO_RAW)?, &bytes, 0, &to)
}

/// The loopback interface, as a packet socket names it.
fn loopback(protocol: i32) -> Result<libc::sockaddr_ll, Refused> {
    let name = c_string("lo")?;
    // SAFETY: the name ends with a NUL byte.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    check("if_nametoindex", if index == 0 { -1 } else { 0 })?;
    // SAFETY: all fields may be zero.
    let mut place: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    place.sll_family = libc::AF_PACKET as u16;
    place.sll_protocol = (protocol as u16).to_be();
    place.sll_ifindex = index as i32;
    place.sll_halen = 6;
    Ok(place)
}

/// Puts a packet on the interface, as if it came from an unused address.
fn packet(arguments: &Arguments) -> Outcome {
    let from = Ipv4Addr::new(192, 0, 2, 7);
    let bytes = ip_packet(from, arguments.address(0)?, arguments.text(1)?);
    let to = loopback(libc::ETH_P_IP)?;
    let fd = socket(libc::AF_PACKET, libc::SOCK_DGRAM, i32::from(to.sll_protocol))?;
    let (place, length) = (&raw const to, size_of_val(&to));
    system_call!(SYS_sendto, fd, &bytes, bytes.len(), 0, place, length).done()
}

/// Prints packets on the interface until a word arrives, or for this number of milliseconds.
fn eavesdrop(arguments: &Arguments) -> Outcome {
    let (word, wait) = (arguments.text(0)?, arguments.number(1)?);
    let on = loopback(libc::ETH_P_ALL)?;
    let protocol = i32::from(on.sll_protocol);
    let fd = socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, protocol)?;
    system_call!(SYS_bind, fd, &raw const on, size_of_val(&on))?;
    let end = Instant::now() + Duration::from_millis(wait);
    while Instant::now() < end {
        match read(fd) {
            Ok(text) => {
                if let Some(at) = text.find(word) {
                    return Ok(text[at..].to_owned());
                }
            }
            Err(_) => thread::sleep(Duration::from_millis(2)),
        }
    }
    Err(Refused::without_effect("read"))
}

/// A socket of a family given by its number, with a type and a protocol.
fn any_family(arguments: &Arguments) -> Outcome {
    socket(arguments.number(0)?, arguments.number(1)?, arguments.number(2)?)
        .map(|_| "a socket".to_owned())
}
