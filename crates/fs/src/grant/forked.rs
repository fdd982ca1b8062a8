//! Forks in the place of granted directories.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::RootChange;
use crate::FileIdentity;
use crate::root::O_PATH;

/// A fork that stands in the place of a directory.
///
/// Its root is open, and the system names what lies in it as if it were the directory.
#[derive(Debug, Clone)]
pub struct ForkedRoot {
    /// Its number in this process.
    pub number: u64,
    /// Its root.
    pub open: Arc<OwnedFd>,
    /// Which directory that is.
    pub identity: FileIdentity,
    /// Becomes readable when the fork ends. A descriptor of the process that holds it.
    pub holder: Arc<OwnedFd>,
    /// Whether it was closed.
    pub is_closed: Arc<AtomicBool>,
    /// How many bytes it may have, once it has more; otherwise 0.
    pub exceeded: Arc<AtomicU64>,
    /// A thread that is woken at each use.
    pub attendant: Arc<OnceLock<Thread>>,
}

impl ForkedRoot {
    fn is_there(&self) -> bool {
        if let Some(attendant) = self.attendant.get() {
            attendant.unpark();
        }
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut holder = [PollFd::new(&*self.holder, PollFlags::IN)];
        !self.is_closed.load(Ordering::Acquire)
            && retry_on_intr(|| poll(&mut holder, Some(&now))).is_ok_and(|ended| ended == 0)
    }
}

/// A directory of a fork that is granted: its root, or one in it.
#[derive(Debug)]
pub(super) struct ForkPart {
    pub(super) fork: ForkedRoot,
    /// The path of the directory that was forked.
    pub(super) base: PathBuf,
    /// From there to the directory that is granted. Empty for the root.
    below: PathBuf,
}

impl ForkPart {
    pub(super) fn whole(fork: ForkedRoot, base: PathBuf) -> Self {
        Self { fork, base, below: PathBuf::new() }
    }

    /// The part at an absolute path; `None` if that does not lie in the fork.
    pub(super) fn part_at(&self, path: &Path) -> Option<Self> {
        let below = path.strip_prefix(&self.base).ok()?.to_owned();
        Some(Self { fork: self.fork.clone(), base: self.base.clone(), below })
    }

    /// Opens the directory. No link is followed.
    pub(super) fn open(&self) -> Result<(Arc<OwnedFd>, FileIdentity), Errno> {
        let mut open = Arc::clone(&self.fork.open);
        for step in self.below.components() {
            let Component::Normal(name) = step else { return Err(Errno::INVAL) };
            let flags = O_PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            open = Arc::new(rustix::fs::openat(open.as_fd(), name, flags, Mode::empty())?);
        }
        if self.below.as_os_str().is_empty() {
            return Ok((open, self.fork.identity));
        }
        let identity = FileIdentity::of(&open)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        // The first change in a directory gives it another time of creation.
        Ok((open, FileIdentity { born: None, ..identity }))
    }

    /// Whether it is still the directory that was granted, and by which bound the fork is too large, if it is.
    pub(super) fn state(&self, granted: &FileIdentity) -> Result<Option<u64>, RootChange> {
        if !self.fork.is_there() {
            return Err(RootChange::Fork);
        }
        if !self.below.as_os_str().is_empty() {
            match self.open() {
                Ok((_, now)) if now.is(granted) => {}
                Ok(_) => return Err(RootChange::Directory),
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(RootChange::File),
                Err(_) => return Err(RootChange::Gone),
            }
        }
        Ok(Some(self.fork.exceeded.load(Ordering::Acquire)).filter(|limit| *limit > 0))
    }
}
