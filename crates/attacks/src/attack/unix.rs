//! Unix sockets: with a name in the file system, and abstract ones.

use std::io::{self, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use crate::arguments::Arguments;
use crate::internet::{connect_and_write, socket};
use crate::outcome::{Done, Named, Outcome, Refused, attacks};

attacks! { unix_stream, unix_datagram, unix_seqpacket, abstract_stream, abstract_datagram }

fn unix_stream(arguments: &Arguments) -> Outcome {
    let mut stream = UnixStream::connect(arguments.text(0)?).named("connect")?;
    stream.write_all(arguments.text(1)?.as_bytes()).named("write").done()
}

fn unix_datagram(arguments: &Arguments) -> Outcome {
    let socket = UnixDatagram::unbound().named("socket")?;
    socket.send_to(arguments.text(1)?.as_bytes(), arguments.text(0)?).named("sendto").done()
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

fn unix_seqpacket(arguments: &Arguments) -> Outcome {
    let to = path_address(arguments.text(0)?)?;
    let fd = socket(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0)?;
    connect_and_write(fd, &to, arguments.text(1)?)
}

fn abstract_stream(arguments: &Arguments) -> Outcome {
    let address = SocketAddr::from_abstract_name(arguments.text(0)?).named("address")?;
    let mut stream = UnixStream::connect_addr(&address).named("connect")?;
    stream.write_all(arguments.text(1)?.as_bytes()).named("write").done()
}

fn abstract_datagram(arguments: &Arguments) -> Outcome {
    let address = SocketAddr::from_abstract_name(arguments.text(0)?).named("address")?;
    let socket = UnixDatagram::unbound().named("socket")?;
    socket.send_to_addr(arguments.text(1)?.as_bytes(), &address).named("sendto").done()
}
