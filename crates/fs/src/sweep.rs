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
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use toolwright_reserved::FileId;

use crate::location::name_of;
use crate::protection::Protection;
use crate::target::Around;
use crate::temporary::{Fingerprint, NameHash, PREFIX, Residue, SetId, Swap};
use crate::{change_set, open, publish};

/// Temporary files whose owners cannot be judged from here (another container on the same volume)
/// are removed at this age.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3600);
/// How long a directory rests after a look, for every name in it. Listing takes well under a
/// microsecond a name, so the looks take less than a hundredth of the time: every call looks at a
/// small directory, and one of a million names is looked at once in a minute. The time is computed
/// and not measured, because one slow look must not delay the next.
const REST_PER_NAME: Duration = Duration::from_micros(50);
/// A call begins with no further change set after this time. Later calls go on.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);
/// Directories remembered. Beyond this many, all are forgotten.
const MAX_REMEMBERED: usize = 1024;

/// The time of the next look at each directory.
static NEXT: LazyLock<Mutex<HashMap<FileId, Instant>>> = LazyLock::new(Mutex::default);

/// Removes what ended processes left in `directory`, before a change of `target` in it, and finishes
/// their change sets. Nothing depends on it, so failures are ignored.
pub(crate) fn sweep(
    directory: BorrowedFd<'_>,
    identity: FileId,
    target: &OsStr,
    around: Option<&Around<'_>>,
) {
    let sets = sweep_unless_rested(directory, identity, target);
    let Some(around) = around else { return };
    settle_sets(directory, &sets, around);
    sweep_root(around);
}

/// Finishes the change sets that ended processes left in a root.
pub(crate) fn sweep_root(around: &Around<'_>) {
    let root = around.root.as_fd();
    if let Ok(stat) = rustix::fs::fstat(root) {
        let sets = sweep_unless_rested(root, open::identity(&stat), OsStr::new(""));
        settle_sets(root, &sets, around);
    }
}

/// Finishes the change sets whose plans are in `directory`, however short ago the last look was.
pub(crate) fn settle_all(directory: BorrowedFd<'_>, around: &Around<'_>) {
    if let Ok((_, sets)) = sweep_now(directory, OsStr::new(""), ABANDONED_AFTER) {
        settle_sets(directory, &sets, around);
    }
}

/// Finishes change sets, of which a plan or another file is in `directory`.
fn settle_sets(directory: BorrowedFd<'_>, sets: &[SetId], around: &Around<'_>) {
    if sets.is_empty() {
        return;
    }
    let (Ok(root), Ok(here)) = (name_of(around.root.as_fd()), name_of(directory)) else { return };
    let Ok(here) = here.strip_prefix(&root) else { return };
    let protection = Protection::new(around.root, around.protected, around.git);
    let started = Instant::now();
    for set in sets {
        // A command can make up any number of plans, as large as it likes.
        if started.elapsed() > SETTLE_LIMIT {
            break;
        }
        // The plan is here, or in a directory around: the set may have had another root.
        for base in here.ancestors() {
            let Ok(Some(open)) = change_set::open_below(around.root.as_fd(), base) else { break };
            if let Some(state) = change_set::plan_in(open.as_fd(), *set) {
                let may_change = |path: &Path| protection.check_file("", &base.join(path)).is_ok();
                let judge = change_set::Judge { may_change: &may_change, git: around.git };
                let _ = change_set::settle(open.as_fd(), *set, state, judge);
                break;
            }
        }
    }
}

fn sweep_unless_rested(directory: BorrowedFd<'_>, identity: FileId, target: &OsStr) -> Vec<SetId> {
    let next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if next.get(&identity).is_some_and(|next| now < *next) {
        return Vec::new();
    }
    drop(next);
    let (names, sets) = sweep_now(directory, target, ABANDONED_AFTER).unwrap_or_default();
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if next.len() >= MAX_REMEMBERED {
        next.clear();
    }
    next.insert(identity, Instant::now() + REST_PER_NAME.saturating_mul(names));
    sets
}

/// Returns the number of names in the directory, and the change sets that ended processes left.
fn sweep_now(
    directory: BorrowedFd<'_>,
    target: &OsStr,
    abandoned_after: Duration,
) -> Result<(u32, Vec<SetId>), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    let mut listing = Dir::new(listing)?;
    let mut names: u32 = 0;
    let mut swaps = Vec::new();
    let mut sets = Vec::new();
    while let Some(entry) = listing.read() {
        let entry = entry?;
        names = names.saturating_add(1);
        let name = entry.file_name().to_bytes();
        if !name.starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Some(residue) = Residue::parse(name) else { continue };
        let name = OsStr::from_bytes(name);
        let left = match residue {
            Residue::Member(set) | Residue::Plan(set, _) => change_set::is_left(set),
            _ => residue.owner().is_running().map(|alive| !alive),
        };
        let dead = match left {
            Some(dead) => dead,
            None => age(directory, name).is_some_and(|age| age >= abandoned_after),
        };
        match residue {
            _ if !dead => {}
            Residue::Part(_) => {
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
            }
            Residue::Swap(_, swap) => swaps.push((name.to_os_string(), swap)),
            Residue::Member(set) | Residue::Plan(set, _) if sets.contains(&set) => {}
            Residue::Member(set) | Residue::Plan(set, _) => sets.push(set),
        }
    }
    if !swaps.is_empty() {
        // Two processes that both exchange back would undo each other. See `OpenDirectory::lock`.
        rustix::fs::flock(listing.fd()?, FlockOperation::NonBlockingLockExclusive)?;
    }
    for (name, swap) in swaps {
        let _ = settle(directory, &name, swap, target);
    }
    Ok((names, sets))
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
    let current = print(name)?;
    if current == swap.new || current == swap.out {
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
