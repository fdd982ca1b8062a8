//! The socket that a worker answers names at.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto,
    socket_with,
};
use rustix::process::getpid;

use super::dns::MAX_QUERY_BYTES;
use super::socket::own_network;

const PORT: u16 = 53;
/// How many addresses are tried. Each worker of a network has its own.
const MAX_TRIES: u32 = 1 << 12;

/// The resolver of one worker.
pub(crate) struct Resolver {
    socket: OwnedFd,
    address: Ipv4Addr,
    /// The kernel's number for the network it is in.
    pub(super) network: u64,
}

impl Resolver {
    /// Binds it to a free address of the loopback interface.
    pub(crate) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        let network = own_network(&socket)?;
        // Workers that come one after the other begin at different ones.
        let first = getpid().as_raw_nonzero().get().unsigned_abs();
        for number in (first..).take(usize::try_from(MAX_TRIES).unwrap_or(1)) {
            let [_, _, high, low] = number.to_be_bytes();
            let address = Ipv4Addr::new(127, 53, high, low);
            match bind(&socket, &SocketAddrV4::new(address, PORT)) {
                Ok(()) => return Ok(Self { socket, address, network }),
                Err(Errno::ADDRINUSE) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::ADDRINUSE.into())
    }

    /// The settings that name it.
    pub(crate) fn settings(&self) -> String {
        // Without a domain to search, names are asked for as they are.
        format!("nameserver {}\nsearch .\noptions timeout:30 attempts:1\n", self.address)
    }

    /// The next question, and who asks. `None`: there is none.
    pub(super) fn receive(&self) -> Result<Option<(Vec<u8>, SocketAddr)>, Errno> {
        let mut bytes = [0; MAX_QUERY_BYTES + 1];
        match recvfrom(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((count, _, Some(from))) => {
                let from = SocketAddr::try_from(from)?;
                Ok(Some((bytes[..count].to_vec(), from)))
            }
            Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::CONNREFUSED) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A caller that takes no answer gets none.
    pub(super) fn send(&self, answer: &[u8], to: SocketAddr) {
        let _ = sendto(&self.socket, answer, SendFlags::DONTWAIT | SendFlags::NOSIGNAL, &to);
    }

    /// Forgets what an earlier command has asked.
    pub(super) fn clear(&self) {
        while let Ok(Some(_)) = self.receive() {}
    }
}

impl AsFd for Resolver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
