//! Forks of roots, as the host holds them.
//!
//! A process of the sandbox program makes the overlay and stays as long as the fork is open: it alone can copy its
//! mount for the supervisors of commands. It ends with this process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{fcntl_dupfd_cloexec, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use toolwright_fs::{FileIdentity, ForkedRoot};
use toolwright_sandbox::wire::{
    FORK_HOLDER, FORK_MOUNT, ForkOrder, ForkReply, ForkStep, Inbox, Progress, kill_frame,
    plain_frame, send,
};

use crate::confined::{end_fork, start_program};

/// How long the process may take to answer.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);
/// How long the end of what uses a fork is waited for.
const MAX_END_TIME: Duration = Duration::from_secs(2);

/// Why there is no fork.
#[derive(Debug, thiserror::Error)]
pub enum NoFork {
    /// The system refused a step.
    #[error("{0:?}: {1}")]
    Refused(ForkStep, io::Error),
    /// The process that would hold it cannot be run, or does not answer.
    #[error("{0}")]
    Holder(io::Error),
}

/// A fork of a root that is open in this process.
#[derive(Debug)]
pub struct RootFork {
    number: u64,
    /// To the process that holds it.
    inbox: Mutex<Option<Inbox>>,
    process: Arc<OwnedFd>,
    root: Arc<OwnedFd>,
    identity: FileIdentity,
    /// Held by each process that has a mount of it.
    lock: OwnedFd,
    is_closed: Arc<AtomicBool>,
    /// How many bytes it may have, once it has more; otherwise 0.
    exceeded: Arc<AtomicU64>,
    /// Woken at each use.
    attendant: Arc<OnceLock<Thread>>,
    running: Running,
}

/// The commands that run in a fork.
type Running = Arc<Mutex<Vec<RunningIn>>>;

/// What stops a command that runs in a fork.
#[derive(Debug)]
struct RunningIn {
    number: u64,
    /// To its worker.
    socket: OwnedFd,
    /// The worker itself.
    process: Option<OwnedFd>,
    stopped_at: Arc<AtomicU64>,
}

/// A command or process that runs in a fork, which stops it when it has more bytes than it may. Until this is dropped.
#[derive(Debug)]
pub(crate) struct InFork {
    number: u64,
    running: Running,
    stopped_at: Arc<AtomicU64>,
}

impl InFork {
    /// By which bound of the fork it was stopped, if it was.
    pub(crate) fn stopped_at(&self) -> Option<u64> {
        Some(self.stopped_at.load(Ordering::Acquire)).filter(|limit| *limit > 0)
    }
}

impl Drop for InFork {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|one| one.number != self.number);
    }
}

static OPEN: Mutex<Vec<Weak<RootFork>>> = Mutex::new(Vec::new());

