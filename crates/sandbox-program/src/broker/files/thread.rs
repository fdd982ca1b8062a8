//! The thread of a worker that makes the calls of its commands.
//!
//! It has entered the rules of the commands, so it can write nothing that they cannot. A command starts from it and
//! inherits these rules: the kernel lets a thread look into processes of its own rules alone.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open,
    set_dumpable_behavior, waitpid,
};
use rustix::thread::{UnshareFlags, gettid, unshare_unsafe};

use super::git::{GitDirectories, NameRules};
use super::own_sockets::{OwnSockets, SocketGround};
use super::performer::Performer;
use super::session::{Bells, Session};
use super::supervisor_socket::SupervisorSocket;
use crate::broker::channel::{Channel, install_in_child};
use crate::broker::listener::Listener;
use crate::errno;
use crate::filter::{self, Program};
use crate::namespaces::RetainedCapabilities;
use crate::rules::Ruleset;
use crate::scheduling::Scheduling;

/// What is done on the thread. What comes back is served there then.
type Job = JobWithin<'static>;

/// One that borrows what lives as long.
type JobWithin<'a> = Box<dyn FnOnce(&mut Option<Performer>) -> Option<Arc<Session>> + Send + 'a>;

/// The calls of a command, and the listener for those that are answered elsewhere.
pub(crate) type Started = (Arc<Session>, Option<Listener>);

/// A reference to what only one thread uses at a time, because the other one waits.
struct Lent<T>(*mut T);

// SAFETY: `FileThread::run` waits until the thread has used it for the last time.
unsafe impl<T> Send for Lent<T> {}

impl<T> Lent<T> {
    /// A method, so that a closure captures the whole value.
    fn pointer(&self) -> *mut T {
        self.0
    }
}

/// The thread. It ends with the process.
#[derive(Debug)]
pub(crate) struct FileThread {
    jobs: Sender<Job>,
    number: u32,
    bells: Arc<Bells>,
}

/// How the thread is confined.
#[derive(Clone, Copy)]
pub(crate) struct Confinement<'a> {
    pub(crate) rules: &'a Ruleset,
    pub(crate) filter: &'a Program,
    pub(crate) capabilities: RetainedCapabilities,
    pub(crate) names: NameRules<'a>,
    pub(crate) sockets: SocketGround<'a>,
}

impl FileThread {
    /// Starts the thread, with all rights of this one.
    pub(crate) fn start() -> io::Result<Self> {
        let (jobs, received) = channel::<Job>();
        let (number, started) = channel();
        std::thread::Builder::new().name("files".into()).spawn(move || {
            let _ = number.send(gettid().as_raw_nonzero().get().cast_unsigned());
            let mut performer = None;
            for job in received {
                if let Some(session) = job(&mut performer)
                    && let Some(performer) = &performer
                {
                    session.serve(performer);
                    performer.end_command();
                }
            }
        })?;
        let number = started.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(Self { jobs, number, bells: Arc::new(Bells::new()?) })
    }

    /// Its number in the process namespace.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Confines the thread for good.
    pub(crate) fn confine(
        &self,
        confinement: Confinement<'_>,
        supervisor: SupervisorSocket,
    ) -> io::Result<()> {
        self.run(move |performer| {
            let Confinement { rules, filter, capabilities, names, sockets } = confinement;
            // SAFETY: only the directory, the root and the mask become this thread's own.
            let confined = unsafe { unshare_unsafe(UnshareFlags::FS) }
                .map_err(io::Error::from)
                .and_then(|()| capabilities.apply_with_inspection())
                .and_then(|()| Ok(rustix::thread::set_no_new_privs(true)?));
            let confined = confined.and_then(|()| {
                let scheduling = Scheduling::yielding();
                let sockets = OwnSockets::new(sockets);
                filter::install(filter)?;
                rules.restrict_self()?;
                let git = GitDirectories::new(supervisor, names);
                let retained = capabilities.set();
                *performer = Some(Performer::new(git, sockets, retained, scheduling)?);
                Ok(())
            });
            (confined, None)
        })?
    }

