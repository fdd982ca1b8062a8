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

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::fstat;
use rustix::io::Errno;
use toolwright_git::directory::Directory;
use toolwright_git::import::{self, Imported, Made, Snapshot};
use toolwright_sandbox::plan::Plan;

use super::changed::{ALTERNATES, Changed};
use super::requests::{self, Retired};
use super::told::{self, Hooks, Outcome, Unread};
use super::{made, shown, terms, waiting};
use crate::confined::pool::Pool;
use crate::git_reports::GitReport;

/// Where a fork says where its objects are.
const MAX_ALTERNATES: u64 = 8 << 10;
/// The forks of one supervisor.
#[derive(Debug)]
pub(crate) struct Forks {
    /// Which supervisor of the pool it is.
    pub(super) generation: u64,
    /// It decides what comes back.
    plan: Box<Plan>,
    state: Mutex<State>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForkEnd {
    /// Whether it may have made git directories.
    pub(super) has_made: bool,
    /// Whether no other command runs in its directories, whatever its supervisor is.
    pub(super) is_alone: bool,
}

#[derive(Debug, Default)]
struct State {
    /// How many commands use them.
    users: usize,
    forks: Vec<Fork>,
    /// Git directories that could not be forked. They are read-only.
    without: Vec<PathBuf>,
    /// Those of which nothing can come back.
    unread: Vec<Unread>,
    /// Whether commands have private git directories.
    has_private: bool,
    /// Directories of hooks that were changed, and what of that was said.
    hooks: Vec<Hooks>,
}

/// One git directory and its fork.
#[derive(Debug)]
struct Fork {
    path: PathBuf,
    git: Directory,
    is_of_command: bool,
    /// Where commands see the objects of the directory.
    objects: Option<PathBuf>,
    current: Changed,
    /// Earlier forks, hidden from commands, whose changes wait for the lock of the repository.
    aside: Vec<Changed>,
}

impl Forks {
    /// Those of a supervisor.
    pub(crate) fn of(plan: &Plan, pool: &Arc<Pool>, generation: u64) -> Result<Arc<Self>, Retired> {
        let mut made = State::default();
        for path in &plan.hooks {
            if let Ok((changes, _)) = requests::fork(pool, generation, path, false)? {
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
            return Ok(Arc::clone(known));
        }
        state.forks = Some(Arc::clone(&forks));
        Ok(forks)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the forks show the repositories as they are, unless other commands use them, and has forks of those
    /// `below` too. With `is_taken`, the command has its worker already, whose tree must not lose a fork.
    pub(super) fn begin(
        &self,
        pool: &Arc<Pool>,
        below: &[PathBuf],
        is_taken: bool,
        is_alone: bool,
    ) -> Result<Vec<GitReport>, Retired> {
        let mut state = self.lock();
        let mut outcome = Outcome::default();
        state.forget_removed();
        for path in below {
            if !state.knows(path) {
                let refusal = state.add(path, pool, self.generation)?;
                outcome
                    .reports
                    .extend(refusal.and_then(|it| told::read_only(&self.plan, path, it)));
            }
        }
        if state.users == 0 && !is_taken {
            if state.has_private && is_alone {
                self.bring_back_private(&mut state, pool, &mut outcome)?;
            }
            for fork in &mut state.forks {
                self.bring_back(fork, pool, &mut outcome)?;
                if !fork.is_waiting() && !fork.current.snapshot.is_current(&fork.git) {
                    fork.renew(pool, self.generation)?;
                }
            }
        }
        state.users += 1;
        Ok(outcome.reports)
    }

    /// Brings back what commands have changed, unless some of them are in the middle of that.
    pub(super) fn end(&self, pool: &Arc<Pool>, is_first_try: bool, end: ForkEnd) -> Outcome {
        let mut state = self.lock();
        if is_first_try {
            state.users = state.users.saturating_sub(1);
        }
        state.has_private |= end.has_made;
        state.forget_removed();
        let is_last = state.users == 0;
        let mut outcome = Outcome::default();
        if state.has_private && is_last && end.is_alone {
            // A supervisor that has ended has none.
            let _ = self.bring_back_private(&mut state, pool, &mut outcome);
        } else if end.has_made {
            outcome.reports.push(GitReport::Unsettled);
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
        for unread in &mut state.unread {
            outcome.reports.extend(unread.news(&self.plan));
        }
        outcome
    }

    /// Has the next command get another supervisor.
    fn retire(&self, pool: &Arc<Pool>) -> Result<(), Retired> {
        Err(retired(pool, self.generation))
    }

    /// Brings back the repositories that commands have made. No command runs: one that did could have the directory
    /// of the host open.
    fn bring_back_private(
        &self,
        state: &mut State,
        pool: &Arc<Pool>,
        outcome: &mut Outcome,
    ) -> Result<(), Retired> {
        let mut index = 0;
        let lent: Vec<_> = state.forks.iter().filter_map(Fork::lent).collect();
        while let Some(private) = requests::private(pool, self.generation, index)? {
            // The next one has this number if it stays private no more.
            index += 1;
            private.remember();
            if !private.is_whole() {
                continue;
            }
            let Made { is_made, notes, is_waiting } = private.bring_back(&self.plan, lent.clone());
            let shown = shown(&self.plan, &private.path);
            let reports = notes.into_iter().map(|note| GitReport::of_fork(&shown, note));
            if is_waiting {
                outcome.waiting.extend(reports);
                continue;
            }
            outcome.reports.extend(reports);
            if is_made {
                private.forget();
                let settled = requests::settled(pool, self.generation, &private.path)?;
                // Before Linux 6.5 nothing can be attached beneath, and the next supervisor has the fork.
                let Some(changes) = settled else { return self.retire(pool) };
                index -= 1;
                state.adopt(private.path, changes);
            } else {
                requests::discarded(pool, self.generation, &private.path)?;
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
        Changed { changes, snapshot, .. }: &Changed,
        outcome: &mut Outcome,
    ) -> bool {
        let Imported { notes, is_waiting } =
            import::import(git, snapshot, changes, &terms(&self.plan, path, Vec::new()));
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

/// Has the next command get another supervisor than this one.
fn retired(pool: &Arc<Pool>, generation: u64) -> Retired {
    let mut state = pool.lock();
    if state.generation == generation {
        state.retire();
    }
    Retired
}

impl State {
    fn knows(&self, path: &Path) -> bool {
        self.forks.iter().any(|fork| fork.path == path)
            || self.unread.iter().any(|unread| unread.path == path)
            || self.without.iter().any(|one| one == path)
    }

    /// Forgets repositories of commands that a command has removed.
    fn forget_removed(&mut self) {
        self.forks.retain(|fork| !fork.is_removed());
    }

    /// Has commands see a fork of a git directory. Where there is none, it is read-only, and the error says why.
    fn add(
        &mut self,
        path: &Path,
        pool: &Arc<Pool>,
        generation: u64,
    ) -> Result<Option<Errno>, Retired> {
        let errno = match requests::fork(pool, generation, path, false)? {
            Ok((changes, moved)) => {
                self.adopt(moved.unwrap_or_else(|| path.to_owned()), changes);
                return Ok(None);
            }
            Err(errno) => errno,
        };
        self.has_private |= errno == Errno::BUSY;
        self.without.push(path.to_owned());
        Ok(Some(errno))
    }

    /// Takes a fork that a supervisor has made.
    fn adopt(&mut self, path: PathBuf, changes: Directory) {
        self.without.retain(|one| *one != path);
        let taken = Directory::open(&path).map_err(|error| error.to_string()).and_then(|git| {
            let snapshot = Snapshot::take(&git).map_err(|error| error.to_string())?;
            Ok((snapshot, git))
        });
        match taken {
            Ok((snapshot, git)) => {
                let objects = changes.read(ALTERNATES, MAX_ALTERNATES).ok().flatten();
                let objects =
                    objects.map(|text| PathBuf::from(OsStr::from_bytes(text.trim_ascii_end())));
                let current = Changed::new(changes, snapshot);
                let aside = waiting::take(&git);
                let is_of_command = made::of_command(&path).is_some();
                self.forks.push(Fork { path, git, is_of_command, objects, current, aside });
            }
            Err(error) => {
                self.unread.push(Unread { path, changes, reason: Some(error) });
            }
        }
    }
}

impl Fork {
    /// Whether commands had made the repository, and it is gone. Nothing has to come back then.
    fn is_removed(&self) -> bool {
        self.is_of_command && fstat(self.git.as_fd()).is_ok_and(|stat| stat.st_nlink == 0)
    }

    fn is_waiting(&mut self) -> bool {
        !self.aside.is_empty() || self.current.has_changed()
    }

    /// Where commands see its objects, and where they lie.
    fn lent(&self) -> Option<(PathBuf, PathBuf)> {
        Some((self.objects.clone()?, self.path.join("objects")))
    }

    /// Has commands see a new fork, and returns the one before. Where there can be none, another directory is in the place
    /// of this one: a supervisor that knows this one alone serves no further command.
    fn renew(&mut self, pool: &Arc<Pool>, generation: u64) -> Result<Changed, Retired> {
        let (changes, moved) = requests::fork(pool, generation, &self.path, true)?
            .map_err(|_| retired(pool, generation))?;
        if let Some(moved) = moved {
            self.path = moved;
        }
        let snapshot = Snapshot::take(&self.git).map_err(|_| retired(pool, generation))?;
        Ok(std::mem::replace(&mut self.current, Changed::new(changes, snapshot)))
    }
}

/// The supervisor has ended, or no command needs it any more.
impl Drop for State {
    fn drop(&mut self) {
        self.forget_removed();
        for Fork { git, mut current, mut aside, .. } in std::mem::take(&mut self.forks) {
            if current.has_changed() {
                aside.push(current);
            }
            waiting::add(&git, aside);
        }
    }
}
