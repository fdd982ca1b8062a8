//! What makes the calls of callers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use rustix::process::umask;
use rustix::thread::CapabilitySet;
use toolwright_sandbox::refused_git::RefusedGit;

use super::call::{Change, FileCall};
use super::caller::{FileCaller, Processes, Status};
use super::git::GitDirectories;
use super::identity::{Identity, OwnRights};
use super::modes::ModeCall;
use super::open::Waiting;
use super::own_sockets::{Met, OwnSockets, Pending};
use super::perform::{Performed, perform, remove_file};
use super::resolve::Place;
use crate::broker::listener::Notification;
use crate::scheduling::Scheduling;

/// How many threads are remembered.
const SEEN: usize = 8;

/// How a call ends.
#[derive(Debug)]
pub(super) enum Answer {
    Done,
    /// With this descriptor, which may be closed when the caller executes a program.
    Opened(OwnedFd, bool),
    /// As [`Answer::Opened`], with a new file.
    Made(OwnedFd, bool, Made),
    Later(DeferredCall),
}

/// A call that another process has to do its part of.
#[derive(Debug)]
pub(super) struct DeferredCall {
    pub(super) id: u64,
    /// Without one, the caller has the usual rights.
    identity: Option<Identity>,
    kind: DeferredKind,
}

#[derive(Debug)]
enum DeferredKind {
    /// It opens what the other has to open as well. What it opens may be closed on exec.
    Opens(Waiting, bool),
    /// It connects to a server that takes no more connections at the moment.
    Connects(Pending),
}

/// A file that a call has made.
#[derive(Debug)]
pub(super) struct Made {
    identity: Option<Identity>,
    place: Place,
}

impl Answer {
    fn of(performed: Performed, id: u64, identity: Option<Identity>) -> Self {
        match performed {
            Performed::Done => Self::Done,
            Performed::Opened(opened, closes_on_exec) => Self::Opened(opened, closes_on_exec),
            Performed::Made(opened, closes_on_exec, place) => {
                Self::Made(opened, closes_on_exec, Made { identity, place })
            }
            Performed::Later(waiting, closes_on_exec) => Self::Later(DeferredCall {
                id,
                identity,
                kind: DeferredKind::Opens(waiting, closes_on_exec),
            }),
        }
    }

    /// `None`: the call is answered elsewhere.
    fn of_socket(met: Met, id: u64, identity: Option<Identity>) -> Option<Self> {
        match met {
            Met::Done => Some(Self::Done),
            Met::Elsewhere => None,
            Met::Later(pending) => Some(Self::Later(DeferredCall {
                id,
                identity,
                kind: DeferredKind::Connects(pending),
            })),
        }
    }
}

/// Makes calls on names, on a thread that has the rules of commands and a mask of its own.
#[derive(Debug)]
pub(super) struct Performer {
    processes: Processes,
    rights: OwnRights,
    git: GitDirectories,
    sockets: OwnSockets,
    /// The mask that commands begin with, and the one in force.
    usual_umask: u32,
    umask: Cell<u32>,
    /// Whether a thread of this command has changed its mask, and its rights. All have the usual ones until then.
    has_other_mask: Cell<bool>,
    has_other_rights: Cell<bool>,
    /// The threads that were looked at last, the newest at the end.
    seen: RefCell<VecDeque<(u32, Status)>>,
    scheduling: Scheduling,
    /// Whether this thread takes its turn as soon as a caller waits.
    attends: Cell<bool>,
}

impl Performer {
    /// `retained` are the capabilities that commands begin with. To be called on the thread itself.
    pub(super) fn new(
        git: GitDirectories,
        sockets: OwnSockets,
        retained: CapabilitySet,
        scheduling: Scheduling,
    ) -> Result<Self, Errno> {
        let processes = Processes::open()?;
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let identity = FileCaller { processes: &processes, thread }.identity()?;
        let usual_umask = identity.umask;
        Ok(Self {
            rights: OwnRights::new(identity, retained)?,
            processes,
            git,
            sockets,
            usual_umask,
            umask: Cell::new(usual_umask),
            has_other_mask: Cell::new(false),
            has_other_rights: Cell::new(false),
            seen: RefCell::default(),
            scheduling,
            attends: Cell::new(false),
        })
    }

    /// Makes the call of a notification, if that is still valid once everything has been read.
    pub(super) fn answer(
        &self,
        notification: &Notification,
        is_valid: impl FnOnce() -> bool,
    ) -> Result<Answer, Errno> {
        let caller = FileCaller { processes: &self.processes, thread: notification.thread };
        let call = FileCall::read(notification, &caller)?;
        let has_other_rights = self.has_other_rights.get() && self.rights.can_differ();
        // Many programs make the directories above a file without asking whether they are there. Nothing is changed
        // then, so neither the mask matters nor whose the call is.
        if !has_other_rights && call.makes_what_is_there() {
            return Err(Errno::EXIST);
        }
        let has_other_mask = self.has_other_rights.get() || self.has_other_mask.get();
        let matters = has_other_rights || (has_other_mask && call.has_mode());
        let identity = if matters { Some(self.identity(&caller)?) } else { None };
        if !is_valid() {
            return Err(Errno::INTR);
        }
        let performed = self.with(identity.as_ref(), || perform(call, &caller, &self.git))?;
        Ok(Answer::of(performed, notification.id, identity))
    }

