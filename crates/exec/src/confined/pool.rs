//! Supervisors and idle workers, by plan.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use toolwright_sandbox::layers::{Layers, is_shortage};
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::Order;

use super::identity::Identities;
use super::supervisor::Supervisor;
use super::worker::{MAX_START_TIME, NoWorker, Worker};
use super::{needed, pools};
use crate::cancel::CancelSource;
use crate::error::{ExecError, SpawnReason};
use crate::missing::Missing;
use crate::request::{ExecRequest, Sandbox};

/// How long a worker waits for its next command before it leaves. A test cannot wait for as long.
const IDLE_MS: u32 = if cfg!(test) { 500 } else { 30_000 };
/// How many workers of a plan wait; one more is made when it is needed.
const MAX_IDLE: usize = 16;
/// A supervisor may leave, unused, in the moment it is asked for a worker.
const TRIES: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    supervisor: Option<Supervisor>,
    /// Those that wait, and since when; the one that came last is taken first.
    idle: Vec<(Worker, Instant)>,
    /// Which files the paths of the plan were when the supervisor was started, and, once it has made
    /// a worker, when it was ready.
    seen: Identities,
    is_ready: bool,
    /// How long the supervisor has been waited for in vain.
    silent: Duration,
    /// Counts retired supervisors. A worker of one of them is not taken back.
    pub(super) generation: u64,
    pub(super) used: Option<Instant>,
    /// Why this plan is carried out without a tree of files of its own.
    without_mounts: Option<i32>,
}

/// A worker for one command.
#[derive(Debug)]
pub(crate) struct Lease {
    /// `None` once it has been given back.
    worker: Option<Worker>,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Pool(Arc<Pool>, u64),
    /// It has a supervisor for itself, which ends with the command.
    Isolated {
        _supervisor: Supervisor,
    },
}

impl Lease {
    #[expect(clippy::expect_used, reason = "a worker is given back once, by what owns the lease")]
    pub(crate) fn worker(&self) -> &Worker {
        self.worker.as_ref().expect("not given back")
    }

    #[expect(clippy::expect_used, reason = "a worker is given back once, by what owns the lease")]
    pub(crate) fn worker_mut(&mut self) -> &mut Worker {
        self.worker.as_mut().expect("not given back")
    }

    /// Its supervisor is of no more use.
    pub(crate) fn retire(&self) {
        if let Origin::Pool(pool, generation) = &self.origin {
            let mut state = pool.lock();
            if state.generation == *generation {
                state.retire();
            }
        }
    }

    pub(crate) fn release(&mut self) {
        let Origin::Pool(pool, generation) = &self.origin else { return };
        let Some(worker) = self.worker.take() else { return };
        let mut state = pool.lock();
        if state.generation == *generation {
            state.put_back(worker);
        }
    }
}

