//! Calls for workers in every order that shuttle tries, with supervisors and workers that are no
//! processes.

use std::fmt;
use std::sync::Arc;

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use shuttle::{check_random, thread};

use super::*;

const ITERATIONS: usize = 500;
const CALLS: usize = 3;
const CALLERS: usize = 3;

/// What calls share beside the pool.
#[derive(Default)]
struct World {
    /// Counts how often the paths of the plan have become other files.
    version: AtomicU64,
    supervisors: AtomicUsize,
    /// How many failures are left to happen.
    failures: AtomicUsize,
    /// Whether the system refuses a tree of files of its own.
    is_without_mounts: bool,
    /// The network of a background process, of those that come one after the other; 0 is none.
    network: AtomicU64,
}

impl World {
    fn fails(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        thread_rng().gen_bool(0.3)
            && self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }
}

struct FakeSupervisor {
    world: Arc<World>,
    generation: u64,
    without_mounts: Option<i32>,
    network: Option<NetworkId>,
    /// The version of the paths that it has bound, once it has.
    bound: Arc<Mutex<Option<u64>>>,
    is_gone: Arc<AtomicBool>,
}

impl Drop for FakeSupervisor {
    fn drop(&mut self) {
        self.world.supervisors.fetch_sub(1, Ordering::SeqCst);
    }
}

struct FakeWorker {
    generation: u64,
    bound: u64,
    without_mounts: Option<i32>,
    network: Option<NetworkId>,
    is_used: bool,
}

impl fmt::Debug for FakeWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a worker of {}", self.generation)
    }
}

/// A requested worker.
struct Pending {
    generation: u64,
    without_mounts: Option<i32>,
    network: Option<NetworkId>,
    bound: Arc<Mutex<Option<u64>>>,
    is_gone: Arc<AtomicBool>,
}

impl SupervisorHandle for FakeSupervisor {
    type Worker = FakeWorker;
    type Pending = Pending;

    fn request_worker(&self) -> io::Result<Pending> {
        if self.is_gone.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let Self { generation, without_mounts, network, .. } = *self;
        let (bound, is_gone) = (Arc::clone(&self.bound), Arc::clone(&self.is_gone));
        Ok(Pending { generation, without_mounts, network, bound, is_gone })
    }

    fn kill(&self) {
        panic!("every supervisor answers");
    }
}

impl WorkerHandle for FakeWorker {
    fn is_idle(&mut self) -> bool {
        assert!(!self.is_used, "an idle worker has no command");
        true
    }
}

impl Host<FakeSupervisor> for Arc<World> {
    fn start(
        &self,
        generation: u64,
        without_mounts: Option<i32>,
    ) -> io::Result<(FakeSupervisor, Option<NetworkId>)> {
        self.supervisors.fetch_add(1, Ordering::SeqCst);
        let network = self.network();
        let supervisor = FakeSupervisor {
            world: Arc::clone(self),
            generation,
            without_mounts,
            network,
            bound: Arc::default(),
            is_gone: Arc::default(),
        };
        Ok((supervisor, network))
    }

    fn wait(&self, pending: Pending) -> Result<FakeWorker, NoWorker> {
        thread::yield_now();
        if self.fails() || pending.is_gone.load(Ordering::SeqCst) {
            pending.is_gone.store(true, Ordering::SeqCst);
            return Err(NoWorker::Gone);
        }
        if self.is_without_mounts && pending.without_mounts.is_none() {
            return Err(NoWorker::Failed(FailedStep::Mounts, 1, "refused".to_owned()));
        }
        let now = self.version.load(Ordering::SeqCst);
        let bound = *pending.bound.lock().expect("no panic").get_or_insert(now);
        thread::yield_now();
        let Pending { generation, without_mounts, network, .. } = pending;
        Ok(FakeWorker { generation, bound, without_mounts, network, is_used: false })
    }

    fn identities(&self) -> Identities {
        Identities::of_version(self.version.load(Ordering::SeqCst))
    }

    fn has_root(&self) -> bool {
        true
    }

    fn network(&self) -> Option<NetworkId> {
        match self.network.load(Ordering::SeqCst) {
            0 => None,
            number => Some(NetworkId::of_number(number)),
        }
    }

    fn make_room(&self, _: &io::Error) -> bool {
        false
    }
}

/// Makes one call, and checks its promises.
fn call(world: &Arc<World>, pool: &Mutex<State<FakeSupervisor>>) {
    let before = world.version.load(Ordering::SeqCst);
    let network = world.network();
    let lock = || pool.lock().expect("no panic");
    let acquired = acquire(world, lock).expect("there are fewer failures than tries");
    let Acquired { mut worker, generation, .. } = acquired;
    assert_eq!(worker.generation, generation);
    assert!(worker.bound >= before, "its tree is from before the call");
    assert_eq!(worker.without_mounts.is_some(), world.is_without_mounts);
    if network.is_some() {
        assert!(worker.network >= network, "a process was kept in {network:?} before the call");
    }
    worker.is_used = true;
    thread::yield_now();
    worker.is_used = false;
    let mut state = lock();
    if state.generation == generation {
        state.put_back(worker);
    }
}

/// Runs calls beside changes of the paths. Together with the failures, a call meets as many as it
/// has tries.
fn calls(is_without_mounts: bool, changes: usize, reused: usize) {
    let failures = MAX_TRIES - changes;
    check_random(
        move || {
            let world = Arc::new(World {
                failures: AtomicUsize::new(failures),
                is_without_mounts,
                ..World::default()
            });
            let pool = Arc::new(Mutex::new(State::default()));
            let mut threads = Vec::new();
            for _ in 0..CALLERS {
                let (world, pool) = (Arc::clone(&world), Arc::clone(&pool));
                threads.push(thread::spawn(move || (0..CALLS).for_each(|_| call(&world, &pool))));
            }
            let paths = Arc::clone(&world);
            threads.push(thread::spawn(move || {
                for _ in 0..changes {
                    paths.version.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                }
            }));
            let networks = Arc::clone(&world);
            threads.push(thread::spawn(move || {
                for _ in 0..reused {
                    networks.network.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                }
            }));
            for thread in threads {
                thread.join().expect("no panic");
            }
            let mut state = pool.lock().expect("no panic");
            let supervisor = state.supervisor.as_ref().map(|supervisor| supervisor.generation);
            assert!(state.idle.iter().all(|(worker, _)| Some(worker.generation) == supervisor));
            assert!(state.idle.len() <= CALLERS);
            assert_eq!(world.supervisors.load(Ordering::SeqCst), usize::from(supervisor.is_some()));
            state.retire();
            assert_eq!(
                world.supervisors.load(Ordering::SeqCst),
                0,
                "a retired supervisor is dropped"
            );
        },
        ITERATIONS,
    );
}

#[test]
fn a_worker_has_the_tree_of_its_call() {
    calls(false, 0, 0);
    calls(false, 2, 0);
    calls(false, MAX_TRIES, 0);
}

#[test]
fn a_plan_without_mounts_gets_workers_without_mounts() {
    calls(true, 0, 0);
    calls(true, 2, 0);
}

#[test]
fn a_worker_has_the_network_of_its_call() {
    calls(false, 0, 3);
    calls(false, 2, 2);
    calls(true, 1, 2);
}
