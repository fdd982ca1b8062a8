//! What lies at the paths that are set aside, before a command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toolwright_sandbox::plan::Plan;

use super::State;
use crate::confined::git::set_aside::identity_at;

impl State {
    /// Notes what lies there. `changed` are the directories in which names were made or removed since the command before
    /// began.
    pub(super) fn note_beside(&mut self, top: &Path, plan: &Plan, changed: &BTreeSet<PathBuf>) {
        if self.knows_beside(top, plan, changed) {
            return;
        }
        let within = |path: &&PathBuf| path.starts_with(top);
        let there = |path: &PathBuf| (path.clone(), identity_at(rustix::fs::CWD, path));
        let beside = plan.set_aside.iter().filter(within).map(there).collect();
        self.is_unsaid |= self.beside != beside;
        self.beside = beside;
        self.set_aside.clone_from(&plan.set_aside);
    }

    /// Whether it is known what lies there, because all of these paths are at the top, where no name has changed. There are
    /// some sixty.
    fn knows_beside(&self, top: &Path, plan: &Plan, changed: &BTreeSet<PathBuf>) -> bool {
        let at_top = |path: &PathBuf| path.parent() == Some(top) || !path.starts_with(top);
        plan.looks_below.is_some()
            && self.discovery.is_some()
            && !changed.contains(Path::new("."))
            && self.set_aside == plan.set_aside
            && plan.set_aside.iter().all(at_top)
    }
}
