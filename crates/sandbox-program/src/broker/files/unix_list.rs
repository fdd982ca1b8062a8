//! The unix sockets of a network that have a name in the file system, as the kernel lists them.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;

use rustix::fs::{Stat, major, minor};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

const SOCK_DIAG: u32 = 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const DONE: u16 = 3;
const UNIX: u8 = 1;
/// The bit of the state `LISTEN`, and those of all.
const LISTENING: u32 = 1 << 10;
const ALL: u32 = u32::MAX;
/// `UDIAG_SHOW_VFS`.
const SHOW_FILE: u32 = 2;
/// `UNIX_DIAG_VFS`.
const FILE: u16 = 1;

const HEADER: usize = 16;
const REQUEST: usize = 24;
/// Of a `struct unix_diag_msg`.
const MESSAGE: usize = 16;
const ROOM: usize = 32 << 10;

/// The file of a socket, as the kernel numbers it there: 32 bits of its inode, and its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SocketFile {
    inode: u32,
    device: u32,
}

impl SocketFile {
    /// `None`: its inode has more bits than the list shows.
    pub(super) fn of(stat: &Stat) -> Option<Self> {
        let device = major(stat.st_dev) << 20 | minor(stat.st_dev);
        u32::try_from(stat.st_ino).ok().map(|inode| Self { inode, device })
    }
}

/// Asks the kernel. It is opened before the filter, which opens it to no one.
#[derive(Debug)]
pub(super) struct UnixList {
    socket: Option<OwnedFd>,
    answer: RefCell<Vec<u8>>,
}

impl UnixList {
    pub(super) fn open() -> Self {
        let protocol = NonZeroU32::new(SOCK_DIAG).map(Protocol::from_raw);
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol).ok();
        Self { socket, answer: RefCell::new(vec![0; ROOM]) }
    }

    /// Whether a socket of this network was bound to the file. Those that listen are looked through first, which are
    /// few. Where the kernel cannot be asked, none was.
    pub(super) fn has(&self, file: SocketFile) -> bool {
        [LISTENING, ALL].into_iter().any(|states| self.ask(states, file).unwrap_or(false))
    }

    fn ask(&self, states: u32, file: SocketFile) -> Result<bool, Errno> {
        let socket = self.socket.as_ref().ok_or(Errno::NOTSOCK)?;
        let mut request = [0; HEADER + REQUEST];
        request[..4].copy_from_slice(&40_u32.to_ne_bytes());
        request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
        request[HEADER] = UNIX;
        request[HEADER + 4..HEADER + 8].copy_from_slice(&states.to_ne_bytes());
        request[HEADER + 12..HEADER + 16].copy_from_slice(&SHOW_FILE.to_ne_bytes());
        send(socket, &request, SendFlags::empty())?;
        let mut answer = self.answer.borrow_mut();
        let mut found = false;
        // To its end: what is left would be taken for the next answer.
        loop {
            let (length, _) = recv(socket, &mut answer[..], RecvFlags::empty())?;
            let mut rest = &answer[..length];
            while let Some(header) = rest.get(..HEADER) {
                let size = word(header, 0).ok_or(Errno::BADMSG)? as usize;
                let message = rest.get(..size).filter(|_| size >= HEADER).ok_or(Errno::BADMSG)?;
                match u16::from_ne_bytes([header[4], header[5]]) {
                    DONE => return Ok(found),
                    SOCK_DIAG_BY_FAMILY => found |= file_of(message) == Some(file),
                    _ => return Err(Errno::OPNOTSUPP),
                }
                rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

/// The file in a message, among its attributes.
fn file_of(message: &[u8]) -> Option<SocketFile> {
    let mut rest = message.get(HEADER + MESSAGE..)?;
    while let Some(header) = rest.get(..4) {
        let size = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        if u16::from_ne_bytes([header[2], header[3]]) == FILE {
            return Some(SocketFile { inode: word(rest, 4)?, device: word(rest, 8)? });
        }
        rest = rest.get(size.max(4).next_multiple_of(4)..)?;
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use rustix::fs::stat;

    use super::*;

    #[test]
    fn a_socket_is_known_by_its_file() {
        let place = tempfile::tempdir().expect("a directory");
        let list = UnixList::open();
        let file = |name: &str| {
            SocketFile::of(&stat(place.path().join(name)).expect("there")).expect("few bits")
        };
        let listener = UnixListener::bind(place.path().join("s")).expect("bound");
        std::fs::write(place.path().join("f"), "").expect("written");
        assert!(list.has(file("s")));
        assert!(!list.has(file("f")));
        // More than one answer of the kernel has room for.
        let many: Vec<_> = (0..600)
            .map(|number| UnixListener::bind(place.path().join(format!("{number}"))))
            .collect();
        assert!(many.iter().all(Result::is_ok));
        assert!((0..600).all(|number| list.has(file(&number.to_string()))));
        let connected = UnixStream::connect(place.path().join("s")).expect("connected");
        drop((listener, many));
        // The other end still has the name.
        assert!(!list.has(file("7")));
        drop(connected);
        assert!(!list.has(file("s")));
    }
}
