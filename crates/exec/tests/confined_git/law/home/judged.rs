//! What the host did to what a command left: it gives other names to what git would obey, and makes bare repositories
//! anew. Everything else is as the command saw it at its very end.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use toolwright_sandbox::plan::{PLACEHOLDER_TIME, Plan};

use super::held::{Held, MARKS, One, Seen};
use super::listed;

/// What git puts into a bare repository.
fn is_name_of_git(name: &str) -> bool {
    [
        "branches",
        "config",
        "config.worktree",
        "description",
        "hooks",
        "index",
        "info",
        "logs",
        "modules",
        "objects",
        "packed-refs",
        "refs",
        "shallow",
        "worktrees",
        "commondir",
        "gitdir",
        "lfs",
        "remotes",
        "rr-cache",
        "sequencer",
    ]
    .contains(&name)
        || name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

impl Held {
    /// What the host did to what a command left, beyond giving other names to what git would obey.
    pub(super) fn judged(&self, plan: &Plan, printed: &[u8], now: &Seen) -> Vec<String> {
        let root = &plan.root;
        let listed = listed(printed);
        let mut wrong = Vec::new();
        let mut above: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for path in listed.keys() {
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                above
                    .entry(parent.to_owned())
                    .or_default()
                    .insert(name.to_string_lossy().into_owned());
            }
        }
        let is_bare = |directory: &Path| {
            above.get(directory).is_some_and(|names| {
                let has = |name: &str| names.contains(name);
                has("HEAD") && (has("commondir") || has("objects") && has("refs"))
            })
        };
        let is_all_of_git = |directory: &Path| {
            above[directory].iter().all(|name| is_name_of_git(name) || name == ".git")
        };
        let is_of_plan = |path: &Path| {
            let held =
                plan.protected.iter().chain(&plan.closed).chain(&plan.hooks).chain(&plan.forks);
            held.into_iter().any(|held| path.starts_with(held))
                || plan.set_aside.iter().any(|aside| path.starts_with(aside))
        };
        for (path, (inode, kind, size, time)) in &listed {
            // What stands for something absent, or a copy of it.
            if time.starts_with(&PLACEHOLDER_TIME.to_string()) {
                continue;
            }
            let full = root.join(path);
            // Commands see a fork of a person's.
            let is_fork =
                |one: &Path| now.0.get(one).is_some_and(|it| self.git.contains_key(&it.identity));
            let is_part_of_git =
                |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
            let is_of_marks = path.ancestors().any(|one| one.ends_with(MARKS));
            if is_of_marks
                || is_of_plan(&full)
                || full.ancestors().any(is_fork)
                || *kind == 'd' && path.components().any(is_part_of_git)
            {
                continue;
            }
            let is_made_anew = path
                .ancestors()
                .any(|one| !one.as_os_str().is_empty() && is_bare(one) && is_all_of_git(one));
            if is_made_anew {
                continue;
            }
            let is_listed = |one: &One| {
                one.identity.1 == *inode
                    && (*kind == 'd' || one.content.len() as u64 == *size || *kind != 'f')
            };
            if now.0.get(&full).is_some_and(is_listed) {
                continue;
            }
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let may_be_renamed =
                name == ".git" || name == "HEAD" && is_bare(path.parent().unwrap_or(Path::new("")));
            let beside = now.0.range(full.clone()..).take(3).any(|(other, one)| {
                other.to_string_lossy().starts_with(&*format!("{}.disabled", full.display()))
                    && is_listed(one)
            });
            if !(may_be_renamed && beside) {
                wrong.push(format!(
                    "after the command, {} is {:?}",
                    path.display(),
                    now.0.get(&full)
                ));
            }
        }
        wrong
    }
}