impl Pool {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What enforces a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Enforcement {
    /// These layers.
    Layers(Layers),
    /// Nothing: the sandbox program could not be run, for this reason.
    Unavailable(String),
}

/// Finds out what holds, by making a worker.
pub(crate) fn probe(plan: &Plan, cancel: &dyn CancelSource) -> Enforcement {
    match worker_of_pool(plan, cancel, None) {
        Ok((worker, pool, generation)) => {
            let layers = worker.layers;
            Lease { worker: Some(worker), origin: Origin::Pool(pool, generation) }.release();
            Enforcement::Layers(layers)
        }
        Err(reason) => Enforcement::Unavailable(describe(&reason)),
    }
}

/// A worker for this command, behind the layers it cannot do without.
pub(crate) fn take_worker(
    sandbox: &Sandbox<'_>,
    request: &ExecRequest<'_>,
    deadline: Option<Instant>,
) -> Result<Lease, ExecError> {
    let lease = if sandbox.isolated {
        isolated(sandbox.plan, request.cancel, deadline)
    } else {
        worker_of_pool(sandbox.plan, request.cancel, deadline).map(|(worker, pool, generation)| {
            Lease { worker: Some(worker), origin: Origin::Pool(pool, generation) }
        })
    };
    let not_started = |reason: SpawnReason, source: io::Error| ExecError::Spawn {
        reason,
        program: request.cmd.to_owned(),
        cwd: request.cwd.to_owned(),
        source,
    };
    match lease {
        Ok(lease) => match needed::missing(sandbox, &lease.worker().layers) {
            None => {
                let layers = &lease.worker().layers;
                layers.note();
                needed::tell_of_open_files(sandbox.plan, layers);
                Ok(lease)
            }
            Some(missing) => {
                let mut lease = lease;
                lease.release();
                Err(ExecError::Unconfined { program: request.cmd.to_owned(), missing })
            }
        },
        Err(NoWorker::Cancelled) => Err(ExecError::cancelled_before(request)),
        Err(NoWorker::TimedOut) => Err(ExecError::timed_out_before(request)),
        Err(NoWorker::Failed(FailedStep::Granted, _, what)) => {
            Err(ExecError::GrantChanged { program: request.cmd.to_owned(), what })
        }
        Err(_) if !sandbox.plan.root.is_dir() => {
            Err(not_started(SpawnReason::BadCwd, Errno::NOENT.into()))
        }
        Err(reason) if reason.is_shortage() => {
            Err(not_started(SpawnReason::Resources, io::Error::other(describe(&reason))))
        }
        Err(reason) => {
            let missing = match &reason {
                NoWorker::Failed(step, _, what) => Missing::step(*step, what.clone()),
                reason => Missing::program(describe(reason)),
            };
            Err(ExecError::Unconfined { program: request.cmd.to_owned(), missing })
        }
    }
}

fn describe(reason: &NoWorker) -> String {
    match reason {
        NoWorker::Failed(step, errno, what) => {
            format!("{step:?}: {what} ({})", io::Error::from_raw_os_error(*errno))
        }
        NoWorker::Gone => "the sandbox program ended at once".to_owned(),
        NoWorker::TooLong => format!("no answer within {} s", MAX_START_TIME.as_secs()),
        NoWorker::Cancelled => "cancelled".to_owned(),
        NoWorker::TimedOut => "timed out".to_owned(),
        NoWorker::Io(error) => error.to_string(),
    }
}

fn isolated(
    plan: &Plan,
    cancel: &dyn CancelSource,
    deadline: Option<Instant>,
) -> Result<Lease, NoWorker> {
    let mut without_mounts = None;
    let mut tries = TRIES;
    loop {
        let start = || Supervisor::start(&order(plan, without_mounts), || ());
        let supervisor = pools::with_room(start).map_err(NoWorker::Io)?;
        let asked = pools::with_room(|| supervisor.ask_for_worker());
        let socket = asked.map_err(NoWorker::Io)?;
        match Worker::wait_for(socket, cancel, deadline) {
            Ok(worker) => {
                let origin = Origin::Isolated { _supervisor: supervisor };
                return Ok(Lease { worker: Some(worker), origin });
            }
            Err(NoWorker::Failed(FailedStep::Mounts, errno, _))
                if without_mounts.is_none() && !is_shortage(errno) && plan.root.is_dir() =>
            {
                without_mounts = Some(errno);
            }
            Err(NoWorker::Gone) if tries > 0 => tries -= 1,
            Err(reason) => {
                if matches!(reason, NoWorker::TooLong) {
                    supervisor.kill();
                }
                return Err(reason);
            }
        }
    }
}

fn worker_of_pool(
    plan: &Plan,
    cancel: &dyn CancelSource,
    deadline: Option<Instant>,
) -> Result<(Worker, Arc<Pool>, u64), NoWorker> {
    let pool = pools::of(plan);
    let mut tries = TRIES;
    loop {
        let mut state = pool.lock();
        if let Some(worker) = state.idle_worker(plan) {
            let generation = state.generation;
            drop(state);
            return Ok((worker, pool, generation));
        }
        let mut asked = state.ask_for_worker(plan, &pool);
        let (mut without_mounts, mut generation) = (state.without_mounts, state.generation);
        drop(state);
        if asked.as_ref().is_err_and(pools::is_full) && pools::release() {
            let mut state = pool.lock();
            asked = state.ask_for_worker(plan, &pool);
            (without_mounts, generation) = (state.without_mounts, state.generation);
        }
        let started = Instant::now();
        let made = match asked {
            Ok(socket) => Worker::wait_for(socket, cancel, deadline),
            Err(error) => match error.kind() {
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Err(NoWorker::Gone),
                _ => Err(NoWorker::Io(error)),
            },
        };
        let mut state = pool.lock();
        // Others may have met the same, and have a new supervisor already.
        let current = state.generation == generation;
        if current {
            state.silent = match made {
                Err(NoWorker::Cancelled | NoWorker::TimedOut | NoWorker::TooLong) => {
                    state.silent + started.elapsed()
                }
                _ => Duration::ZERO,
            };
        }
        let mut without = None;
        match made {
            Ok(worker) if !current || state.is_as_seen(plan) => {
                drop(state);
                pools::enforce_share(&pool);
                return Ok((worker, pool, generation));
            }
            Ok(_) | Err(NoWorker::Gone) if tries > 0 => tries -= 1,
            // It is killed, and another one is given one chance.
            Err(NoWorker::TooLong) if tries > 0 => tries = 0,
            Err(NoWorker::Failed(FailedStep::Mounts, errno, _))
                if without_mounts.is_none() && !is_shortage(errno) && plan.root.is_dir() =>
            {
                without = Some(errno);
            }
            Ok(_) => return Err(NoWorker::Gone),
            Err(reason) => {
                let may_go_on = matches!(reason, NoWorker::Cancelled | NoWorker::TimedOut);
                // One that could not be set up for want of something will not be another time.
                let stays = reason.is_shortage()
                    && !matches!(reason, NoWorker::Failed(FailedStep::Mounts, ..));
                if current && !may_go_on && !stays {
                    state.retire();
                }
                return Err(reason);
            }
        }
        if current {
            state.retire();
            state.without_mounts = without;
        }
    }
}

impl State {
    /// A worker that waits, of a supervisor that is still of use.
    fn idle_worker(&mut self, plan: &Plan) -> Option<Worker> {
        self.used = Some(Instant::now());
        let is_outdated = || self.is_ready && self.seen != Identities::now(plan);
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

    /// Asks the supervisor, which is started if there is none.
    fn ask_for_worker(&mut self, plan: &Plan, pool: &Arc<Pool>) -> io::Result<OwnedFd> {
        let supervisor = if let Some(supervisor) = &self.supervisor {
            supervisor
        } else {
            self.seen = Identities::now(plan);
            let (pool, of, generation) = (Arc::downgrade(pool), plan.clone(), self.generation);
            let ended = move || pools::ended(&of, &pool, generation);
            let started = Supervisor::start(&order(plan, self.without_mounts), ended)?;
            self.supervisor.insert(started)
        };
        supervisor.ask_for_worker()
    }

    /// Whether the paths are what the supervisor has bound. It may have bound them before or after
    /// they became others.
    fn is_as_seen(&mut self, plan: &Plan) -> bool {
        if !self.is_ready {
            let now = Identities::now(plan);
            self.is_ready = now.agree(&self.seen);
            self.seen = now;
        }
        self.is_ready
    }

    /// Those that have waited for longer than they do have left, and are forgotten.
    fn put_back(&mut self, worker: Worker) {
        let now = Instant::now();
        let waits = |(_, since): &(Worker, Instant)| {
            now.duration_since(*since) <= Duration::from_millis(IDLE_MS.into())
        };
        let left = self.idle.iter().position(waits).unwrap_or(self.idle.len());
        self.idle.drain(..left);
        if self.idle.len() < MAX_IDLE {
            self.idle.push((worker, now));
        }
    }

    /// How many it keeps open while nothing runs.
    pub(super) fn descriptors(&self) -> usize {
        2 * (self.idle.len() + usize::from(self.supervisor.is_some()))
    }

    /// Lets those go that wait, and tells how many descriptors that gave.
    pub(super) fn release(&mut self) -> usize {
        let kept = self.descriptors();
        if kept > 0 {
            self.retire();
        }
        kept
    }

    /// Retires the supervisor, for the caller to end.
    pub(super) fn take_supervisor(&mut self) -> Option<Supervisor> {
        let supervisor = self.supervisor.take();
        self.retire();
        supervisor
    }

    /// Lets the supervisor go. Commands that still run lose it and go on: it is not needed any more.
    /// What kept it from having a tree of its own may be over for the next one.
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
    }
}

fn order(plan: &Plan, without_mounts: Option<i32>) -> Order {
    Order { plan: plan.clone(), without_mounts, idle_ms: IDLE_MS }
}
