//! The host's end of a worker.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};
use toolwright_sandbox::layers::{Layers, is_shortage};
use toolwright_sandbox::refused_git::RefusedGit;
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::{Inbox, Malformed, Progress, Reply};

use super::pool::WorkerHandle;
use crate::cancel::CancelSource;

/// How often a cancel flag without a waker is looked at.
const TICK: Duration = Duration::from_millis(10);
/// How long making a worker may take.
pub(super) const MAX_START_TIME: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Worker {
    inbox: Inbox,
    /// Kills it whatever it does. Missing on systems that have no such thing.
    process: Option<OwnedFd>,
    pub(crate) layers: Layers,
    /// Whether its last command has made a git directory, as far as is known.
    pub(crate) has_made_git: bool,
    /// What was refused to its last command, because git on the host would have obeyed it.
    pub(crate) refused_git: Vec<RefusedGit>,
}

/// Why there is no worker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoWorker {
    /// The system refused a layer.
    #[error("{0:?}: {2} ({reason})", reason = io::Error::from_raw_os_error(*.1))]
    Failed(FailedStep, i32, String),
    #[error("the sandbox program ended at once")]
    Gone,
    #[error("cancelled")]
    Cancelled,
    #[error("timed out")]
    TimedOut,
    #[error("no answer within {} s", MAX_START_TIME.as_secs())]
    TooLong,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Malformed> for NoWorker {
    fn from(error: Malformed) -> Self {
        Self::Io(io::Error::other(error))
    }
}

impl NoWorker {
    /// Whether the system is only out of processes, descriptors or memory.
    pub(crate) fn is_shortage(&self) -> bool {
        let errno = match self {
            Self::Failed(_, errno, _) => Some(*errno),
            Self::Io(error) => error.raw_os_error(),
            _ => None,
        };
        errno.is_some_and(is_shortage)
    }
}

impl Worker {
    /// Waits until a worker reports that it is ready.
    pub(crate) fn wait_for(
        socket: OwnedFd,
        cancel: &dyn CancelSource,
        deadline: Option<Instant>,
    ) -> Result<Self, NoWorker> {
        let mut inbox = Inbox::new(socket);
        let longest = Instant::now() + MAX_START_TIME;
        loop {
            if let Some(content) = inbox.take()? {
                return match Reply::read(&content)? {
                    Reply::Ready(layers) => {
                        let process = inbox.take_descriptor();
                        let refused_git = Vec::new();
                        Ok(Self { inbox, process, layers, has_made_git: true, refused_git })
                    }
                    Reply::Failed(step, errno, what) => Err(NoWorker::Failed(step, errno, what)),
                    // A supervisor whose tree is no longer as it was.
                    _ => Err(NoWorker::Gone),
                };
            }
            if cancel.is_cancelled() {
                return Err(NoWorker::Cancelled);
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Err(NoWorker::TimedOut);
            }
            if longest <= now {
                return Err(NoWorker::TooLong);
            }
            let left = deadline.unwrap_or(longest) - now;
            wait_for(inbox.as_fd(), left.min(TICK))?;
            if inbox.fill(false)? == Progress::Closed {
                return Err(NoWorker::Gone);
            }
        }
    }

    /// The process itself, where the system has such a thing.
    pub(crate) fn process(&self) -> Option<BorrowedFd<'_>> {
        self.process.as_ref().map(AsFd::as_fd)
    }

    /// Its next reply, if one arrives within `limit`.
    pub(crate) fn recv(&mut self, limit: Duration) -> io::Result<Option<Reply>> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(content) = self.inbox.take().map_err(io::Error::other)? {
                let reply = Reply::read(&content).map_err(io::Error::other)?;
                if let Reply::Done(.., has_made_git, refused) = &reply {
                    self.has_made_git = *has_made_git;
                    self.refused_git.clone_from(refused);
                }
                return Ok(Some(reply));
            }
            match self.inbox.fill(false)? {
                Progress::More => continue,
                Progress::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
                Progress::Nothing => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            wait_for(self.inbox.as_fd(), left)?;
        }
    }

    /// The next of the descriptors that came with its replies.
    pub(crate) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.inbox.take_descriptor()
    }

    /// Whether it ended without reading everything that was sent to it.
    pub(crate) fn left_unread(&self) -> bool {
        self.inbox.was_left_unread()
    }

    /// Kills it, and with it everything in its process namespace.
    pub(crate) fn kill(&self) {
        if let Some(process) = &self.process {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

impl Worker {
    /// Kills it, and waits for at most `limit` until nothing is left of its process namespace: the kernel
    /// reports the end of the first process of a namespace behind that of all others.
    pub(crate) fn kill_and_wait(&self, limit: Duration) {
        self.kill();
        if let Some(process) = &self.process {
            let limit = Timespec::try_from(limit).ok();
            let ended = &mut [PollFd::new(process, PollFlags::IN)];
            let _ = rustix::io::retry_on_intr(|| poll(ended, limit.as_ref()));
        }
    }
}

impl WorkerHandle for Worker {
    fn is_idle(&mut self) -> bool {
        matches!(self.recv(Duration::ZERO), Ok(None))
    }
}

impl AsFd for Worker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inbox.as_fd()
    }
}

fn wait_for(fd: BorrowedFd<'_>, limit: Duration) -> io::Result<()> {
    let limit = Timespec::try_from(limit).ok();
    match poll(&mut [PollFd::new(&fd, PollFlags::IN)], limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
