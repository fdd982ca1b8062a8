//! What a host has left that was killed while its commands ran.
//!
//! Its mark says what was a person's before. Anything that it does not name was created by a command, or by someone
//! later, and these cannot be told apart. So it is only renamed, and its owner can undo that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toolwright_git::directory::Directory;
use toolwright_git::discovery::Sign;
use toolwright_git::repository::DOT_GIT;
use toolwright_sandbox::plan::Plan;

use super::super::judged::{End, Judged, Judgment, joined};
use super::super::known::{Known, Place, all, in_order, lies_in};
use super::super::marks::{Content, Running, TopId};
use super::super::set_aside::{self, identity_at};
use super::tops::is_shared;
use super::{MAX_LOOKS, State};
use crate::git_reports::GitReport;

impl State {
    /// Judges what killed hosts have left, before a command begins where none runs. Returns whether the plan had to
    /// change.
    pub(super) fn settle(
        &mut self,
        top: &Path,
        plan: &mut Plan,
        reports: &mut Vec<GitReport>,
    ) -> bool {
        if self.users > 0 {
            return false;
        }
        let mut is_replanned = false;
        for left in self.marks.take_left(plan, top) {
            match &left.said {
                _ if is_shared(top, top) => {}
                None => reports.push(GitReport::KilledUnknown),
                Some((content, running)) => {
                    let mut more = Vec::new();
                    let mut gone = set_aside_again(top, plan, content, &mut more);
                    plan.set_aside.extend(gone.iter().cloned());
                    if plan.looks_below.is_some() {
                        gone.extend(self.judge_left(top, plan, (content, *running), &mut more));
                    }
                    // The plan was made when all of this was there.
                    is_replanned |= !gone.is_empty();
                    let is_gone = |path: &PathBuf| gone.iter().any(|gone| path.starts_with(gone));
                    plan.protected.retain(|path| !is_gone(path));
                    plan.forks.retain(|path| !is_gone(path));
                    plan.hooks.retain(|path| !is_gone(path));
                    if !more.is_empty() {
                        reports.push(GitReport::Killed);
                        reports.append(&mut more);
                    }
                }
            }
            self.marks.remove(&left);
        }
        is_replanned
    }

    /// Judges what looks like a git directory and was not there before. Returns what has another name now.
    fn judge_left(
        &mut self,
        top: &Path,
        plan: &Plan,
        (content, running): (&Content, Running),
        reports: &mut Vec<GitReport>,
    ) -> Vec<PathBuf> {
        let mut gone = Vec::new();
        let mut seen = BTreeSet::new();
        for _ in 0..MAX_LOOKS {
            // What has another name since the last time can hold a git directory too.
            self.look(top);
            let (Some((_, discovery)), Ok(directory)) = (&self.discovery, Directory::open(top))
            else {
                return gone;
            };
            let Some(id) = TopId::of(&directory, top) else { return gone };
            let is_of_now = content.is_of_now(&id);
            let new: BTreeSet<_> = all(discovery).difference(&seen).cloned().collect();
            if new.is_empty() {
                break;
            }
            for found in in_order(&new) {
                let was_there = |place: &Place, known: &Known| content.has(place, known, is_of_now);
                gone.extend(self.judge_one_left(
                    found,
                    (top, &directory),
                    (plan, running),
                    &was_there,
                    reports,
                ));
            }
            seen.extend(new);
        }
        // All that is left is a person's.
        self.is_unadopted = true;
        gone
    }
    /// Judges what lies at one place. Returns what has another name now.
    fn judge_one_left(
        &mut self,
        found: &Place,
        (top, directory): (&Path, &Directory),
        (plan, running): (&Plan, Running),
        was_there: &dyn Fn(&Place, &Known) -> bool,
        reports: &mut Vec<GitReport>,
    ) -> Option<PathBuf> {
        let hides = running == Running::Hidden;
        let end = End { hides, has_forks: hides, is_settled: true, is_past: true };
        let (place, sign) = (&found.0, found.1);
        let now = Known::at(directory, place, sign)?;
        let known = || {
            let own = self.directories_of_person(top);
            own.chain(plan.forks.iter().cloned()).collect()
        };
        let judged =
            Judged { plan, top, directory, place, sign, identity: now.identity, known: &known };
        let is_of_person = was_there(found, &now)
            || is_shared(top, &joined(top, place))
            || end.has_forks && sign == Sign::Bare && lies_in(directory, place, was_there);
        match if is_of_person { Judgment::OfPerson } else { judged.judge(end, true) } {
            Judgment::OfPerson => {
                self.of_person.insert(found.clone(), now);
                None
            }
            Judgment::MadeAnew(mut more) | Judgment::SetAside(mut more) => {
                reports.append(&mut more);
                self.of_person.remove(found);
                let own = joined(top, place);
                Some(own.join(if sign == Sign::Bare { "HEAD" } else { DOT_GIT }))
            }
            Judgment::Later => None,
        }
    }
}

/// Sets aside what commands have made in places that were empty. Returns these.
fn set_aside_again(
    top: &Path,
    plan: &Plan,
    content: &Content,
    reports: &mut Vec<GitReport>,
) -> Vec<PathBuf> {
    let id = Directory::open(top).ok().and_then(|opened| TopId::of(&opened, top));
    let Some(is_of_now) = id.map(|id| content.is_of_now(&id)) else { return Vec::new() };
    let mut gone = Vec::new();
    for (path, before) in &content.beside {
        // A number of another boot says nothing.
        if !is_of_now && before.is_some() {
            continue;
        }
        let path = top.join(path);
        let Some(report) = set_aside::path(plan, &path, before.as_ref()) else { continue };
        reports.push(report);
        if identity_at(rustix::fs::CWD, &path).is_none() {
            gone.push(path);
        }
    }
    gone
}