impl RootFork {
    /// Has a fork made. `lock` is the open and locked file that keeps other processes from making one with the same
    /// changes.
    pub fn make(holder: Holder, order: &ForkOrder, lock: OwnedFd) -> Result<Arc<Self>, NoFork> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let Holder { mut inbox, process } = holder;
        send(&inbox, &order.frame(), &[lock.as_fd()]).map_err(NoFork::Holder)?;
        let root = answer(&mut inbox, MAX_ANSWER_TIME)?;
        let identity = FileIdentity::of(&root).map_err(NoFork::Holder)?;
        let made = Arc::new(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            inbox: Mutex::new(Some(inbox)),
            process: Arc::new(process),
            root: Arc::new(root),
            identity,
            lock,
            is_closed: Arc::default(),
            exceeded: Arc::default(),
            attendant: Arc::default(),
            running: Arc::default(),
        });
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|fork| fork.strong_count() > 0);
        open.push(Arc::downgrade(&made));
        Ok(made)
    }

    /// What tools work in, in place of the directory.
    #[must_use]
    pub fn granted(&self) -> ForkedRoot {
        ForkedRoot {
            number: self.number,
            open: Arc::clone(&self.root),
            identity: self.identity,
            holder: Arc::clone(&self.process),
            is_closed: Arc::clone(&self.is_closed),
            exceeded: Arc::clone(&self.exceeded),
            attendant: Arc::clone(&self.attendant),
        }
    }

    /// Has a thread woken at each use of the fork by tools or commands.
    pub fn attend(&self, thread: Thread) {
        let _ = self.attendant.set(thread);
    }

    /// Refuses tools and commands while the fork has more bytes than this limit, and stops those that run; or no longer does.
    pub fn note_exceeded(&self, limit: Option<u64>) {
        self.exceeded.store(limit.unwrap_or_default(), Ordering::Release);
        let Some(limit) = limit else { return };
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        for one in &*running {
            if one.stopped_at.swap(limit, Ordering::AcqRel) == 0 {
                let _ = send(&one.socket, &kill_frame(), &[]);
            } else if let Some(process) = &one.process {
                // Its worker had the time since the last look, and has not answered.
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        }
    }

    /// Whether a command or process runs in it.
    pub fn is_in_use(&self) -> bool {
        !self.running.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Notes that a worker runs a command in it: `socket` leads to the worker, and `process` is the worker.
    pub(crate) fn enter(
        &self,
        socket: BorrowedFd<'_>,
        process: Option<BorrowedFd<'_>>,
    ) -> io::Result<InFork> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let (running, stopped_at) = (Arc::clone(&self.running), Arc::<AtomicU64>::default());
        let socket = fcntl_dupfd_cloexec(socket, 0)?;
        let process = process.map(|process| fcntl_dupfd_cloexec(process, 0)).transpose()?;
        let one = RunningIn { number, socket, process, stopped_at: Arc::clone(&stopped_at) };
        running.lock().unwrap_or_else(PoisonError::into_inner).push(one);
        if let Some(attendant) = self.attendant.get() {
            attendant.unpark();
        }
        Ok(InFork { number, running, stopped_at })
    }

    /// A mount for a supervisor, and the lock that goes with it.
    pub(crate) fn mount(&self) -> io::Result<[OwnedFd; 2]> {
        let lock = fcntl_dupfd_cloexec(&self.lock, 0)?;
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let inbox = inbox.as_mut().ok_or(io::ErrorKind::NotFound)?;
        send(&*inbox, &plain_frame(FORK_MOUNT), &[])?;
        let mount = answer(inbox, MAX_ANSWER_TIME).map_err(|refused| match refused {
            NoFork::Refused(_, error) | NoFork::Holder(error) => error,
        })?;
        Ok([mount, lock])
    }

    /// Closes it: tools that work in it are refused from now on, the processes that wait for commands in it end, and so
    /// does the one that holds it. Returns whether nothing uses it any more; commands that still run do.
    pub fn close(&self) -> bool {
        self.is_closed.store(true, Ordering::Release);
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take();
        let deadline = Instant::now() + MAX_END_TIME;
        let is_free = end_fork(self.number, deadline);
        let was_open = inbox.is_some();
        drop(inbox);
        if was_open {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).ok();
            let ended = &mut [PollFd::new(&*self.process, PollFlags::IN)];
            let _ = retry_on_intr(|| poll(ended, left.as_ref()));
        }
        is_free
    }
}

impl Drop for RootFork {
    fn drop(&mut self) {
        self.close();
    }
}

/// The fork of this number.
pub(crate) fn find(number: u64) -> Option<Arc<RootFork>> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.iter().filter_map(Weak::upgrade).find(|fork| fork.number == number)
}

/// A process that is about to hold a fork. It ends if this is dropped before that.
#[derive(Debug)]
pub struct Holder {
    inbox: Inbox,
    process: OwnedFd,
}

impl Holder {
    /// Starts the process.
    pub fn start() -> Result<Self, NoFork> {
        Self::spawn().map_err(NoFork::Holder)
    }

    fn spawn() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        set_socket_timeout(&ours, Timeout::Send, Some(MAX_ANSWER_TIME))?;
        let mut child = start_program(FORK_HOLDER, theirs.into())?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let process = pid
            .ok_or(io::ErrorKind::NotFound.into())
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from));
        let _ = thread::Builder::new()
            .name("toolwright-reap".to_owned())
            .stack_size(64 << 10)
            .spawn(move || child.wait());
        Ok(Self { inbox: Inbox::new(ours.into()), process: process? })
    }
}

/// What comes with the next answer.
fn answer(inbox: &mut Inbox, limit: Duration) -> Result<OwnedFd, NoFork> {
    let deadline = Instant::now() + limit;
    loop {
        let content = inbox.take().map_err(|error| NoFork::Holder(io::Error::other(error)))?;
        if let Some(content) = content {
            let reply = ForkReply::read_content(&content);
            return match reply.map_err(|error| NoFork::Holder(io::Error::other(error)))? {
                ForkReply::Refused(step, errno) => {
                    Err(NoFork::Refused(step, io::Error::from_raw_os_error(errno)))
                }
                ForkReply::Made => inbox
                    .take_descriptor()
                    .ok_or_else(|| NoFork::Holder(io::ErrorKind::InvalidData.into())),
            };
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(NoFork::Holder(io::ErrorKind::TimedOut.into()));
        }
        let left = Timespec::try_from(left).ok();
        let fds = &mut [PollFd::new(&*inbox, PollFlags::IN)];
        retry_on_intr(|| poll(fds, left.as_ref())).map_err(|error| NoFork::Holder(error.into()))?;
        match inbox.fill(false).map_err(NoFork::Holder)? {
            Progress::Closed => return Err(NoFork::Holder(io::ErrorKind::BrokenPipe.into())),
            Progress::More | Progress::Nothing => {}
        }
    }
}
