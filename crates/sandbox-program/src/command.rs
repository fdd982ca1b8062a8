//! One command of a worker, from its start until nothing of it is left.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::broker::files::{GitCalls, Session};
use crate::broker::listener::Listener;
use crate::broker::{Broker, Connections, NamesBroker, Resolver};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use toolwright_sandbox::background::Usage;
use toolwright_sandbox::wire::{HostMessage, Inbox, Progress, Reply, read_request_frame, send};

use crate::observe::{InputFile, Observation, connect, served_port};
use crate::reaped::{Reaped, reap};
use crate::signals::forget_signals;
use crate::worker::Worker;

/// How long killed processes may take to end where they share a namespace with strangers.
const KILL_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a call may take that was begun for a process that has ended.
const CALL_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct Command<'w> {
    worker: &'w Worker,
    leader: Pid,
    /// How the leader ended, once it has been collected.
    status: Option<c_int>,
    /// Whether the remaining processes are being killed.
    kills: bool,
    /// How many others than the leader have been.
    killed: u32,
    used: Usage,
    calls: CommandCalls<'w>,
    input: Option<InputFile>,
    observation: Observation,
    served_port: Option<u16>,
}

/// What answers the calls of a command that wait.
#[derive(Default)]
pub(crate) struct CommandCalls<'w> {
    /// Those about connections.
    pub(crate) broker: Option<CommandBroker<'w>>,
    /// Those on names, which another thread answers.
    pub(crate) session: Option<Arc<Session>>,
}

/// What answers the calls of a command about connections.
pub(crate) enum CommandBroker<'w> {
    /// No call has come yet, as in most commands: where they will come from, and whether none leaves the loopback interface.
    Unasked(Listener, bool),
    Sockets(Broker),
    Names(NamesBroker<'w>),
}

impl<'w> CommandBroker<'w> {
    pub(crate) fn new(
        listener: Listener,
        gate: Option<OwnedFd>,
        connections: Connections,
        resolver: Option<&'w Resolver>,
    ) -> io::Result<Self> {
        match resolver {
            Some(resolver) => NamesBroker::new(listener, gate, resolver).map(Self::Names),
            None => Ok(Self::Unasked(listener, connections == Connections::Loopback)),
        }
    }

    /// Answers what can be answered now. After an error there is no broker.
    fn handle(self) -> io::Result<Self> {
        match self {
            Self::Unasked(listener, is_bound) => {
                Self::Sockets(Broker::of(listener, is_bound)?).handle()
            }
            Self::Sockets(mut broker) => broker.handle().map(|()| Self::Sockets(broker)),
            Self::Names(mut broker) => broker.handle().map(|()| Self::Names(broker)),
        }
    }
}

impl AsFd for CommandBroker<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unasked(listener, _) => listener.as_fd(),
            Self::Sockets(broker) => broker.as_fd(),
            Self::Names(broker) => broker.as_fd(),
        }
    }
}

/// How a command ended of which nothing is left.
#[derive(Debug, Clone)]
pub(crate) struct CommandEnd {
    pub(crate) status: c_int,
    /// How many of its other processes were killed.
    pub(crate) killed: u32,
    pub(crate) usage: Usage,
    /// Whether the worker still looked at it.
    pub(crate) was_watched: bool,
    /// What its calls had to do with git. `None`: one still does not come to its end.
    pub(crate) git_calls: Option<GitCalls>,
}

pub(crate) enum Event {
    /// The leader has ended, and perhaps every other process of the command too.
    Exited {
        status: c_int,
        is_all_gone: bool,
    },
    Kill,
    HostGone,
}

impl<'w> Command<'w> {
    pub(crate) fn new(
        worker: &'w Worker,
        leader: Pid,
        input: Option<InputFile>,
        calls: CommandCalls<'w>,
    ) -> Self {
        Self {
            worker,
            leader,
            status: None,
            kills: false,
            killed: 0,
            used: Usage::default(),
            calls,
            input,
            observation: Observation::default(),
            served_port: None,
        }
    }

