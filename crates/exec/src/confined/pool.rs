//! The supervisor and the idle workers of one plan.
//!
//! This module decides which worker a command gets, and names no process. Three traits stand for
//! supervisors, workers and the host, so that a test can put others in their place and run calls in
//! every order.

use std::io;
use std::ops::DerefMut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolwright_sandbox::layers::is_shortage;
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::Order;

use super::git::Forks;
use super::identity::Identities;
use super::network::{NetworkId, SharedNetwork};
use super::supervisor::Supervisor;
use super::worker::{MAX_START_TIME, NoWorker};

/// How long a worker waits for its next command before it leaves. A test cannot wait for as long.
const IDLE_MS: u32 = if cfg!(test) { 500 } else { 30_000 };
/// How many idle workers a plan keeps. More are made when they are needed.
const MAX_IDLE: usize = 16;
/// How often a worker is asked for again: an unused supervisor may leave at that moment.
const MAX_TRIES: usize = 3;

/// A supervisor, as the pool uses it.
pub(crate) trait SupervisorHandle {
    type Worker: WorkerHandle;
    type Pending;

    /// Asks for a worker, without waiting for it.
    fn request_worker(&self) -> io::Result<Self::Pending>;
    /// Kills a supervisor that does not answer. Commands of its workers continue.
    fn kill(&self);
}

/// A worker, as the pool uses it.
pub(crate) trait WorkerHandle {
    /// Whether it can be given a command.
    fn is_idle(&mut self) -> bool;
}

/// The side of the host: everything that a call does outside of the pool.
pub(super) trait Host<S: SupervisorHandle> {
    /// Starts a supervisor, and says which network it was told to join.
    fn start(
        &self,
        generation: u64,
        without_mounts: Option<i32>,
    ) -> io::Result<(S, Option<NetworkId>)>;
    fn wait(&self, pending: S::Pending) -> Result<S::Worker, NoWorker>;
    /// Which files the paths of the plan are now.
    fn identities(&self) -> Identities;
    fn has_root(&self) -> bool;
    /// The network that commands of this plan have to be in, because a background process runs in it.
    fn network(&self) -> Option<NetworkId>;
    /// Whether `error` is a want of descriptors, and releasing idle processes of this host has made
    /// room.
    fn make_room(&self, error: &io::Error) -> bool;
}

#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<State<Supervisor>>);

impl Pool {
    pub(super) fn lock(&self) -> MutexGuard<'_, State<Supervisor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct State<S: SupervisorHandle> {
    supervisor: Option<S>,
    /// The idle workers, and since when each is. The last one is taken first.
    idle: Vec<(S::Worker, Instant)>,
    /// Which files the paths of the plan were when the supervisor was started, and, once it has made
    /// a worker, when it was ready.
    seen: Identities,
    is_ready: bool,
    /// How long calls have waited for the supervisor in vain.
    silent: Duration,
    /// Counts retired supervisors. A worker of one of them is not put back.
    pub(super) generation: u64,
    pub(super) used: Option<Instant>,
    /// Why this plan is carried out without a tree of files of its own.
    without_mounts: Option<i32>,
    /// The network of the supervisor, if it has been asked for or was given to it.
    pub(super) network: Option<NetworkId>,
    /// The forks of the supervisor, once they have been asked for.
    pub(super) forks: Option<Arc<Forks>>,
    /// Counts changes of the tree. A worker from before one is not put back.
    pub(super) renewals: u64,
}

