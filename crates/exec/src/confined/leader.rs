//! A command that a worker runs.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::io::Errno;
use toolwright_sandbox::background::Facts;
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::{Reply, kill_frame, send};

use super::lease::Lease;
use crate::git_reports::GitReport;
use crate::running_command::{CommandState, NotRun};

/// How long a worker may take to kill a command, before it is killed itself.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct ConfinedLeader {
    lease: Lease,
    /// The worker's end of the gate, and the writing ends of the pipes, kept while the command runs. So the pipes do not end before:
    /// their end carries no information, and would wake the thread that follows the command while
    /// the command still needs the processor.
    writers: Vec<OwnedFd>,
    /// Why the request could not be sent.
    send_error: Option<NotRun>,
    ended: Option<ExitStatus>,
    /// How many of its other processes were killed.
    killed: u32,
    /// What the kernel has counted of refusals.
    facts: Facts,
    /// Nothing of it is left, and the worker is free.
    done: bool,
    /// The worker does not answer.
    is_unresponsive: bool,
}

impl ConfinedLeader {
    /// A failure to send is reported by the first [`poll`](Self::poll).
    pub(crate) fn start(lease: Lease, frame: &[u8], writers: Vec<OwnedFd>) -> Self {
        let pipes: Vec<_> = writers.iter().map(AsFd::as_fd).collect();
        let send_error = send(lease.worker(), frame, &pipes).err().map(|error| {
            lease.worker().kill();
            match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(errno) if errno == Errno::NOMEM || errno == Errno::TOOMANYREFS => {
                    NotRun::Failed(FailedStep::Fork, errno.raw_os_error())
                }
                // It has left, or has been stopped in the middle of the frame.
                _ => NotRun::Left,
            }
        });
        Self {
            lease,
            writers,
            send_error,
            ended: None,
            killed: 0,
            facts: Facts::default(),
            done: false,
            is_unresponsive: false,
        }
    }

    pub(crate) fn poll(&mut self) -> io::Result<CommandState> {
        let news = self.recv();
        if !matches!(news, Ok(CommandState::Running)) {
            self.writers.clear();
        }
        news
    }

    fn recv(&mut self) -> io::Result<CommandState> {
        if let Some(reason) = self.send_error {
            return Ok(CommandState::NotRun(reason));
        }
        if self.ended.is_some() {
            return Ok(CommandState::Ended);
        }
        let reply = match self.lease.worker_mut().recv(Duration::ZERO) {
            // It ended while it waited for a command, and never knew this one.
            Err(_) if self.lease.worker().left_unread() => {
                return Ok(CommandState::NotRun(NotRun::Left));
            }
            reply => reply?,
        };
        match reply {
            None => Ok(CommandState::Running),
            Some(Reply::Ended(status)) => {
                self.ended = Some(ExitStatus::from_raw(status));
                Ok(CommandState::Ended)
            }
            Some(Reply::Done(status, killed, usage, ..)) => {
                self.ended = Some(ExitStatus::from_raw(status));
                self.killed = killed;
                self.facts = usage.facts;
                self.done = true;
                Ok(CommandState::Ended)
            }
            Some(Reply::NotRun(step, errno)) => {
                self.done = true;
                Ok(CommandState::NotRun(NotRun::Failed(step, errno)))
            }
            Some(Reply::Goodbye) => Ok(CommandState::NotRun(NotRun::Left)),
            Some(Reply::Stale) => {
                self.lease.retire();
                Ok(CommandState::NotRun(NotRun::Stale))
            }
            Some(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Kills the remaining processes. `None` means that the worker did not report how the command
    /// ended.
    pub(crate) fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        self.writers.clear();
        if !self.done && !self.is_unresponsive && self.send_error.is_none() {
            match self.kill() {
                Ok(done) => (self.done, self.is_unresponsive) = (done, !done),
                // A killed worker takes its command with it.
                Err(_) if self.ended.is_some() => self.lease.worker().kill(),
                Err(error) => return Err(error),
            }
        }
        Ok(self.ended)
    }

    /// How many of its other processes [`end`](Self::end) has killed.
    pub(crate) fn killed(&self) -> u32 {
        self.killed
    }

    /// What the kernel has counted of refusals, once it has ended.
    pub(crate) fn facts(&self) -> Facts {
        Facts { fork_full: self.lease.fork_full(), ..self.facts }
    }

    /// Brings back what the command has changed of git directories, and says what of it was not. Nothing of
    /// the command is left.
    pub(crate) fn end_git(&mut self) -> Vec<GitReport> {
        self.lease.end_git()
    }

    fn kill(&mut self) -> io::Result<bool> {
        send(self.lease.worker(), &kill_frame(), &[])?;
        loop {
            match self.lease.worker_mut().recv(KILL_TIMEOUT)? {
                Some(Reply::Done(status, killed, usage, ..)) => {
                    self.ended = Some(ExitStatus::from_raw(status));
                    self.killed = killed;
                    self.facts = usage.facts;
                    return Ok(true);
                }
                Some(Reply::Ended(status)) => self.ended = Some(ExitStatus::from_raw(status)),
                Some(Reply::NotRun(..)) => return Ok(true),
                _ => {
                    self.lease.worker().kill();
                    return Ok(false);
                }
            }
        }
    }
}

impl AsFd for ConfinedLeader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lease.worker().as_fd()
    }
}

impl Drop for ConfinedLeader {
    fn drop(&mut self) {
        if !self.done && self.end().is_err() {
            self.lease.worker().kill();
        }
        if self.done {
            self.lease.release();
        }
    }
}
