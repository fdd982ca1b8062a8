//! Supervisors and idle workers, by plan.

use std::{
    collections::HashMap,
    io,
    os::unix::fs::MetadataExt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use toolwright_sandbox::{layers::Layers, plan::Plan, step::FailedStep, wire::Order};

use super::{
    supervisor::Supervisor,
    worker::{NoWorker, Worker},
};
use crate::{
    cancel::CancelSource,
    error::ExecError,
    missing::{self, Missing},
    request::{ExecRequest, Sandbox},
};

/// How long a worker waits for its next command before it leaves.
const IDLE_MS: u32 = 30_000;
/// How many workers of a plan wait; one more is made when it is needed.
const MOST_IDLE: usize = 16;
/// How many supervisors are kept; of more, those unused for longest go when a new one comes.
const MOST_SUPERVISORS: usize = 32;
/// How long making a worker may take.
const LONGEST: Duration = Duration::from_secs(10);
/// A supervisor may leave, unused, in the moment it is asked for a worker.
const TRIES: usize = 3;

static POOLS: Mutex<Option<HashMap<Plan, Arc<Pool>>>> = Mutex::new(None);

#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    supervisor: Option<Supervisor>,
    idle: Vec<Worker>,
    /// What the paths of the plan were when the supervisor was ready: it has bound them as they were.
    seen: Vec<Option<(u64, u64)>>,
    /// Counts supervisors. A worker of an earlier one is not taken back.
    generation: u64,
    used: Option<Instant>,
    /// Why this plan is carried out without a tree of files of its own.
    without_mounts: Option<i32>,
}

/// A worker for one command.
#[derive(Debug)]
pub(crate) struct Lease {
    /// `None` once it has been given back.
    worker: Option<Worker>,
    home: Home,
}

#[derive(Debug)]
enum Home {
    Pool(Arc<Pool>, u64),
    /// It has a supervisor for itself, which ends with the command.
    Own { _supervisor: Supervisor },
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
        if let Home::Pool(pool, generation) = &self.home {
            let mut state = pool.lock();
            if state.generation == *generation {
                state.retire();
            }
        }
    }

    pub(crate) fn give_back(&mut self) {
        let Home::Pool(pool, generation) = &self.home else { return };
        let Some(worker) = self.worker.take() else { return };
        let mut state = pool.lock();
        if state.generation == *generation && state.idle.len() < MOST_IDLE {
            state.idle.push(worker);
        }
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What holds around commands of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// These layers.
    Layers(Layers),
    /// The sandbox program could not be run at all, because of this.
    Nothing(String),
}

/// Finds out what holds, by making a worker.
pub(crate) fn standing(plan: &Plan, cancel: &dyn CancelSource) -> Standing {
    match worker_of_pool(plan, cancel) {
        Ok((worker, pool, generation)) => {
            let layers = worker.layers;
            Lease { worker: Some(worker), home: Home::Pool(pool, generation) }.give_back();
            Standing::Layers(layers)
        }
        Err(reason) => Standing::Nothing(describe(&reason)),
    }
}

