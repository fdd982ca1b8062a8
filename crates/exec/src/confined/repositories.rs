//! Repositories that commands make or change below their root.
//!
//! Mounts protect the repository of the root, and no mount can protect one that is made while a command
//! runs. So the host looks after each command, and reports what is new in a repository below the root that
//! git would obey on the host. It only reads: a file that leads to a repository is a command's word, and acting
//! on it would change what the command itself could not. Two places are written all the same: the repository
//! that a command makes in the root itself ([`adopt`]), and absent paths of the plan, where an entry gets
//! another name.
//!
//! Every read is bounded and waits for nothing, because the lock of the root is held meanwhile.
//!
//! What is there when a command begins is a person's, or was looked at before.

mod adopt;
mod disarm;
mod followed;
mod found;
mod known;
mod watch;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, CWD, statat};
use toolwright_git::directory::{Directory, ReadError};
use toolwright_sandbox::plan::{Files, MAX_VIEW_BYTES, Plan};

use self::adopt::NewRepository;
use self::followed::Followed;
use self::known::{Known, Place};
use self::watch::{Names, News, Watch};
use crate::git_reports::GitReport;

/// How many roots are watched at once.
const MAX_ROOTS: usize = 16;
/// How many bytes of configurations are read and remembered at once.
const MAX_BYTES: u64 = 16 << 20;
/// More reports of one command are dropped.
const MAX_REPORTS: usize = 64;

/// What decides whether something in a repository is harmless.
#[derive(Debug)]
struct Grounds {
    root: PathBuf,
    plan: Plan,
    /// How many bytes may still be read.
    left: AtomicU64,
    /// Whether repositories are looked at.
    of_git: bool,
}

impl Grounds {
    fn is_writable(&self, path: &Path) -> bool {
        let Plan { files, writable, .. } = &self.plan;
        *files == Files::Full || writable.iter().any(|writable| path.starts_with(writable))
    }

    /// Whether commands read and write at a path without links.
    fn is_open(&self, path: &Path) -> bool {
        self.is_writable(path)
            && !self.plan.closes(path)
            && !self.plan.protected.iter().any(|protected| path.starts_with(protected))
    }

    /// What a configuration says; `None` where there is none.
    fn read(&self, directory: &Directory, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let left = self.left.load(Ordering::Relaxed);
        let text = directory.read(name, left.min(MAX_VIEW_BYTES))?;
        let length = text.as_ref().map_or(0, Vec::len) as u64;
        self.left.fetch_sub(length.min(left), Ordering::Relaxed);
        Ok(text)
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
    /// What lay at paths that are set aside before a command ran.
    of_person: HashMap<PathBuf, (u64, u64)>,
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
        plan: plan.clone(),
        left: AtomicU64::new(MAX_BYTES),
    };
    let root = of(below);
    let new_repository;
    {
        let mut state = root.lock();
        let is_first = state.users == 0;
        let new = grounds.plan.new_repository.as_deref();
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
            self.new_repository.take().zip(self.grounds.plan.new_repository.as_ref())
        {
            reports.extend(adopt::adopt(new, git, &self.grounds, state.users == 0));
        }
        state.look(&self.grounds, &mut reports);
        let State { names, of_person, .. } = &*state;
        let made = self.grounds.plan.set_aside.iter().filter(|path| names.may_hold(path));
        reports.extend(made.filter_map(|path| {
            disarm::set_path_aside(path, of_person.get(path)).map(|report| GitReport {
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
        let there = |path: &PathBuf| Some((path.clone(), identity_of(path)?));
        self.of_person = grounds.plan.set_aside.iter().filter_map(there).collect();
        self.reserve(grounds);
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

    /// What is remembered counts as read.
    fn reserve(&self, grounds: &Grounds) {
        let kept: u64 = self.known.values().map(Known::length).sum();
        grounds.left.store(MAX_BYTES.saturating_sub(kept), Ordering::Relaxed);
    }

    /// Reports what is new or has changed.
    fn look(&mut self, grounds: &Grounds, reports: &mut Vec<GitReport>) {
        let News { places, names } = self.news(&grounds.root);
        self.names.add(names);
        self.reserve(grounds);
        if !grounds.of_git {
            return;
        }
        for place in places {
            if self.known.contains_key(&place) {
                continue;
            }
            let identity = known::identity_at(&place, grounds);
            let moved = self.known.values().find(|known| known.is_at(identity)).cloned();
            self.known.insert(place, moved.unwrap_or_default());
        }
        self.with_modules(grounds);
        let directories: Vec<PathBuf> =
            self.known.values().filter_map(|known| known.directory.clone()).collect();
        let first = reports.len();
        let mut led = Vec::new();
        self.known.retain(|place, known| match found::find(place, grounds) {
            None => known.forget(place),
            Some(found) if found.lead.is_some() => {
                led.push((place.clone(), found));
                true
            }
            Some(found) => {
                known.look(&found, &Place::new(place), grounds, &directories, reports);
                true
            }
        });
        // One that has a place of its own here was looked at there.
        let own: HashSet<(u64, u64)> =
            self.known.values().filter_map(Known::own_identity).collect();
        for (place, found) in led {
            let Some(known) = self.known.get_mut(&place) else { continue };
            if known::identity_of(&found).is_none_or(|identity| !own.contains(&identity)) {
                known.look(&found, &Place::new(&place), grounds, &directories, reports);
            }
        }
        self.followed.look(grounds, reports);
        reports[first..].sort_by(|one, other| one.file.cmp(&other.file));
        reports.truncate(MAX_REPORTS);
    }

    /// Adds the repositories of submodules, which lie in that of the root and in the others.
    fn with_modules(&mut self, grounds: &Grounds) {
        // A new repository is looked at where it is taken over.
        let own = grounds.plan.new_repository.is_none().then(|| grounds.root.join(".git"));
        let mut holders: Vec<PathBuf> = own.into_iter().collect();
        holders.extend(self.known.values().filter_map(|known| known.directory.clone()));
        for holder in holders {
            for module in found::modules(&holder) {
                self.known.entry(module).or_default();
            }
        }
    }
}

fn identity_of(path: &Path) -> Option<(u64, u64)> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
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
