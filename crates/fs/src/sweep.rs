//! Cleans up after processes that were killed during a write or an edit.
//!
//! A call that is about to create a temporary file in a directory first looks for those of ended
//! processes. A `.part` was never published and is removed. A `.swap` is one of three things, which
//! its fingerprints distinguish:
//!
//! 1. the new file, before the exchange: it is removed;
//! 2. the old file as its editor had read it, after the exchange: the edit was complete, so it is
//!    removed;
//! 3. a newer file of another process, swapped out before the editor could see the change: it is
//!    exchanged back, as the editor would have done.
//!
//! Any process that may create files in the directory can make up such a name. If it only leads to
//! the removal of that very file, there is no harm. The third case changes another file, so only a
//! call on just that file settles it. A command that may not touch `.git/config`, but may create
//! files beside it, cannot have it replaced this way.

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

/// Temporary files whose owners cannot be judged from here (another container on the same volume)
/// are removed at this age.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3600);
/// How long a directory rests after a look, for every name in it. Listing takes well under a
/// microsecond a name, so the looks take less than a hundredth of the time: every call looks at a
/// small directory, and one of a million names is looked at once in a minute. The time is computed
/// and not measured, because one slow look must not delay the next.
const REST_PER_NAME: Duration = Duration::from_micros(50);
/// Directories remembered. Beyond this many, all are forgotten.
const MAX_REMEMBERED: usize = 1024;

/// The time of the next look at each directory.
static NEXT: LazyLock<Mutex<HashMap<Identity, Instant>>> = LazyLock::new(Mutex::default);

/// Removes what ended processes left in `directory`, before a change of `target` in it. Nothing
/// depends on it, so failures are ignored.
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

/// Returns the number of names in the directory.
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
        // Two processes that both exchange back would undo each other. See `OpenDirectory::lock`.
        rustix::fs::flock(listing.fd()?, FlockOperation::NonBlockingLockExclusive)?;
    }
    for (name, swap) in swaps {
        let _ = settle(directory, &name, swap, target);
    }
    Ok(names)
}

/// Completes an exchange whose owner died.
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
        // This is another call's exchange, or the target has been replaced or removed since, and
        // there is nothing to undo. The file stays, because it may be the only copy of its bytes.
        return Ok(());
    }
    publish::exchange(directory, name, target)?;
    if print(name)? == swap.new {
        rustix::fs::unlinkat(directory, name, AtFlags::empty())
    } else {
        // Replaced during the check. Exchange back what was found.
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
