//! The forks of git directories that the commands of one supervisor share.
//!
//! Commands see a git directory as it was when its fork was made, with what they have changed. So a fork is
//! replaced before a command when the repository has changed meanwhile, and after one that has changed it: its
//! changes are read as data and written into the repository, and the next command sees that.
//!
//! While other commands run, their git may be in the middle of something. Then the changes stay in the fork
//! until the end of one at a quiet moment.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use toolwright_git::directory::Directory;
use toolwright_git::import::{self, Imported, Snapshot, Terms};
use toolwright_sandbox::plan::{Files, Plan};
use toolwright_sandbox::wire::Reply;

use super::answer::wait_for_answer;
use super::pool::Pool;
use super::waiting;
use crate::git_reports::GitReport;

/// How long the end of a command waits for a lock of the repository, before its changes are left to a later one.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_secs(1)];

/// The forks of one supervisor.
#[derive(Debug)]
pub(crate) struct Forks {
    /// Which supervisor of the pool it is.
    generation: u64,
    /// It decides what comes back.
    plan: Box<Plan>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many commands use them.
    users: usize,
    forks: Vec<Fork>,
}

/// One git directory and its fork.
#[derive(Debug)]
struct Fork {
    path: PathBuf,
    git: Directory,
    current: Changed,
    /// Those that commands no longer see, whose changes wait for a lock of the repository.
    aside: Vec<Changed>,
}

/// What commands have changed, and the repository that they saw.
#[derive(Debug)]
pub(super) struct Changed {
    changes: Directory,
    snapshot: Snapshot,
}

/// The use of forks by one command. Its end is that of the command.
#[derive(Debug)]
pub(crate) struct ForkUse {
    forks: Arc<Forks>,
    pool: Arc<Pool>,
    reports: Vec<GitReport>,
    is_over: bool,
}

/// The supervisor has ended, or another one has taken its place.
#[derive(Debug)]
pub(super) struct Retired;

/// What became of the changes of forks.
#[derive(Debug, Default)]
struct Outcome {
    reports: Vec<GitReport>,
    /// Reports about changes that wait, in place of those above when no more is tried.
    waiting: Vec<GitReport>,
}

impl Forks {
    /// Those of a supervisor.
    pub(super) fn of(plan: &Plan, pool: &Arc<Pool>, generation: u64) -> Result<Arc<Self>, Retired> {
        let mut forks = Vec::new();
        for path in &plan.forks {
            // Where there is none, the directory is read-only.
            let Some(changes) = request(pool, generation, path, false)? else { continue };
            let Ok(git) = Directory::open(path) else { continue };
            let Ok(snapshot) = Snapshot::take(&git) else { continue };
            let current = Changed { changes, snapshot };
            forks.push(Fork { path: path.clone(), git, current, aside: Vec::new() });
        }
        let state = Mutex::new(State { users: 0, forks });
        let forks = Arc::new(Self { generation, plan: Box::new(plan.clone()), state });
        let mut state = pool.lock();
        if state.generation != generation {
            return Err(Retired);
        }
        // Another call may have asked at the same time. All have to count the same users.
        if let Some(known) = &state.forks {
            forks.lock().forks.clear();
            return Ok(Arc::clone(known));
        }
        for fork in &mut forks.lock().forks {
            fork.aside = waiting::take(&fork.git);
        }
        state.forks = Some(Arc::clone(&forks));
        Ok(forks)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the forks show the repositories as they are, unless other commands use them. With `is_taken`, the
    /// command has its worker already, whose tree must not change.
    pub(super) fn begin(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        is_taken: bool,
    ) -> Result<ForkUse, Retired> {
        let mut state = self.lock();
        let mut outcome = Outcome::default();
        if state.users == 0 && !is_taken {
            for fork in &mut state.forks {
                self.bring_back(fork, pool, &mut outcome)?;
                if !fork.is_waiting() && !fork.current.snapshot.is_current(&fork.git) {
                    fork.renew(pool, self.generation)?;
                }
            }
        }
        state.users += 1;
        let (forks, pool) = (Arc::clone(self), Arc::clone(pool));
        Ok(ForkUse { forks, pool, reports: outcome.reports, is_over: false })
    }

    /// Brings back what commands have changed, unless some of them are in the middle of that.
    fn end(&self, pool: &Arc<Pool>, is_first_try: bool) -> Outcome {
        let mut state = self.lock();
        if is_first_try {
            state.users = state.users.saturating_sub(1);
        }
        let is_last = state.users == 0;
        let mut outcome = Outcome::default();
        // A supervisor that has ended has no command that would need a new fork.
        for fork in &mut state.forks {
            if is_last {
                let _ = self.bring_back(fork, pool, &mut outcome);
            } else if fork.current.has_changed() && import::is_quiet(&fork.current.changes) {
                let _ = self.bring_back_beside(fork, pool, &mut outcome);
            } else {
                self.bring_back_aside(fork, &mut outcome);
            }
        }
        outcome
    }

    /// Writes the changes into the repository while no command runs.
    fn bring_back(
        &self,
        fork: &mut Fork,
        pool: &Arc<Pool>,
        outcome: &mut Outcome,
    ) -> Result<(), Retired> {
        let was_aside = self.bring_back_aside(fork, outcome);
        if !fork.current.has_changed() {
            return if was_aside { fork.renew(pool, self.generation).map(drop) } else { Ok(()) };
        }
        if self.import(&fork.path, &fork.git, &fork.current, outcome) {
            fork.renew(pool, self.generation)?;
        }
        Ok(())
    }

    /// The same while other commands run. They get a new fork first, and so write nothing to what is read.
    fn bring_back_beside(
        &self,
        fork: &mut Fork,
        pool: &Arc<Pool>,
        outcome: &mut Outcome,
    ) -> Result<(), Retired> {
        let changed = fork.renew(pool, self.generation)?;
        fork.aside.push(changed);
        // The new fork may have been looked at before the repository changed.
        if self.bring_back_aside(fork, outcome) && !fork.current.has_changed() {
            fork.renew(pool, self.generation)?;
        }
        Ok(())
    }

    /// Writes what waits. Returns whether all of it was written, and there was something.
    fn bring_back_aside(&self, fork: &mut Fork, outcome: &mut Outcome) -> bool {
        let had_some = !fork.aside.is_empty();
        for changed in std::mem::take(&mut fork.aside) {
            // Later changes rest on earlier ones.
            let is_blocked = !fork.aside.is_empty();
            if is_blocked || !self.import(&fork.path, &fork.git, &changed, outcome) {
                fork.aside.push(changed);
            }
        }
        had_some && fork.aside.is_empty()
    }

    /// Returns whether it is done: `false` if the repository is locked.
    fn import(
        &self,
        path: &Path,
        git: &Directory,
        Changed { changes, snapshot }: &Changed,
        outcome: &mut Outcome,
    ) -> bool {
        let Imported { notes, is_waiting } =
            import::import(git, snapshot, changes, &self.terms(path));
        let shown = path.strip_prefix(&self.plan.root).unwrap_or(path);
        let reports = notes.into_iter().map(|note| GitReport::of_fork(shown, note));
        if is_waiting {
            outcome.waiting.extend(reports);
        } else {
            outcome.reports.extend(reports);
        }
        !is_waiting
    }

    fn terms(&self, git: &Path) -> Terms<'_> {
        let top = (git.file_name() == Some(".git".as_ref())).then(|| git.parent()).flatten();
        let plan = &self.plan;
        Terms {
            git: git.to_owned(),
            top: top.map(Path::to_owned),
            is_writable: Box::new(|path| {
                plan.files == Files::Full
                    || plan.writable.iter().any(|writable| path.starts_with(writable))
            }),
            is_readable: Box::new(|path| !plan.closes(path)),
            is_strict: false,
            holds_git_directories: false,
        }
    }
}

