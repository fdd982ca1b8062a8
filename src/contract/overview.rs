//! Overviews of opened directories.

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use toolwright_core::overview::{ManifestSummary, OverviewInput, OverviewOutput};

use super::rules::ContractRules;
use super::search::AskedRules;
use super::target::OpenedTarget;
use crate::cancel::CancelHandle;
use crate::job::Promised;
use crate::options::{self, number};

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

/// The files in one language.
#[napi(object, object_from_js = false)]
pub struct ContractLanguage {
    pub language: String,
    pub files: f64,
    pub bytes: f64,
}

/// A command that a manifest defines.
#[napi(object, object_from_js = false)]
pub struct ContractScript {
    pub name: String,
    /// Empty for a target without a command.
    pub command: String,
}

/// A manifest and what it says.
#[napi(object, object_from_js = false)]
pub struct ContractManifest {
    /// A path that the tools take.
    pub path: String,
    /// What uses it: `npm`, `cargo`.
    pub kind: String,
    pub name: Option<String>,
    pub version: Option<String>,
    pub scripts: Vec<ContractScript>,
    pub entry_points: Vec<String>,
    pub members: Vec<String>,
    /// Why it says nothing.
    pub problem: Option<String>,
}

impl From<ManifestSummary> for ContractManifest {
    fn from(ManifestSummary { path, kind, facts, problem }: ManifestSummary) -> Self {
        let scripts = facts.scripts.into_iter();
        Self {
            path,
            kind: kind.to_owned(),
            name: facts.name,
            version: facts.version,
            scripts: scripts.map(|(name, command)| ContractScript { name, command }).collect(),
            entry_points: facts.entry_points,
            members: facts.members,
            problem,
        }
    }
}

/// What is in a tree.
#[napi(object, object_from_js = false)]
pub struct ContractOverview {
    pub files: f64,
    pub bytes: f64,
    /// Without the files of dependencies: the most bytes first.
    pub languages: Vec<ContractLanguage>,
    /// How many files there are in directories such as `node_modules`.
    pub dependency_files: Option<f64>,
    /// Those nearest to the start.
    pub manifests: Vec<ContractManifest>,
    /// How many there are besides.
    pub more_manifests: f64,
    /// Files in which programs commonly begin, as paths that the tools take.
    pub entry_points: Vec<String>,
    pub readme_path: Option<String>,
    pub readme_head: Option<String>,
    /// Directories and files, one on each line.
    pub tree: String,
    /// The directories that could not be listed, and why: `path: why`.
    pub not_listed: Vec<String>,
}

impl From<OverviewOutput> for ContractOverview {
    fn from(output: OverviewOutput) -> Self {
        let (readme_path, readme_head) = output.readme.unzip();
        let languages = output.languages.into_iter().map(|(language, count)| ContractLanguage {
            language,
            files: number(count.files),
            bytes: number(count.bytes),
        });
        Self {
            files: number(output.count.files),
            bytes: number(output.count.bytes),
            languages: languages.collect(),
            dependency_files: output.dependencies.map(|count| number(count.files)),
            manifests: output.manifests.into_iter().map(Into::into).collect(),
            more_manifests: number(output.more_manifests),
            entry_points: output.entry_points,
            readme_path,
            readme_head,
            tree: output.tree,
            not_listed: output.unlisted,
        }
    }
}

#[napi]
impl OpenedTarget {
    /// Counts the files below the directory and below those of `also`, and reads their manifests, passing
    /// over what the policy does not allow, what `rules` deny, and what they ask about without the user's
    /// agreement.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractOverview | Unfinished>")]
    pub fn overview(
        &self,
        request: ContractOverviewRequest,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Promised<ContractOverview> {
        let ContractOverviewRequest { depth, max_lines, timeout_ms, tool_id, agreed } = request;
        let (depth, max_lines) = (depth as usize, options::size(max_lines));
        let asked = AskedRules { tool_id, agreed, timeout_ms };
        self.search_over(asked, &also, &rules, cancel, move |over, cancel| {
            OverviewInput { over, depth, max_lines }.run(cancel).map(ContractOverview::from)
        })
    }
}
