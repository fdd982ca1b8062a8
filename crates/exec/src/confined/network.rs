//! Networks of background processes.
//!
//! Each supervisor makes a network of its own, and plans change while a process runs: a store appears, a
//! session begins, a repository is made. So the network of a background process is held here, by what
//! was asked for, and every supervisor that is needed for the same joins it.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::fstat;
use rustix::io::{Errno, retry_on_intr};
use toolwright_sandbox::layers::Layers;
use toolwright_sandbox::plan::{Origin, Plan};
use toolwright_sandbox::wire::{Inbox, Progress, Reply};

use super::pool::Pool;
use super::pools;
use super::worker::NoWorker;

/// How long a supervisor may take to name its network.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(2);

/// Device and inode of a network namespace. They are unique while a supervisor is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NetworkId {
    device: u64,
    inode: u64,
}

#[cfg(test)]
impl NetworkId {
    /// One of several that come one after the other.
    pub(super) fn of_number(inode: u64) -> Self {
        Self { device: 0, inode }
    }
}

/// A network with a background process, and the temporary directories beside it. They are those of all
/// commands that were asked for alike, until this is dropped.
#[derive(Debug)]
pub(super) struct SharedNetwork {
    id: NetworkId,
    descriptor: OwnedFd,
    /// The mounts of its supervisor, and the file system in which these directories are. `None` where
    /// they could not be had.
    temporary: Option<[OwnedFd; 2]>,
}

impl SharedNetwork {
    fn new(descriptor: OwnedFd, temporary: Option<[OwnedFd; 2]>) -> io::Result<Self> {
        let status = fstat(&descriptor)?;
        let id = NetworkId { device: status.st_dev, inode: status.st_ino };
        Ok(Self { id, descriptor, temporary })
    }

    pub(super) fn id(&self) -> NetworkId {
        self.id
    }

    pub(super) fn shares_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// In the order in which a supervisor takes them.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let temporary = self.temporary.iter().flatten();
        std::iter::once(&self.descriptor).chain(temporary).map(AsFd::as_fd).collect()
    }
}

/// What commands have in common that share a network.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Sharers {
    Origin(Arc<Origin>),
    Plan(Box<Plan>),
}

impl Sharers {
    fn of(plan: &Plan) -> Self {
        match &plan.origin {
            Some(origin) => Self::Origin(Arc::clone(origin)),
            None => Self::Plan(Box::new(plan.clone())),
        }
    }
}

static NETWORKS: Mutex<Option<HashMap<Sharers, Weak<SharedNetwork>>>> = Mutex::new(None);
/// Whether there may be one. Commands of a host that keeps no process need not look.
static ANY: AtomicBool = AtomicBool::new(false);

fn with<T>(use_them: impl FnOnce(&mut HashMap<Sharers, Weak<SharedNetwork>>) -> T) -> T {
    let mut networks = NETWORKS.lock().unwrap_or_else(PoisonError::into_inner);
    use_them(networks.get_or_insert_default())
}

/// The network that commands of this plan have to be in, because a background process runs in it.
pub(super) fn of(plan: &Plan) -> Option<Arc<SharedNetwork>> {
    if !plan.network.has_private_loopback() || !ANY.load(Ordering::Acquire) {
        return None;
    }
    let sharers = Sharers::of(plan);
    with(|networks| {
        let shared = networks.get(&sharers)?.upgrade();
        if shared.is_none() {
            networks.retain(|_, network| network.strong_count() > 0);
            ANY.store(!networks.is_empty(), Ordering::Release);
        }
        shared
    })
}

/// Makes it the network of its sharers, unless they have another one.
fn register(plan: &Plan, network: SharedNetwork) -> Option<Arc<SharedNetwork>> {
    let sharers = Sharers::of(plan);
    with(|networks| {
        if let Some(known) = networks.get(&sharers).and_then(Weak::upgrade) {
            return (known.id == network.id).then_some(known);
        }
        let network = Arc::new(network);
        networks.insert(sharers, Arc::downgrade(&network));
        ANY.store(true, Ordering::Release);
        Some(network)
    })
}

/// Whether another supervisor may join it. Without a process namespace, commands of one user namespace
/// would see each other, whatever their plans are; only those of one supervisor do.
pub(super) fn can_be_shared(plan: &Plan, layers: &Layers) -> bool {
    plan.network.has_private_loopback()
        && [layers.net, layers.loopback, layers.pid].iter().all(|layer| layer.holds())
}

/// Where a worker is.
pub(super) enum Place {
    /// In the network of its sharers.
    Here(Arc<SharedNetwork>),
    /// In another one than a background process, or its supervisor has been retired.
    Elsewhere,
}

/// Makes the network of a worker's supervisor that of all its sharers, or finds that they have another.
pub(super) fn keep(plan: &Plan, pool: &Pool, generation: u64) -> Result<Place, NoWorker> {
    if let Some(network) = of(plan) {
        let state = pool.lock();
        let is_here = state.generation == generation && state.network == Some(network.id);
        return Ok(if is_here { Place::Here(network) } else { Place::Elsewhere });
    }
    let state = pool.lock();
    let supervisor = state.supervisor().filter(|_| state.generation == generation);
    let Some(supervisor) = supervisor else { return Ok(Place::Elsewhere) };
    let answer = supervisor.request_network();
    drop(state);
    let network = match answer.and_then(wait_for_network) {
        Ok(network) => network,
        Err(error) if is_gone(&error) => {
            let mut state = pool.lock();
            if state.generation == generation {
                state.retire();
            }
            return Ok(Place::Elsewhere);
        }
        Err(error) if pools::is_full(&error) && pools::release() => return Ok(Place::Elsewhere),
        Err(error) => return Err(NoWorker::Io(error)),
    };
    let Some(network) = register(plan, network) else { return Ok(Place::Elsewhere) };
    let mut state = pool.lock();
    if state.generation == generation {
        state.network = Some(network.id);
    }
    Ok(Place::Here(network))
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn wait_for_network(socket: OwnedFd) -> io::Result<SharedNetwork> {
    let mut inbox = Inbox::new(socket);
    let deadline = Instant::now() + MAX_ANSWER_TIME;
    loop {
        if let Some(content) = inbox.take().map_err(io::Error::other)? {
            let Reply::Network(has_temporary) = Reply::read(&content).map_err(io::Error::other)?
            else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            // The kernel drops a descriptor that has no place here.
            let mut take = || inbox.take_descriptor().ok_or(Errno::MFILE);
            let network = take()?;
            let temporary = if has_temporary { Some([take()?, take()?]) } else { None };
            return SharedNetwork::new(network, temporary);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        if retry_on_intr(|| poll(&mut [PollFd::new(&inbox, PollFlags::IN)], Some(&left)))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if inbox.fill(false)? == Progress::Closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
