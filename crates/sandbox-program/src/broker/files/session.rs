//! The calls of one command.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use toolwright_sandbox::background::{CallKind, RefusedCall};
use toolwright_sandbox::refused_git::RefusedGit;

use super::call::{changes, is_file_call, makes_device};
use super::modes::is_mode_call;
use super::performer::{Answer, DeferredCall, Performer};
use crate::broker::listener::{Handed, Listener, Notification};
use crate::filter::{priority, reported};
use crate::reaped::Stopped;

/// The calls of a command on names, and whether one is being made.
pub(crate) struct Session {
    listener: Listener,
    state: Mutex<State>,
    changed: Condvar,
    bells: Arc<Bells>,
}

/// What wakes the thread of calls, and the other one. They are made once and not for each command, most of which make
/// no call.
#[derive(Debug)]
pub(super) struct Bells {
    /// Readable when there is a process to let go.
    stops: OwnedFd,
    handed: Arc<Handed>,
}

impl Bells {
    pub(super) fn new() -> Result<Self, Errno> {
        let stops = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { stops, handed: Arc::new(Handed::new()?) })
    }
}

/// What the calls of a command had to do with git.
#[derive(Debug, Default, Clone)]
pub(crate) struct GitCalls {
    /// Whether one has made a git directory.
    pub(crate) made_directories: bool,
    /// What was refused.
    pub(crate) refused: Vec<RefusedGit>,
}

#[derive(Debug, Default)]
struct State {
    stopped: Vec<Stopped>,
    is_busy: bool,
    is_awaited: bool,
    git: GitCalls,
    /// The last call that no command may make, and when it came.
    refused_call: Option<(CallKind, Instant)>,
}

