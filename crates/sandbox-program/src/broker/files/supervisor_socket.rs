//! How a worker has its supervisor hide a git directory: the worker gives up the right to mount, and the supervisor
//! keeps it. What the supervisor mounts appears in the trees of its workers.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use crate::mounts::{DirectoryIdentity, Revealed, Tree};

const HIDE: u8 = 1;
const REVEAL: u8 = 2;
const HIDE_AGAIN: u8 = 3;
const IS_HIDDEN: u8 = 4;
const STAND_IN: u8 = 5;
const HEADER: usize = 17;
/// The longest path that the kernel names.
const MAX_PATH: usize = 4096;

/// Answers beside error numbers, which are negative.
const DONE: i32 = 0;
const IS_PRIVATE: i32 = 1;
const IS_UNCOVERED: i32 = 2;

/// The end of a worker.
#[derive(Debug)]
pub(crate) struct SupervisorSocket(OwnedFd);

/// The end of a supervisor. Readable when the worker asks for something.
#[derive(Debug)]
pub(crate) struct WorkerSocket(OwnedFd);

/// A pair, to be made before the worker is.
pub(crate) fn pair() -> Result<(WorkerSocket, SupervisorSocket), Errno> {
    let (supervisor, worker) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    Ok((WorkerSocket(supervisor), SupervisorSocket(worker)))
}

impl SupervisorSocket {
    /// Hides an empty directory. `false`: there is no need to.
    pub(super) fn hide(&self, path: &Path, identity: DirectoryIdentity) -> Result<bool, Errno> {
        Ok(self.ask(HIDE, path, identity)? == DONE)
    }

    /// Whether the host does not see what lies in a file system: a private directory, a fork, or one for temporary
    /// files.
    pub(super) fn is_hidden(&self, device: u64) -> Result<bool, Errno> {
        let identity = DirectoryIdentity { device, inode: 0 };
        Ok(self.ask(IS_HIDDEN, Path::new(""), identity)? == IS_PRIVATE)
    }

    /// As [`hide`](Self::hide), for a directory that was hidden before. The host may have put something into it.
    pub(super) fn hide_again(
        &self,
        path: &Path,
        identity: DirectoryIdentity,
    ) -> Result<bool, Errno> {
        Ok(self.ask(HIDE_AGAIN, path, identity)? == DONE)
    }

    /// Removes the directory on which commands see another one, or uncovers it. `NOTEMPTY` if what they see is not
    /// empty, `BUSY` if it is nothing that they may remove.
    pub(super) fn reveal(&self, identity: DirectoryIdentity) -> Result<Revealed, Errno> {
        Ok(match self.ask(REVEAL, Path::new(""), identity)? {
            DONE => Revealed::Removed,
            _ => Revealed::Uncovered,
        })
    }

    /// Has something stand for the paths that are to stay absent, which nobody keeps so.
    pub(crate) fn stand_in(&self) -> Result<(), Errno> {
        let nothing = DirectoryIdentity { device: 0, inode: 0 };
        self.ask(STAND_IN, Path::new(""), nothing).map(drop)
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    fn ask(&self, what: u8, path: &Path, identity: DirectoryIdentity) -> Result<i32, Errno> {
        let mut message = vec![what];
        message.extend(identity.device.to_ne_bytes());
        message.extend(identity.inode.to_ne_bytes());
        message.extend(path.as_os_str().as_bytes());
        retry_on_intr(|| send(&self.0, &message, SendFlags::NOSIGNAL))?;
        let mut answer = [0; 4];
        let (length, _) = retry_on_intr(|| recv(&self.0, &mut answer, RecvFlags::empty()))?;
        match i32::from_ne_bytes(answer) {
            _ if length != answer.len() => Err(Errno::PIPE),
            errno @ ..0 => Err(Errno::from_raw_os_error(-errno)),
            done => Ok(done),
        }
    }
}

impl WorkerSocket {
    /// Answers what the worker asks. `false`: it has ended.
    pub(crate) fn answer(&self, tree: Option<&mut Tree>) -> bool {
        let mut message = [0; HEADER + MAX_PATH];
        let received = recv(&self.0, &mut message, RecvFlags::DONTWAIT);
        let message = match received {
            Ok((0, _)) => return false,
            Ok((length, _)) => &message[..length],
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) => return false,
        };
        let answered = tree.ok_or(Errno::NOSYS).and_then(|tree| carry_out(tree, message));
        let answer = answered.unwrap_or_else(|errno| -errno.raw_os_error());
        send(&self.0, &answer.to_ne_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok()
    }
}

fn carry_out(tree: &mut Tree, message: &[u8]) -> Result<i32, Errno> {
    let number = |range: std::ops::Range<usize>| -> Result<u64, Errno> {
        let bytes = message.get(range).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_ne_bytes).ok_or(Errno::BADMSG)
    };
    let identity = DirectoryIdentity { device: number(1..9)?, inode: number(9..HEADER)? };
    match message.first() {
        Some(&what @ (HIDE | HIDE_AGAIN)) => {
            let path = PathBuf::from(OsStr::from_bytes(&message[HEADER..]));
            tree.hide(&path, identity, what == HIDE)
                .map(|hidden| if hidden { DONE } else { IS_PRIVATE })
        }
        Some(&REVEAL) => tree.reveal(identity).map(|revealed| match revealed {
            Revealed::Removed => DONE,
            Revealed::Uncovered => IS_UNCOVERED,
        }),
        Some(&STAND_IN) => tree.stand_in().map(|()| DONE),
        Some(&IS_HIDDEN) => Ok(if tree.is_hidden(identity.device) { IS_PRIVATE } else { DONE }),
        _ => Err(Errno::BADMSG),
    }
}

impl AsFd for WorkerSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
