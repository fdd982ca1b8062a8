//! What is a person's below a directory that commands write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toolwright_git::directory::Directory;
use toolwright_git::discovery::Sign;
use toolwright_git::repository::{self, DOT_GIT};
use toolwright_sandbox::plan::Plan;

use super::super::judged::joined;
use super::super::known::{Known, Place, all, lies_in};
use super::State;

impl State {
    /// Whether something leads elsewhere, which a person may have rewritten in its place.
    pub(super) fn has_leads(&self) -> bool {
        self.of_person.values().any(|known| known.lead.is_some())
    }

    /// Takes what is there for a person's.
    pub(super) fn adopt(&mut self, top: &Path) {
        let Some((_, discovery)) = &self.discovery else { return };
        let before = self.of_person.len();
        self.of_person.retain(|(place, sign), _| discovery.has(place, *sign));
        self.is_unsaid |= self.of_person.len() != before;
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
            let known = Known::at(&directory, &found.0, found.1);
            if self.of_person.get(&found) != known.as_ref() {
                self.is_unsaid = true;
                match known {
                    Some(known) => drop(self.of_person.insert(found, known)),
                    None => drop(self.of_person.remove(&found)),
                }
            }
        }
    }

    pub(super) fn directories_of_person<'s>(
        &'s self,
        top: &'s Path,
    ) -> impl Iterator<Item = PathBuf> + 's {
        self.of_person.keys().filter_map(|(place, sign)| match sign {
            Sign::Directory => Some(joined(top, place).join(DOT_GIT)),
            Sign::Bare => Some(joined(top, place)),
            Sign::File | Sign::Other => None,
        })
    }

    /// The git directories of a person, of which commands get forks.
    pub(super) fn git_directories(&self, top: &Path, plan: &Plan) -> BTreeSet<PathBuf> {
        let mut all = BTreeSet::new();
        let Some((_, discovery)) = &self.discovery else { return all };
        // New directories have no owner yet, and are forked too.
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
        // What lies in a bare repository of a person is part of its fork: what belongs to a linked work tree, and submodules.
        if self.of_person.keys().any(|(_, sign)| *sign == Sign::Bare)
            && let Ok(directory) = Directory::open(top)
        {
            let is_part = |path: &PathBuf| {
                let is_known = |git: &Place, known: &Known| self.of_person.get(git) == Some(known);
                path.strip_prefix(top).is_ok_and(|place| lies_in(&directory, place, is_known))
            };
            all.retain(|path| !is_part(path));
        }
        all
    }

    /// Whether a place lies in a git directory of which the command saw a fork, or that the host has made anew since: so the
    /// host itself has put there what git would take for a repository, such as what belongs to a linked work tree.
    pub(super) fn is_imported(
        &self,
        top: &Path,
        directory: &Directory,
        (place, sign): &Place,
        forks: &[PathBuf],
    ) -> bool {
        let is_fork = |git: &Place, known: &Known| {
            self.of_person.get(git) == Some(known) && forks.contains(&joined(top, &git.0))
        };
        *sign == Sign::Bare && lies_in(directory, place, is_fork)
    }
}
