//! What the host asks of a supervisor about git directories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use toolwright_git::directory::Directory;
use toolwright_sandbox::wire::{
    Reply, command_fork_frame, discard_private_frame, fork_frame, private_frame,
    settle_private_frame,
};

use super::made::{Private, of_command};
use crate::confined::answer::wait_for_answer;
use crate::confined::pool::Pool;

/// The supervisor has ended, or another one has taken its place.
#[derive(Debug)]
pub(crate) struct Retired;

/// Asks a supervisor for the changes in its fork of a git directory, and for its current path if commands have moved
/// it. An error says why there are none: `EBUSY` for a directory that is private.
pub(super) fn fork(
    pool: &Arc<Pool>,
    generation: u64,
    path: &Path,
    anew: bool,
) -> Result<Result<(Directory, Option<PathBuf>), Errno>, Retired> {
    // One that is there is known by now.
    let of_command = if anew { None } else { of_command(path) };
    let frame = match of_command {
        Some(identity) => command_fork_frame(path, identity),
        None => fork_frame(path, anew),
    };
    ask(pool, generation, &frame, anew, |answer| match answer {
        (Reply::Fork, mut descriptors) => Some(Ok((descriptors.pop()?, None))),
        (Reply::MovedFork(path), mut descriptors) => Some(Ok((descriptors.pop()?, Some(path)))),
        (Reply::NoFork(errno), _) => Some(Err(Errno::from_raw_os_error(errno))),
        _ => None,
    })
}

/// Asks a supervisor for one of its private git directories. `None`: there are no more.
pub(super) fn private(
    pool: &Arc<Pool>,
    generation: u64,
    index: u32,
) -> Result<Option<Private>, Retired> {
    ask(pool, generation, &private_frame(index), false, |answer| match answer {
        (Reply::Private(path), mut descriptors) => {
            let (git, content) = (descriptors.pop()?, descriptors.pop()?);
            Some(Some(Private { path, content, git }))
        }
        (Reply::NoPrivate, _) => Some(None),
        _ => None,
    })
}

/// Has commands see a fork where they had a private git directory. `None`: it stays private.
pub(super) fn settled(
    pool: &Arc<Pool>,
    generation: u64,
    path: &Path,
) -> Result<Option<Directory>, Retired> {
    ask(pool, generation, &settle_private_frame(path), true, |answer| match answer {
        (Reply::Fork, mut descriptors) => descriptors.pop().map(Some),
        (Reply::NoFork(_), _) => Some(None),
        _ => None,
    })
}

/// Has commands see a new private directory where they had one. Closing the socket is the answer.
pub(super) fn discarded(pool: &Arc<Pool>, generation: u64, path: &Path) -> Result<(), Retired> {
    let state = pool.lock();
    let supervisor = state.supervisor().filter(|_| state.generation == generation);
    let answer = supervisor.ok_or(Retired)?.ask(&discard_private_frame(path));
    drop(state);
    let _ = answer.map(wait_for_answer);
    Ok(())
}

/// Asks a supervisor. One that gives no answer that can be read is retired.
fn ask<T>(
    pool: &Arc<Pool>,
    generation: u64,
    frame: &[u8],
    changes_trees: bool,
    read: impl FnOnce((Reply, Vec<Directory>)) -> Option<T>,
) -> Result<T, Retired> {
    let mut state = pool.lock();
    if state.generation != generation {
        return Err(Retired);
    }
    if changes_trees {
        // Each worker would say so.
        state.drop_idle();
    }
    let Some(supervisor) = state.supervisor() else { return Err(Retired) };
    let answer = supervisor.ask(frame);
    drop(state);
    let answer = answer.and_then(wait_for_answer).ok().map(|(reply, descriptors)| {
        (reply, descriptors.into_iter().map(Directory::from).collect())
    });
    if let Some(answer) = answer.and_then(read) {
        return Ok(answer);
    }
    let mut state = pool.lock();
    if state.generation == generation {
        state.retire();
    }
    Err(Retired)
}