    /// As [`answer`](Self::answer), for a call that changes a mode.
    pub(super) fn change_mode(
        &self,
        notification: &Notification,
        is_valid: impl FnOnce() -> bool,
    ) -> Result<Answer, Errno> {
        let caller = FileCaller { processes: &self.processes, thread: notification.thread };
        let call = ModeCall::read(notification, &caller)?;
        let matters = self.has_other_rights.get() && self.rights.can_differ();
        let identity = if matters { Some(self.identity(&caller)?) } else { None };
        if !is_valid() {
            return Err(Errno::INTR);
        }
        self.with(identity.as_ref(), || call.perform(&caller)).map(|()| Answer::Done)
    }

    /// As [`answer`](Self::answer), for a call on a socket. `None`: it is answered elsewhere.
    pub(super) fn answer_on_socket(
        &self,
        notification: &Notification,
        is_valid: impl FnOnce() -> bool,
    ) -> Result<Option<Answer>, Errno> {
        let caller = FileCaller { processes: &self.processes, thread: notification.thread };
        let Some(call) = self.sockets.read(notification, &caller)? else { return Ok(None) };
        let has_other_rights = self.has_other_rights.get();
        let matters = has_other_rights && self.rights.can_differ() || self.has_other_mask.get();
        let identity = if matters && call.is_unix() { Some(self.identity(&caller)?) } else { None };
        if !is_valid() {
            return Err(Errno::INTR);
        }
        let perform = || self.sockets.perform(call, &caller);
        let met = self.as_peer(identity.as_ref(), perform)?;
        Ok(Answer::of_socket(met, notification.id, identity))
    }

    /// Tries again what could not be done at once.
    pub(super) fn try_again(&self, deferred: DeferredCall) -> Result<Answer, Errno> {
        let DeferredCall { id, identity, kind } = deferred;
        match kind {
            DeferredKind::Opens(waiting, closes_on_exec) => {
                let opened = self.with(identity.as_ref(), || waiting.try_open())?;
                Ok(Answer::of(Performed::of(opened, closes_on_exec), id, identity))
            }
            DeferredKind::Connects(pending) => {
                let met = self.as_peer(identity.as_ref(), || pending.try_again())?;
                Answer::of_socket(met, id, identity).ok_or(Errno::NOSYS)
            }
        }
    }

    /// Removes what a call has made whose caller has no room for its descriptor. The kernel would have made nothing.
    pub(super) fn take_back(&self, opened: &OwnedFd, made: &Made) {
        let Made { identity, place } = made;
        let is_there = || -> Result<bool, Errno> {
            let (there, opened) = (fstat(place.open(OFlags::empty())?)?, fstat(opened)?);
            Ok((there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino))
        };
        let remove = || if is_there()? { remove_file(place) } else { Ok(()) };
        let _ = self.with(identity.as_ref(), remove);
    }

    /// Does something with the rights and the mask of a caller.
    fn with<T>(
        &self,
        identity: Option<&Identity>,
        work: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.as_caller(identity, false, work)
    }

    /// As [`with`](Self::with), also for whoever asks which user connects or listens.
    fn as_peer<T>(
        &self,
        identity: Option<&Identity>,
        work: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.as_caller(identity, true, work)
    }

    fn as_caller<T>(
        &self,
        identity: Option<&Identity>,
        is_peer: bool,
        work: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.set_umask(identity.map_or(self.usual_umask, |identity| identity.umask));
        match identity {
            Some(identity) if self.rights.can_differ() => self.rights.with(identity, is_peer, work),
            _ => work(),
        }
    }

    /// Reads the rights of a thread. To open its file each time would take as long again.
    fn identity(&self, caller: &FileCaller<'_>) -> Result<Identity, Errno> {
        let mut seen = self.seen.borrow_mut();
        if let Some(at) = seen.iter().position(|(thread, _)| *thread == caller.thread)
            && let Some((_, status)) = seen.remove(at)
            && let Ok(identity) = status.identity()
        {
            seen.push_back((caller.thread, status));
            return Ok(identity);
        }
        let status = caller.status()?;
        let identity = status.identity()?;
        if seen.len() == SEEN {
            seen.pop_front();
        }
        seen.push_back((caller.thread, status));
        Ok(identity)
    }

    /// Notes what a thread is about to change of its own.
    pub(super) fn note(&self, change: Change) {
        match change {
            Change::Mask => self.has_other_mask.set(true),
            Change::Rights => self.has_other_rights.set(true),
        }
    }

    /// What was refused since this was last asked.
    pub(super) fn take_refused(&self) -> Vec<RefusedGit> {
        self.git.take_refused()
    }

    /// Whether a git directory was made since this was last asked.
    pub(super) fn take_made(&self) -> bool {
        self.git.take_made()
    }

    /// Has this thread take its turn as soon as a caller waits for it, which most commands never do.
    pub(super) fn attend(&self) {
        if !self.attends.replace(true) {
            self.scheduling.answer();
        }
    }

    /// To be called before the next command starts on this thread, when no process of the last one is left.
    pub(super) fn end_command(&self) {
        self.set_umask(self.usual_umask);
        self.has_other_mask.set(false);
        self.has_other_rights.set(false);
        self.seen.borrow_mut().clear();
        self.sockets.forget();
        if self.attends.replace(false) {
            self.scheduling.attend(false);
        }
    }

    fn set_umask(&self, mask: u32) {
        if self.umask.replace(mask) != mask {
            umask(Mode::from_raw_mode(mask));
        }
    }
}
