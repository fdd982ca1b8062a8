//! Searches of opened targets.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::{ClassInstance, ToNapiValue};
use napi_derive::napi;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::glob::{GlobInput, GlobOutput};
use toolwright_core::grep::{Match, SessionGrepInput, SessionGrepOutput};
use toolwright_core::session_search::{SearchInput, SearchTargets};

use super::path_text;
use super::rules::ContractRules;
use super::sidecar::SidecarRequest;
use super::target::OpenedTarget;
use crate::cancel::CancelHandle;
use crate::job::{self, Promised};
use crate::options::{self, number};
use crate::outcome::Outcome;

/// What every search needs.
#[napi(object)]
pub struct ContractSearch {
    /// For `grep` a regular expression; for `glob` a pattern as `rg -g` takes it, relative to the directory.
    pub pattern: String,
    /// No more results than these are given back.
    pub max_results: f64,
    /// When to give up.
    pub timeout_ms: f64,
    /// The tool that rules are asked about.
    pub tool_id: String,
    /// The user has agreed to this search: also to what rules ask about.
    pub agreed: bool,
    /// Where all results go when there are more.
    pub sidecar: SidecarRequest,
}

/// Which lines a `grep` looks for.
#[napi(object)]
pub struct ContractGrepOptions {
    /// The names of files to search, as `rg -g` takes them.
    pub glob: Option<String>,
    /// Letters count for both cases.
    pub case_insensitive: bool,
    /// A longer line is cut to about this size.
    pub max_line_bytes: f64,
}

/// A matching line.
#[napi(object, object_from_js = false)]
pub struct ContractGrepMatch {
    /// The file, as a path that the tools take.
    pub path: String,
    /// From one.
    pub line: u32,
    /// The line without its end.
    pub text: String,
}

impl From<Match> for ContractGrepMatch {
    fn from(Match { path, line, text }: Match) -> Self {
        Self { path, line: u32::try_from(line).unwrap_or(u32::MAX), text }
    }
}

/// What a search found.
#[napi(object, object_from_js = false)]
pub struct ContractGrepFound {
    /// The matches, as many as fit.
    pub matches: Vec<ContractGrepMatch>,
    /// The last of them, where there are more: half as many as fit, and none of the first half.
    pub last: Option<Vec<ContractGrepMatch>>,
    /// How many there are, if the search came to its end.
    pub count: Option<f64>,
    /// How many files were searched.
    pub files_scanned: f64,
    /// The file with all of them, as `path:line:text`, where there are more.
    pub sidecar: Option<String>,
    /// What could not be searched, or not to its end, and why: `path: why`.
    pub not_searched: Vec<String>,
}

impl From<SessionGrepOutput> for ContractGrepFound {
    fn from(output: SessionGrepOutput) -> Self {
        let matches = |matches: Vec<Match>| matches.into_iter().map(Into::into).collect();
        Self {
            matches: matches(output.matches),
            last: output.last.map(matches),
            count: output.count.map(number),
            files_scanned: number(output.files_searched),
            sidecar: output.sidecar.as_deref().map(path_text),
            not_searched: output.unsearched,
        }
    }
}

/// What a listing found.
#[napi(object, object_from_js = false)]
pub struct ContractGlobFound {
    /// The files, sorted, as paths that the tools take.
    pub entries: Vec<String>,
    /// The file with all of them, one on each line, where there are more.
    pub sidecar: Option<String>,
    /// The directories that could not be listed, and why: `path: why`.
    pub not_listed: Vec<String>,
}

impl From<GlobOutput> for ContractGlobFound {
    fn from(GlobOutput { entries, sidecar, unlisted }: GlobOutput) -> Self {
        Self { entries, sidecar: sidecar.as_deref().map(path_text), not_listed: unlisted }
    }
}

#[napi]
impl OpenedTarget {
    /// Searches the directory or the file, and then those of `also`, for a regular expression. It passes
    /// over what the policy does not allow, what `rules` deny, and what they ask about without the user's
    /// agreement.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractGrepFound | Unfinished>")]
    pub fn grep(
        &self,
        search: ContractSearch,
        options: ContractGrepOptions,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Promised<ContractGrepFound> {
        self.search(search, &also, &rules, cancel, move |search, cancel| {
            let ContractGrepOptions { glob, case_insensitive, max_line_bytes } = options;
            let max_line_bytes = options::size(max_line_bytes);
            let input = SessionGrepInput { search, glob, case_insensitive, max_line_bytes };
            input.run(cancel).map(ContractGrepFound::from)
        })
    }

    /// Names the files below the directory that fit a pattern, and then those below the directories of
    /// `also`, passing over what `grep` passes over.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractGlobFound | Unfinished>")]
    pub fn glob(
        &self,
        search: ContractSearch,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Promised<ContractGlobFound> {
        self.search(search, &also, &rules, cancel, |search, cancel| {
            GlobInput { search }.run(cancel).map(ContractGlobFound::from)
        })
    }
}

impl OpenedTarget {
    fn search<T: ToNapiValue + Send + 'static>(
        &self,
        search: ContractSearch,
        also: &[ClassInstance<'_, OpenedTarget>],
        rules: &[ClassInstance<'_, ContractRules>],
        cancel: &CancelHandle,
        run: impl FnOnce(SearchInput, &AtomicBool) -> Result<T, Unfinished> + Send + 'static,
    ) -> Promised<T> {
        let ContractSearch { pattern, max_results, timeout_ms, tool_id, agreed, sidecar } = search;
        let (max_results, sidecar) = (options::bytes(max_results), sidecar.into());
        let asked = AskedRules { tool_id, agreed, timeout_ms };
        self.search_over(asked, also, rules, cancel, move |over, cancel| {
            run(SearchInput { over, pattern, max_results, sidecar }, cancel)
        })
    }

    pub(super) fn search_over<T: ToNapiValue + Send + 'static>(
        &self,
        AskedRules { tool_id, agreed, timeout_ms }: AskedRules,
        also: &[ClassInstance<'_, OpenedTarget>],
        rules: &[ClassInstance<'_, ContractRules>],
        cancel: &CancelHandle,
        run: impl FnOnce(SearchTargets, &AtomicBool) -> Result<T, Unfinished> + Send + 'static,
    ) -> Promised<T> {
        let targets = iter::once(self.target()).chain(also.iter().map(|target| target.target()));
        let over = targets.collect::<Result<Vec<_>, Failure>>().map(|targets| SearchTargets {
            targets,
            rules: rules.iter().map(|rules| Arc::clone(&rules.0)).collect(),
            tools: vec![tool_id],
            is_approved: agreed,
            timeout: options::milliseconds(timeout_ms),
        });
        let cancel = cancel.flag();
        job::long(move || {
            Outcome::from(over.map_err(Into::into).and_then(|over| run(over, &cancel)))
        })
    }
}

/// What rules are asked about the files of a search, and for how long it may run.
pub(super) struct AskedRules {
    pub(super) tool_id: String,
    pub(super) agreed: bool,
    pub(super) timeout_ms: f64,
}
