//! Searches and overviews of opened targets.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use toolwright_core::failure::{Failure, Unfinished};
use toolwright_core::glob::GlobInput;
use toolwright_core::grep::SessionGrepInput;
use toolwright_core::overview::OverviewInput;
use toolwright_core::session_search::{SearchInput, SearchTargets};

use super::bash::SidecarRequest;
use super::rules::ContractRules;
use super::target::OpenedTarget;
use crate::call::{self, CancelHandle, Promised};
use crate::cross::Cross;
use crate::text::Text;

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
}

/// What an overview shows.
#[napi(object)]
pub struct ContractOverviewRequest {
    /// How many levels of directories the tree has, at most 4.
    pub depth: u32,
    /// The most lines of the tree.
    pub max_lines: f64,
    /// When to give up.
    pub timeout_ms: f64,
    /// The tool that rules are asked about.
    pub tool_id: String,
    /// The user has agreed to this call: also to what rules ask about.
    pub agreed: bool,
}

#[napi]
impl OpenedTarget {
    /// Searches the directory or the file, and then those of `also`, for a regular expression. It passes
    /// over what the policy does not allow, what `rules` deny, and what they ask about without the user's
    /// agreement. Gives the JSON text of a `MatchListing`.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn grep(
        &self,
        search: ContractSearch,
        options: ContractGrepOptions,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Promised<Text> {
        self.search(search, &also, &rules, cancel, move |search, cancel| {
            let ContractGrepOptions { glob, case_insensitive } = options;
            Ok(SessionGrepInput { search, glob, case_insensitive }.run(cancel)?.to_json())
        })
    }

    /// Names the files below the directory that fit a pattern, and then those below the directories of
    /// `also`, passing over what `grep` passes over. Gives the JSON text of a `Listing`.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn glob(
        &self,
        search: ContractSearch,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Promised<Text> {
        self.search(search, &also, &rules, cancel, |search, cancel| {
            Ok(GlobInput { search }.run(cancel)?.to_json())
        })
    }

    /// Counts the files below the directory and below those of `also`, and reads their manifests, passing
    /// over what `grep` passes over. Gives the JSON text of a `TreeOverview`.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Unfinished>")]
    pub fn overview(
        &self,
        request: ContractOverviewRequest,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Promised<Text> {
        let ContractOverviewRequest { depth, max_lines, timeout_ms, tool_id, agreed } = request;
        let over = self.over((tool_id, agreed, timeout_ms), &also, &rules);
        call::long(cancel, move |cancel| {
            let (over, depth, max_lines) = (over?, depth.cross(), max_lines.cross());
            Ok(OverviewInput { over, depth, max_lines }.run(cancel)?.to_json())
        })
    }
}

impl OpenedTarget {
    fn search(
        &self,
        search: ContractSearch,
        also: &[ClassInstance<'_, OpenedTarget>],
        rules: &[ClassInstance<'_, ContractRules>],
        cancel: &CancelHandle,
        run: impl FnOnce(SearchInput, &AtomicBool) -> Result<String, Unfinished> + Send + 'static,
    ) -> Promised<Text> {
        let ContractSearch { pattern, max_results, timeout_ms, tool_id, agreed, sidecar } = search;
        let over = self.over((tool_id, agreed, timeout_ms), also, rules);
        call::long(cancel, move |cancel| {
            let (over, max_results, sidecar) = (over?, max_results.cross(), sidecar.cross());
            run(SearchInput { over, pattern, max_results, sidecar }, cancel)
        })
    }

    /// This target and those of `also`, for a tool and with the user's agreement.
    fn over(
        &self,
        (tool, is_approved, timeout_ms): (String, bool, f64),
        also: &[ClassInstance<'_, OpenedTarget>],
        rules: &[ClassInstance<'_, ContractRules>],
    ) -> Result<SearchTargets, Failure> {
        let targets = iter::once(self.target()).chain(also.iter().map(|target| target.target()));
        Ok(SearchTargets {
            targets: targets.collect::<Result<_, _>>()?,
            rules: rules.iter().map(|rules| Arc::clone(&rules.0)).collect(),
            tools: vec![tool],
            is_approved,
            timeout: timeout_ms.cross(),
        })
    }
}
