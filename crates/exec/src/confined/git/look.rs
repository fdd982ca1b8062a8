//! What looks like a git directory below the directories that commands write.
//!
//! What is there when no command runs is a person's. Afterwards, what is new was made by a command, unless it is
//! of a kind that no command can make. Where a command made a git directory of plain files, the host makes it anew
//! from data, or gives it another name. What a host left that was killed meanwhile is judged before the next command
//! begins ([`settled`]).

mod beside;
mod of_person;
mod settled;
mod tops;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwright_git::directory::Directory;
use toolwright_git::discovery::{Discovery, Sign};
use toolwright_sandbox::plan::Plan;

use super::judged::{End, Judged, Judgment, joined};
use super::known::{Known, Place, all, in_order};
use super::marks::{Content, Marks, Running, TopId};
use super::set_aside::{self, Identity, identity_at};
use super::shown;
use crate::git_reports::{GitReport, RefusedGit};
pub(crate) use tops::{forget_all, forget_below};
use tops::{is_shared, judged, of};

/// More reports of one command are dropped.
const MAX_REPORTS: usize = 64;
/// How often it is looked again after a command for what new names have brought to light.
const MAX_LOOKS: usize = 64;

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
    of_person: BTreeMap<Place, Known>,
    /// What commands have made and nobody could judge yet.
    pending: BTreeSet<Place>,
    /// The directories in which names were made or removed since no command ran.
    changed: BTreeSet<PathBuf>,
    /// What lay at paths that are set aside before a command ran.
    beside: BTreeMap<PathBuf, Option<Identity>>,
    /// The list that was for.
    set_aside: Vec<PathBuf>,
    /// The marks on disk, for the next host.
    marks: Marks,
    /// Whether the marks are out of date.
    is_unsaid: bool,
    /// Whether existing files must be adopted as the user's even without a change.
    is_unadopted: bool,
    /// Whether commands can make no git directory that the host sees.
    hides: bool,
}

