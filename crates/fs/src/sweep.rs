//! Clearing up after processes that were killed in the middle of a write or an edit.
//!
//! A call that is about to create a temporary file in a directory first looks for those of dead
//! processes. A `.part` was never published and goes. A `.swap` is one of three things, told apart
//! by inode and fingerprint:
//!
//! 1. the new file, before the exchange: it goes;
//! 2. the old file as its editor had read it, after the exchange: the edit was complete, it goes;
//! 3. somebody else's newer file, swapped out before the editor could see that it had changed: it
//!    is exchanged back, which is what the editor would have done.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::LazyLock;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use rustix::fs::AtFlags;
use rustix::fs::Dir;
use rustix::fs::FlockOperation;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::open::Identity;
use crate::publish;
use crate::temporary::Fingerprint;
use crate::temporary::PREFIX;
use crate::temporary::Residue;

/// Files of owners that cannot be judged from here (another container on the same volume) go when
/// they are this old.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);
/// Listing may take at most one part in so many of the time between two listings, so that a small
/// directory is looked at by every call and a directory of a million names hardly ever.
const SHARE: u32 = 200;
/// Directories remembered; all are forgotten when there are more.
const REMEMBERED: usize = 1024;

#[derive(Debug, Clone, Copy)]
struct Looked {
    at: Instant,
    took: Duration,
}

static LOOKED: LazyLock<Mutex<HashMap<Identity, Looked>>> = LazyLock::new(Mutex::default);

/// Removes what dead processes left in `directory`. Failing to is no error: nothing depends on it.
pub(crate) fn sweep(directory: BorrowedFd<'_>, identity: Identity) {
    {
        let looked = LOOKED.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.get(&identity).is_some_and(|last| last.at.elapsed() < last.took * SHARE) {
            return;
        }
    }
    let at = Instant::now();
    let _ = sweep_now(directory);
    let mut looked = LOOKED.lock().unwrap_or_else(PoisonError::into_inner);
    if looked.len() >= REMEMBERED {
        looked.clear();
    }
    looked.insert(identity, Looked { at, took: at.elapsed() });
}

fn sweep_now(directory: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    let mut swaps = Vec::new();
    for entry in Dir::read_from(&listing)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !name.starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Some(residue) = Residue::parse(name) else { continue };
        let name = OsStr::from_bytes(name);
        let dead = match residue.owner().alive() {
            Some(alive) => !alive,
            None => forgotten(directory, name),
        };
        match residue {
            _ if !dead => {}
            Residue::Part(_) => {
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
            }
            Residue::Swap { inode, out, .. } => swaps.push((name.to_os_string(), inode, out)),
        }
    }
    if swaps.is_empty() {
        return Ok(());
    }
    // Two processes that both exchange back would undo each other.
    rustix::fs::flock(&listing, FlockOperation::NonBlockingLockExclusive)?;
    for (name, inode, out) in swaps {
        let _ = settle(directory, &name, inode, out);
    }
    Ok(())
}

/// Ends an exchange whose owner died in it.
fn settle(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    inode: u64,
    out: Fingerprint,
) -> Result<(), Errno> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_new = Identity::of(&stat).inode == inode;
    if is_new || Fingerprint::of(&stat) == out {
        return rustix::fs::unlinkat(directory, name, AtFlags::empty());
    }
    // Without the target there is nothing to exchange with; the file stays, for it is the only copy.
    let Some(target) = named_by_inode(directory, inode)? else { return Ok(()) };
    publish::exchange(directory, name, &target)?;
    let now = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if Identity::of(&now).inode == inode {
        rustix::fs::unlinkat(directory, name, AtFlags::empty())
    } else {
        // Replaced while we looked: put it back as it was found.
        publish::exchange(directory, name, &target)
    }
}

fn named_by_inode(directory: BorrowedFd<'_>, inode: u64) -> Result<Option<OsString>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    for entry in Dir::read_from(&listing)? {
        let entry = entry?;
        if entry.ino() == inode && !entry.file_name().to_bytes().starts_with(PREFIX.as_bytes()) {
            return Ok(Some(OsStr::from_bytes(entry.file_name().to_bytes()).to_os_string()));
        }
    }
    Ok(None)
}

fn forgotten(directory: BorrowedFd<'_>, name: &OsStr) -> bool {
    let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    let Ok(seconds) = u64::try_from(stat.st_ctime) else { return false };
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    changed.elapsed().is_ok_and(|age| age > FORGOTTEN)
}
