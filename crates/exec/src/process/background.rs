//! One background process, from its start until nothing of it is left.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use rustix::io::{Errno, read};
use toolwright_sandbox::background::Usage;
use toolwright_sandbox::wire::{Reply, connect_frame, kill_frame, send};

use super::input::Input;
use super::log::Log;
use super::reactor::{Followed, Part, Reactor, lock};
use super::relay::Relay;
use super::start::Begun;
use super::watch::Watches;
use super::{LogLimits, ProcessEnd};
use crate::confined::Lease;
use crate::exit::Exit;
use crate::run::GRACE;

/// How long a worker may take to kill a process, before it is killed itself.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// How much of one stream is read before the others get their turn.
const TURN_BYTES: usize = 256 << 10;
const BLOCK: usize = 16 << 10;
/// The most that a pipe or a terminal holds, unless root has raised the limit.
const PIPE_BYTES: usize = 1 << 20;

const WORKER: Part = 0;
const INPUT: Part = 1;
/// And the stream after it.
const OUTPUT: Part = 2;

/// Gets a connection to a server of the process.
type Connected = Box<dyn FnOnce(Result<OwnedFd, Errno>) + Send>;

pub(super) struct BackgroundProcess {
    id: u64,
    reactor: &'static Reactor,
    state: Mutex<State>,
    /// Called after each change, on any thread, without a lock.
    changed: Box<dyn Fn() + Send + Sync>,
}

pub(super) struct State {
    /// `None` once it has ended.
    lease: Option<Lease>,
    connections: Option<Arc<crate::connections::Connections>>,
    started: Instant,
    pub(super) input: Input,
    waits_for_input_room: bool,
    pub(super) streams: Vec<OutputStream>,
    stage: Stage,
    /// When the stage has lasted too long.
    deadline: Option<Instant>,
    status: Option<ExitStatus>,
    pub(super) watches: Watches,
    /// What waits for the connections that the worker was asked for, in their order.
    connecting: VecDeque<Connected>,
    relays: Vec<Weak<Relay>>,
    pub(super) end: Option<ProcessEnd>,
}

pub(super) struct OutputStream {
    pub(super) log: Log,
    /// `None` once it has ended.
    pub(super) fd: Option<OwnedFd>,
    is_followed: bool,
}

impl State {
    /// The namespace of the worker ends with it.
    fn kill_worker(&mut self) {
        self.stage = Stage::Killed;
        self.status.get_or_insert(ExitStatus::from_raw(9));
        if let Some(lease) = &self.lease {
            lease.worker().kill();
        }
    }