    /// Waits until the leader ends or the host sends a message, and collects orphans meanwhile.
    pub(crate) fn wait_for_event(&mut self, inbox: &mut Inbox) -> io::Result<Event> {
        loop {
            // It may have come in one piece with what started the command.
            while let Some(content) = inbox.take().map_err(io::Error::other)? {
                match read_request_frame(&content).map_err(io::Error::other)? {
                    HostMessage::Signal(signal) => self.signal(signal),
                    HostMessage::Watch(facts) => {
                        self.observation.watch(facts);
                        self.worker
                            .scheduling
                            .attend(self.observation.interval(&self.worker.sockets).is_some());
                        self.look(inbox)?;
                    }
                    HostMessage::Connect(port) => self.connect(port, inbox)?,
                    HostMessage::Kill | HostMessage::Run(_) => return Ok(Event::Kill),
                }
            }
            let mut fds = vec![
                PollFd::new(&self.worker.children, PollFlags::IN),
                PollFd::new(&*inbox, PollFlags::IN),
            ];
            fds.extend(self.calls.broker.as_ref().map(|broker| PollFd::new(broker, PollFlags::IN)));
            match poll(&mut fds, self.observation.interval(&self.worker.sockets).as_ref()) {
                Ok(0) => {
                    self.look(inbox)?;
                    continue;
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [children, host, asks] = [0, 1, 2].map(|index: usize| {
                fds.get(index).is_some_and(|polled| !polled.revents().is_empty())
            });
            if asks {
                // Without a broker, the kernel refuses the calls that wait for it, and those that are
                // still to come.
                let broker = self.calls.broker.take();
                self.calls.broker = broker.and_then(|broker| broker.handle().ok());
            }
            if children {
                forget_signals(&self.worker.children);
                let is_all_gone = self.is_all_gone();
                if let Some(status) = self.status {
                    return Ok(Event::Exited { status, is_all_gone });
                }
            }
            if host && inbox.fill(false)? == Progress::Closed {
                return Ok(Event::HostGone);
            }
        }
    }

    /// Collects ended processes, and returns whether the command has none left. A process whose
    /// parent has ended becomes a child of this one, so the command is gone when there is no child.
    fn is_all_gone(&mut self) -> bool {
        loop {
            match self.collect(libc::WNOHANG) {
                Collected::One => {}
                Collected::NoneYet => return false,
                Collected::NoChild => return true,
            }
        }
    }

    /// Notes at which port the command listens, before it is killed.
    pub(crate) fn note_server(&mut self) {
        self.served_port = served_port(&self.worker.sockets, self.worker.alone);
    }

    /// Kills and collects the remaining processes. Returns how the leader ended, and how many
    /// others were killed.
    pub(crate) fn end(mut self) -> CommandEnd {
        let started = Instant::now();
        loop {
            // There is a child, so its group still has its number: killing it hits no stranger.
            if self.is_all_gone() {
                break;
            }
            self.kills = true;
            self.kill();
            if self.worker.alone {
                self.collect(0);
            } else if started.elapsed() > KILL_TIMEOUT {
                // A process has left the group in spite of the pin.
                break;
            } else {
                let _ = wait_for(self.worker.children.as_fd(), 1);
                forget_signals(&self.worker.children);
            }
        }
        self.end_with(self.status.unwrap_or(libc::SIGKILL))
    }

    /// The end of a command that has no process left.
    pub(crate) fn end_with(&self, status: c_int) -> CommandEnd {
        let was_watched = self.observation.interval(&self.worker.sockets).is_some();
        let none = Some(GitCalls::default());
        let session = self.calls.session.as_ref();
        let git_calls = session.map_or(none, |session| session.end(CALL_TIMEOUT));
        let (killed, mut usage) = (self.killed, self.used);
        usage.facts.refused_call = session.and_then(|session| session.refused_call());
        usage.facts.served_port = self.served_port.map(u32::from);
        CommandEnd { status, killed, usage, was_watched, git_calls }
    }

    fn look(&mut self, inbox: &Inbox) -> io::Result<()> {
        let place = (&self.worker.sockets, self.worker.alone);
        self.observation.look(self.leader, place, self.input, inbox)
    }

    fn connect(&self, port: u16, inbox: &Inbox) -> io::Result<()> {
        let connected = connect(port, &self.worker.sockets, self.worker.alone);
        let error = connected.as_ref().err().map(|error| error.raw_os_error());
        let beside: Vec<_> = connected.iter().map(AsFd::as_fd).collect();
        send(inbox, &Reply::Connected(error).frame(), &beside)
    }

    /// The group of a leader that was not collected still has its number.
    fn signal(&self, signal: c_int) {
        if self.status.is_none() {
            // SAFETY: a system call on no memory.
            unsafe { libc::kill(-self.leader.as_raw_pid(), signal) };
        }
    }

    /// An error means that no process is left.
    fn kill(&self) {
        if self.worker.alone {
            // SAFETY: a signal to every process of this namespace but this one.
            unsafe { libc::kill(-1, libc::SIGKILL) };
        } else {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
    }

    fn add_usage(&mut self, used: &libc::rusage) {
        self.used.user_us += microseconds(used.ru_utime);
        self.used.system_us += microseconds(used.ru_stime);
        let peak = u64::try_from(used.ru_maxrss).unwrap_or(0) << 10;
        self.used.peak_bytes = self.used.peak_bytes.max(peak);
    }

    fn collect(&mut self, options: c_int) -> Collected {
        match reap(options) {
            Reaped::NoneYet => Collected::NoneYet,
            Reaped::NoChild => Collected::NoChild,
            Reaped::Held(stopped) => {
                if let Some(session) = &self.calls.session {
                    session.release(stopped);
                }
                Collected::One
            }
            Reaped::Ended { pid, status, used } => {
                self.add_usage(&used);
                if pid == self.leader.as_raw_pid() && self.status.is_none() {
                    self.status = Some(status);
                } else if self.kills && is_killed(status) {
                    self.killed += 1;
                }
                Collected::One
            }
        }
    }
}

fn microseconds(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap_or(0)
}

fn is_killed(status: c_int) -> bool {
    libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Collected {
    One,
    NoneYet,
    NoChild,
}

/// Waits until there is something to read, or the time is over: `false`.
pub(crate) fn wait_for(fd: BorrowedFd<'_>, ms: i64) -> io::Result<bool> {
    let limit = Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
    loop {
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
