//! What the searches of a session have in common: several targets, and only what may be shown.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use toolwright_fs::{Opener, TargetKind};
use toolwright_policy::Rules;
use toolwright_search::{GrepError, OpenFile, PathFilter, Scope, Unsearched};

use crate::access::target::Target;
use crate::access::visibility::Visibility;
use crate::failure::{Unfinished, searches};
use crate::sidecar::{SidecarFile, SidecarRequest};

/// The most bytes of results without a sidecar file.
const MAX_BYTES: usize = 64 << 20;
/// How far results go beyond the limit of a sidecar file, so that it is certain to become full.
const BEYOND_SIDECAR: usize = 64 << 10;

/// A search of opened targets.
#[derive(Debug, Clone, Copy)]
pub struct SearchInput<'a> {
    /// What is searched, in this order.
    pub targets: &'a [Arc<Target>],
    /// The rules of the session, then those of the sessions above it.
    pub rules: &'a [Arc<Rules>],
    /// The tool that rules are asked about.
    pub tool: &'a str,
    /// The user has agreed to this search, and so to what rules ask about in it.
    pub is_approved: bool,
    /// What is searched for.
    pub pattern: &'a str,
    /// The most results that are given.
    pub max_results: u64,
    /// When to give up.
    pub timeout: Duration,
    /// Where all results go when there are more.
    pub sidecar: Option<&'a SidecarRequest>,
}

/// The search of one target.
pub(crate) struct Search<'a> {
    target: &'a Target,
    opener: Opener,
    visibility: Visibility<'a>,
}

impl<'a> SearchInput<'a> {
    /// Runs `search` over each target. `name` is the name of the search in messages.
    pub(crate) fn run<T>(
        self,
        name: &str,
        cancel: &AtomicBool,
        search: impl Fn(&Scope<'_>, &OpenFile<'_>) -> Result<T, GrepError>,
    ) -> Result<Vec<(Search<'a>, T)>, Unfinished> {
        let deadline = Instant::now().checked_add(self.timeout);
        let each = self.targets.iter().map(|target| {
            let one = self.search_of(target)?;
            let filter = |path: &Path| one.shows(path);
            let scope = self.scope_of(&one, &filter, deadline, cancel);
            let found = search(&scope, &|path| one.opener.open(path))
                .map_err(|error| searches::in_session(error, name, self.pattern, self.timeout))?;
            Ok((one, found))
        });
        each.collect()
    }

    fn search_of(&self, target: &'a Target) -> Result<Search<'a>, Unfinished> {
        let opener = target.file.opener().map_err(|error| Unfinished::from(error).for_session())?;
        let (rules, tool, is_approved) = (self.rules, self.tool, self.is_approved);
        let visibility = Visibility { policy: &target.policy, rules, tool, is_approved };
        Ok(Search { target, opener, visibility })
    }

    fn scope_of<'s>(
        &self,
        search: &'s Search<'_>,
        filter: &'s PathFilter<'s>,
        deadline: Option<Instant>,
        cancel: &'s AtomicBool,
    ) -> Scope<'s> {
        let file = &search.target.file;
        let is_file = matches!(file.kind(), TargetKind::File { .. });
        Scope {
            root: file.directory_path(),
            start: if is_file { file.name() } else { Path::new("") },
            filter,
            max_results: if self.sidecar.is_some() { u64::MAX } else { self.max_results },
            max_bytes: self.sidecar.map_or(MAX_BYTES, |sidecar| {
                let limit = usize::try_from(sidecar.limit_bytes).unwrap_or(usize::MAX);
                limit.saturating_add(BEYOND_SIDECAR)
            }),
            deadline,
            cancel,
        }
    }

    /// Writes all results into the sidecar file where not all of them are given.
    pub(crate) fn fill_sidecar<'l>(
        &self,
        is_truncated: bool,
        lines: impl Iterator<Item = Cow<'l, [u8]>>,
    ) -> Result<Option<SidecarFile>, Unfinished> {
        let sidecar = self.sidecar.filter(|_| is_truncated);
        Ok(sidecar.map(|sidecar| sidecar.fill(lines)).transpose()?)
    }
}

impl Search<'_> {
    fn real_path(&self, relative: &Path) -> PathBuf {
        self.target.file.directory_path().join(relative)
    }

    fn shows(&self, relative: &Path) -> bool {
        self.visibility.shows(&self.real_path(relative))
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
