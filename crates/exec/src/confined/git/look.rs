//! What looks like a git directory below the directories that commands write.
//!
//! What is there when no command runs is a person's. Afterwards, what is new was made by a command, unless it is
//! of a kind that no command can make. Where a command made a git directory of plain files, the host makes it anew
//! from data, or gives it another name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwright_git::directory::Directory;
use toolwright_git::discovery::{Discovery, Sign};
use toolwright_git::repository::{self, DOT_GIT};
use toolwright_sandbox::plan::{Files, Plan};

use super::judged::{End, Judged, Judgment, joined};
use super::set_aside::{self, Identity, identity_at};
use super::shown;
use crate::git_reports::{GitReport, RefusedGit};

/// How many directories are known at once.
const MAX_TOPS: usize = 16;
/// More reports of one command are dropped.
const MAX_REPORTS: usize = 64;
/// No file or link that leads elsewhere is longer.
const MAX_LEAD: u64 = 8 << 10;

/// A directory that commands write.
#[derive(Debug)]
struct Top {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many commands run.
    users: usize,
    /// Which directory it is, and what is known below it.
    discovery: Option<(Identity, Discovery)>,
    /// What a person has, by the place at which git discovers it, from the top on, and by what.
    of_person: BTreeMap<(PathBuf, Sign), Known>,
    /// What commands have made and nobody could judge yet.
    pending: BTreeSet<(PathBuf, Sign)>,
    /// The directories in which names were made or removed since no command ran.
    changed: BTreeSet<PathBuf>,
    /// What lay at paths that are set aside before a command ran.
    beside: BTreeMap<PathBuf, Identity>,
}

/// What a person has at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    identity: Identity,
    /// What it says, if it leads elsewhere.
    lead: Option<Vec<u8>>,
}

/// A look at the directories of a plan while one command runs.
#[derive(Debug)]
pub(crate) struct Look {
    tops: Vec<Arc<Top>>,
    plan: Plan,
    /// The git directories of a person below them, beside those of the plan.
    below: Vec<PathBuf>,
    is_over: bool,
}

impl Look {
    /// Remembers how it is before a command. `None`: the plan protects nothing of it.
    pub(crate) fn begin(plan: &Plan) -> Option<Self> {
        if plan.looks_below.is_none() && plan.set_aside.is_empty() {
            return None;
        }
        let mut tops = vec![plan.root.clone()];
        if plan.files == Files::Confined {
            let mut others = plan.writable.clone();
            others.sort_unstable();
            others.retain(|path| !path.starts_with(&plan.root));
            for path in others {
                if !tops[1..].iter().any(|top| path.starts_with(top)) {
                    tops.push(path);
                }
            }
        }
        let tops: Vec<Arc<Top>> = tops.iter().map(|path| of(path)).collect();
        let mut below = Vec::new();
        for top in &tops {
            let mut state = top.lock();
            state.begin(&top.path, plan);
            state.users += 1;
            below.extend(state.git_directories(&top.path, plan));
        }
        Some(Self { tops, plan: plan.clone(), below, is_over: false })
    }

    /// The git directories of a person below the directories that commands write, beside those of the plan.
    pub(crate) fn below(&self) -> &[PathBuf] {
        &self.below
    }

    /// What a strict plan has refused.
    pub(super) fn report(&self, refused: RefusedGit) -> GitReport {
        let shown = |path: PathBuf| shown(&self.plan, &path);
        GitReport::Refused(match refused {
            RefusedGit::Link(path) => RefusedGit::Link(shown(path)),
            RefusedGit::Form(path) => RefusedGit::Form(shown(path)),
        })
    }

    /// Whether no other command runs in these directories.
    pub(crate) fn is_alone(&self) -> bool {
        self.tops.iter().all(|top| top.lock().users == 1)
    }

    /// Judges what is new, and says what of it does not stay. The command has ended.
    pub(super) fn end(&mut self, end: End) -> Vec<GitReport> {
        let mut reports = Vec::new();
        if std::mem::replace(&mut self.is_over, true) {
            return reports;
        }
        let before: Vec<PathBuf> = self.plan.forks.iter().chain(&self.below).cloned().collect();
        for top in &self.tops {
            let mut state = top.lock();
            state.users = state.users.saturating_sub(1);
            state.end(&top.path, (&self.plan, &before), end, &mut reports);
        }
        reports.truncate(MAX_REPORTS);
        reports
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.end(End { hides: false, is_settled: false });
    }
}

