//! Unix sockets: those of a command's own, and no others.
//!
//! A path leads to a socket only if that was made in the network namespace of the commands, or lies in a directory for
//! temporary files that is theirs alone. So a person's socket is never reached, wherever it lies and whenever it was
//! bound, although it may lie below the root.
//!
//! The file that a path leads to is held by a descriptor, so its number is not given to another. A socket has one file,
//! which is made with its binding, and the kernel finds the socket by that file. So whatever is moved, linked or
//! replaced between the look and the connection decides nothing. The address was copied once, and the connection is
//! made on a copy of the caller's descriptor.
//!
//! A file without a socket of this network is refused (`EACCES`), also where its socket is gone: a program that is told
//! `ECONNREFUSED` removes the file, and it may be a person's.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{FileType, OFlags, StatFs, fstat, fstatfs};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, getsockname, listen};
use rustix::process::{chdir, fchdir};

use super::caller::FileCaller;
use super::resolve::look_up;
use super::unix_list::{SocketFile, UnixList};
use crate::broker::caller::Caller;
use crate::broker::listener::Notification;
use crate::broker::names::request::{self, Request, is_agent};
use crate::broker::names::socket::call_on;
use crate::broker::socket::{Begun, set_limit, shortly};

/// How many files are remembered that are known to be of own sockets.
const PINS: usize = 64;

/// Where the path of an address begins, and the longest address.
const PATH: usize = 2;
const MAX_ADDRESS: usize = 110;

/// File systems in which the kernel's list numbers a file as the file itself is numbered, and no two files alike. (Btrfs
/// is not one of them.)
const NUMBERED: [u64; 6] = [
    0xEF53, // ext2, ext3 and ext4
    XFS,
    0x0102_1994, // tmpfs
    0x794C_7630, // overlayfs
    0xF2F5_2010, // f2fs
    0x2FC1_2FC1, // zfs
];

const XFS: u64 = 0x5846_5342;
/// XFS numbers a file by its place. In a larger one a number can have more than the 32 bits that the list shows, and a
/// socket of a command could pass for a file whose number ends alike.
const MAX_XFS_BYTES: u64 = 1 << 39;

/// Where the sockets of commands are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SocketGround<'a> {
    /// The file systems of directories that are the commands' alone.
    pub(crate) private: &'a [u64],
    /// Whether the network is theirs alone.
    pub(crate) own_network: bool,
    /// Whether another broker answers what is about the internet.
    pub(crate) elsewhere: bool,
}

/// Answers calls on sockets.
#[derive(Debug)]
pub(super) struct OwnSockets {
    list: UnixList,
    private: Vec<u64>,
    own_network: bool,
    elsewhere: bool,
    pins: RefCell<VecDeque<(SocketFile, OwnedFd)>>,
    /// Whose call was the last one. Most callers make several.
    caller: RefCell<Option<Caller>>,
}

/// A call, with all that was the caller's.
pub(super) struct SocketCall {
    socket: OwnedFd,
    request: Request,
    /// Where relative paths begin.
    directory: Option<OwnedFd>,
    is_unix: bool,
}

/// How a call ends.
#[derive(Debug)]
pub(super) enum Met {
    Done,
    /// Another broker answers it.
    Elsewhere,
    /// The server takes no more connections at the moment.
    Later(Pending),
}

/// A connection to a server that takes no more at the moment.
#[derive(Debug)]
pub(super) struct Pending {
    socket: OwnedFd,
    target: Target,
    until: Option<Instant>,
}

/// What a connection leads to.
#[derive(Debug)]
enum Target {
    /// A file, which is held.
    File(OwnedFd),
    /// An address without one.
    Address(Vec<u8>),
}

impl SocketCall {
    pub(super) fn is_unix(&self) -> bool {
        self.is_unix
    }
}

impl OwnSockets {
    /// To be called before the filter, and on the thread that uses it.
    pub(super) fn new(ground: SocketGround<'_>) -> Self {
        let SocketGround { private, own_network, elsewhere } = ground;
        let (list, private) = (UnixList::open(), private.to_vec());
        let (pins, caller) = (RefCell::default(), RefCell::default());
        Self { list, private, own_network, elsewhere, pins, caller }
    }

    /// To be called when a command has ended.
    pub(super) fn forget(&self) {
        self.pins.borrow_mut().clear();
        self.caller.take();
    }

