//! A worker that one command has for itself.

use std::io;
use std::mem::take;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use toolwright_sandbox::layers::Layers;
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::step::FailedStep;

use super::git::{self, ForkUse, Forks, GitCalls, Look};
use super::identity::Identities;
use super::network::{self, NetworkId, Place, SharedNetwork};
use super::pool::{Acquired, Host, Pool, acquire, order};
use super::supervisor::Supervisor;
use super::worker::{MAX_START_TIME, NoWorker, Worker};
use super::{needed, pools};
use crate::cancel::CancelSource;
use crate::error::{ExecError, SpawnReason};
use crate::git_reports::GitReport;
use crate::missing::Missing;
use crate::request::{ExecRequest, Sandbox};
use crate::root_fork::{self, InFork};

/// How long putting our own programs in their place may take.
const MAX_COPY_TIME: Duration = Duration::from_secs(2);

/// A worker for one command.
#[derive(Debug)]
pub(crate) struct Lease {
    /// `None` once it has been released.
    worker: Option<Worker>,
    /// That of the plan, or one that only this lease knows and that ends with it.
    pool: Arc<Pool>,
    generation: u64,
    /// The use of forks of git directories by the command.
    fork_use: Option<Box<ForkUse>>,
    /// How often the supervisor had changed the tree when the worker was taken.
    renewals: u64,
    /// The look at what the command may make of plain files.
    look: Option<Box<Look>>,
    /// What was reported at the end of that.
    reports: Vec<GitReport>,
    /// What the fork that the command sees knows of it.
    in_fork: Option<InFork>,
    /// The bound of that fork by which it was stopped.
    fork_full: Option<u64>,
    /// The network of its supervisor, while a background process runs in it.
    _network: Option<Arc<SharedNetwork>>,
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

    /// Has our own programs put in their place, for a command that names one. Without them it has no
    /// program of that name, and its hint says so.
    pub(crate) fn make_programs(&self) {
        let state = self.pool.lock();
        let supervisor = state.supervisor().filter(|_| state.generation == self.generation);
        let Some(Ok(done)) = supervisor.map(Supervisor::request_programs) else { return };
        drop(state);
        let limit = Timespec::try_from(MAX_COPY_TIME).ok();
        let _ = retry_on_intr(|| poll(&mut [PollFd::new(&done, PollFlags::IN)], limit.as_ref()));
    }

    /// Brings back what the command has changed of git directories, and says what of it was not. The command
    /// has ended.
    pub(crate) fn end_git(&mut self) -> Vec<GitReport> {
        let mut reports = take(&mut self.reports);
        let calls = GitCalls {
            has_made: self.worker.as_ref().is_none_or(|worker| worker.has_made_git),
            refused: self.worker.as_mut().map(|it| take(&mut it.refused_git)).unwrap_or_default(),
        };
        let hides = self.worker.as_ref().is_some_and(|worker| worker.layers.hidden_git.holds());
        reports.extend(git::end(self.fork_use.take(), self.look.take(), calls, hides));
        reports
    }

    /// By which bound the fork that the command sees has stopped it, if it has.
    pub(crate) fn fork_full(&self) -> Option<u64> {
        self.fork_full.or_else(|| self.in_fork.as_ref().and_then(InFork::stopped_at))
    }

    /// Has the fork that the command sees stop it when the fork becomes too large.
    fn enter_fork(&mut self, plan: &Plan) -> io::Result<()> {
        let fork = plan.root_fork.as_ref().and_then(|seen| root_fork::find(seen.number));
        let worker = self.worker();
        let entered = fork.map(|fork| fork.enter(worker.as_fd(), worker.process()));
        self.in_fork = entered.transpose()?;
        Ok(())
    }

    /// Retires the supervisor of the worker.
    pub(crate) fn retire(&self) {
        let mut state = self.pool.lock();
        if state.generation == self.generation {
            state.retire();
        }
    }

    /// Gives the worker back to its pool, if its supervisor is still that of the pool.
    pub(crate) fn release(&mut self) {
        // Before another command begins with them.
        self.reports = self.end_git();
        self.fork_full = self.fork_full();
        self.in_fork = None;
        let Some(worker) = self.worker.take() else { return };
        let mut state = self.pool.lock();
        if state.generation == self.generation && state.renewals == self.renewals {
            state.put_back(worker);
        }
    }
}

/// What enforces a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Enforcement {
    Layers(Layers),
    /// Nothing: the sandbox program could not be run, for this reason.
    Unavailable(String),
}

/// Finds out what holds, by making a worker.
pub(crate) fn probe(plan: &Plan, cancel: &dyn CancelSource) -> Enforcement {
    match lease(plan, None, (false, false), cancel, None) {
        Ok(mut lease) => {
            let layers = lease.worker().layers;
            lease.release();
            Enforcement::Layers(layers)
        }
        Err(reason) => Enforcement::Unavailable(reason.to_string()),
    }
}

