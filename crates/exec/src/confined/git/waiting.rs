//! Changes of forks that outlive their supervisor.
//!
//! A repository may stay locked after the last command and its supervisor have ended. The next command in this
//! repository brings the changes back.

use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::fstat;
use toolwright_git::directory::Directory;

use super::changed::Changed;

/// How many are kept. Each holds two descriptors and what commands have written.
const MAX: usize = 64;

/// Which repository it is: device and inode of its directory.
type Identity = (u64, u64);

static WAITING: Mutex<Vec<(Identity, Changed)>> = Mutex::new(Vec::new());

/// Keeps changes, in their order.
pub(super) fn add(git: &Directory, changed: Vec<Changed>) {
    let Some(identity) = identity(git).filter(|_| !changed.is_empty()) else { return };
    let mut waiting = lock();
    let room = MAX.saturating_sub(waiting.len());
    waiting.extend(changed.into_iter().take(room).map(|one| (identity, one)));
}

/// Takes the changes of a repository.
pub(super) fn take(git: &Directory) -> Vec<Changed> {
    let Some(identity) = identity(git) else { return Vec::new() };
    let taken = lock().extract_if(.., |(one, _)| *one == identity).collect::<Vec<_>>();
    taken.into_iter().map(|(_, changed)| changed).collect()
}

fn identity(git: &Directory) -> Option<Identity> {
    fstat(git.as_fd()).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

fn lock() -> MutexGuard<'static, Vec<(Identity, Changed)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