    /// Reads a call. `None`: another broker answers it.
    pub(super) fn read(
        &self,
        notification: &Notification,
        caller: &FileCaller<'_>,
    ) -> Result<Option<SocketCall>, Errno> {
        let (socket, request) = self.request(notification)?;
        let is_unix = socket_domain(&socket)? == AddressFamily::UNIX;
        let is_elsewhere = match &request {
            Request::SetLimit(..) => true,
            Request::Connect(bytes) => !is_unix || is_agent(bytes),
            _ => !is_unix,
        };
        if self.elsewhere && is_elsewhere {
            return Ok(None);
        }
        let is_relative =
            |bytes: &[u8]| is_unix && !matches!(bytes.get(PATH), None | Some(0 | b'/'));
        let directory = match &request {
            Request::Connect(bytes) | Request::Bind(bytes) if is_relative(bytes) => {
                Some(caller.directory(libc::AT_FDCWD, OFlags::DIRECTORY)?)
            }
            _ => None,
        };
        Ok(Some(SocketCall { socket, request, directory, is_unix }))
    }

    /// Takes the socket and the arguments of a caller.
    fn request(&self, notification: &Notification) -> Result<(OwnedFd, Request), Errno> {
        let known = self.caller.take().filter(|last| last.can_be(notification.thread));
        let read = known.as_ref().map(|last| request::read(notification, last));
        let (caller, read) = match known.zip(read) {
            Some((last, read)) if !matches!(read, Err(Errno::SRCH)) => (last, read),
            _ => {
                let caller = Caller::new(notification.thread)?;
                let read = request::read(notification, &caller);
                (caller, read)
            }
        };
        self.caller.replace(Some(caller));
        read.map(|(socket, _, request)| (socket, request))
    }

    /// Makes a call. The rights of this thread are the caller's.
    pub(super) fn perform(&self, call: SocketCall, caller: &FileCaller<'_>) -> Result<Met, Errno> {
        let SocketCall { socket, request, directory, is_unix } = call;
        match request {
            Request::SetLimit(option, value) => set_limit(&socket, option, &value)?,
            Request::Connect(bytes) if is_unix => {
                return self.connect(socket, bytes, directory.as_ref(), caller);
            }
            Request::Bind(bytes) if is_unix => self.bind(&socket, &bytes, directory.as_ref())?,
            Request::Listen(backlog) => {
                if is_unix {
                    self.check_listener(&socket)?;
                }
                listen(&socket, backlog)?;
            }
            Request::Connect(bytes) => {
                let connect = || call_on(&socket, &bytes, libc::connect);
                match shortly(&socket, &[Errno::INPROGRESS, Errno::ALREADY], connect) {
                    Begun::Done(result) => result?,
                    Begun::Waits(..) => return Ok(Met::Elsewhere),
                }
            }
            Request::Bind(_) => return Err(Errno::NOSYS),
        }
        Ok(Met::Done)
    }

    fn connect(
        &self,
        socket: OwnedFd,
        bytes: Vec<u8>,
        directory: Option<&OwnedFd>,
        caller: &FileCaller<'_>,
    ) -> Result<Met, Errno> {
        // A socket of datagrams could send to any address later. None can be made.
        if !matches!(socket_type(&socket)?, SocketType::STREAM | SocketType::SEQPACKET) {
            return Err(Errno::ACCESS);
        }
        let target = match path_of(&bytes)? {
            Some(path) => Target::File(self.file(&path, directory, caller)?),
            None if self.own_network || !is_of_unix(&bytes) => Target::Address(bytes),
            // A name of the host's network, whoever has it.
            None => return Err(Errno::ACCESS),
        };
        Pending { socket, target, until: None }.begin(true)
    }