    /// Starts a command on the thread and serves its calls. `start` says whether there is one, and what has come from
    /// it. Comes back with the result of `start`, and with the session of the command; the listener is for the calls
    /// that are answered elsewhere.
    pub(crate) fn start_command<T>(
        &self,
        is_shared: bool,
        start: impl FnOnce() -> (T, Option<OwnedFd>),
    ) -> io::Result<(T, Option<Started>)> {
        self.run(move |_| {
            let (result, descriptor) = start();
            let session =
                descriptor.map(|descriptor| Session::new(descriptor, is_shared, &self.bells));
            let served = session.as_ref().map(|(session, _)| session.clone());
            ((result, session), served)
        })
    }

    /// Runs `work` on the thread and waits for its result. The session is served after that.
    fn run<T>(
        &self,
        work: impl FnOnce(&mut Option<Performer>) -> (T, Option<Arc<Session>>),
    ) -> io::Result<T> {
        let (done, finished) = channel();
        let mut slot = (Some(work), None::<T>);
        let lent = Lent(&raw mut slot);
        let job = move |performer: &mut Option<Performer>| {
            // SAFETY: the other thread waits for `done`, or for the end of this thread.
            let slot = unsafe { &mut *lent.pointer() };
            let session = slot.0.take().and_then(|work| {
                let (result, session) = work(performer);
                slot.1 = Some(result);
                session
            });
            // From here on `slot` is the other thread's.
            let _ = done.send(());
            session
        };
        let job: JobWithin<'_> = Box::new(job);
        // SAFETY: what is borrowed lives until `recv` has returned, and the thread does not use it later.
        let job: Job = unsafe { std::mem::transmute(job) };
        self.jobs.send(job).map_err(|_| gone())?;
        // An error: the thread has unwound, and dropped what it had.
        finished.recv().map_err(|_| gone())?;
        slot.1.ok_or_else(gone)
    }
}

fn gone() -> io::Error {
    Errno::SRCH.into()
}

impl FileThread {
    /// Has a throw-away child make a call behind the filter of a command. The error is the one that the child got.
    pub(crate) fn probe(
        &self,
        program: &Program,
        channel: &Channel,
        probed: Probed,
    ) -> io::Result<()> {
        let (child, session) = self.start_command(false, || {
            // SAFETY: the child uses nothing that other threads may hold, and leaves by `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let errno = ask_once(program, channel, probed).raw_os_error();
                // SAFETY: ends the child.
                unsafe { libc::_exit(errno) };
            }
            let child = Pid::from_raw(child.max(0));
            if child.is_some() {
                let arrives = &mut [PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::IN)];
                let _ = poll(arrives, Some(&PATIENCE));
            }
            (child, channel.take_ends().ok().flatten().map(|ends| ends.listener))
        })?;
        let child = child.ok_or(Errno::AGAIN)?;
        let ended = pidfd_open(child, PidfdFlags::empty())
            .and_then(|ended| poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&PATIENCE)));
        let _ = kill_process(child, Signal::KILL);
        let status = waitpid(Some(child), WaitOptions::empty())?;
        drop(session);
        ended?;
        match status.and_then(|(_, status)| status.exit_status()) {
            Some(libc::ENOTEMPTY) => Ok(()),
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            None => Err(Errno::TIMEDOUT.into()),
        }
    }
}

/// Far longer than it takes.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// The call that is tried.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Probed {
    /// One on a name.
    Name,
    /// One that opens a file.
    Opening,
}

/// Says that a descriptor has come, as the error of the other call says that this has ended.
const OPENED: Errno = Errno::NOTEMPTY;

/// Makes a call: a directory that holds another is not removed, and a file opens.
fn ask_once(program: &Program, channel: &Channel, probed: Probed) -> Errno {
    // As a program that was executed, and unlike a worker.
    let ready = set_dumpable_behavior(DumpableBehavior::Dumpable);
    if let Err(errno) = ready {
        return errno;
    }
    if let Err(error) = install_in_child(program, channel.child_end(), None) {
        return errno::of(&error);
    }
    if matches!(probed, Probed::Opening) {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC;
        // SAFETY: the text ends with a NUL. What is opened ends with this process.
        let opened = unsafe { libc::open(c"/dev/null".as_ptr(), flags, 0) };
        return if opened < 0 { errno::last() } else { OPENED };
    }
    // SAFETY: the text ends with a NUL.
    let result = unsafe {
        libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, c"..".as_ptr(), libc::AT_REMOVEDIR)
    };
    if result == 0 { Errno::INVAL } else { errno::last() }
}
