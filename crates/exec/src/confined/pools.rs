//! The pools of all plans, and what they may keep open together.
//!
//! Each waiting worker takes two descriptors of the host, and so does each supervisor. They are given
//! back when a supervisor ends, when its plan is of no more use, and when the host has none left.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use toolwright_sandbox::plan::Plan;

use super::git;
use super::pool::Pool;

/// How many supervisors are kept; of more, those unused for longest go when a new one comes.
const MAX_SUPERVISORS: usize = 32;
/// Idle processes may take this fraction of the descriptors that the host may have open.
const SHARE: usize = 4;

/// How long the end of supervisors without commands is waited for. It takes a few milliseconds.
const END_TIMEOUT: Duration = Duration::from_millis(200);

static POOLS: Mutex<Option<HashMap<Plan, Arc<Pool>>>> = Mutex::new(None);

/// Does something with all pools. The lock of one is taken after this one.
fn with<T>(use_them: impl FnOnce(&mut HashMap<Plan, Arc<Pool>>) -> T) -> T {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    use_them(pools.get_or_insert_default())
}

/// What commands have to have in common to share a supervisor. It makes forks of repositories as they come.
fn key(plan: &Plan) -> Plan {
    Plan { forks: Vec::new(), ..plan.clone() }
}

/// The pool of a plan, made if there is none.
pub(super) fn of(plan: &Plan) -> Arc<Pool> {
    with(|pools| {
        // There are few, and to make a key and its hash takes longer than to compare all of them.
        if let Some((_, pool)) = pools.iter().find(|(known, _)| known.is_but_for_forks(plan)) {
            return Arc::clone(pool);
        }
        if pools.len() >= MAX_SUPERVISORS
            && let Some(plan) = unused_for_longest(pools, |_| true)
        {
            pools.remove(&plan);
        }
        end_all_at_exit();
        Arc::clone(pools.entry(key(plan)).or_default())
    })
}

/// Of those that run nothing, if there is one: what runs shares its network with later commands of its plan.
fn unused_for_longest(
    pools: &HashMap<Plan, Arc<Pool>>,
    is_meant: impl Fn(&Arc<Pool>) -> bool,
) -> Option<Plan> {
    let meant = pools.iter().filter(|(_, pool)| is_meant(pool));
    // A command that runs has a lease, which refers to its pool.
    let key = |pool: &Arc<Pool>| (Arc::strong_count(pool) > 1, pool.lock().used);
    meant.min_by_key(|(_, pool)| key(pool)).map(|(plan, _)| plan.clone())
}

/// Retires the pool of a supervisor that has ended.
pub(super) fn ended(plan: &Plan, pool: &Weak<Pool>, generation: u64) {
    with(|pools| {
        let Some(pool) = pool.upgrade() else { return };
        let mut state = pool.lock();
        if state.generation != generation {
            return;
        }
        state.retire();
        drop(state);
        // Two: this reference and that of the map. No call is about to start another supervisor in
        // it.
        let key = key(plan);
        let is_its_own = pools.get(&key).is_some_and(|known| Arc::ptr_eq(known, &pool));
        if is_its_own && Arc::strong_count(&pool) == 2 {
            pools.remove(&key);
        }
    });
}

/// Retires the pools of all plans that grant something at `directory` or below it, which is about to be
/// removed. Commands that still run end as they would have.
pub(crate) fn release_directory(directory: &Path) {
    let is_concerned = |plan: &Plan| {
        let mut granted = plan.writable.iter().chain(&plan.readable).chain([&plan.root]);
        granted.any(|path| path.starts_with(directory))
    };
    end_idle(|plan| is_concerned(plan));
    git::forget_below(directory);
}

/// Retires the pools of commands that see a fork, and waits until their supervisors have ended. Returns whether all
/// have; one with a command that runs has not.
pub(crate) fn end_fork(fork: u64, deadline: Instant) -> bool {
    let mut is_free = true;
    let mut idle = Vec::new();
    with(|pools| {
        pools.retain(|plan, pool| {
            if plan.root_fork.as_ref().is_none_or(|seen| seen.number != fork) {
                return true;
            }
            let supervisor = pool.lock().take_supervisor();
            is_free &= Arc::strong_count(pool) == 1;
            idle.extend(supervisor.filter(|_| Arc::strong_count(pool) == 1));
            false
        });
    });
    for supervisor in idle {
        supervisor.end(deadline);
    }
    is_free
}

/// Retires all pools at the end of this process. A caller that removes the root of a plan right after
/// that end does not meet a supervisor that removes its placeholders.
extern "C" fn end_all() {
    end_idle(|_| true);
    git::forget_all();
}

/// Retires these pools, and waits for the supervisors that have no command to run.
fn end_idle(is_meant: impl Fn(&Plan) -> bool) {
    let mut idle = Vec::new();
    with(|pools| {
        pools.retain(|plan, pool| {
            if !is_meant(plan) {
                return true;
            }
            let supervisor = pool.lock().take_supervisor();
            // A command that runs has a lease, which refers to its pool.
            idle.extend(supervisor.filter(|_| Arc::strong_count(pool) == 1));
            false
        });
    });
    let deadline = Instant::now() + END_TIMEOUT;
    for supervisor in idle {
        supervisor.end(deadline);
    }
}

/// Has [`end_all`] run when this process exits, however the host's runtime does that.
fn end_all_at_exit() {
    unsafe extern "C" {
        fn at_quick_exit(function: extern "C" fn()) -> std::ffi::c_int;
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: both functions of the C library only register the handler, which takes nothing, may
        // run at any time on any thread, and does not unwind.
        unsafe {
            atexit(end_all);
            at_quick_exit(end_all);
        }
    });
}

/// Gives back what waits, but for that of `pool`, until the rest is within its share. Called when there
/// is a worker more, which takes milliseconds anyhow.
pub(super) fn enforce_share(pool: &Arc<Pool>) {
    let max = getrlimit(Resource::Nofile).current.and_then(|max| usize::try_from(max).ok());
    let Some(share) = max.map(|max| max / SHARE) else { return };
    with(|pools| {
        let mut open: usize = pools.values().map(|pool| pool.lock().descriptors()).sum();
        while open > share {
            let others = |one: &Arc<Pool>| !Arc::ptr_eq(one, pool) && one.lock().descriptors() > 0;
            let Some(plan) = unused_for_longest(pools, others) else { return };
            let Some(unused) = pools.remove(&plan) else { return };
            open -= unused.lock().release();
        }
    });
}

/// Gives back all that waits. False: nothing did.
pub(crate) fn release() -> bool {
    with(|pools| {
        let gave: usize = pools.values().map(|pool| pool.lock().release()).sum();
        gave > 0
    })
}

/// Does it once more when there was no descriptor left, and there is one now.
pub(crate) fn with_room<T>(mut try_it: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match try_it() {
        Err(error) if is_full(&error) && release() => try_it(),
        done => done,
    }
}

/// Whether there is no descriptor left, for this process or for all.
pub(super) fn is_full(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strict_plan_has_a_supervisor_of_its_own() {
        let plan = Plan::default();
        let forked = Plan { forks: vec!["/r/.git".into()], ..plan.clone() };
        let strict = Plan { is_git_strict: true, ..plan.clone() };
        assert_eq!(key(&plan), key(&forked));
        assert_ne!(key(&plan), key(&strict));
        assert!(key(&plan).is_but_for_forks(&forked) && !key(&plan).is_but_for_forks(&strict));
    }
}