    /// The file that a path leads to, if it is of an own socket.
    fn file(
        &self,
        path: &CString,
        directory: Option<&OwnedFd>,
        caller: &FileCaller<'_>,
    ) -> Result<OwnedFd, Errno> {
        let file = look_up(caller, directory, path, OFlags::empty())?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(Errno::CONNREFUSED);
        }
        if self.private.contains(&stat.st_dev) {
            return Ok(file);
        }
        let known = SocketFile::of(&stat).filter(|_| self.own_network).ok_or(Errno::ACCESS)?;
        let mut pins = self.pins.borrow_mut();
        if pins.iter().any(|(pinned, _)| *pinned == known) {
            return Ok(file);
        }
        let system = fstatfs(&file)?;
        let kind = u64::try_from(system.f_type).unwrap_or_default();
        if !is_numbered(kind, size_of(&system)) || !self.list.has(known) {
            return Err(Errno::ACCESS);
        }
        if pins.len() == PINS {
            pins.pop_front();
        }
        if let Ok(pin) = file.try_clone() {
            pins.push_back((known, pin));
        }
        Ok(file)
    }

    /// Binds a socket, from where its path begins, so that its name is the one that the caller gave it.
    fn bind(
        &self,
        socket: &OwnedFd,
        bytes: &[u8],
        directory: Option<&OwnedFd>,
    ) -> Result<(), Errno> {
        if !self.own_network && path_of(bytes)?.is_none() {
            return Err(Errno::ACCESS);
        }
        // The directory is this thread's own.
        if let Some(directory) = directory {
            fchdir(directory)?;
        }
        let bound = call_on(socket, bytes, libc::bind);
        if directory.is_some() {
            chdir("/")?;
        }
        bound
    }

    /// No command waits under a name of the host's network. A socket is bound once, and listens only then.
    fn check_listener(&self, socket: &OwnedFd) -> Result<(), Errno> {
        let name = SocketAddrUnix::try_from(getsockname(socket)?)?;
        match name.path_bytes() {
            _ if self.own_network => Ok(()),
            Some(_) => Ok(()),
            None if name.is_unnamed() => Err(Errno::INVAL),
            None => Err(Errno::ACCESS),
        }
    }
}

impl Pending {
    /// Connects again. `None`: its time is over.
    pub(super) fn try_again(self) -> Result<Met, Errno> {
        if self.until.is_some_and(|until| until <= Instant::now()) {
            return Err(Errno::AGAIN);
        }
        self.begin(false)
    }

    fn begin(self, is_first: bool) -> Result<Met, Errno> {
        let Self { socket, target, until } = &self;
        let begun = match target {
            Target::File(file) => {
                let mut address = vec![0; PATH];
                address[..PATH].copy_from_slice(&1_u16.to_ne_bytes());
                address.extend(format!("/proc/self/fd/{}\0", file.as_raw_fd()).into_bytes());
                shortly(socket, &[Errno::AGAIN], || call_on(socket, &address, libc::connect))
            }
            Target::Address(address) => {
                shortly(socket, &[Errno::AGAIN], || call_on(socket, address, libc::connect))
            }
        };
        match begun {
            Begun::Done(result) => result.map(|()| Met::Done),
            Begun::Waits(limit, _) if is_first => {
                let until = limit.map(|limit| Instant::now() + limit);
                Ok(Met::Later(Self { until, ..self }))
            }
            Begun::Waits(..) => {
                let until = *until;
                Ok(Met::Later(Self { until, ..self }))
            }
        }
    }
}

/// Whether the list tells the files of a file system apart, which has so many bytes.
fn is_numbered(kind: u64, bytes: u64) -> bool {
    NUMBERED.contains(&kind) && (kind != XFS || bytes <= MAX_XFS_BYTES)
}

fn size_of(system: &StatFs) -> u64 {
    system.f_blocks.saturating_mul(u64::try_from(system.f_bsize).unwrap_or(u64::MAX))
}

fn is_of_unix(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|family| u16::from_ne_bytes(*family) == 1)
}

/// The path of an address, up to its NUL; `None` if it has none.
fn path_of(bytes: &[u8]) -> Result<Option<CString>, Errno> {
    let is_path = is_of_unix(bytes) && bytes.get(PATH).is_some_and(|byte| *byte != 0);
    if !is_path {
        return Ok(None);
    }
    if bytes.len() > MAX_ADDRESS {
        return Err(Errno::INVAL);
    }
    let path = bytes[PATH..].split(|byte| *byte == 0).next().unwrap_or_default();
    CString::new(path).map(Some).map_err(|_| Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_the_list_cuts_off_is_not_believed() {
        const BTRFS: u64 = 0x9123_683E;
        assert!(is_numbered(XFS, MAX_XFS_BYTES) && !is_numbered(XFS, MAX_XFS_BYTES + 1));
        assert!(is_numbered(0xEF53, u64::MAX) && !is_numbered(BTRFS, 1));
    }
}
