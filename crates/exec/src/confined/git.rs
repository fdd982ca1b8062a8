//! Git directories while commands run.
//!
//! The law: git on the host behaves as if a command had been a remote that was fetched from, and a work tree that
//! was edited. So no git directory that a command wrote lies on the host, and none of a person's is written by a
//! command:
//!
//! - Of each git directory of a person commands have a fork ([`forks`]). What they change there comes back as data.
//! - A git directory that a command makes is private to commands ([`made`]). It comes back as data too.
//! - What looks like a git directory without that, of plain files, is found when the command has ended
//!   ([`look`]), and is made anew from data or gets another name ([`set_aside`]). Should the host be killed before,
//!   the next one finds it by a mark ([`marks`]).

mod changed;
mod fork_use;
mod forks;
mod judged;
mod known;
mod look;
mod made;
mod marks;
mod requests;
mod set_aside;
mod told;
mod waiting;

use std::path::{Path, PathBuf};

use toolwright_git::import::Terms;
use toolwright_sandbox::plan::{Files, Plan};

pub(crate) use fork_use::ForkUse;
use forks::ForkEnd;
pub(crate) use forks::Forks;
use judged::End;
pub(crate) use look::{Look, forget_all, forget_below};
pub(crate) use marks::obstacle;

use crate::git_reports::{GitNote, GitReport, RefusedGit};

/// What the calls of a command had to do with git.
#[derive(Debug)]
pub(crate) struct GitCalls {
    /// Whether one may have made a git directory.
    pub(crate) has_made: bool,
    /// What was refused.
    pub(crate) refused: Vec<RefusedGit>,
}

/// Brings back what a command has changed of git directories, and says what of it was not. The command has ended.
/// With `hides`, the host saw none of those that it made.
pub(crate) fn end(
    fork_use: Option<Box<ForkUse>>,
    look: Option<Box<Look>>,
    calls: GitCalls,
    hides: bool,
) -> Vec<GitReport> {
    let GitCalls { has_made, refused } = calls;
    let end = ForkEnd { has_made, is_alone: look.as_ref().is_none_or(|look| look.is_alone()) };
    let has_forks = fork_use.is_some();
    let (mut reports, is_settled) =
        fork_use.map_or((Vec::new(), true), |mut fork_use| fork_use.end(end));
    if let Some(mut look) = look {
        reports.extend(refused.into_iter().map(|refused| look.report(refused)));
        reports.extend(look.end(End { hides, has_forks, is_settled, is_past: false }));
    }
    reports
}

/// Whether commands can write at a path.
fn is_writable(plan: &Plan, path: &Path) -> bool {
    plan.files == Files::Full || plan.writable.iter().any(|writable| path.starts_with(writable))
}

/// What decides about the changes of a git directory.
fn terms<'p>(plan: &'p Plan, git: &Path, lent: Vec<(PathBuf, PathBuf)>) -> Terms<'p> {
    let top = (git.file_name() == Some(".git".as_ref())).then(|| git.parent()).flatten();
    Terms {
        git: git.to_owned(),
        top: top.map(Path::to_owned),
        is_writable: Box::new(|path| is_writable(plan, path)),
        is_readable: Box::new(|path| !plan.closes(path)),
        is_strict: plan.is_git_strict,
        holds_git_directories: plan.hides_git_directories,
        lent,
    }
}

/// The path of a report.
fn shown(plan: &Plan, path: &Path) -> PathBuf {
    path.strip_prefix(&plan.root).unwrap_or(path).to_owned()
}

impl GitReport {
    fn of_fork(repository: &Path, note: GitNote) -> Self {
        Self::Repository { path: repository.to_owned(), note }
    }
}