/// A look at the directories of a plan while one command runs.
#[derive(Debug)]
pub(crate) struct Look {
    tops: Vec<Arc<Top>>,
    plan: Plan,
    /// Whether that is another one than was asked for.
    is_replanned: bool,
    /// What was judged before it.
    reports: Vec<GitReport>,
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
        let tops: Vec<Arc<Top>> = judged(plan).iter().map(|path| of(path)).collect();
        let (mut plan, mut reports, mut is_replanned) = (plan.clone(), Vec::new(), false);
        for top in &tops {
            is_replanned |= top.lock().settle(&top.path, &mut plan, &mut reports);
        }
        let mut below = Vec::new();
        for top in &tops {
            let mut state = top.lock();
            state.begin(&top.path, &plan);
            state.users += 1;
            state.say(&top.path, &plan);
            below.extend(state.git_directories(&top.path, &plan));
        }
        below.retain(|path| !plan.is_forked(path));
        reports.truncate(MAX_REPORTS);
        Some(Self { tops, plan, is_replanned, reports, below, is_over: false })
    }

    /// The plan for the command, if what was there when it was made had been left by a killed host.
    pub(crate) fn plan(&self) -> Option<Plan> {
        self.is_replanned.then(|| self.plan.clone())
    }

    /// Notes whether the command can make no git directory that the host sees. It has not begun.
    pub(crate) fn hides(&self, hides: bool) {
        for top in &self.tops {
            let mut state = top.lock();
            let hides = hides && (state.users == 1 || state.hides);
            if state.hides != hides {
                state.hides = hides;
                let running = state.running();
                state.marks.say(running);
            }
        }
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
        let mut reports = std::mem::take(&mut self.reports);
        if std::mem::replace(&mut self.is_over, true) {
            return reports;
        }
        let before: Vec<PathBuf> = self.plan.forks.iter().chain(&self.below).cloned().collect();
        for top in &self.tops {
            let mut state = top.lock();
            state.users = state.users.saturating_sub(1);
            state.end(&top.path, (&self.plan, &before), end, &mut reports);
            state.say(&top.path, &self.plan);
        }
        reports.truncate(MAX_REPORTS);
        reports
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.end(End { hides: false, has_forks: false, is_settled: false, is_past: false });
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
        self.is_unsaid = true;
        self.changed.insert(PathBuf::from("."));
    }

    fn begin(&mut self, top: &Path, plan: &Plan) {
        let within = |path: &&PathBuf| path.starts_with(top);
        if self.users > 0 {
            self.look(top);
            for path in plan.set_aside.iter().filter(within) {
                // Nothing was there when the plan was made, and a command may have put something there.
                if !self.beside.contains_key(path) {
                    self.beside.insert(path.clone(), None);
                    self.set_aside.clear();
                    self.is_unsaid = true;
                }
            }
            return;
        }
        let was_known = self.discovery.is_some() && !std::mem::take(&mut self.is_unadopted);
        let mut earlier = std::mem::take(&mut self.changed);
        if plan.looks_below.is_some() {
            self.look(top);
            let has_open = self.has_leads() || !self.pending.is_empty();
            if !was_known || !self.changed.is_empty() || has_open {
                self.adopt(top);
            }
        }
        earlier.append(&mut self.changed);
        self.note_beside(top, plan, &earlier);
    }

    fn running(&self) -> Running {
        // What nobody could judge yet is judged by the next host.
        let is_open = self.pending.iter().any(|(_, sign)| *sign != Sign::Directory);
        match (self.users, self.hides) {
            (0, _) if !is_open => Running::Nothing,
            (_, true) => Running::Hidden,
            (_, false) => Running::Commands,
        }
    }

    /// Has the mark say what is known and runs now.
    fn say(&mut self, top: &Path, plan: &Plan) {
        let running = self.running();
        if running != Running::Nothing && (self.is_unsaid || !self.marks.has_one()) {
            let id = Directory::open(top).ok().and_then(|opened| TopId::of(&opened, top));
            let below =
                |(path, it): (&PathBuf, &_)| Some((path.strip_prefix(top).ok()?.to_owned(), *it));
            let beside = self.beside.iter().filter_map(below).collect();
            let content = id.and_then(|id| Content::new(id, beside, self.of_person.iter()));
            self.marks.begin(plan, content, running);
            self.is_unsaid = false;
        } else {
            self.marks.say(running);
        }
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
        let may_hold_some = !self.changed.is_empty() || self.discovery.is_none();
        let said = reports.len();
        for path in plan.set_aside.iter().filter(|_| may_hold_some) {
            let Some(relative) = Top::relative(top, path) else { continue };
            if self.may_hold(relative) {
                let of_person = self.beside.get(path).and_then(Option::as_ref);
                reports.extend(set_aside::path(plan, path, of_person));
            }
        }
        if reports.len() > said {
            // What has another name now can be a git directory, or hold one.
            self.look(top);
        }
        if plan.looks_below.is_none()
            || self.changed.is_empty() && !self.has_leads() && self.pending.is_empty()
        {
            return;
        }
        if is_shared(top, top) {
            return self.adopt(top);
        }
        let Ok(directory) = Directory::open(top) else { return };
        let mut forks = before.to_vec();
        let mut seen = BTreeSet::new();
        for _ in 0..MAX_LOOKS {
            let Some((_, discovery)) = &self.discovery else { return };
            let found = all(discovery);
            self.of_person.retain(|known, _| found.contains(known));
            self.pending.retain(|known| found.contains(known));
            let new: BTreeSet<_> = found.difference(&seen).cloned().collect();
            if new.is_empty() {
                return;
            }
            let mut is_renamed = false;
            for found in in_order(&new) {
                is_renamed |= self.judge(
                    found,
                    (top, &directory),
                    (plan, before),
                    (end, &mut forks),
                    reports,
                );
            }
            if !is_renamed {
                return;
            }
            seen.extend(new);
            // What has another name now can hold a git directory that nothing looked into before.
            self.look(top);
        }
    }

    /// Judges what lies at one place, and returns whether something has another name now. `forks` are the git
    /// directories that commands did not write.
    fn judge(
        &mut self,
        found: &Place,
        (top, directory): (&Path, &Directory),
        (plan, before): (&Plan, &[PathBuf]),
        (end, forks): (End, &mut Vec<PathBuf>),
        reports: &mut Vec<GitReport>,
    ) -> bool {
        let (place, sign) = (&found.0, found.1);
        let Some(now) = Known::at(directory, place, sign) else { return false };
        if self.of_person.get(found) == Some(&now) {
            return false;
        }
        if plan.is_forked(&joined(top, place)) || is_shared(top, &joined(top, place)) {
            self.is_unsaid = true;
            self.of_person.insert(found.clone(), now);
            return false;
        }
        // The host itself has put it there.
        if end.has_forks && self.is_imported(top, directory, found, forks) {
            self.is_unsaid = true;
            self.of_person.insert(found.clone(), now);
            return false;
        }
        let identity = now.identity;
        let known = || self.directories_of_person(top).chain(before.iter().cloned()).collect();
        let judged = Judged { plan, top, directory, place, sign, identity, known: &known };
        match judged.judge(end, self.users == 0) {
            Judgment::OfPerson => {
                self.pending.remove(found);
                self.is_unsaid = true;
                self.of_person.insert(found.clone(), now);
            }
            Judgment::MadeAnew(mut more) => {
                reports.append(&mut more);
                self.pending.remove(found);
                self.is_unsaid = true;
                // What else is in it is the host's too.
                forks.push(joined(top, place));
                if let Some(now) = Known::at(directory, place, sign) {
                    self.of_person.insert(found.clone(), now);
                }
            }
            Judgment::SetAside(mut more) => {
                reports.append(&mut more);
                self.pending.remove(found);
                return true;
            }
            Judgment::Later => drop(self.pending.insert(found.clone())),
        }
        false
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
