//! The forks of git directories that the commands of one supervisor share.
//!
//! Commands see a git directory as it was when its fork was made, with what they have changed. So a fork is
//! replaced before a command when the repository has changed meanwhile, and after one that has changed it: its
//! changes are read as data and written into the repository, and the next command sees that.
//!
//! While other commands run, their git may be in the middle of something. Then the changes stay in the fork
//! until the end of one at a quiet moment.
//!
//! A git directory that commands make is private to them until it is whole. Then it comes back, and has a fork as
//! any other.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use toolwright_git::directory::{Directory, Entry};
use toolwright_git::import::{self, Imported, Made, Snapshot};
use toolwright_sandbox::plan::Plan;
use toolwright_sandbox::wire::{Reply, fork_frame, private_frame, settle_private_frame};

use super::made::Private;
use super::{shown, terms, waiting};
use crate::confined::answer::wait_for_answer;
use crate::confined::pool::Pool;
use crate::git_reports::{GitNote, GitReport};

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
    /// Git directories that were asked for and have none. They are read-only.
    without: Vec<PathBuf>,
    /// Whether commands have private git directories.
    has_private: bool,
    /// Directories of hooks that were changed, and what of that was said.
    hooks: Vec<Hooks>,
}

/// A directory of hooks in the project, of which commands have a fork.
#[derive(Debug)]
struct Hooks {
    path: PathBuf,
    changes: Directory,
    said: Vec<String>,
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
pub(crate) struct Retired;

/// What became of the changes of forks.
#[derive(Debug, Default)]
struct Outcome {
    reports: Vec<GitReport>,
    /// Reports about changes that wait, in place of those above when no more is tried.
    waiting: Vec<GitReport>,
    /// Whether changes stay in a fork until other commands have ended.
    is_delayed: bool,
}

impl Forks {
    /// Those of a supervisor.
    pub(crate) fn of(plan: &Plan, pool: &Arc<Pool>, generation: u64) -> Result<Arc<Self>, Retired> {
        let mut made = State::default();
        for path in &plan.forks {
            made.add(path, pool, generation)?;
        }
        for path in &plan.hooks {
            if let Some(changes) = request(pool, generation, path, false)? {
                made.hooks.push(Hooks { path: path.clone(), changes, said: Vec::new() });
            }
        }
        let forks = Self { generation, plan: Box::new(plan.clone()), state: Mutex::new(made) };
        let forks = Arc::new(forks);
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

    /// Has the forks show the repositories as they are, unless other commands use them, and has forks of those
    /// `below` too. With `is_taken`, the command has its worker already, whose tree must not lose a fork.
    pub(crate) fn begin(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        below: &[PathBuf],
        is_taken: bool,
    ) -> Result<ForkUse, Retired> {
        let mut state = self.lock();
        let mut outcome = Outcome::default();
        for path in below {
            if !state.knows(path) {
                state.add(path, pool, self.generation)?;
                if let Some(new) = state.forks.last_mut().filter(|new| new.path == *path) {
                    new.aside = waiting::take(&new.git);
                }
            }
        }
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
    fn end(&self, pool: &Arc<Pool>, is_first_try: bool, has_made: bool) -> Outcome {
        let mut state = self.lock();
        if is_first_try {
            state.users = state.users.saturating_sub(1);
        }
        state.has_private |= has_made;
        let is_last = state.users == 0;
        let mut outcome = Outcome::default();
        if state.has_private {
            // A supervisor that has ended has none.
            let _ = self.bring_back_private(&mut state, pool, &mut outcome);
        }
        // A supervisor that has ended has no command that would need a new fork.
        for fork in &mut state.forks {
            if is_last {
                let _ = self.bring_back(fork, pool, &mut outcome);
            } else if fork.current.has_changed() && import::is_quiet(&fork.current.changes) {
                let _ = self.bring_back_beside(fork, pool, &mut outcome);
            } else {
                self.bring_back_aside(fork, &mut outcome);
                outcome.is_delayed |= fork.current.has_changed();
            }
        }
        for hooks in &mut state.hooks {
            outcome.reports.extend(hooks.news(&self.plan));
        }
        outcome
    }

    /// Brings back the repositories that commands have made.
    fn bring_back_private(
        &self,
        state: &mut State,
        pool: &Arc<Pool>,
        outcome: &mut Outcome,
    ) -> Result<(), Retired> {
        let mut index = 0;
        while let Some(private) = request_private(pool, self.generation, index)? {
            // The next one has this number if it stays private no more.
            index += 1;
            if !private.is_whole() {
                continue;
            }
            let Made { is_made, notes, is_waiting } = private.bring_back(&self.plan);
            let shown = shown(&self.plan, &private.path);
            let reports = notes.into_iter().map(|note| GitReport::of_fork(&shown, note));
            if is_waiting {
                outcome.waiting.extend(reports);
                continue;
            }
            outcome.reports.extend(reports);
            if is_made {
                let Private { path, git, .. } = private;
                let Some(changes) = request_settled(pool, self.generation, &path)? else {
                    outcome.is_delayed = true;
                    continue;
                };
                index -= 1;
                let snapshot = Snapshot::take(&git).map_err(|_| Retired)?;
                let current = Changed { changes, snapshot };
                state.forks.push(Fork { path, git, current, aside: Vec::new() });
            }
        }
        state.has_private = index > 0;
        Ok(())
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
            import::import(git, snapshot, changes, &terms(&self.plan, path));
        let shown = shown(&self.plan, path);
        let reports = notes.into_iter().map(|note| GitReport::of_fork(&shown, note));
        if is_waiting {
            outcome.waiting.extend(reports);
        } else {
            outcome.reports.extend(reports);
        }
        !is_waiting
    }
}

impl State {
    fn knows(&self, path: &Path) -> bool {
        self.forks.iter().any(|fork| fork.path == path)
            || self.without.iter().any(|one| one == path)
    }

    /// Has commands see a fork of a git directory. Where there is none, it is read-only.
    fn add(&mut self, path: &Path, pool: &Arc<Pool>, generation: u64) -> Result<(), Retired> {
        let changes = request(pool, generation, path, false)?;
        let fork = changes.and_then(|changes| {
            let git = Directory::open(path).ok()?;
            let snapshot = Snapshot::take(&git).ok()?;
            Some(Fork {
                path: path.to_owned(),
                git,
                current: Changed { changes, snapshot },
                aside: Vec::new(),
            })
        });
        match fork {
            Some(fork) => self.forks.push(fork),
            None => self.without.push(path.to_owned()),
        }
        Ok(())
    }
}

impl Hooks {
    /// What commands have changed and nobody was told of.
    fn news(&mut self, plan: &Plan) -> Option<GitReport> {
        /// How many names are looked at.
        const MAX: usize = 1000;
        /// A longer file counts as changed.
        const MAX_BYTES: u64 = 256 << 10;
        let entries = self.changes.entries(".", MAX).ok().flatten().unwrap_or_default();
        let real = Directory::open(&self.path).ok()?;
        // Installers write the same files again each time.
        let is_same = |entry: &Entry| {
            let read =
                |directory: &Directory| directory.read(&entry.name, MAX_BYTES).ok().flatten();
            read(&real).is_some_and(|content| read(&self.changes) == Some(content))
        };
        let changed = entries.into_iter().filter(|entry| !is_same(entry));
        let names = changed.map(|entry| entry.name.to_string_lossy().into_owned());
        let names: Vec<String> = names.filter(|name| !self.said.contains(name)).collect();
        if names.is_empty() {
            return None;
        }
        self.said.extend(names.iter().cloned());
        Some(GitReport::Hooks { directory: shown(plan, &self.path), names })
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
    pub(crate) fn generation(&self) -> u64 {
        self.forks.generation
    }

    /// Brings back what commands have changed so far, and reports what was not. The command has ended, and
    /// may have made git directories. Returns whether all of it came back, too.
    pub(super) fn end(&mut self, has_made: bool) -> (Vec<GitReport>, bool) {
        if std::mem::replace(&mut self.is_over, true) {
            return (Vec::new(), false);
        }
        let mut reports = std::mem::take(&mut self.reports);
        let mut outcome = self.forks.end(&self.pool, true, has_made);
        for pause in PAUSES {
            reports.append(&mut outcome.reports);
            if outcome.waiting.is_empty() {
                break;
            }
            thread::sleep(pause);
            outcome = self.forks.end(&self.pool, false, false);
        }
        let is_settled = outcome.waiting.is_empty() && !outcome.is_delayed;
        reports.extend(outcome.reports.into_iter().chain(outcome.waiting));
        (reports, is_settled)
    }
}

impl Drop for ForkUse {
    fn drop(&mut self) {
        // Nobody has heard of the end of the command.
        self.end(true);
    }
}

impl GitReport {
    fn of_fork(repository: &Path, note: GitNote) -> Self {
        Self::Repository { path: repository.to_owned(), note }
    }
}

/// Asks a supervisor for what has changed in its fork of a git directory. `None`: it has none.
fn request(
    pool: &Arc<Pool>,
    generation: u64,
    path: &Path,
    anew: bool,
) -> Result<Option<Directory>, Retired> {
    ask(pool, generation, &fork_frame(path, anew), anew, |answer| match answer {
        (Reply::Fork, mut descriptors) => descriptors.pop().map(Some),
        (Reply::NoFork(_), _) => Some(None),
        _ => None,
    })
}

/// Asks a supervisor for one of its private git directories. `None`: there are no more.
fn request_private(
    pool: &Arc<Pool>,
    generation: u64,
    index: u32,
) -> Result<Option<Private>, Retired> {
    ask(pool, generation, &private_frame(index), false, |answer| match answer {
        (Reply::Private(path), mut descriptors) => {
            let (git, content) = (descriptors.pop()?, descriptors.pop()?);
            Some(Some(Private { path, content, git }))
        }
        (Reply::NoPrivate, _) => Some(None),
        _ => None,
    })
}

/// Has commands see a fork where they had a private git directory. `None`: it stays private.
fn request_settled(
    pool: &Arc<Pool>,
    generation: u64,
    path: &Path,
) -> Result<Option<Directory>, Retired> {
    ask(pool, generation, &settle_private_frame(path), true, |answer| match answer {
        (Reply::Fork, mut descriptors) => descriptors.pop().map(Some),
        (Reply::NoFork(_), _) => Some(None),
        _ => None,
    })
}

/// Asks a supervisor. One that gives no answer that can be read is retired.
fn ask<T>(
    pool: &Arc<Pool>,
    generation: u64,
    frame: &[u8],
    changes_trees: bool,
    read: impl FnOnce((Reply, Vec<Directory>)) -> Option<T>,
) -> Result<T, Retired> {
    let mut state = pool.lock();
    if state.generation != generation {
        return Err(Retired);
    }
    if changes_trees {
        // Each worker would say so.
        state.drop_idle();
    }
    let Some(supervisor) = state.supervisor() else { return Err(Retired) };
    let answer = supervisor.ask(frame);
    drop(state);
    let answer = answer.and_then(wait_for_answer).ok().map(|(reply, descriptors)| {
        (reply, descriptors.into_iter().map(Directory::from).collect())
    });
    if let Some(answer) = answer.and_then(read) {
        return Ok(answer);
    }
    let mut state = pool.lock();
    if state.generation == generation {
        state.retire();
    }
    Err(Retired)
}