/// How long a call is left alone that waits for another process.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
/// How many calls may wait for other processes. Each costs the worker descriptors.
const MAX_DEFERRED: usize = 256;
/// How long before its end a command was refused what it failed of, also on a machine that is busy.
const RECENT: Duration = Duration::from_secs(2);
/// More refusals are dropped.
const MAX_REFUSED: usize = 16;

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
        // Waking without a waiter costs as much as a part of the call.
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
        bells: &Arc<Bells>,
    ) -> (Arc<Self>, Option<Listener>) {
        let mut listener = Listener::new(descriptor);
        listener.wake_in_place();
        let shared = is_shared.then(|| listener.share(&bells.handed));
        let (state, changed, bells) = (Mutex::default(), Condvar::new(), Arc::clone(bells));
        (Arc::new(Self { listener, state, changed, bells }), shared)
    }

    /// Answers until no process is left that could call.
    pub(super) fn serve(&self, performer: &Performer) {
        let mut deferred = Vec::new();
        loop {
            let pause = if deferred.is_empty() { None } else { Some(&PAUSE) };
            let mut polled = [
                PollFd::from_borrowed_fd(self.listener.descriptor(), PollFlags::IN),
                PollFd::new(&self.bells.stops, PollFlags::IN),
            ];
            match poll(&mut polled, pause) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            if !polled[1].revents().is_empty() {
                self.release_stopped();
            }
            let events = polled[0].revents();
            if events.contains(PollFlags::IN) {
                // Before it is taken, so that whoever ends the session waits for it.
                let _busy = Busy::begin(self);
                match self.listener.receive_from_kernel() {
                    Ok(Some(notification)) => {
                        performer.attend();
                        match self.answer(performer, notification) {
                            Some(one) if deferred.len() < MAX_DEFERRED => deferred.push(one),
                            Some(one) => self.listener.answer(one.id, Err(Errno::AGAIN)),
                            None => {}
                        }
                    }
                    Ok(None) => {}
                    Err(_) => return,
                }
            } else if !events.is_empty() {
                return;
            }
            if !deferred.is_empty() {
                let _busy = Busy::begin(self);
                deferred.retain(|deferred: &DeferredCall| self.listener.is_valid(deferred.id));
                let again = std::mem::take(&mut deferred);
                deferred.extend(again.into_iter().filter_map(|one| {
                    let id = one.id;
                    self.end_call(performer, id, performer.try_again(one))
                }));
            }
        }
    }

    /// Returns the call if it cannot end yet.
    fn answer(&self, performer: &Performer, notification: Notification) -> Option<DeferredCall> {
        if let Some(change) = changes(&notification) {
            // Noted before the call is made, so that nobody who has other rights is taken for one of the usual rights.
            performer.note(change);
            self.listener.let_pass(notification.id);
            return None;
        }
        let id = notification.id;
        if let Some((errno, kind)) = reported::answer(notification.number, &notification.args) {
            if let Some(kind) = kind {
                self.note_refused(kind);
            }
            self.listener.answer(id, Err(errno));
            return None;
        }
        if priority::is_raised(notification.number) {
            self.note_refused(CallKind::Priority);
            self.listener.let_pass(id);
            return None;
        }
        if is_mode_call(&notification) {
            let result = performer.change_mode(&notification, || self.listener.is_valid(id));
            if matches!(result, Err(Errno::PERM)) {
                self.note_refused(CallKind::SetId);
            }
            return self.end_call(performer, id, result);
        }
        if !is_file_call(&notification) {
            let answered = performer.answer_on_socket(&notification, || self.listener.is_valid(id));
            return match answered {
                Ok(None) => {
                    self.listener.hand_over(notification);
                    None
                }
                Ok(Some(answer)) => self.end_call(performer, id, Ok(answer)),
                Err(errno) => self.end_call(performer, id, Err(errno)),
            };
        }
        let result = performer.answer(&notification, || self.listener.is_valid(id));
        if matches!(result, Err(Errno::PERM | Errno::ACCESS)) && makes_device(&notification) {
            self.note_refused(CallKind::Device);
        }
        let (made, refused) = (performer.take_made(), performer.take_refused());
        if made || !refused.is_empty() {
            let GitCalls { made_directories, refused: all } = &mut self.lock().git;
            *made_directories |= made;
            for refused in refused {
                if all.len() < MAX_REFUSED && !all.contains(&refused) {
                    all.push(refused);
                }
            }
        }
        self.end_call(performer, id, result)
    }

    /// Answers a call, or returns it.
    fn end_call(
        &self,
        performer: &Performer,
        id: u64,
        result: Result<Answer, Errno>,
    ) -> Option<DeferredCall> {
        let result = match result {
            Ok(Answer::Done) => Ok(()),
            Ok(Answer::Later(deferred)) => return Some(deferred),
            Ok(Answer::Opened(opened, closes_on_exec)) => {
                match self.listener.answer_with(id, opened, closes_on_exec) {
                    Ok(()) => return None,
                    Err((errno, _)) => Err(errno),
                }
            }
            Ok(Answer::Made(opened, closes_on_exec, made)) => {
                match self.listener.answer_with(id, opened, closes_on_exec) {
                    Ok(()) => return None,
                    Err((errno, opened)) => {
                        performer.take_back(&opened, &made);
                        Err(errno)
                    }
                }
            }
            Err(errno) => Err(errno),
        };
        self.listener.answer(id, result);
        None
    }

    fn note_refused(&self, kind: CallKind) {
        self.lock().refused_call = Some((kind, Instant::now()));
    }

    /// The last call of the command that no command may make.
    pub(crate) fn refused_call(&self) -> Option<RefusedCall> {
        let (kind, at) = self.lock().refused_call?;
        Some(RefusedCall { kind, is_recent: at.elapsed() < RECENT })
    }

    /// Has the thread let a process go that it is the tracer of.
    pub(crate) fn release(&self, stopped: Stopped) {
        self.lock().stopped.push(stopped);
        let _ = rustix::io::write(&self.bells.stops, &1_u64.to_ne_bytes());
    }

    fn release_stopped(&self) {
        let _ = rustix::io::read(&self.bells.stops, &mut [0; 8]);
        let stopped = std::mem::take(&mut self.lock().stopped);
        for stopped in stopped {
            // It may have been killed since.
            let _ = stopped.release();
        }
    }

    /// Waits until no call is being made, and returns what they had to do with git. No process of the command may be
    /// left. `None`: one still is after this time, because a file system does not answer.
    pub(crate) fn end(&self, limit: Duration) -> Option<GitCalls> {
        let mut state = self.lock();
        state.is_awaited = true;
        let waited = self.changed.wait_timeout_while(state, limit, |state| state.is_busy);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (!timeout.timed_out()).then(|| state.git.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
