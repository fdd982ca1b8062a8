//! A worker that one command has for itself.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use toolwright_sandbox::layers::{Layers, is_shortage};
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::step::FailedStep;

use super::identity::Identities;
use super::pool::{Host, MAX_TRIES, Pool, SupervisorHandle, acquire, order};
use super::supervisor::Supervisor;
use super::worker::{MAX_START_TIME, NoWorker, Worker};
use super::{needed, pools};
use crate::cancel::CancelSource;
use crate::error::{ExecError, SpawnReason};
use crate::missing::Missing;
use crate::request::{ExecRequest, Sandbox};

/// A worker for one command.
#[derive(Debug)]
pub(crate) struct Lease {
    /// `None` once it has been released.
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
    #[expect(clippy::expect_used, reason = "the owner of the lease releases it last")]
    pub(crate) fn worker(&self) -> &Worker {
        self.worker.as_ref().expect("not released")
    }

    #[expect(clippy::expect_used, reason = "the owner of the lease releases it last")]
    pub(crate) fn worker_mut(&mut self) -> &mut Worker {
        self.worker.as_mut().expect("not released")
    }

    /// Retires the supervisor of the worker.
    pub(crate) fn retire(&self) {
        if let Origin::Pool(pool, generation) = &self.origin {
            let mut state = pool.lock();
            if state.generation == *generation {
                state.retire();
            }
        }
    }

    /// Gives the worker back to its pool, if its supervisor is still that of the pool.
    pub(crate) fn release(&mut self) {
        let Origin::Pool(pool, generation) = &self.origin else { return };
        let Some(worker) = self.worker.take() else { return };
        let mut state = pool.lock();
        if state.generation == *generation {
            state.put_back(worker);
        }
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
    match pooled(plan, cancel, None) {
        Ok(mut lease) => {
            let layers = lease.worker().layers;
            lease.release();
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
        pooled(sandbox.plan, request.cancel, deadline)
    };
    let not_started = |reason: SpawnReason, source: io::Error| ExecError::Spawn {
        reason,
        program: request.cmd.to_owned(),
        cwd: request.cwd.to_owned(),
        source,
    };
    match lease {
        Ok(mut lease) => match needed::missing(sandbox, &lease.worker().layers) {
            None => {
                let layers = &lease.worker().layers;
                layers.note();
                needed::tell_of_open_files(sandbox.plan, layers);
                Ok(lease)
            }
            Some(missing) => {
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

/// A worker of the pool of `plan`.
fn pooled(
    plan: &Plan,
    cancel: &dyn CancelSource,
    deadline: Option<Instant>,
) -> Result<Lease, NoWorker> {
    let pool = pools::of(plan);
    let acquired = acquire(&Call { plan, pool: &pool, cancel, deadline }, || pool.lock())?;
    if acquired.is_new {
        pools::enforce_share(&pool);
    }
    let origin = Origin::Pool(pool, acquired.generation);
    Ok(Lease { worker: Some(acquired.worker), origin })
}

/// One call for a worker.
struct Call<'a> {
    plan: &'a Plan,
    pool: &'a Arc<Pool>,
    cancel: &'a dyn CancelSource,
    deadline: Option<Instant>,
}

impl Host<Supervisor> for Call<'_> {
    fn start(&self, generation: u64, without_mounts: Option<i32>) -> io::Result<Supervisor> {
        let (pool, plan) = (Arc::downgrade(self.pool), self.plan.clone());
        let ended = move || pools::ended(&plan, &pool, generation);
        Supervisor::start(&order(self.plan, without_mounts), ended)
    }

    fn wait(&self, socket: OwnedFd) -> Result<Worker, NoWorker> {
        Worker::wait_for(socket, self.cancel, self.deadline)
    }

    fn identities(&self) -> Identities {
        Identities::now(self.plan)
    }

    fn has_root(&self) -> bool {
        self.plan.root.is_dir()
    }

    fn make_room(&self, error: &io::Error) -> bool {
        pools::is_full(error) && pools::release()
    }
}

/// A worker of a supervisor of its own.
fn isolated(
    plan: &Plan,
    cancel: &dyn CancelSource,
    deadline: Option<Instant>,
) -> Result<Lease, NoWorker> {
    let mut without_mounts = None;
    let mut tries = MAX_TRIES;
    loop {
        let start = || Supervisor::start(&order(plan, without_mounts), || ());
        let supervisor = pools::with_room(start).map_err(NoWorker::Io)?;
        let asked = pools::with_room(|| supervisor.request_worker());
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
