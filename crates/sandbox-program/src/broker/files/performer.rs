//! What makes the calls of callers.

use std::cell::Cell;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::umask;
use rustix::thread::CapabilitySet;

use super::call::FileCall;
use super::caller::{FileCaller, Processes};
use super::git::GitDirectories;
use super::identity::OwnRights;
use super::perform::perform;
use super::supervisor_socket::SupervisorSocket;
use crate::broker::listener::Notification;

/// Makes calls on names, on a thread that has the rules of commands and a mask of its own.
#[derive(Debug)]
pub(super) struct Performer {
    processes: Processes,
    rights: OwnRights,
    git: GitDirectories,
    /// The mask that commands begin with, and the one in force.
    usual_umask: u32,
    umask: Cell<u32>,
}

impl Performer {
    /// `retained` are the capabilities that commands begin with. To be called on the thread itself.
    pub(super) fn new(
        supervisor: SupervisorSocket,
        retained: CapabilitySet,
    ) -> Result<Self, Errno> {
        let processes = Processes::open()?;
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let identity = FileCaller { processes: &processes, thread }.identity()?;
        let usual_umask = identity.umask;
        Ok(Self {
            rights: OwnRights::new(identity, retained)?,
            processes,
            git: GitDirectories::new(supervisor),
            usual_umask,
            umask: Cell::new(usual_umask),
        })
    }

    /// Makes the call of a notification, if that is still valid once everything has been read.
    pub(super) fn answer(
        &self,
        notification: &Notification,
        is_valid: impl FnOnce() -> bool,
    ) -> Result<(), Errno> {
        let caller = FileCaller { processes: &self.processes, thread: notification.thread };
        let call = FileCall::read(notification, &caller)?;
        let identity = if self.rights.can_differ() || call.has_mode() {
            Some(caller.identity()?)
        } else {
            None
        };
        if !is_valid() {
            return Err(Errno::INTR);
        }
        let Some(identity) = identity else { return perform(call, &caller, &self.git) };
        if call.has_mode() {
            self.set_umask(identity.umask);
        }
        if self.rights.can_differ() {
            self.rights.with(&identity, || perform(call, &caller, &self.git))
        } else {
            perform(call, &caller, &self.git)
        }
    }

    /// Whether a git directory was made since this was last asked.
    pub(super) fn take_made(&self) -> bool {
        self.git.take_made()
    }

    /// To be called before a command starts on this thread.
    pub(super) fn reset_umask(&self) {
        self.set_umask(self.usual_umask);
    }

    fn set_umask(&self, mask: u32) {
        if self.umask.replace(mask) != mask {
            umask(Mode::from_raw_mode(mask));
        }
    }
}
