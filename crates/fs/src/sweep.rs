//! Clearing up after processes that were killed in the middle of a write or an edit.
//!
//! A call that is about to create a temporary file in a directory first looks for those of dead
//! processes. A `.part` was never published and goes. A `.swap` is one of three things, told apart
//! by fingerprint:
//!
//! 1. the new file, before the exchange: it goes;
//! 2. the old file as its editor had read it, after the exchange: the edit was complete, it goes;
//! 3. somebody else's newer file, swapped out before the editor could see that it had changed: it
//!    is exchanged back, which is what the editor would have done.
//!
//! Anybody who may create files in the directory can make up such a name. Where it only leads to
//! the removal of that very file, no harm is done. The third case changes another file, so it is
//! settled only by a call on just that file: a command that may not touch `.git/config`, but may
//! put files beside it, cannot have it replaced by our hand.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::open::Identity;
use crate::publish;
use crate::temporary::{Fingerprint, NameHash, PREFIX, Residue, Swap};

/// Files of owners that cannot be judged from here (another container on the same volume) go when
/// they are this old.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3600);
/// How long a directory is left alone after a look, for every name in it. Listing takes well under
/// a microsecond a name, so that looking costs less than a hundredth of the time: a small directory
/// is looked at by every call, and one of a million names once in a minute. Counted, not measured: a
/// look that was slow by chance must not put off the next one.
const REST_PER_NAME: Duration = Duration::from_micros(50);
/// Directories remembered; all are abandoned_after when there are more.
const MAX_REMEMBERED: usize = 1024;

/// When each directory may be looked at again.
static NEXT: LazyLock<Mutex<HashMap<Identity, Instant>>> = LazyLock::new(Mutex::default);

/// Removes what dead processes left in `directory`, on the way to a change of `target` in it.
/// Failing to is no error: nothing depends on it.
pub(crate) fn sweep(directory: BorrowedFd<'_>, identity: Identity, target: &OsStr) {
    let next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if next.get(&identity).is_some_and(|next| now < *next) {
        return;
    }
    drop(next);
    let names = sweep_now(directory, target, ABANDONED_AFTER).unwrap_or(0);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if next.len() >= MAX_REMEMBERED {
        next.clear();
    }
    next.insert(identity, Instant::now() + REST_PER_NAME.saturating_mul(names));
}

/// Gives the number of names looked at.
fn sweep_now(
    directory: BorrowedFd<'_>,
    target: &OsStr,
    abandoned_after: Duration,
) -> Result<u32, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    let mut listing = Dir::new(listing)?;
    let mut names: u32 = 0;
    let mut swaps = Vec::new();
    while let Some(entry) = listing.read() {
        let entry = entry?;
        names = names.saturating_add(1);
        let name = entry.file_name().to_bytes();
        if !name.starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Some(residue) = Residue::parse(name) else { continue };
        let name = OsStr::from_bytes(name);
        let dead = match residue.owner().is_running() {
            Some(alive) => !alive,
            None => age(directory, name).is_some_and(|age| age >= abandoned_after),
        };
        match residue {
            _ if !dead => {}
            Residue::Part(_) => {
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
            }
            Residue::Swap(_, swap) => swaps.push((name.to_os_string(), swap)),
        }
    }
    if !swaps.is_empty() {
        // Two processes that both exchange back would undo each other; see `OpenDirectory::lock`.
        rustix::fs::flock(listing.fd()?, FlockOperation::NonBlockingLockExclusive)?;
    }
    for (name, swap) in swaps {
        let _ = settle(directory, &name, swap, target);
    }
    Ok(names)
}

/// Ends an exchange whose owner died in it.
fn settle(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    swap: Swap,
    target: &OsStr,
) -> Result<(), Errno> {
    let print = |name: &OsStr| {
        rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| Fingerprint::of(&stat))
    };
    let held = print(name)?;
    if held == swap.new || held == swap.out {
        return rustix::fs::unlinkat(directory, name, AtFlags::empty());
    }
    if swap.target != NameHash::of(target) || print(target)? != swap.new {
        // Another call's business; or the target has been replaced or removed since, and there is
        // nothing to take back. The file stays, for it may be the only copy of somebody's bytes.
        return Ok(());
    }
    publish::exchange(directory, name, target)?;
    if print(name)? == swap.new {
        rustix::fs::unlinkat(directory, name, AtFlags::empty())
    } else {
        // Replaced while we looked: put it back as it was found.
        publish::exchange(directory, name, target)
    }
}

fn age(directory: BorrowedFd<'_>, name: &OsStr) -> Option<Duration> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_ctime).ok()?);
    changed.elapsed().ok()
}

#[cfg(test)]
mod tests;