impl Top {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a path below this directory.
    fn relative<'p>(top: &Path, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(top).ok()
    }
}

impl State {
    /// Looks at what has changed since the last time.
    fn look(&mut self, top: &Path) {
        let identity = identity_at(rustix::fs::CWD, top);
        if let (Some(identity), Some((known, discovery))) = (identity, &mut self.discovery)
            && identity == *known
        {
            self.changed.append(&mut discovery.look());
            return;
        }
        // The path may have got another directory.
        let begun = Discovery::begin(top).ok();
        self.discovery = identity.zip(begun);
        self.of_person.clear();
        self.pending.clear();
        self.changed.insert(PathBuf::from("."));
    }

    fn begin(&mut self, top: &Path, plan: &Plan) {
        if self.users > 0 {
            self.look(top);
            return;
        }
        let was_known = self.discovery.is_some();
        self.changed.clear();
        if plan.looks_below.is_some() {
            self.look(top);
            let has_open = self.has_leads() || !self.pending.is_empty();
            if !was_known || !self.changed.is_empty() || has_open {
                self.adopt(top);
            }
        }
        self.changed.clear();
        let within = |path: &&PathBuf| path.starts_with(top);
        let there = |path: &PathBuf| Some((path.clone(), identity_at(rustix::fs::CWD, path)?));
        self.beside = plan.set_aside.iter().filter(within).filter_map(there).collect();
    }

    /// Whether something leads elsewhere, which a person may have rewritten in its place.
    fn has_leads(&self) -> bool {
        self.of_person.values().any(|known| known.lead.is_some())
    }

    /// Takes what is there for a person's.
    fn adopt(&mut self, top: &Path) {
        let Some((_, discovery)) = &self.discovery else { return };
        self.of_person.retain(|(place, sign), _| discovery.has(place, *sign));
        self.pending.retain(|(place, sign)| discovery.has(place, *sign));
        let Ok(directory) = Directory::open(top) else { return };
        for found in all(discovery) {
            if self.pending.contains(&found) {
                // It was empty when the last command ended, and no command has had it open since.
                let is_of_nobody = found.1 != Sign::Directory
                    || directory
                        .entries(found.0.join(DOT_GIT), 1)
                        .is_ok_and(|all| all.is_none_or(|all| all.is_empty()));
                if is_of_nobody {
                    continue;
                }
                self.pending.remove(&found);
            }
            match Known::at(&directory, &found.0, found.1) {
                Some(known) => drop(self.of_person.insert(found, known)),
                None => drop(self.of_person.remove(&found)),
            }
        }
    }

    /// The git directories of a person, of which commands get forks.
    fn git_directories(&self, top: &Path, plan: &Plan) -> BTreeSet<PathBuf> {
        let mut all = BTreeSet::new();
        let Some((_, discovery)) = &self.discovery else { return all };
        // What is new is nobody's yet, and commands have forks of that too.
        for (place, signs) in discovery.found() {
            let place = joined(top, place);
            // Git takes the first. Where it has a `.git`, a directory is a work tree.
            match signs[0] {
                Sign::Directory => drop(all.insert(place.join(DOT_GIT))),
                Sign::Bare if place != top => drop(all.insert(place)),
                Sign::File => all.extend(repository::directories(&place)),
                Sign::Bare | Sign::Other => {}
            }
        }
        // Those that are read-only or closed need none.
        let is_held = |path: &PathBuf| {
            plan.forks.iter().chain(&plan.protected).any(|held| path.starts_with(held))
                || plan.closes(path)
        };
        all.retain(|path| !is_held(path));
        all
    }

