//! One entry of a directory: compared with what it was, and read if it may have changed.

#![expect(
    clippy::disallowed_methods,
    reason = "the walk opens each name in the directory before it, with O_NOFOLLOW and O_NONBLOCK"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;

use super::{FILE, Found, FoundWhat, SeenAgain, Walk};
use crate::content::{self, ReadFile};
use crate::look::{Look, UNSETTLED};
use crate::state::{SkipReason, What};

/// How often and how soon to look again whether an inode is still that of an open database.
const MAX_LOOKS: u32 = 50;
const LOOK_PAUSE: Duration = Duration::from_millis(2);

/// Whether an entry belongs to an open database of this process.
pub(super) enum Reserved {
    No,
    /// It does. It is left out of the tree, because reading it would release its locks.
    Ours,
    /// It has the inode of one, under another name.
    Perhaps,
}

impl Walk<'_> {
    /// A database that is being closed frees its inodes a moment before it says so, and the next file
    /// that anyone creates may get one of them.
    pub(super) fn reserved(&self, stat: &rustix::fs::Stat, path: &Path) -> Reserved {
        #[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "types differ"))]
        #[cfg_attr(not(target_os = "linux"), expect(clippy::cast_sign_loss, reason = "compared"))]
        let device = stat.st_dev as u64;
        let is_held = || toolwright_reserved::holds(device, stat.st_ino);
        if !is_held() {
            return Reserved::No;
        }
        if toolwright_reserved::is_at(&self.root_path.join(path)) {
            return Reserved::Ours;
        }
        for _ in 0..MAX_LOOKS {
            thread::sleep(LOOK_PAUSE);
            if !is_held() {
                return Reserved::No;
            }
        }
        Reserved::Perhaps
    }

    pub(super) fn file(
        &self,
        here: &OwnedFd,
        name: &OsStr,
        path: &[u8],
        look: Look,
        seen: SeenAgain,
        found: &SyncSender<Found>,
    ) -> io::Result<()> {
        let row = self.head.rows.get(path);
        if let Some(row) = row
            && row.is_at(&look)
            && matches!(row.state.what, What::File { .. })
            && look.links == 1
            && look.size <= self.max_file_bytes
        {
            seen.mark(row);
            return Ok(());
        }
        let reason = if look.links > 1 {
            Some(SkipReason::HardLink)
        } else if self.user != 0 && look.uid != self.user {
            Some(SkipReason::OtherOwner)
        } else if look.size > self.max_file_bytes {
            Some(SkipReason::Large)
        } else {
            None
        };
        if let Some(reason) = reason {
            return self.untracked(path, What::Skipped(reason), Some(look), seen, found);
        }
        let file = match rustix::fs::openat(here, name, FILE, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP | Errno::MLINK | Errno::NXIO) => return Ok(()),
            Err(errno @ (Errno::MFILE | Errno::NFILE)) => return Err(errno.into()),
            Err(_) => return self.skip(path, SkipReason::Unreadable, seen, found),
        };
        let known = row.and_then(|row| match &row.state.what {
            What::File { hash, .. } => Some(hash),
            _ => None,
        });
        let ReadFile { look, ctime, reading } = match content::read(file, known) {
            Ok(read) if read.look.kind == FileType::RegularFile => read,
            Ok(_) => return Ok(()),
            Err(_) => return self.skip(path, SkipReason::Unreadable, seen, found),
        };
        self.progress.add(0, look.size);
        if let Some(row) = row {
            seen.mark(row);
        }
        send(found, path, Some(look), ctime, FoundWhat::File(reading))
    }

    pub(super) fn link(
        &self,
        here: &OwnedFd,
        name: &OsStr,
        path: &[u8],
        look: Look,
        seen: SeenAgain,
        found: &SyncSender<Found>,
    ) -> io::Result<()> {
        if self.user != 0 && look.uid != self.user {
            return self.skip(path, SkipReason::OtherOwner, seen, found);
        }
        match rustix::fs::readlinkat(here, name, Vec::new()) {
            Ok(text) => {
                self.note(path, &look, look.ctime, What::Link(text.into_bytes()), seen, found)
            }
            Err(_) => Ok(()),
        }
    }

    /// Sends an entry that is no file, unless it is as it was.
    pub(super) fn note(
        &self,
        path: &[u8],
        look: &Look,
        ctime: i64,
        what: What,
        seen: SeenAgain,
        found: &SyncSender<Found>,
    ) -> io::Result<()> {
        if let Some(row) = self.head.rows.get(path) {
            seen.mark(row);
            if row.state == look.state(what.clone()) {
                return Ok(());
            }
        }
        send(found, path, Some(*look), ctime, FoundWhat::Other(what))
    }

    pub(super) fn skip(
        &self,
        path: &[u8],
        reason: SkipReason,
        seen: SeenAgain,
        found: &SyncSender<Found>,
    ) -> io::Result<()> {
        self.untracked(path, What::Skipped(reason), None, seen, found)
    }

    pub(super) fn untracked(
        &self,
        path: &[u8],
        what: What,
        look: Option<Look>,
        seen: SeenAgain,
        found: &SyncSender<Found>,
    ) -> io::Result<()> {
        let (inode, time) = look.map_or((0, 0), |look| (look.inode, look.ctime));
        if let Some(row) = self.head.rows.get(path) {
            seen.mark(row);
            if row.state.what == what && (row.inode, row.state.mtime) == (inode, time) {
                return Ok(());
            }
        }
        send(found, path, look, UNSETTLED, FoundWhat::Other(what))
    }
}

fn send(
    found: &SyncSender<Found>,
    path: &[u8],
    look: Option<Look>,
    ctime: i64,
    what: FoundWhat,
) -> io::Result<()> {
    // Nobody listens any more: the walk has failed elsewhere.
    found
        .send(Found { path: path.to_vec(), look, ctime, what })
        .map_err(|_| io::Error::other("the walk was given up"))
}
