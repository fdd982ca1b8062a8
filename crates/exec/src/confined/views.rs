//! The commands' own views of git's configuration.
//!
//! A supervisor has a directory for each file of which commands have a view. While no command runs, the
//! view is made to say what the real file says. After each command, what it has changed in the view is
//! looked at, and what is harmless is written into the real file.
//!
//! Commands of one supervisor share the views, so a change of one may be found at the end of another,
//! also while the first goes on. That is safe: a view is read once, as a whole, and nothing but settings
//! from a closed list leaves it.

mod file;
mod real;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use toolwright_git::config::{Change, Config, changes, with_changes};
use toolwright_git::directory::Directory;
use toolwright_sandbox::plan::{Files, Plan};
use toolwright_sandbox::wire::{Inbox, Progress, Reply};

use self::file::{Stamp, ViewFile};
use super::pool::Pool;
use super::settings;
use crate::git_reports::{GitProblem, GitReport};

/// How long a supervisor may take to hand over its views.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(2);
/// A command that changes more settings gets none of them.
const MAX_CHANGES: usize = 200;

/// What of a plan decides about its views.
#[derive(Debug)]
struct Grounds {
    root: PathBuf,
    paths: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    is_full: bool,
    /// Those of the protected paths that git reads where an extension says so.
    worktree_configs: Vec<PathBuf>,
}

/// The views of one supervisor.
#[derive(Debug)]
pub(crate) struct Views {
    directory: Directory,
    grounds: Grounds,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How many commands use them.
    users: usize,
    seen: Vec<Seen>,
}

/// A file and its view when they were last looked at.
#[derive(Debug, Default)]
struct Seen {
    real: Option<Stamp>,
    view: Option<Stamp>,
    /// What the view said. `None`: there was no file.
    text: Option<Vec<u8>>,
    /// Whether the view does not say what the real file says.
    differs: bool,
}

/// The use of views by one command. Its end is that of the command.
#[derive(Debug)]
pub(crate) struct ViewUse {
    views: Arc<Views>,
    is_over: bool,
}

