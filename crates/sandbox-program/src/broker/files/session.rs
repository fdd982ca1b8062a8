//! The calls of one command.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::call::{changes, is_file_call};
use super::performer::Performer;
use crate::broker::listener::{Listener, Notification};

/// The calls of a command on names, and whether one is being made.
pub(crate) struct Session {
    listener: Listener,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_busy: bool,
    is_awaited: bool,
    made_git_directories: bool,
}

/// While there is one, a call is being made.
struct Busy<'s>(&'s Session);

impl<'s> Busy<'s> {
    fn begin(session: &'s Session) -> Self {
        session.lock().is_busy = true;
        Self(session)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_busy = false;
        let is_awaited = state.is_awaited;
        drop(state);
        // To wake nobody takes the kernel as long as a part of the call does.
        if is_awaited {
            self.0.changed.notify_one();
        }
    }
}

impl Session {
    /// `is_shared`: the other calls of the command are answered elsewhere, by the listener that comes back.
    pub(super) fn new(
        descriptor: OwnedFd,
        is_shared: bool,
    ) -> Result<(Arc<Self>, Option<Listener>), Errno> {
        let mut listener = Listener::new(descriptor);
        listener.wake_in_place();
        let shared = if is_shared { Some(listener.share()?) } else { None };
        let session = Self { listener, state: Mutex::default(), changed: Condvar::new() };
        Ok((Arc::new(session), shared))
    }

    /// Answers until no process is left that could call.
    pub(super) fn serve(&self, performer: &Performer) {
        let mut is_first = true;
        loop {
            let mut polled = [PollFd::from_borrowed_fd(self.listener.descriptor(), PollFlags::IN)];
            match poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let events = polled[0].revents();
            if events.contains(PollFlags::IN) {
                // Before it is taken, so that whoever ends the session waits for it.
                let _busy = Busy::begin(self);
                match self.listener.receive_from_kernel() {
                    Ok(Some(notification)) => {
                        if std::mem::take(&mut is_first) {
                            performer.attend();
                        }
                        self.answer(performer, notification);
                    }
                    Ok(None) => {}
                    Err(_) => return,
                }
            } else if !events.is_empty() {
                return;
            }
        }
    }

    fn answer(&self, performer: &Performer, notification: Notification) {
        if let Some(change) = changes(&notification) {
            // Noted before the call is made, so that nobody who has other rights is taken for one of the usual rights.
            performer.note(change);
            self.listener.let_pass(notification.id);
            return;
        }
        if !is_file_call(&notification) {
            self.listener.hand_over(notification);
            return;
        }
        let id = notification.id;
        let result = performer.answer(&notification, || self.listener.is_valid(id));
        if performer.take_made() {
            self.lock().made_git_directories = true;
        }
        self.listener.answer(id, result);
    }

    /// Waits until no call is being made, and returns whether one has made a git directory. No process of the command
    /// may be left. `None`: one still is after this time, because a file system does not answer.
    pub(crate) fn end(&self, limit: Duration) -> Option<bool> {
        let mut state = self.lock();
        state.is_awaited = true;
        let waited = self.changed.wait_timeout_while(state, limit, |state| state.is_busy);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (!timeout.timed_out()).then_some(state.made_git_directories)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