impl<S: SupervisorHandle> Default for State<S> {
    fn default() -> Self {
        Self {
            supervisor: None,
            idle: Vec::new(),
            seen: Identities::default(),
            is_ready: false,
            silent: Duration::ZERO,
            generation: 0,
            used: None,
            without_mounts: None,
            network: None,
            forks: None,
            renewals: 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct Acquired<W> {
    pub(super) worker: W,
    /// The supervisor that it belongs to.
    pub(super) generation: u64,
    /// Whether it was made for this call.
    pub(super) is_new: bool,
}

/// The state at the time of a request.
struct Asked {
    generation: u64,
    without_mounts: Option<i32>,
    seen: Identities,
}

impl Asked {
    fn of<S: SupervisorHandle>(state: &State<S>) -> Self {
        let State { generation, without_mounts, .. } = *state;
        Self { generation, without_mounts, seen: state.seen.clone() }
    }
}

/// Takes an idle worker, or has one made. The worker's tree is that of the paths as they are at some
/// moment of this call.
///
/// The lock is not held while a worker is being made, so other calls may retire the supervisor then.
pub(super) fn acquire<S, G>(
    host: &impl Host<S>,
    lock: impl Fn() -> G,
) -> Result<Acquired<S::Worker>, NoWorker>
where
    S: SupervisorHandle,
    G: DerefMut<Target = State<S>>,
{
    let mut tries = MAX_TRIES;
    loop {
        let mut state = lock();
        if let Some(worker) = state.idle_worker(host) {
            return Ok(Acquired { worker, generation: state.generation, is_new: false });
        }
        let mut requested = state.request_worker(host);
        let mut asked = Asked::of(&state);
        drop(state);
        // Making room takes the locks of all pools.
        if requested.as_ref().is_err_and(|error| host.make_room(error)) {
            let mut state = lock();
            requested = state.request_worker(host);
            asked = Asked::of(&state);
        }
        let started = Instant::now();
        let made = match requested {
            Ok(pending) => host.wait(pending),
            Err(error) => match error.kind() {
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Err(NoWorker::Gone),
                _ => Err(NoWorker::Io(error)),
            },
        };
        let mut state = lock();
        // Other calls may have met the same failure, and have started a new supervisor already.
        let is_current = state.generation == asked.generation;
        if is_current {
            state.silent = match made {
                Err(NoWorker::Cancelled | NoWorker::TimedOut | NoWorker::TooLong) => {
                    state.silent + started.elapsed()
                }
                _ => Duration::ZERO,
            };
        }
        let is_as_seen = |state: &mut State<S>| {
            // The request alone knows the paths of a supervisor that was retired meanwhile.
            if is_current { state.is_as_seen(host) } else { host.identities().agree(&asked.seen) }
        };
        let mut without = None;
        match made {
            Ok(worker) if is_as_seen(&mut state) => {
                return Ok(Acquired { worker, generation: asked.generation, is_new: true });
            }
            Ok(_) | Err(NoWorker::Gone) if tries > 0 => tries -= 1,
            // It is killed, and another supervisor gets one chance.
            Err(NoWorker::TooLong) if tries > 0 => tries = 0,
            Err(NoWorker::Failed(FailedStep::Mounts, errno, _))
                if asked.without_mounts.is_none() && !is_shortage(errno) && host.has_root() =>
            {
                without = Some(errno);
            }
            Ok(_) => return Err(NoWorker::Gone),
            Err(reason) => {
                let may_go_on = matches!(reason, NoWorker::Cancelled | NoWorker::TimedOut);
                // Only a supervisor that could not build its tree is of no use after a want of
                // resources.
                let stays = reason.is_shortage()
                    && !matches!(reason, NoWorker::Failed(FailedStep::Mounts, ..));
                if is_current && !may_go_on && !stays {
                    state.retire();
                }
                return Err(reason);
            }
        }
        if is_current {
            state.retire();
            state.without_mounts = without;
        }
    }
}

impl<S: SupervisorHandle> State<S> {
    /// An idle worker of a supervisor whose tree is still that of the plan.
    fn idle_worker(&mut self, host: &impl Host<S>) -> Option<S::Worker> {
        self.used = Some(Instant::now());
        let is_outdated = || {
            let is_elsewhere = host.network().is_some_and(|network| self.network != Some(network));
            is_elsewhere || self.is_ready && self.seen != host.identities()
        };
        if self.supervisor.is_some() && (self.silent >= MAX_START_TIME || is_outdated()) {
            self.retire();
        }
        while let Some((mut worker, _)) = self.idle.pop() {
            if worker.is_idle() {
                return Some(worker);
            }
        }
        None
    }

    /// Requests a worker, and starts a supervisor if there is none.
    fn request_worker(&mut self, host: &impl Host<S>) -> io::Result<S::Pending> {
        let supervisor = if let Some(supervisor) = &self.supervisor {
            supervisor
        } else {
            self.seen = host.identities();
            let (supervisor, network) = host.start(self.generation, self.without_mounts)?;
            self.network = network;
            self.supervisor.insert(supervisor)
        };
        supervisor.request_worker()
    }

    /// Whether the supervisor has bound the current files. If they changed while it started, it may
    /// have bound either.
    fn is_as_seen(&mut self, host: &impl Host<S>) -> bool {
        if !self.is_ready {
            let now = host.identities();
            self.is_ready = now.agree(&self.seen);
            self.seen = now;
        }
        self.is_ready
    }

    pub(super) fn supervisor(&self) -> Option<&S> {
        self.supervisor.as_ref()
    }

    /// Keeps a worker for the next command. Workers whose idle time is over have ended, and are
    /// dropped.
    pub(super) fn put_back(&mut self, worker: S::Worker) {
        let now = Instant::now();
        let waits = |(_, since): &(S::Worker, Instant)| {
            now.duration_since(*since) <= Duration::from_millis(IDLE_MS.into())
        };
        let left = self.idle.iter().position(waits).unwrap_or(self.idle.len());
        self.idle.drain(..left);
        if self.idle.len() < MAX_IDLE {
            self.idle.push((worker, now));
        }
    }

    /// Drops the workers of a tree that changes.
    pub(super) fn drop_idle(&mut self) {
        self.idle.clear();
        self.renewals += 1;
    }

    /// How many descriptors it keeps open while nothing runs.
    pub(super) fn descriptors(&self) -> usize {
        2 * (self.idle.len() + usize::from(self.supervisor.is_some()))
    }

    /// Retires the idle processes, and returns how many descriptors that closed.
    pub(super) fn release(&mut self) -> usize {
        let closed = self.descriptors();
        if closed > 0 {
            self.retire();
        }
        closed
    }

    /// Retires the supervisor, for the caller to end.
    pub(super) fn take_supervisor(&mut self) -> Option<S> {
        let supervisor = self.supervisor.take();
        self.retire();
        supervisor
    }

    /// Drops the supervisor. Commands that still run lose it and go on: they need it no more. The next
    /// supervisor may get the tree that this one could not build.
    pub(super) fn retire(&mut self) {
        if let Some(supervisor) = self.supervisor.take()
            && self.silent >= MAX_START_TIME
        {
            supervisor.kill();
        }
        self.idle.clear();
        self.generation += 1;
        self.silent = Duration::ZERO;
        self.is_ready = false;
        self.without_mounts = None;
        self.network = None;
        self.forks = None;
    }
}

/// The order for a supervisor of this host.
pub(super) fn order(
    plan: &Plan,
    without_mounts: Option<i32>,
    joined: Option<&SharedNetwork>,
) -> Order {
    let joins_network = joined.is_some();
    let shares_temporary = joined.is_some_and(SharedNetwork::shares_temporary);
    Order { plan: plan.clone(), without_mounts, idle_ms: IDLE_MS, joins_network, shares_temporary }
}

#[cfg(test)]
mod tests;