/// A worker for this command, behind the layers it cannot do without. With `is_background`, later commands reach
/// its servers.
pub(crate) fn take_worker(
    sandbox: &Sandbox<'_>,
    request: &ExecRequest<'_>,
    is_background: bool,
    deadline: Option<Instant>,
) -> Result<Lease, ExecError> {
    let look = Look::begin(sandbox.plan).map(Box::new);
    let replanned = look.as_ref().and_then(|look| look.plan());
    let plan = replanned.as_ref().unwrap_or(sandbox.plan);
    match lease(plan, look, (sandbox.isolated, is_background), request.cancel, deadline) {
        Ok(mut lease) => match needed::missing(sandbox, &lease.worker().layers) {
            None => {
                let layers = &lease.worker().layers;
                layers.note();
                needed::tell_of_open_files(sandbox, layers);
                lease.enter_fork(plan).map_err(|source| {
                    ExecError::not_started(request, SpawnReason::Resources, source)
                })?;
                Ok(lease)
            }
            Some(missing) => {
                lease.release();
                Err(ExecError::unconfined(request, missing))
            }
        },
        Err(NoWorker::Cancelled) => Err(ExecError::cancelled_before(request)),
        Err(NoWorker::TimedOut) => Err(ExecError::timed_out_before(request)),
        Err(NoWorker::Failed(FailedStep::Granted, _, what)) => {
            Err(ExecError::GrantChanged { program: request.cmd.to_owned(), what })
        }
        Err(_) if !plan.root.is_dir() => {
            Err(ExecError::not_started(request, SpawnReason::BadCwd, Errno::NOENT.into()))
        }
        Err(reason) if reason.is_shortage() => {
            let source = io::Error::other(reason.to_string());
            Err(ExecError::not_started(request, SpawnReason::Resources, source))
        }
        Err(reason) => {
            let missing = match &reason {
                NoWorker::Failed(step, _, what) => Missing::step(*step, what.clone()),
                reason => Missing::program(reason.to_string()),
            };
            Err(ExecError::unconfined(request, missing))
        }
    }
}

fn lease(
    plan: &Plan,
    mut look: Option<Box<Look>>,
    (is_isolated, is_background): (bool, bool),
    cancel: &dyn CancelSource,
    deadline: Option<Instant>,
) -> Result<Lease, NoWorker> {
    let started = Instant::now();
    let mut below = plan.forks.clone();
    below.extend(look.iter().flat_map(|look| look.below()).cloned());
    // The fork has git directories of its own.
    below.retain(|path| !plan.is_forked(path));
    let is_alone = look.as_ref().is_none_or(|look| look.is_alone());
    loop {
        let pool = if is_isolated { Arc::default() } else { pools::of(plan) };
        let call = Call { plan, is_isolated, pool: &pool, cancel, deadline };
        // A new fork changes the tree, which is done before a worker is taken.
        let forks = pool.lock().forks.clone();
        let known =
            forks.and_then(|forks| ForkUse::begin(forks, &pool, &below, false, is_alone).ok());
        let Acquired { worker, generation, is_new } = acquire(&call, || pool.lock())?;
        if is_new && !is_isolated {
            pools::enforce_share(&pool);
        }
        let layers = worker.layers;
        let renewals = pool.lock().renewals;
        let mut lease = Lease {
            worker: Some(worker),
            pool,
            generation,
            fork_use: known.filter(|known| known.generation() == generation).map(Box::new),
            renewals,
            look: None,
            reports: Vec::new(),
            in_fork: None,
            fork_full: None,
            _network: None,
        };
        if lease.fork_use.is_none() && layers.mount.holds() {
            let forks = Forks::of(plan, &lease.pool, generation);
            if let Ok(fork_use) =
                forks.and_then(|forks| ForkUse::begin(forks, &lease.pool, &below, true, is_alone))
            {
                lease.fork_use = Some(Box::new(fork_use));
            } else {
                lease.release();
                if started.elapsed() > MAX_START_TIME {
                    return Err(NoWorker::TooLong);
                }
                continue;
            }
        }
        if let Some(look) = &look {
            look.hides(layers.hidden_git.holds());
        }
        if !is_background || is_isolated || !network::can_be_shared(plan, &layers) {
            lease.look = look.take();
            return Ok(lease);
        }
        match network::keep(plan, &lease.pool, generation)? {
            Place::Here(network) => {
                let look = look.take();
                return Ok(Lease { _network: Some(network), look, ..lease });
            }
            // Its supervisor is in no network of the plan's any more, and the next one will be.
            Place::Elsewhere => lease.release(),
        }
        if started.elapsed() > MAX_START_TIME {
            return Err(NoWorker::TooLong);
        }
    }
}

struct Call<'a> {
    plan: &'a Plan,
    is_isolated: bool,
    pool: &'a Arc<Pool>,
    cancel: &'a dyn CancelSource,
    deadline: Option<Instant>,
}

impl Host<Supervisor> for Call<'_> {
    fn start(
        &self,
        generation: u64,
        without_mounts: Option<i32>,
    ) -> io::Result<(Supervisor, Option<NetworkId>)> {
        let (pool, plan) = (Arc::downgrade(self.pool), self.plan.clone());
        let ended = move || pools::ended(&plan, &pool, generation);
        let network = if self.is_isolated { None } else { network::of(self.plan) };
        let order = order(self.plan, without_mounts, network.as_deref());
        let mut beside = network.as_ref().map_or_else(Vec::new, |network| network.descriptors());
        let forked = self.plan.root_fork.as_ref().map(|fork| {
            root_fork::find(fork.number)
                .ok_or(io::ErrorKind::NotFound.into())
                .and_then(|it| it.mount())
        });
        let forked = forked.transpose()?;
        beside.extend(forked.iter().flatten().map(AsFd::as_fd));
        let supervisor = Supervisor::start(&order, &beside, ended)?;
        Ok((supervisor, network.map(|network| network.id())))
    }

    fn wait(&self, socket: OwnedFd) -> Result<Worker, NoWorker> {
        Worker::wait_for(socket, self.cancel, self.deadline)
    }

    fn identities(&self) -> Identities {
        // A supervisor that was started for this call alone has bound the files of this call.
        if self.is_isolated { Identities::default() } else { Identities::now(self.plan) }
    }

    fn has_root(&self) -> bool {
        self.plan.root.is_dir()
    }

    fn network(&self) -> Option<NetworkId> {
        if self.is_isolated { None } else { network::of(self.plan).map(|network| network.id()) }
    }

    fn make_room(&self, error: &io::Error) -> bool {
        pools::is_full(error) && pools::release()
    }
}