impl Fork {
    fn is_waiting(&mut self) -> bool {
        !self.aside.is_empty() || self.current.has_changed()
    }

    /// Has commands see a new fork, and returns the one before.
    fn renew(&mut self, pool: &Arc<Pool>, generation: u64) -> Result<Changed, Retired> {
        let changes = request(pool, generation, &self.path, true)?.ok_or(Retired)?;
        let snapshot = Snapshot::take(&self.git).map_err(|_| Retired)?;
        Ok(std::mem::replace(&mut self.current, Changed { changes, snapshot }))
    }
}

/// The supervisor has ended, or no command needs it any more.
impl Drop for State {
    fn drop(&mut self) {
        for Fork { git, mut current, mut aside, .. } in std::mem::take(&mut self.forks) {
            if current.has_changed() {
                aside.push(current);
            }
            waiting::add(&git, aside);
        }
    }
}

impl Changed {
    fn has_changed(&mut self) -> bool {
        import::has_changes(&self.changes, &mut self.snapshot)
    }
}

impl ForkUse {
    /// Which supervisor of the pool has the forks.
    pub(super) fn generation(&self) -> u64 {
        self.forks.generation
    }

    /// Brings back what commands have changed so far, and reports what was not. The command has ended.
    pub(crate) fn end(&mut self) -> Vec<GitReport> {
        if std::mem::replace(&mut self.is_over, true) {
            return Vec::new();
        }
        let mut reports = std::mem::take(&mut self.reports);
        let mut outcome = self.forks.end(&self.pool, true);
        for pause in PAUSES {
            reports.append(&mut outcome.reports);
            if outcome.waiting.is_empty() {
                break;
            }
            thread::sleep(pause);
            outcome = self.forks.end(&self.pool, false);
        }
        reports.extend(outcome.reports.into_iter().chain(outcome.waiting));
        reports
    }
}

impl Drop for ForkUse {
    fn drop(&mut self) {
        self.end();
    }
}

/// Asks a supervisor for what has changed in its fork of a git directory. `None`: it has none.
fn request(
    pool: &Arc<Pool>,
    generation: u64,
    path: &Path,
    anew: bool,
) -> Result<Option<Directory>, Retired> {
    let mut state = pool.lock();
    if state.generation != generation {
        return Err(Retired);
    }
    if anew {
        // Their trees change, and each would say so.
        state.drop_idle();
    }
    let Some(supervisor) = state.supervisor() else { return Err(Retired) };
    let answer = supervisor.request_fork(path, anew);
    drop(state);
    if let Ok(changes) = answer.and_then(receive) {
        return Ok(changes);
    }
    let mut state = pool.lock();
    if state.generation == generation {
        state.retire();
    }
    Err(Retired)
}

fn receive(socket: OwnedFd) -> io::Result<Option<Directory>> {
    match wait_for_answer(socket)? {
        // The kernel drops a descriptor that has no place here.
        (Reply::Fork, Some(changes)) => Ok(Some(changes.into())),
        (Reply::Fork, None) => Err(Errno::MFILE.into()),
        (Reply::NoFork(_), _) => Ok(None),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
