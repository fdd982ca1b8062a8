//! Unix sockets: with a name in the file system, and abstract ones.

use std::io::{self, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use crate::arguments::Arguments;
use crate::internet::socket;
use crate::outcome::{Attack, Named, Outcome, Refused, system_call};

pub(crate) const ATTACKS: &[Attack] = &[
    ("unix-stream", stream),
    ("unix-datagram", datagram),
    ("unix-seqpacket", seqpacket),
    ("abstract-stream", abstract_stream),
    ("abstract-datagram", abstract_datagram),
];

fn stream(arguments: &Arguments) -> Outcome {
    let mut stream = UnixStream::connect(arguments.text(0)?).named("connect")?;
    stream.write_all(arguments.text(1)?.as_bytes()).named("write")?;
    Ok(String::new())
}

fn datagram(arguments: &Arguments) -> Outcome {
    let socket = UnixDatagram::unbound().named("socket")?;
    socket.send_to(arguments.text(1)?.as_bytes(), arguments.text(0)?).named("sendto")?;
    Ok(String::new())
}

/// The address of a socket with a name in the file system.
pub(crate) fn path_address(path: &str) -> Result<Vec<u8>, Refused> {
    if path.len() > 107 {
        return Err(Refused::new("address", io::Error::other("the path is too long")));
    }
    let mut bytes = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    bytes.extend(path.as_bytes());
    bytes.push(0);
    Ok(bytes)
}

fn seqpacket(arguments: &Arguments) -> Outcome {
    let to = path_address(arguments.text(0)?)?;
    let token = arguments.text(1)?;
    let fd = socket(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0)?;
    system_call!("connect", libc::SYS_connect, fd, to.as_ptr(), to.len())?;
    system_call!("write", libc::SYS_write, fd, token.as_ptr(), token.len())?;
    Ok(String::new())
}

fn abstract_stream(arguments: &Arguments) -> Outcome {
    let address = SocketAddr::from_abstract_name(arguments.text(0)?).named("address")?;
    let mut stream = UnixStream::connect_addr(&address).named("connect")?;
    stream.write_all(arguments.text(1)?.as_bytes()).named("write")?;
    Ok(String::new())
}

fn abstract_datagram(arguments: &Arguments) -> Outcome {
    let address = SocketAddr::from_abstract_name(arguments.text(0)?).named("address")?;
    let socket = UnixDatagram::unbound().named("socket")?;
    socket.send_to_addr(arguments.text(1)?.as_bytes(), &address).named("sendto")?;
    Ok(String::new())
}
