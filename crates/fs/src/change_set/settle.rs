//! Finishes or undoes the change sets of processes that were killed.
//!
//! A committed set is finished, unless one of its files was changed by others before its step was
//! made; then it is undone. A set that was not committed is removed.
//!
//! A process that may create files in the directory of a plan can make one up. So a plan is only
//! carried out where it could have been made: by a process of the same user, below its directory and
//! never through a link, only in directories with a mark of the same set, and not on protected or
//! reserved files. The user matters in a directory such as `/tmp`, where everybody may create files
//! but not rename those of others. Nor can such a process delay calls for long: see [`patience`].

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation};
use rustix::io::Errno;
use rustix::process::geteuid;
use toolwright_process::ShortId;

use super::execute::Execution;
use super::plan::{MAX_BYTES, Plan};
use super::step::look;
use crate::open::open_entry;
use crate::read::read_open;
use crate::temporary::{PlanState, SetId};
use crate::{Durability, GitBorder};

/// How long to wait for another process that settles the same set.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// How long calls do not wait again after a wait in vain.
const IMPATIENCE: Duration = Duration::from_secs(60);

/// The sets that this process is working on.
static ACTIVE: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);

/// A set that this process is working on, until it is dropped.
#[derive(Debug)]
pub(super) struct Active(u64);

impl Active {
    pub(super) fn new(set: SetId) -> Self {
        active().insert(set.sequence);
        Self(set.sequence)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        active().remove(&self.0);
    }
}

fn active() -> std::sync::MutexGuard<'static, HashSet<u64>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a set was left by its process: it was killed, or could not undo the set itself. `None`
/// where that cannot be known from here.
pub(crate) fn is_left(set: SetId) -> Option<bool> {
    if set.owner == toolwright_process::ShortId::current() {
        return Some(!active().contains(&set.sequence));
    }
    if set.owner.is_judged_by_locks() {
        // [`settle`] asks the lock.
        return Some(true);
    }
    set.owner.is_running().map(|alive| !alive)
}

/// Locks the new draft of a set; false if another call was quicker, and takes it for that of a dead
/// process.
///
/// Whoever judges a set by its process needs no lock, except a second copy of this library in the same
/// process: it does not know this one's [`ACTIVE`] sets.
pub(super) fn hold(draft: &File, base: BorrowedFd<'_>, set: SetId) -> Result<bool, Errno> {
    match rustix::fs::flock(draft, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(plan_in(base, set).is_some()),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(_) if !set.owner.is_judged_by_locks() => Ok(true), // a file system without locks
        Err(errno) => Err(errno),
    }
}

/// What a plan may do.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    /// Whether it may change a path below its directory.
    pub(crate) may_change: &'a dyn Fn(&Path) -> bool,
    /// Whether git's own directories are closed to it.
    pub(crate) git: GitBorder,
}

/// Settles the set whose plan is in `base`.
pub(crate) fn settle(
    base: BorrowedFd<'_>,
    set: SetId,
    state: PlanState,
    judge: Judge<'_>,
) -> Result<(), Errno> {
    let name = set.plan(state);
    let name = OsStr::new(&name);
    let Ok(Some((file, stat))) = open_entry("", base, name) else { return Ok(()) };
    if stat.st_uid != geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    let file = File::from(file);
    if !lock(&file, set)? {
        return Ok(());
    }
    // Another process may have been quicker.
    let current = super::step::Print::of(&stat);
    if look(base, name)? != Some(current) {
        return Ok(());
    }
    let never = AtomicBool::new(false);
    let bytes = read_open(&file, "", MAX_BYTES, &never).map_err(|_| Errno::INVAL)?;
    let (plan, is_complete) = match Plan::parse(&bytes) {
        Some(plan) => plan,
        // It was killed before it did anything else.
        None if state == PlanState::Draft => (Plan::default(), false),
        None => return Err(Errno::INVAL),
    };
    if !is_complete && state != PlanState::Draft {
        return Err(Errno::INVAL);
    }
    let targets = plan.steps.iter().map(|step| plan.directories[step.directory].join(&step.name));
    let all = targets.chain(plan.made.iter().chain(&plan.emptied).cloned());
    if !all.into_iter().all(|path| (judge.may_change)(&path)) {
        return Err(Errno::PERM);
    }
    // The steps of a draft are not needed: its files are found by their names.
    let plan = if state == PlanState::Draft { Plan { steps: Vec::new(), ..plan } } else { plan };
    let _turn = judge.git.turn(plan.steps.iter().map(|step| &*step.name));
    let execution = Execution {
        base,
        set,
        plan: &plan,
        open: RefCell::new(HashMap::new()),
        made: Vec::new(),
        git: judge.git,
        locked: None,
        lockable: RefCell::new(HashMap::new()),
        is_later: true,
        durability: Durability::Fsync,
    };
    finish(&execution, state)
}

/// Brings a set to its end from the state that its plan has.
pub(super) fn finish(execution: &Execution<'_>, mut state: PlanState) -> Result<(), Errno> {
    let become_state = |from: PlanState, to: PlanState| {
        let Execution { base, set, .. } = execution;
        rustix::fs::renameat(base, set.plan(from), base, set.plan(to)).map(|()| to)
    };
    if state == PlanState::Plan {
        let next = if execution.go_on()? { PlanState::Done } else { PlanState::Undo };
        execution.sync()?;
        state = become_state(state, next)?;
    }
    match state {
        PlanState::Draft => execution.abandon()?,
        PlanState::Undo => execution.undo()?,
        PlanState::Plan | PlanState::Done => execution.clean()?,
    }
    rustix::fs::unlinkat(execution.base.as_fd(), execution.set.plan(state), AtFlags::empty())
}

/// Locks a plan; false if another process holds it for too long, or if its owner holds it.
fn lock(file: &File, set: SetId) -> Result<bool, Errno> {
    if set.owner.is_judged_by_locks() {
        return Ok(rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
    }
    let is_own = set.owner == ShortId::current();
    let patience = if is_own { Duration::ZERO } else { patience() };
    let started = Instant::now();
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR) if started.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(Errno::WOULDBLOCK) => {
                if !is_own {
                    *IMPATIENT_SINCE.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(Instant::now());
                }
                return Ok(false);
            }
            // A file system without locks.
            Err(_) | Ok(()) => return Ok(true),
        }
    }
}

/// When a wait for a lock was in vain.
static IMPATIENT_SINCE: Mutex<Option<Instant>> = Mutex::new(None);

/// How long to wait for a lock. A command can make up plans and hold their locks as long as it likes:
/// after one wait in vain there is none for a while.
fn patience() -> Duration {
    let since = IMPATIENT_SINCE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_impatient = since.is_some_and(|since| since.elapsed() < IMPATIENCE);
    if is_impatient { Duration::ZERO } else { MAX_WAIT }
}

/// Finds the plan of a set in a directory.
pub(crate) fn plan_in(base: BorrowedFd<'_>, set: SetId) -> Option<PlanState> {
    PlanState::ALL.into_iter().find(|state| {
        look(base, OsStr::new(&set.plan(*state))).is_ok_and(|existing| existing.is_some())
    })
}
