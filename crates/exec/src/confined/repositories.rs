//! Repositories that commands make or change below their root.
//!
//! Mounts protect the repository of the root, and no mount can protect one that is made while a command
//! runs. So the host looks after each command: what is new in a repository below the root is looked at as if
//! it were a view, and what git would obey on the host is undone or set aside. Between its making and
//! the end of the command, a person who runs git there is not protected.
//!
//! A repository that a command makes in the root itself is not in its place before that: see [`adopt`].
//!
//! What is there when a command begins is a person's, or was looked at before.

mod adopt;
mod disarm;
mod followed;
mod found;
mod known;
mod watch;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwright_sandbox::plan::{Files, Plan};

use self::adopt::NewRepository;
use self::followed::Followed;
use self::known::{Known, Place};
use self::watch::{Names, News, Watch};
use crate::git_reports::GitReport;

/// How many roots are watched at once.
const MAX_ROOTS: usize = 16;

/// What decides whether something in a repository is harmless.
#[derive(Debug, Clone)]
struct Grounds {
    root: PathBuf,
    writable: Vec<PathBuf>,
    is_full: bool,
    /// Whether repositories are looked at.
    of_git: bool,
    new_repository: Option<PathBuf>,
    set_aside: Vec<PathBuf>,
}

impl Grounds {
    fn is_writable(&self, path: &Path) -> bool {
        self.is_full || self.writable.iter().any(|writable| path.starts_with(writable))
    }

    /// The path of a report.
    fn shown(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }
}

/// The repositories below one root.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many commands run.
    users: usize,
    watch: Option<Watch>,
    /// By the directory that holds the repository.
    known: HashMap<PathBuf, Known>,
    /// What the repository of the root leads git to.
    followed: Followed,
    /// What was made in the root since no command ran. One may end before the one that made it.
    names: Names,
}

/// The repositories of a root while one command runs there.
#[derive(Debug)]
pub(super) struct Look {
    root: Arc<Root>,
    grounds: Grounds,
    /// Where it makes one of the root.
    new_repository: Option<NewRepository>,
    is_over: bool,
}

/// Remembers how the repositories are before a command. `None`: the plan protects none.
pub(super) fn begin(plan: &Plan) -> Option<Look> {
    if plan.looks_below.is_none() && plan.set_aside.is_empty() {
        return None;
    }
    let below = plan.looks_below.as_ref().unwrap_or(&plan.root);
    let grounds = Grounds {
        root: below.clone(),
        of_git: plan.looks_below.is_some(),
        set_aside: plan.set_aside.clone(),
        writable: plan.writable.clone(),
        is_full: plan.files == Files::Full,
        new_repository: plan.new_repository.clone(),
    };
    let root = of(below);
    let new_repository;
    {
        let mut state = root.lock();
        let is_first = state.users == 0;
        let new = grounds.new_repository.as_deref();
        new_repository = new.and_then(|new| NewRepository::begin(new, &grounds, is_first));
        if is_first {
            state.remember(&grounds);
        }
        state.users += 1;
    }
    Some(Look { root, grounds, new_repository, is_over: false })
}

impl Look {
    /// Looks for what has changed, and says what of it does not stay. The command has ended.
    pub(super) fn end(&mut self) -> Vec<GitReport> {
        if std::mem::replace(&mut self.is_over, true) {
            return Vec::new();
        }
        let mut state = self.root.lock();
        state.users = state.users.saturating_sub(1);
        let mut reports = Vec::new();
        if let Some((new, git)) =
            self.new_repository.take().zip(self.grounds.new_repository.as_ref())
        {
            reports.extend(adopt::adopt(new, git, &self.grounds, state.users == 0));
        }
        state.look(&self.grounds, &mut reports);
        let made = self.grounds.set_aside.iter().filter(|path| state.names.may_hold(path));
        reports.extend(made.filter_map(|path| {
            disarm::set_path_aside(path).map(|report| GitReport {
                file: self.grounds.shown(path.parent().unwrap_or(path)),
                ..report
            })
        }));
        reports
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.end();
    }
}

impl Root {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Where a repository was made since the last time, and what was made in the root.
    fn news(&mut self, root: &Path) -> News {
        if let Some(watch) = &mut self.watch {
            return watch.news();
        }
        let (watch, news) = Watch::begin(root);
        self.watch = Some(watch);
        news
    }

    /// Takes what is there for a person's.
    fn remember(&mut self, grounds: &Grounds) {
        let News { places, .. } = self.news(&grounds.root);
        self.names = Names::none(&grounds.root);
        if !grounds.of_git {
            return;
        }
        for place in places {
            self.known.entry(place).or_default();
        }
        self.with_modules(grounds);
        self.known.retain(|place, known| known.remember(place, grounds));
        self.followed.remember(grounds);
    }

    /// Disarms what is new or has changed.
    fn look(&mut self, grounds: &Grounds, reports: &mut Vec<GitReport>) {
        let News { places, names } = self.news(&grounds.root);
        self.names.add(names);
        if !grounds.of_git {
            return;
        }
        for place in places {
            if self.known.contains_key(&place) {
                continue;
            }
            let identity = known::identity_at(&place, &grounds.root);
            let moved = self.known.values().find(|known| known.is_at(identity)).cloned();
            self.known.insert(place, moved.unwrap_or_default());
        }
        self.with_modules(grounds);
        let directories: Vec<PathBuf> =
            self.known.values().filter_map(|known| known.directory.clone()).collect();
        let first = reports.len();
        self.known
            .retain(|place, known| known.look(&Place::new(place), grounds, &directories, reports));
        self.followed.look(grounds, reports);
        reports[first..].sort_by(|one, other| one.file.cmp(&other.file));
    }

    /// Adds the repositories of submodules, which lie in that of the root and in the others.
    fn with_modules(&mut self, grounds: &Grounds) {
        // A new repository is looked at where it is taken over.
        let own = grounds.new_repository.is_none().then(|| grounds.root.join(".git"));
        let mut holders: Vec<PathBuf> = own.into_iter().collect();
        holders.extend(self.known.values().filter_map(|known| known.directory.clone()));
        for holder in holders {
            for module in found::modules(&holder) {
                self.known.entry(module).or_default();
            }
        }
    }
}

fn of(root: &Path) -> Arc<Root> {
    static ROOTS: Mutex<Vec<Arc<Root>>> = Mutex::new(Vec::new());
    let mut roots = ROOTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = roots.iter().find(|known| known.path == root) {
        return Arc::clone(known);
    }
    if roots.len() >= MAX_ROOTS
        && let Some(unused) = roots.iter().position(|known| Arc::strong_count(known) == 1)
    {
        roots.remove(unused);
    }
    let new = Arc::new(Root { path: root.to_owned(), state: Mutex::default() });
    roots.push(Arc::clone(&new));
    new
}
