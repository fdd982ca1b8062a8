//! What a supervisor has built: the layers and the tree of files of its workers.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use toolwright_sandbox::layers::Layers;
use toolwright_sandbox::wire::{ForkRequest, PrivateRequest, Reply, send};

use crate::temporary::Temporary;
use crate::{limits, mounts};

const SAVE_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// How often a path that stays missing is looked at, and whether covered ones were moved.
pub(crate) const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// How often it is looked while no command runs. The workers end when none comes.
pub(crate) const BETWEEN: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The layers, and what belongs to them.
pub(crate) struct Environment {
    pub(crate) layers: Layers,
    pub(crate) idle_ms: u32,
    pub(crate) groups: limits::Groups,
    /// That of the commands, if they have one of their own.
    pub(crate) network: Option<OwnedFd>,
    /// The mounts of the tree, for another supervisor to share its temporary directories.
    pub(crate) mounts: Option<OwnedFd>,
    pub(crate) tree: Option<mounts::Tree>,
    pub(crate) watch: Option<mounts::Watch>,
    /// The temporary directory where there is no such tree.
    pub(crate) temporary: Option<Temporary>,
    /// Since when a protected path is gone that was there.
    pub(crate) missing_since: Option<Instant>,
    pub(crate) failed: Option<Reply>,
}

impl Environment {
    /// Becomes ready when a path may have lost its cover.
    pub(crate) fn changes(&self) -> Option<PollFd<'_>> {
        let changes = self.tree.as_ref().and_then(mounts::Tree::changes)?;
        Some(PollFd::from_borrowed_fd(changes, PollFlags::PRI))
    }

    /// What other supervisors join.
    pub(crate) fn spaces(&self) -> Option<(Reply, Vec<BorrowedFd<'_>>)> {
        let mut descriptors = vec![self.network.as_ref()?.as_fd()];
        let files = self.tree.as_ref().and_then(mounts::Tree::file_system);
        let temporary = self.mounts.as_ref().map(AsFd::as_fd).zip(files);
        descriptors.extend(temporary.into_iter().flat_map(|(mounts, files)| [mounts, files]));
        Some((Reply::Network(temporary.is_some()), descriptors))
    }

    /// Covers again what the host has replaced. A program that saves a file removes it for a moment, so a protected path
    /// that is missing gets a placeholder only after that, and only for a command: while none runs, the host may remove
    /// what it likes without anything coming back.
    pub(crate) fn renew_covers(&mut self, is_active: bool) {
        let Some(tree) = &mut self.tree else { return };
        let since = self.missing_since.filter(|_| is_active);
        let is_missing = tree.renew(since.is_some_and(|since| since.elapsed() > mounts::SAVE_TIME));
        self.missing_since = (is_missing && is_active).then(|| since.unwrap_or_else(Instant::now));
    }

    /// Makes a fork, and sends what has changed in it.
    pub(crate) fn answer_fork(&mut self, root: &Path, request: ForkRequest<'_>, socket: &OwnedFd) {
        let was_stale = self.is_stale();
        let tree = self.tree.as_mut().ok_or(Errno::NOSYS);
        send_fork(tree.and_then(|tree| tree.fork(request)), socket);
        self.keep_fresh(was_stale, root);
    }

    fn is_stale(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.has_changed().unwrap_or(true))
    }

    /// The mounts of this process are no change of the host's.
    fn keep_fresh(&mut self, was_stale: bool, root: &Path) {
        if !was_stale && let Some(tree) = &self.tree {
            self.watch = mounts::Watch::of(tree, root).ok();
        }
    }

    /// Sends a private git directory, empties one, or makes a fork of what the host has put there.
    pub(crate) fn answer_private(
        &mut self,
        root: &Path,
        request: PrivateRequest<'_>,
        socket: &OwnedFd,
    ) {
        let was_stale = self.is_stale();
        match request {
            PrivateRequest::Get(index) => {
                let found = self.tree.as_ref().and_then(|tree| tree.private(index));
                let _ = match found {
                    Some((path, content, covered)) => {
                        send(socket, &Reply::Private(path).frame(), &[content, covered])
                    }
                    None => send(socket, &Reply::NoPrivate.frame(), &[]),
                };
            }
            // Closing the socket is the answer.
            PrivateRequest::Discard(path) => {
                let _ = self.tree.as_mut().map(|tree| tree.discard_private(path));
            }
            PrivateRequest::Settle(path) => {
                let tree = self.tree.as_mut().ok_or(Errno::NOSYS);
                send_fork(tree.and_then(|tree| tree.settle_private(path)), socket);
            }
        }
        self.keep_fresh(was_stale, root);
    }

    /// How long to wait before looking again while a command runs: for a missing path, and for what the host has moved.
    pub(crate) fn pause(&self) -> Option<&'static Timespec> {
        let Some(since) = self.missing_since else {
            return self.changes().map(|_| &POLL_INTERVAL);
        };
        Some(if since.elapsed() > mounts::SAVE_TIME { &POLL_INTERVAL } else { &SAVE_INTERVAL })
    }
}

fn send_fork(found: Result<mounts::Found<'_>, Errno>, socket: &OwnedFd) {
    let _ = match found {
        Ok((changes, None)) => send(socket, &Reply::Fork.frame(), &[changes]),
        Ok((changes, Some(path))) => send(socket, &Reply::MovedFork(path).frame(), &[changes]),
        // Without an answer the host takes another supervisor.
        Err(mounts::UNHELD) => return,
        Err(errno) => send(socket, &Reply::NoFork(errno.raw_os_error()).frame(), &[]),
    };
}
