//! Reads from the kernel and writes to it over netlink.

use crate::arguments::Arguments;
use crate::internet::socket;
use crate::outcome::{Done, Outcome, Refused, attacks, system_call};

attacks! { interfaces, listening, add_address }

const ROUTE: i32 = 0;
const SOCK_DIAG: i32 = 4;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const DUMP: u16 = 0x300;
const MESSAGE_ERROR: u16 = 2;
const MESSAGE_DONE: u16 = 3;
const HEADER: usize = 16;

/// Sends one request and gives the messages of the answer: type and body.
fn ask(protocol: i32, kind: u16, flags: u16, body: &[u8]) -> Result<Vec<(u16, Vec<u8>)>, Refused> {
    let fd = socket(libc::AF_NETLINK, libc::SOCK_RAW, protocol)?;
    let mut request = Vec::new();
    request.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend((REQUEST | flags).to_ne_bytes());
    request.extend(1_u32.to_ne_bytes());
    request.extend(0_u32.to_ne_bytes());
    request.extend(body);
    system_call!(SYS_sendto, fd, &request, request.len(), 0, 0, 0)?;
    let mut messages = Vec::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let space = buffer.len();
        let got = system_call!(SYS_recvfrom, fd, buffer.as_mut_ptr(), space, 0, 0, 0)?;
        let mut rest = &buffer[..got];
        while rest.len() >= HEADER {
            let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
            let kind = u16::from_ne_bytes([rest[4], rest[5]]);
            let body = rest[HEADER..length.clamp(HEADER, rest.len())].to_vec();
            rest = &rest[length.next_multiple_of(4).clamp(HEADER, rest.len())..];
            if kind == MESSAGE_DONE {
                return Ok(messages);
            }
            if kind == MESSAGE_ERROR {
                let code = i32::from_ne_bytes([body[0], body[1], body[2], body[3]]);
                if code == 0 {
                    return Ok(messages);
                }
                return Err(Refused::new("netlink", std::io::Error::from_raw_os_error(-code)));
            }
            messages.push((kind, body));
        }
    }
}

/// The names of all network interfaces.
fn interfaces(_: &Arguments) -> Outcome {
    const INFO: usize = 16;
    const NAME: u16 = 3;
    let mut names = Vec::new();
    for (_, body) in ask(ROUTE, RTM_GETLINK, DUMP, &[0; INFO])? {
        let mut rest = body.get(INFO..).unwrap_or_default();
        while rest.len() >= 4 {
            let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]])).clamp(4, rest.len());
            if u16::from_ne_bytes([rest[2], rest[3]]) == NAME {
                let name = String::from_utf8_lossy(&rest[4..length]).replace('\0', "");
                names.push(format!("<{name}>"));
            }
            rest = &rest[length.next_multiple_of(4).min(rest.len())..];
        }
    }
    Ok(names.join(" "))
}

/// The ports that TCP sockets of IPv4 listen on.
fn listening(_: &Arguments) -> Outcome {
    let mut request = vec![libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 0, 0];
    request.extend((1_u32 << 10).to_ne_bytes());
    request.extend([0; 48]);
    let answer = ask(SOCK_DIAG, SOCK_DIAG_BY_FAMILY, DUMP, &request)?;
    let port = |body: &[u8]| u16::from_be_bytes([body[4], body[5]]);
    let ports = answer.iter().filter(|(_, body)| body.len() > 6);
    Ok(ports.map(|(_, body)| format!("<{}>", port(body))).collect::<Vec<_>>().join(" "))
}

/// Gives the first interface one more address.
fn add_address(arguments: &Arguments) -> Outcome {
    const LOCAL: u16 = 2;
    let std::net::IpAddr::V4(ip) = arguments.address(0)?.ip() else {
        return Err(Refused::without_effect("arguments"));
    };
    let mut request = vec![libc::AF_INET as u8, 32, 0, 0];
    request.extend(1_u32.to_ne_bytes());
    request.extend(8_u16.to_ne_bytes());
    request.extend(LOCAL.to_ne_bytes());
    request.extend(ip.octets());
    ask(ROUTE, RTM_NEWADDR, ACK | 0x600, &request).done()
}
