//! The messages between a worker and its host about the hosts that a command reaches by name. Each is a
//! packet by itself.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::codec::{Malformed, Reader, Wire, read_whole, wire_enum};

/// No message is longer: a name has at most 253 bytes, and an answer few addresses.
pub const MAX_GATE_BYTES: usize = 1024;

/// The addresses that stand for hosts. The internet has none of them: they are for measurements.
pub const SYNTHETIC: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 1), 15);

/// The error number for an address that no name has led to: what a network without a route answers.
pub const NO_LEAD: i32 = Errno::NETUNREACH.raw_os_error();

/// Whether an address can stand for a host.
#[must_use]
pub fn is_synthetic(address: IpAddr) -> bool {
    let v4 = match address {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(v6) => v6.to_ipv4_mapped(),
    };
    v4.is_some_and(|v4| v4.octets()[0] == 198 && v4.octets()[1] & !1 == 18)
}

/// A question of a worker. The first number is that of the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The addresses that stand for a name, in small letters and without a dot at its end.
    Resolve(u64, String),
    /// Whether a name may be asked for at all: for kinds of records that no name has here.
    Check(u64, String),
    /// A connection to this address and port. The last two say whether the caller's socket is one of IPv6, and
    /// whether the caller waits until it is connected.
    Dial(u64, IpAddr, u16, bool, bool),
    /// A connection to the SSH agent of the command.
    Agent(u64),
}

/// The host's answer to the question of this number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To a question about a name.
    Resolved(u64, Resolved),
    /// The socket comes with it; it may still be connecting.
    Dialed(u64),
    /// There is no connection, for this reason.
    NotDialed(u64, i32),
}

/// What becomes of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// These stand for it, or nothing does.
    Addresses(Vec<u32>),
    /// There is no such name, or the command may not reach it.
    Nothing,
    /// It could not be found out.
    Failed,
}

wire_enum!(Ask {
    1 = Resolve(id, name),
    2 = Check(id, name),
    3 = Dial(id, address, port, is_v6, waits),
    4 = Agent(id),
});
wire_enum!(Answer { 1 = Resolved(id, resolved), 2 = Dialed(id), 3 = NotDialed(id, errno) });
wire_enum!(Resolved { 1 = Addresses(addresses), 2 = Nothing, 3 = Failed });

impl Wire for IpAddr {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::V4(address) => {
                to.push(4);
                to.extend_from_slice(&address.octets());
            }
            Self::V6(address) => {
                to.push(6);
                to.extend_from_slice(&address.octets());
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        match u8::read(from)? {
            4 => {
                let octets: [u8; 4] = from.bytes(4)?.try_into().map_err(|_| Malformed)?;
                Ok(Ipv4Addr::from(octets).into())
            }
            6 => {
                let octets: [u8; 16] = from.bytes(16)?.try_into().map_err(|_| Malformed)?;
                Ok(Ipv6Addr::from(octets).into())
            }
            _ => Err(Malformed),
        }
    }
}

macro_rules! packets {
    ($($type:ty),*) => {$(
        impl $type {
            /// The packet for it.
            #[must_use]
            pub fn packet(&self) -> Vec<u8> {
                let mut packet = Vec::with_capacity(64);
                self.write(&mut packet);
                packet
            }

            /// Reads a packet.
            pub fn read_packet(packet: &[u8]) -> Result<Self, Malformed> {
                read_whole(packet)
            }
        }
    )*};
}

packets!(Ask, Answer);

/// Sends a packet, and a descriptor with it. Does not wait: a gate without room is an error.
pub fn send_to_gate(
    gate: impl AsFd,
    packet: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<_> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    loop {
        match sendmsg(&gate, &[IoSlice::new(packet)], &mut beside, flags) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Receives a packet, and the descriptor that comes with it. `None`: the other end is closed.
pub fn receive_from_gate(
    gate: impl AsFd,
    waits: bool,
) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut packet = vec![0; MAX_GATE_BYTES];
    let flags =
        RecvFlags::CMSG_CLOEXEC | if waits { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
    let count = loop {
        match recvmsg(&gate, &mut [IoSliceMut::new(&mut packet)], &mut beside, flags) {
            Ok(message) => break message.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => break 0,
            Err(error) => return Err(error.into()),
        }
    };
    let descriptor = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    if count == 0 {
        return Ok(None);
    }
    packet.truncate(count);
    Ok(Some((packet, descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let asks = [
            Ask::Resolve(7, "registry.example".to_owned()),
            Ask::Check(8, String::new()),
            Ask::Dial(u64::MAX, Ipv4Addr::new(198, 18, 0, 9).into(), 443, true, false),
            Ask::Dial(1, Ipv6Addr::LOCALHOST.into(), 1, false, true),
            Ask::Agent(3),
        ];
        for ask in asks {
            let packet = ask.packet();
            assert!(packet.len() < MAX_GATE_BYTES);
            assert_eq!(Ask::read_packet(&packet), Ok(ask));
            assert_eq!(Ask::read_packet(&packet[..packet.len() - 1]), Err(Malformed));
        }
        let answers = [
            Answer::Resolved(1, Resolved::Addresses(vec![1, u32::MAX])),
            Answer::Resolved(2, Resolved::Nothing),
            Answer::Resolved(3, Resolved::Failed),
            Answer::Dialed(4),
            Answer::NotDialed(5, NO_LEAD),
        ];
        for answer in answers {
            assert_eq!(Answer::read_packet(&answer.packet()), Ok(answer));
        }
    }

    #[test]
    fn only_addresses_for_measurements_stand_for_hosts() {
        for (address, stands) in [
            ("198.18.0.1", true),
            ("198.19.255.255", true),
            ("::ffff:198.18.0.1", true),
            ("198.17.255.255", false),
            ("198.20.0.0", false),
            ("127.0.0.1", false),
            ("::1", false),
        ] {
            assert_eq!(is_synthetic(address.parse().expect("an address")), stands, "{address}");
        }
    }
}