/// A worker for this command, behind the layers it cannot do without.
pub(crate) fn take_worker(
    sandbox: &Sandbox<'_>,
    request: &ExecRequest<'_>,
) -> Result<Lease, ExecError> {
    let lease = if sandbox.isolated {
        isolated(sandbox.plan, request.cancel)
    } else {
        worker_of_pool(sandbox.plan, request.cancel).map(|(worker, pool, generation)| Lease {
            worker: Some(worker),
            home: Home::Pool(pool, generation),
        })
    };
    match lease {
        Ok(lease) => match missing::missing(sandbox, &lease.worker().layers) {
            None => Ok(lease),
            Some(missing) => {
                let mut lease = lease;
                lease.give_back();
                Err(ExecError::Unconfined { program: request.cmd.to_owned(), missing })
            }
        },
        Err(NoWorker::Cancelled) => Err(ExecError::cancelled_before(request)),
        Err(reason) => {
            let missing = match &reason {
                NoWorker::Failed(step, errno, _) => {
                    Missing::step(*step, &io::Error::from_raw_os_error(*errno))
                }
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
        NoWorker::TooLong => format!("no answer within {} s", LONGEST.as_secs()),
        NoWorker::Cancelled => "cancelled".to_owned(),
        NoWorker::Io(error) => error.to_string(),
    }
}

fn isolated(plan: &Plan, cancel: &dyn CancelSource) -> Result<Lease, NoWorker> {
    let mut without_mounts = None;
    loop {
        let supervisor = Supervisor::start(&order(plan, without_mounts)).map_err(NoWorker::Io)?;
        let socket = supervisor.ask_for_worker().map_err(NoWorker::Io)?;
        match Worker::wait_for(socket, cancel, LONGEST) {
            Ok(worker) => {
                let home = Home::Own { _supervisor: supervisor };
                return Ok(Lease { worker: Some(worker), home });
            }
            Err(NoWorker::Failed(FailedStep::Mounts, errno, _)) if without_mounts.is_none() => {
                without_mounts = Some(errno);
            }
            Err(reason) => return Err(reason),
        }
    }
}

fn worker_of_pool(
    plan: &Plan,
    cancel: &dyn CancelSource,
) -> Result<(Worker, Arc<Pool>, u64), NoWorker> {
    let pool = pool(plan);
    let mut tries = TRIES;
    loop {
        let mut state = pool.lock();
        state.used = Some(Instant::now());
        if state.supervisor.is_some() && !state.seen.is_empty() && state.seen != identities(plan) {
            // A path has become another file since: what is bound is not what is there.
            state.retire();
        }
        while let Some(mut worker) = state.idle.pop() {
            if worker.is_idle() {
                let generation = state.generation;
                drop(state);
                return Ok((worker, pool, generation));
            }
        }
        if state.supervisor.is_none() {
            let started = Supervisor::start(&order(plan, state.without_mounts));
            state.supervisor = Some(started.map_err(NoWorker::Io)?);
            state.generation += 1;
            state.seen.clear();
        }
        let asked = state.supervisor.as_ref().map(Supervisor::ask_for_worker);
        let generation = state.generation;
        drop(state);
        let made = match asked {
            Some(Ok(socket)) => Worker::wait_for(socket, cancel, LONGEST),
            _ => Err(NoWorker::Gone),
        };
        let mut state = pool.lock();
        let current = state.generation == generation;
        match made {
            Ok(worker) => {
                // With a tree of its own the worker watches them.
                if current && state.seen.is_empty() && !worker.layers.mount.holds() {
                    state.seen = identities(plan);
                }
                drop(state);
                return Ok((worker, pool, generation));
            }
            Err(NoWorker::Gone) if tries > 0 => tries -= 1,
            Err(NoWorker::Failed(FailedStep::Mounts, errno, _))
                if state.without_mounts.is_none() =>
            {
                state.without_mounts = Some(errno);
            }
            Err(reason) => {
                if current && !matches!(reason, NoWorker::Cancelled) {
                    state.retire();
                }
                return Err(reason);
            }
        }
        if current {
            state.retire();
        }
    }
}

impl State {
    /// Lets the supervisor go. Commands that still run lose it and go on: it is not needed any more.
    fn retire(&mut self) {
        self.supervisor = None;
        self.idle.clear();
        self.seen.clear();
    }
}

fn pool(plan: &Plan) -> Arc<Pool> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_default();
    if let Some(pool) = pools.get(plan) {
        return Arc::clone(pool);
    }
    if pools.len() >= MOST_SUPERVISORS {
        let unused = pools.iter().min_by_key(|(_, pool)| pool.lock().used);
        if let Some(plan) = unused.map(|(plan, _)| plan.clone()) {
            pools.remove(&plan);
        }
    }
    Arc::clone(pools.entry(plan.clone()).or_default())
}

fn order(plan: &Plan, without_mounts: Option<i32>) -> Order {
    Order { plan: plan.clone(), without_mounts, idle_ms: IDLE_MS }
}

/// Which file each path of the plan is, in their order.
fn identities(plan: &Plan) -> Vec<Option<(u64, u64)>> {
    // The root is writable.
    plan.writable
        .iter()
        .chain(plan.closed.iter().chain(&plan.readable))
        .chain(&plan.protected)
        .map(|path| {
            let found = std::fs::symlink_metadata(path).ok()?;
            Some((found.dev(), found.ino()))
        })
        .collect()
}
