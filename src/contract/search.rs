//! Searches of opened targets.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::{ClassInstance, Object, ToNapiValue};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::access::target::Target;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::glob::{GlobInput, GlobOutput};
use toolwright_core::grep::{Match, SessionGrepInput, SessionGrepOutput};
use toolwright_core::session_search::SearchInput;
use toolwright_core::sidecar;
use toolwright_policy::Rules;

use super::rules::ContractRules;
use super::sidecar::{SidecarMade, SidecarRequest};
use super::target::OpenedTarget;
use crate::cancel::CancelHandle;
use crate::outcome::Outcome;
use crate::{job, options};

/// What to search for.
#[napi(object)]
#[derive(Debug)]
pub struct ContractGrepRequest {
    /// A regular expression.
    pub pattern: String,
    /// The names of files to search, as `rg -g` takes them.
    pub glob: Option<String>,
    /// Letters count for both cases.
    pub case_insensitive: bool,
    /// No more matches than these are given back.
    pub max_matches: f64,
    /// A line is cut to about so many bytes.
    pub max_line_bytes: f64,
    /// When to give up.
    pub timeout_ms: f64,
    /// The tool that rules are asked about.
    pub tool_id: String,
    /// The user has agreed to this search: also to what rules ask about.
    pub agreed: bool,
    /// Where all matches go when there are more.
    pub sidecar: Option<SidecarRequest>,
}

/// A matching line.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct ContractGrepMatch {
    /// The file, as a path that the tools take.
    pub path: String,
    /// From one.
    pub line: u32,
    /// The line without its end.
    pub text: String,
}

impl From<Match> for ContractGrepMatch {
    fn from(found: Match) -> Self {
        let line = u32::try_from(found.line).unwrap_or(u32::MAX);
        Self { path: found.path, line, text: found.text }
    }
}

/// What a search found.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct ContractGrepFound {
    /// The matches, as many as fit.
    pub matches: Vec<ContractGrepMatch>,
    /// The last of them, where there are more: half as many as fit, and none of the first half.
    pub last: Option<Vec<ContractGrepMatch>>,
    /// How many there are, if the search came to its end.
    pub count: Option<f64>,
    /// How many files were searched.
    pub files_scanned: f64,
    /// There are more.
    pub truncated: bool,
    /// Where all of them are, as `path:line:text`.
    pub sidecar: Option<SidecarMade>,
    /// What could not be searched, or not to its end, and why: `path: why`.
    pub not_searched: Vec<String>,
}

impl From<SessionGrepOutput> for ContractGrepFound {
    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 matches")]
    fn from(found: SessionGrepOutput) -> Self {
        let matches = |matches: Vec<Match>| matches.into_iter().map(Into::into).collect();
        Self {
            matches: matches(found.matches),
            last: found.last.map(matches),
            count: found.count.map(|count| count as f64),
            files_scanned: found.files_searched as f64,
            truncated: found.is_truncated,
            sidecar: found.sidecar.map(SidecarMade::from),
            not_searched: found.unsearched,
        }
    }
}

/// Which files to name.
#[napi(object)]
#[derive(Debug)]
pub struct ContractGlobRequest {
    /// A pattern as `rg -g` takes it, relative to the directory.
    pub pattern: String,
    /// No more entries than these are given back.
    pub max_entries: f64,
    /// When to give up.
    pub timeout_ms: f64,
    /// The tool that rules are asked about.
    pub tool_id: String,
    /// The user has agreed to this search: also to what rules ask about.
    pub agreed: bool,
    /// Where all entries go when there are more.
    pub sidecar: Option<SidecarRequest>,
}

/// What a listing found.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct ContractGlobFound {
    /// The files, sorted, as paths that the tools take.
    pub entries: Vec<String>,
    /// There are more.
    pub truncated: bool,
    /// Where all of them are, one on each line.
    pub sidecar: Option<SidecarMade>,
    /// The directories that could not be listed, and why: `path: why`.
    pub not_listed: Vec<String>,
}

impl From<GlobOutput> for ContractGlobFound {
    fn from(found: GlobOutput) -> Self {
        Self {
            entries: found.entries,
            truncated: found.is_truncated,
            sidecar: found.sidecar.map(SidecarMade::from),
            not_listed: found.unlisted,
        }
    }
}

/// The targets of a search and the rules about what it meets.
struct Searched {
    targets: Vec<Arc<Target>>,
    rules: Vec<Arc<Rules>>,
}

#[napi]
impl OpenedTarget {
    /// Searches the directory or the file, and then those of `also`, for a regular expression. It passes
    /// over what the policy does not allow, what `rules` deny, and what they ask about without the user's
    /// agreement.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractGrepFound | Unfinished>")]
    pub fn grep<'env>(
        &self,
        env: &'env Env,
        request: ContractGrepRequest,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        self.search(env, also, rules, cancel, move |searched, cancel| {
            let sidecar = request.sidecar.map(sidecar::SidecarRequest::from);
            let input = SessionGrepInput {
                search: SearchInput {
                    targets: &searched.targets,
                    rules: &searched.rules,
                    tool: &request.tool_id,
                    is_approved: request.agreed,
                    pattern: &request.pattern,
                    max_results: options::bytes(request.max_matches),
                    timeout: options::milliseconds(request.timeout_ms),
                    sidecar: sidecar.as_ref(),
                },
                glob: request.glob.as_deref(),
                case_insensitive: request.case_insensitive,
                max_line_bytes: options::size(request.max_line_bytes),
            };
            input.run(cancel).map(ContractGrepFound::from)
        })
    }

    /// Names the files below the directory that fit a pattern, and then those below the directories of
    /// `also`, passing over what `grep` passes over.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractGlobFound | Unfinished>")]
    pub fn glob<'env>(
        &self,
        env: &'env Env,
        request: ContractGlobRequest,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        self.search(env, also, rules, cancel, move |searched, cancel| {
            let sidecar = request.sidecar.map(sidecar::SidecarRequest::from);
            let search = SearchInput {
                targets: &searched.targets,
                rules: &searched.rules,
                tool: &request.tool_id,
                is_approved: request.agreed,
                pattern: &request.pattern,
                max_results: options::bytes(request.max_entries),
                timeout: options::milliseconds(request.timeout_ms),
                sidecar: sidecar.as_ref(),
            };
            GlobInput { search }.run(cancel).map(ContractGlobFound::from)
        })
    }
}

impl OpenedTarget {
    fn search<'env, T: ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
        search: impl FnOnce(&Searched, &AtomicBool) -> std::result::Result<T, Unfinished>
        + Send
        + 'static,
    ) -> Result<Object<'env>> {
        let rules = rules.iter().map(|rules| Arc::clone(&rules.0)).collect();
        let targets = iter::once(self.target()).chain(also.iter().map(|target| target.target()));
        let targets = targets.collect::<std::result::Result<Vec<_>, Failure>>();
        let cancel = cancel.flag();
        job::long(env, move || {
            let searched = targets.map(|targets| Searched { targets, rules });
            Outcome::from(searched.map_err(Into::into).and_then(|it| search(&it, &cancel)))
        })
    }
}