    pub(super) fn send_to_worker(&self, frame: &[u8]) -> bool {
        let lease = self.lease.as_ref().filter(|_| self.end.is_none());
        lease.is_some_and(|lease| send(lease.worker(), frame, &[]).is_ok())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// It has ended, and what is left of it may write for a moment.
    Ending,
    /// The worker has received the order to kill it.
    Killing,
    /// The worker has been killed.
    Killed,
}

impl BackgroundProcess {
    pub(super) fn new(
        reactor: &'static Reactor,
        begun: Begun,
        limits: [LogLimits; 2],
        is_terminal: bool,
        changed: Box<dyn Fn() + Send + Sync>,
    ) -> Arc<Self> {
        let Begun { lease, connections, mask, stdin, stdout, stderr } = begun;
        let streams = [Some(stdout), stderr].into_iter().zip(limits).filter_map(|(fd, limits)| {
            let log = Log::new(limits, mask.as_ref());
            fd.is_some().then_some(OutputStream { log, fd, is_followed: false })
        });
        let state = State {
            lease: Some(lease),
            connections,
            started: Instant::now(),
            input: Input::new(stdin, is_terminal),
            waits_for_input_room: false,
            streams: streams.collect(),
            stage: Stage::Running,
            deadline: None,
            status: None,
            watches: Watches::default(),
            connecting: VecDeque::new(),
            relays: Vec::new(),
            end: None,
        };
        let id = reactor.new_id();
        let process = Arc::new(Self { id, reactor, state: Mutex::new(state), changed });
        reactor.follow(id, Arc::clone(&process) as Arc<dyn Followed>);
        let mut state = process.lock();
        let worker = state.lease.as_ref().map(|lease| lease.worker().as_fd());
        let is_followed = worker.is_some_and(|worker| reactor.add(id, WORKER, worker, false));
        if is_followed {
            process.follow_outputs(&mut state);
            // Something may have come together with the report of the start.
            process.hear_worker(&mut state);
        } else {
            state.kill_worker();
            process.finish(&mut state, 0, Usage::default());
        }
        drop(state);
        process
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn tell(&self) {
        (self.changed)();
    }

    /// Writes what waits, and follows the input while it takes no more.
    pub(super) fn write_input(&self, state: &mut State) {
        let stays = state.input.flush();
        let blocks = stays && state.input.blocked().is_some();
        if state.waits_for_input_room && !blocks {
            state.input.descriptor().into_iter().for_each(|fd| self.reactor.remove(fd));
            state.waits_for_input_room = false;
        } else if !state.waits_for_input_room
            && blocks
            && let Some(fd) = state.input.blocked()
        {
            state.waits_for_input_room = self.reactor.add(self.id, INPUT, fd, true);
        }
        if !stays {
            drop(state.input.close());
        }
    }

    /// Follows the outputs that have room, and no others: the kernel reports the end of a pipe to
    /// everyone who follows it, whatever else is asked for.
    pub(super) fn follow_outputs(&self, state: &mut State) {
        for (part, stream) in (OUTPUT..).zip(&mut state.streams) {
            let Some(fd) = &stream.fd else { continue };
            let has_room = stream.log.room() > 0;
            if has_room && !stream.is_followed {
                stream.is_followed = self.reactor.add(self.id, part, fd.as_fd(), false);
            } else if !has_room && stream.is_followed {
                self.reactor.remove(fd.as_fd());
                stream.is_followed = false;
            }
        }
    }

    /// Reads an output until it is empty, its room is used up, or others are to have their turn.
    fn read_output(&self, state: &mut State, index: usize) {
        let Some(stream) = state.streams.get_mut(index) else { return };
        let Some(fd) = &stream.fd else { return };
        let mut block = [0; BLOCK];
        let mut count = 0;
        while count < TURN_BYTES {
            let room = stream.log.room().min(BLOCK);
            if room == 0 {
                break;
            }
            match read(fd, &mut block[..room]) {
                Ok(length) if length > 0 => {
                    stream.log.push(&block[..length]);
                    count += length;
                    if length < room {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // A terminal reports its end as an error.
                Ok(_) | Err(_) => {
                    self.end_output(stream);
                    break;
                }
            }
        }
        self.follow_outputs(state);
        if state.stage == Stage::Ending && state.streams.iter().all(|stream| stream.fd.is_none()) {
            self.kill(state);
        }
    }

    fn end_output(&self, stream: &mut OutputStream) {
        if let Some(fd) = stream.fd.take()
            && stream.is_followed
        {
            self.reactor.remove(fd.as_fd());
            stream.is_followed = false;
        }
        stream.log.end();
    }

    fn hear_worker(&self, state: &mut State) {
        loop {
            let Some(lease) = &mut state.lease else { return };
            match lease.worker_mut().recv(Duration::ZERO) {
                Ok(None) => return,
                Ok(Some(Reply::Ended(status))) => {
                    state.status = Some(ExitStatus::from_raw(status));
                    if state.stage != Stage::Running {
                        continue;
                    }
                    if state.streams.iter().all(|stream| stream.fd.is_none()) {
                        self.kill(state);
                    } else {
                        state.stage = Stage::Ending;
                        self.set_deadline(state, GRACE);
                    }
                }
                Ok(Some(Reply::Done(status, killed, usage, ..))) => {
                    state.status = Some(ExitStatus::from_raw(status));
                    self.unfollow_worker(state);
                    state.lease.iter_mut().for_each(Lease::release);
                    return self.finish(state, killed, usage);
                }
                Ok(Some(Reply::Listening(ports))) => state.watches.set_ports(ports),
                Ok(Some(Reply::Input(input))) => {
                    // What it printed before it waits comes first.
                    for index in 0..state.streams.len() {
                        self.read_output(state, index);
                    }
                    state.watches.set_input(input);
                }
                Ok(Some(Reply::Connected(errno))) => {
                    let socket = lease.worker_mut().take_descriptor().filter(|_| errno.is_none());
                    // Without a reason, the socket itself is missing.
                    let reason = errno.map_or(Errno::IO, Errno::from_raw_os_error);
                    if let Some(connected) = state.connecting.pop_front() {
                        connected(socket.ok_or(reason));
                    }
                }
                Ok(Some(_)) => {}
                // The worker is gone, and with it the process.
                Err(_) => {
                    self.unfollow_worker(state);
                    if let Some(lease) = &state.lease {
                        lease.worker().kill();
                    }
                    return self.finish(state, 0, Usage::default());
                }
            }
        }
    }

    fn set_deadline(&self, state: &mut State, after: Duration) {
        let deadline = Instant::now() + after;
        state.deadline = Some(deadline);
        self.reactor.set_deadline(self.id, deadline);
    }

    fn unfollow_worker(&self, state: &State) {
        if let Some(lease) = &state.lease {
            self.reactor.remove(lease.worker().as_fd());
        }
    }

    /// Has the worker kill everything.
    pub(super) fn kill(&self, state: &mut State) {
        if !matches!(state.stage, Stage::Running | Stage::Ending) || state.end.is_some() {
            return;
        }
        let Some(lease) = &state.lease else { return };
        let is_sent = send(lease.worker(), &kill_frame(), &[]).is_ok();
        state.stage = Stage::Killing;
        if is_sent {
            self.set_deadline(state, KILL_TIMEOUT);
        } else {
            state.kill_worker();
        }
    }

    /// Asks the worker for a connection to a server of the process.
    pub(super) fn connect(&self, port: u16, connected: Connected) {
        let mut state = self.lock();
        if state.send_to_worker(&connect_frame(port)) {
            state.connecting.push_back(connected);
        } else {
            drop(state);
            connected(Err(Errno::CONNREFUSED));
        }
    }

    /// Has the relay end with the process. `false`: that has ended already.
    pub(super) fn add_relay(&self, relay: &Arc<Relay>) -> bool {
        let mut state = self.lock();
        state.relays.retain(|relay| relay.strong_count() > 0);
        state.relays.push(Arc::downgrade(relay));
        state.end.is_none()
    }

    /// Nothing of it is left but what it has written.
    fn finish(&self, state: &mut State, left_running: u32, mut usage: Usage) {
        usage.facts.fork_full = state.lease.as_ref().and_then(Lease::fork_full);
        for index in 0..state.streams.len() {
            self.read_rest(&mut state.streams[index]);
        }
        if state.waits_for_input_room {
            state.input.descriptor().into_iter().for_each(|fd| self.reactor.remove(fd));
            state.waits_for_input_room = false;
        }
        drop(state.input.close());
        let git = state.lease.take().map_or_else(Vec::new, |mut lease| lease.end_git());
        for connected in state.connecting.drain(..) {
            connected(Err(Errno::CONNREFUSED));
        }
        for relay in state.relays.drain(..).filter_map(|relay| relay.upgrade()) {
            relay.finish();
        }
        let exit = state.status.map(Exit::from_status);
        let connections = state.connections.take().map_or_else(Vec::new, |hosts| hosts.list());
        let duration = state.started.elapsed();
        state.end = Some(ProcessEnd { exit, left_running, usage, duration, git, connections });
        self.reactor.leave(self.id);
    }

    /// No more than a pipe holds, whatever the limit is: a stranger with the other end does not make it read on.
    fn read_rest(&self, stream: &mut OutputStream) {
        let mut block = [0; BLOCK];
        let mut count = 0;
        while let Some(fd) = stream.fd.as_ref().filter(|_| count < PIPE_BYTES) {
            match read(fd, &mut block) {
                Ok(length) if length > 0 => {
                    stream.log.push(&block[..length]);
                    count += length;
                }
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
        self.end_output(stream);
    }
}

impl Followed for BackgroundProcess {
    fn on_ready(self: Arc<Self>, part: Part) {
        let mut state = self.lock();
        match part {
            WORKER => self.hear_worker(&mut state),
            INPUT => self.write_input(&mut state),
            part => self.read_output(&mut state, usize::from(part - OUTPUT)),
        }
        drop(state);
        self.tell();
    }

    fn on_deadline(self: Arc<Self>) {
        let mut state = self.lock();
        // That of an earlier stage says nothing about this one.
        if state.deadline.is_none_or(|deadline| Instant::now() < deadline) {
            return;
        }
        match state.stage {
            Stage::Running | Stage::Killed => {}
            Stage::Ending => self.kill(&mut state),
            Stage::Killing => state.kill_worker(),
        }
        drop(state);
        self.tell();
    }
}
