//! `repo_overview`: what is in a tree.
//!
//! It shows names, sizes and content, so a file is part of it only if each tool that shows one of these
//! may show the file.

mod json;
mod tree_text;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use toolwright_search::{
    Count, MAX_MANIFEST_BYTES, Manifest, ManifestFacts, ManifestProblem, Overview,
};

use crate::failure::{Unfinished, searches};
use crate::session_search::{Search, SearchTargets};
use crate::text;

/// The tools whose rules decide about the files as well.
const SHOWING_TOOLS: [&str; 3] = ["read", "grep", "glob"];

/// The most languages that are given; the others are one entry.
const MAX_LANGUAGES: usize = 20;

/// The longest beginning of a README.
const MAX_README_BYTES: usize = 1_500;

/// An overview of a session's directories.
#[derive(Debug, Clone)]
pub struct OverviewInput {
    /// The directories.
    pub over: SearchTargets,
    /// How many levels of directories are shown.
    pub depth: usize,
    /// The most lines of the tree.
    pub max_lines: usize,
}

/// What is in a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OverviewOutput {
    /// All files.
    pub count: Count,
    /// The files in a known language, without those of dependencies: the most bytes first.
    pub languages: Vec<(String, Count)>,
    /// Files in directories such as `node_modules`.
    pub dependencies: Option<Count>,
    /// The manifests nearest to the start.
    pub manifests: Vec<ManifestSummary>,
    /// How many manifests there are besides.
    pub more_manifests: u64,
    /// Files in which programs commonly begin, as paths that the tools take.
    pub entry_points: Vec<String>,
    /// The path and the beginning of the README.
    pub readme: Option<(String, String)>,
    /// Directories and files, one on each line.
    pub tree: String,
    /// The directories that could not be listed, and why: `path: why`.
    pub unlisted: Vec<String>,
}

/// A manifest and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestSummary {
    /// Where it is, as a path that the tools take.
    pub path: String,
    /// What uses it: `npm`, `cargo`.
    pub kind: &'static str,
    /// What it says; nothing if there is a problem.
    pub facts: ManifestFacts,
    /// Why it says nothing.
    pub problem: Option<String>,
}

impl OverviewInput {
    /// Looks at each directory in turn.
    pub fn run(mut self, cancel: &AtomicBool) -> Result<OverviewOutput, Unfinished> {
        self.over.check_directories()?;
        let tool = self.over.tools.join(" ");
        let is_mentioned = |tool: &str| self.over.rules.iter().any(|rules| rules.mention(tool));
        // Without a rule about it by name, a tool is judged as any other without one.
        let is_judged_apart = is_mentioned(&tool);
        let others = SHOWING_TOOLS.iter().filter(|tool| is_judged_apart || is_mentioned(tool));
        let others = others.map(|tool| (*tool).to_owned());
        let others: Vec<String> = others.collect();
        self.over.tools.extend(others);
        let all = self.over.run(
            0,
            cancel,
            |_, scope, open| toolwright_search::overview(scope, self.depth, open),
            |error| searches::overview(&error, &tool, self.over.timeout),
        )?;
        Ok(self.output(&all))
    }

    fn output(&self, all: &[(Search<'_>, Overview)]) -> OverviewOutput {
        let mut output = OverviewOutput { languages: languages(all), ..OverviewOutput::default() };
        let mut dependencies = Count::default();
        for (search, overview) in all {
            let Overview { tree, manifests, entry_points, readme, .. } = overview;
            output.count = sum(output.count, Count { files: tree.files, bytes: tree.bytes });
            dependencies = sum(dependencies, overview.dependencies);
            output.manifests.extend(manifests.iter().map(|one| summary(search, one)));
            output.more_manifests += overview.manifest_count.saturating_sub(manifests.len() as u64);
            output.entry_points.extend(entry_points.iter().map(|path| search.display(path)));
            let readme = readme.as_ref().filter(|readme| !readme.head.contains(&0));
            output.readme = output.readme.or_else(|| {
                let readme = readme?;
                let head = text::clipped(&readme.head, MAX_README_BYTES).into_owned();
                Some((search.display(&readme.path), head))
            });
            output.unlisted.extend(search.unsearched(&overview.unlisted));
            let name = search.display("".as_ref());
            let lines = self.max_lines / all.len().max(1);
            output.tree.push_str(&tree_text::tree_text(&name, tree, lines));
        }
        output.dependencies = (dependencies.files > 0).then_some(dependencies);
        output
    }
}

/// The languages of all directories. Those after the first ones are one entry.
fn languages(all: &[(Search<'_>, Overview)]) -> Vec<(String, Count)> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for (language, count) in all.iter().flat_map(|(_, overview)| &overview.languages) {
        let total = counts.entry(language).or_default();
        *total = sum(*total, *count);
    }
    let mut counts: Vec<_> = counts.into_iter().map(|(name, one)| (name.to_owned(), one)).collect();
    counts.sort_by_key(|(_, count)| Reverse(count.bytes));
    let others = counts.split_off(counts.len().min(MAX_LANGUAGES));
    let rest = others.iter().fold(Count::default(), |rest, (_, one)| sum(rest, *one));
    let name = format!("{} other languages", others.len());
    counts.extend((rest.files > 0).then_some((name, rest)));
    counts
}

fn sum(left: Count, right: Count) -> Count {
    Count { files: left.files + right.files, bytes: left.bytes.saturating_add(right.bytes) }
}

fn summary(search: &Search<'_>, manifest: &Manifest) -> ManifestSummary {
    let Manifest { path, kind, facts } = manifest;
    let problem = facts.as_ref().err().map(|problem| match problem {
        ManifestProblem::TooLarge => format!("larger than {} KiB", MAX_MANIFEST_BYTES >> 10),
        ManifestProblem::Malformed => "malformed".to_owned(),
        ManifestProblem::Unreadable => "cannot be read".to_owned(),
    });
    let facts = facts.clone().unwrap_or_default();
    ManifestSummary { path: search.display(path), kind, facts, problem }
}