    /// `before`: the git directories of a person when the command began.
    fn end(
        &mut self,
        top: &Path,
        (plan, before): (&Plan, &[PathBuf]),
        end: End,
        reports: &mut Vec<GitReport>,
    ) {
        self.look(top);
        for path in &plan.set_aside {
            let Some(relative) = Top::relative(top, path) else { continue };
            if self.may_hold(relative) {
                reports.extend(set_aside::path(plan, path, self.beside.get(path)));
            }
        }
        if plan.looks_below.is_none()
            || self.changed.is_empty() && !self.has_leads() && self.pending.is_empty()
        {
            return;
        }
        if is_shared(top) {
            return self.adopt(top);
        }
        let Some((_, discovery)) = &self.discovery else { return };
        let found = all(discovery);
        let Ok(directory) = Directory::open(top) else { return };
        // A file leads to one of the others.
        let (files, others): (Vec<_>, Vec<_>) =
            found.iter().partition(|(_, sign)| *sign == Sign::File);
        for found in others.into_iter().chain(files) {
            let (place, sign) = (&found.0, &found.1);
            let Some(now) = Known::at(&directory, place, *sign) else { continue };
            if self.of_person.get(found) == Some(&now) {
                continue;
            }
            let identity = now.identity;
            let known = || {
                let own = self.of_person.keys().filter_map(|(place, sign)| match sign {
                    Sign::Directory => Some(joined(top, place).join(DOT_GIT)),
                    Sign::Bare => Some(joined(top, place)),
                    Sign::File | Sign::Other => None,
                });
                own.chain(before.iter().cloned()).collect()
            };
            let (directory, known) = (&directory, &known);
            let judged = Judged { plan, top, directory, place, sign: *sign, identity, known };
            match judged.judge(end, self.users == 0) {
                Judgment::OfPerson => {
                    self.pending.remove(found);
                    self.of_person.insert(found.clone(), now);
                }
                Judgment::MadeAnew(mut more) => {
                    reports.append(&mut more);
                    self.pending.remove(found);
                    if let Some(now) = Known::at(directory, place, *sign) {
                        self.of_person.insert(found.clone(), now);
                    }
                }
                Judgment::SetAside(mut more) => {
                    reports.append(&mut more);
                    self.pending.remove(found);
                }
                Judgment::Later => drop(self.pending.insert(found.clone())),
            }
        }
        self.of_person.retain(|known, _| found.contains(known));
        self.pending.retain(|known| found.contains(known));
    }

    /// Whether something may have been made at a path.
    fn may_hold(&self, relative: &Path) -> bool {
        let mut above = relative.ancestors().skip(1);
        above.any(|above| {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            self.changed.contains(above)
        }) || self.discovery.is_none()
    }
}

impl Known {
    fn at(top: &Directory, place: &Path, sign: Sign) -> Option<Self> {
        let entry = if sign == Sign::Bare { place.to_owned() } else { place.join(DOT_GIT) };
        let identity = identity_at(top, &entry)?;
        let lead = match sign {
            Sign::File => Some(top.read(&entry, MAX_LEAD).ok().flatten().unwrap_or_default()),
            Sign::Other => {
                let link = rustix::fs::readlinkat(top, &entry, Vec::new());
                Some(link.map(std::ffi::CString::into_bytes).unwrap_or_default())
            }
            Sign::Directory | Sign::Bare => None,
        };
        Some(Self { identity, lead })
    }
}

/// Each place at which git would discover a repository, with each of the reasons.
fn all(discovery: &Discovery) -> BTreeSet<(PathBuf, Sign)> {
    let found = discovery.found().iter();
    found.flat_map(|(place, signs)| signs.iter().map(|sign| (place.clone(), *sign))).collect()
}

/// Whether a directory is that of all programs for temporary files. What appears there is rather not a command's.
fn is_shared(top: &Path) -> bool {
    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| top == Path::new(shared))
        || std::env::temp_dir().canonicalize().is_ok_and(|shared| top == shared)
}

static TOPS: Mutex<Vec<Arc<Top>>> = Mutex::new(Vec::new());

/// Forgets a directory that is about to be removed, and those below it.
pub(crate) fn forget_below(directory: &Path) {
    let mut tops = TOPS.lock().unwrap_or_else(PoisonError::into_inner);
    tops.retain(|top| Arc::strong_count(top) > 1 || !top.path.starts_with(directory));
}

fn of(path: &Path) -> Arc<Top> {
    let mut tops = TOPS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = tops.iter().find(|known| known.path == path) {
        return Arc::clone(known);
    }
    if tops.len() >= MAX_TOPS
        && let Some(unused) = tops.iter().position(|known| Arc::strong_count(known) == 1)
    {
        tops.remove(unused);
    }
    let new = Arc::new(Top { path: path.to_owned(), state: Mutex::default() });
    tops.push(Arc::clone(&new));
    new
}
