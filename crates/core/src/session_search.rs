//! What the searches of a session have in common: several targets, and only what may be shown.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use toolwright_fs::{FsErrorKind, Opener, TargetKind};
use toolwright_policy::Rules;
use toolwright_search::{GrepError, OpenFile, Parallelism, Scope, Unsearched};

use crate::access::target::Target;
use crate::access::visibility::{Visibility, is_in_git};
use crate::failure::{Unfinished, searches};
use crate::sidecar::SidecarRequest;

/// How far results go beyond the limit of a sidecar file, so that it is certain to become full.
const BEYOND_SIDECAR: usize = 64 << 10;

/// What a search of a session looks through, and what it may show.
#[derive(Debug, Clone)]
pub struct SearchTargets {
    /// What is searched, in this order.
    pub targets: Vec<Arc<Target>>,
    /// The rules of the session, then those of the sessions above it.
    pub rules: Vec<Arc<Rules>>,
    /// The tools that rules are asked about. A file is shown if each of them may show it.
    pub tools: Vec<String>,
    /// The user has agreed to this search, and so to what rules ask about in it.
    pub is_approved: bool,
    /// When to give up.
    pub timeout: Duration,
}

/// A search of opened targets for a pattern.
#[derive(Debug, Clone)]
pub struct SearchInput {
    /// What is searched.
    pub over: SearchTargets,
    /// What is searched for.
    pub pattern: String,
    /// The most results that are given.
    pub max_results: u64,
    /// Where all results go when there are more.
    pub sidecar: SidecarRequest,
}

/// The search of one target.
pub(crate) struct Search<'a> {
    target: &'a Target,
    opener: Opener,
    over: &'a SearchTargets,
}

impl SearchTargets {
    /// Runs `search` over each target, whose results take at most `max_bytes`. `failed` describes an error.
    pub(crate) fn run<T>(
        &self,
        max_bytes: usize,
        cancel: &AtomicBool,
        search: impl Fn(&Search<'_>, &Scope<'_>, &OpenFile<'_>) -> Result<T, GrepError>,
        failed: impl Fn(GrepError) -> Unfinished,
    ) -> Result<Vec<(Search<'_>, T)>, Unfinished> {
        let deadline = Instant::now().checked_add(self.timeout);
        let each = self.targets.iter().map(|target| {
            let file = &target.file;
            let opener = file.opener().map_err(|error| Unfinished::from(error).for_session())?;
            let one = Search { target, opener, over: self };
            let is_file = matches!(file.kind(), TargetKind::File { .. });
            let scope = Scope {
                root: file.directory_path(),
                start: if is_file { file.name() } else { Path::new("") },
                filter: &|path| one.shows(path),
                max_results: u64::MAX,
                max_bytes,
                deadline,
                cancel,
                parallelism: Parallelism::default(),
            };
            let result = search(&one, &scope, &|path| one.opener.open(path)).map_err(&failed)?;
            Ok((one, result))
        });
        each.collect()
    }

    /// Fails for a target that is no directory.
    pub(crate) fn check_directories(&self) -> Result<(), Unfinished> {
        for target in &self.targets {
            if target.file.kind() != TargetKind::Directory {
                let error = FsErrorKind::NotADirectory.at(target.file.display_path());
                return Err(Unfinished::from(error).for_session());
            }
        }
        Ok(())
    }
}

impl SearchInput {
    /// Runs `search` over each target. `name` is the name of the search in messages. A target in a `.git` is
    /// not searched, and has no result.
    pub(crate) fn run<T>(
        &self,
        name: &str,
        cancel: &AtomicBool,
        search: impl Fn(&Search<'_>, &Scope<'_>, &OpenFile<'_>) -> Result<T, GrepError>,
    ) -> Result<Vec<(Search<'_>, T)>, Unfinished> {
        let limit = usize::try_from(self.sidecar.limit_bytes).unwrap_or(usize::MAX);
        let unless_git = |one: &Search<'_>, scope: &Scope<'_>, open: &OpenFile<'_>| {
            (!one.is_in_git(scope.start)).then(|| search(one, scope, open)).transpose()
        };
        let all =
            self.over.run(limit.saturating_add(BEYOND_SIDECAR), cancel, unless_git, |error| {
                searches::in_session(error, name, &self.pattern, self.over.timeout)
            })?;
        Ok(all.into_iter().filter_map(|(one, result)| Some((one, result?))).collect())
    }

    /// The most results that are given, as many as fit in memory.
    pub(crate) fn max_results(&self) -> usize {
        usize::try_from(self.max_results).unwrap_or(usize::MAX)
    }
}

impl Search<'_> {
    fn real_path(&self, relative: &Path) -> PathBuf {
        self.target.file.directory_path().join(relative)
    }

    fn shows(&self, relative: &Path) -> bool {
        let SearchTargets { rules, tools, is_approved, .. } = self.over;
        let real_path = self.real_path(relative);
        let policy = &self.target.policy;
        tools.iter().all(|tool| {
            Visibility { policy, rules, tool, is_approved: *is_approved }.shows(&real_path)
        })
    }

    /// Whether a path below the target is that of a `.git`, or of something in it.
    fn is_in_git(&self, relative: &Path) -> bool {
        is_in_git(&self.display_path(relative))
    }

    /// A path below the target as the tools take it.
    pub(crate) fn display_path(&self, relative: &Path) -> PathBuf {
        self.target.policy.display_path(&self.real_path(relative))
    }

    /// The same as text.
    pub(crate) fn display(&self, relative: &Path) -> String {
        self.display_path(relative).to_string_lossy().into_owned()
    }

    /// What the search could not look into, as far as the session may know of it.
    pub(crate) fn unsearched(&self, unsearched: &Unsearched) -> Vec<String> {
        let named = unsearched.named.iter().filter(|(path, _)| self.shows(path));
        let named = named.map(|(path, why)| format!("{}: {why}", self.display(path)));
        let rest = unsearched.total.saturating_sub(unsearched.named.len() as u64);
        named.chain((rest > 0).then(|| format!("and {rest} more"))).collect()
    }
}