impl Views {
    fn new(directory: Directory, plan: &Plan) -> Self {
        let is_worktree_config = |path: &&PathBuf| path.ends_with("config.worktree");
        let grounds = Grounds {
            root: plan.root.clone(),
            paths: plan.views.clone(),
            writable: plan.writable.clone(),
            is_full: plan.files == Files::Full,
            worktree_configs: plan.protected.iter().filter(is_worktree_config).cloned().collect(),
        };
        let mut seen = Vec::new();
        seen.resize_with(grounds.paths.len(), || Seen { differs: true, ..Seen::default() });
        Self { directory, grounds, state: Mutex::new(State { users: 0, seen }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the views say what the files say, unless another command uses them.
    pub(crate) fn begin(self: &Arc<Self>) -> io::Result<ViewUse> {
        let mut state = self.lock();
        if state.users == 0 {
            for (number, path) in self.grounds.paths.iter().enumerate() {
                let Some(file) = ViewFile::new(&self.directory, number, path) else { continue };
                refresh(&file, path, &mut state.seen[number])?;
            }
        }
        state.users += 1;
        Ok(ViewUse { views: Arc::clone(self), is_over: false })
    }

    fn end(&self) -> Vec<GitReport> {
        let mut state = self.lock();
        state.users = state.users.saturating_sub(1);
        let is_last = state.users == 0;
        let mut reports = Vec::new();
        // The settings of a file tell which of the others git reads.
        for (number, path) in self.grounds.paths.iter().enumerate() {
            let Some(file) = ViewFile::new(&self.directory, number, path) else { continue };
            reports.extend(self.carry(&file, path, &mut state.seen[number], is_last));
        }
        reports
    }

    /// Carries over what has changed in one view. `is_last`: no other command may be about to complete
    /// what it writes there.
    fn carry(
        &self,
        file: &ViewFile<'_>,
        path: &Path,
        seen: &mut Seen,
        is_last: bool,
    ) -> Option<GitReport> {
        let now = file.stamp();
        if now == seen.view {
            return None;
        }
        seen.differs = true;
        let report = |problem| {
            let file = path.strip_prefix(&self.grounds.root).unwrap_or(path);
            GitReport { file: file.to_owned(), problem, ..GitReport::default() }
        };
        // Nobody who is served by git removes the file.
        let read = file.read().ok().filter(|text| text.is_some() || seen.text.is_none());
        let parsed = read.as_ref().and_then(|text| Config::parse(text.as_deref().unwrap_or(b"")));
        let (Some(text), Some(after)) = (read, parsed) else {
            return is_last.then(|| report(Some(GitProblem::Unreadable)));
        };
        let Some(before) = Config::parse(seen.text.as_deref().unwrap_or(b"")) else {
            return Some(report(Some(GitProblem::Unreadable)));
        };
        (seen.view, seen.text) = (now, text);
        let all = changes(&before, &after);
        if all.is_empty() {
            return None;
        }
        if all.len() > MAX_CHANGES {
            return Some(report(Some(GitProblem::TooMany)));
        }
        let mut told = report(None);
        let wanted = self.harmless(path, all, &after, &mut told.refused);
        if !wanted.is_empty() {
            let mut conflicts = Vec::new();
            let written = real::change(path, |text| with_changes_of(text, &wanted, &mut conflicts));
            told.changed_meanwhile = conflicts;
            told.problem = written.err();
        }
        let has_news = !told.refused.is_empty()
            || !told.changed_meanwhile.is_empty()
            || told.problem.is_some();
        has_news.then_some(told)
    }

    /// Those changes that may reach the host; the names of the others are added to `refused`.
    fn harmless(
        &self,
        path: &Path,
        all: Vec<Change>,
        after: &Config,
        refused: &mut Vec<String>,
    ) -> Vec<Change> {
        let Grounds { root, writable, is_full, worktree_configs, .. } = &self.grounds;
        let is_writable =
            |path: &Path| *is_full || writable.iter().any(|writable| path.starts_with(writable));
        let above = path.parent().unwrap_or(root);
        let grounds = settings::Grounds {
            top: (above == root.join(".git")).then_some(&**root),
            is_writable: &is_writable,
            holds_worktree_config: worktree_configs.contains(&above.join("config.worktree"))
                && !real::has_entries(&above.join("worktrees")),
        };
        let (wanted, others) = settings::divide(all, after, &grounds);
        refused.extend(settings::names(&others));
        wanted
    }
}

/// The text of a real file with these changes, but for settings that somebody else has changed as well.
fn with_changes_of(text: &[u8], wanted: &[Change], conflicts: &mut Vec<String>) -> Option<Vec<u8>> {
    let real = Config::parse(text)?;
    let mut due = Vec::new();
    for change in wanted {
        if real.values(&change.name).eq(&change.after) {
            continue;
        }
        if real.values(&change.name).eq(&change.before) {
            due.push(change.clone());
        } else {
            conflicts.push(String::from_utf8_lossy(&change.name).into_owned());
        }
    }
    with_changes(&real, &due)
}

/// Has the view say what the real file says.
fn refresh(file: &ViewFile<'_>, path: &Path, seen: &mut Seen) -> io::Result<()> {
    let real = real::stamp(path);
    if !seen.differs && seen.real == real && seen.view == file.stamp() {
        return Ok(());
    }
    // What this user cannot read, no command of this user reads.
    let text = real::read(path).unwrap_or_default();
    file.write(text.as_deref())?;
    *seen = Seen { real, view: file.stamp(), text, differs: false };
    Ok(())
}

impl ViewUse {
    /// Carries over what commands have changed so far, and reports what could not be.
    pub(crate) fn end(&mut self) -> Vec<GitReport> {
        if std::mem::replace(&mut self.is_over, true) { Vec::new() } else { self.views.end() }
    }
}

impl Drop for ViewUse {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a supervisor has of them.
pub(super) enum Found {
    Views(Arc<Views>),
    /// It could not make any; what they would be of is protected instead.
    Nothing,
    /// It has been retired meanwhile.
    Retired,
}

/// The views of a worker's supervisor.
pub(super) fn of(plan: &Plan, pool: &Pool, generation: u64) -> Found {
    let state = pool.lock();
    if state.generation != generation {
        return Found::Retired;
    }
    if let Some(views) = &state.views {
        return Found::Views(Arc::clone(views));
    }
    let Some(supervisor) = state.supervisor() else { return Found::Retired };
    let answer = supervisor.request_views();
    drop(state);
    let answer = answer.and_then(wait_for_views);
    let mut state = pool.lock();
    if state.generation != generation {
        return Found::Retired;
    }
    match answer {
        // Another call may have asked at the same time; all have to count the same users.
        Ok(Some(directory)) => {
            let views =
                state.views.get_or_insert_with(|| Arc::new(Views::new(directory.into(), plan)));
            Found::Views(Arc::clone(views))
        }
        Ok(None) => Found::Nothing,
        // It has ended, or does not answer.
        Err(_) => {
            state.retire();
            Found::Retired
        }
    }
}

fn wait_for_views(socket: OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut inbox = Inbox::new(socket);
    let deadline = Instant::now() + MAX_ANSWER_TIME;
    loop {
        if let Some(content) = inbox.take().map_err(io::Error::other)? {
            return match Reply::read(&content).map_err(io::Error::other)? {
                // The kernel drops a descriptor that has no place here.
                Reply::Views => Ok(Some(inbox.take_descriptor().ok_or(Errno::MFILE)?)),
                Reply::NoViews => Ok(None),
                _ => Err(io::ErrorKind::InvalidData.into()),
            };
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        if retry_on_intr(|| poll(&mut [PollFd::new(&inbox, PollFlags::IN)], Some(&left)))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if inbox.fill(false)? == Progress::Closed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
