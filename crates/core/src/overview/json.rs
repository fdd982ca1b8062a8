//! An overview as a tool gives it: what is not there has no field.

use serde::Serialize;

use super::{ManifestSummary, OverviewOutput};
use crate::rows;

#[derive(Serialize)]
struct Shape<'a> {
    files: u64,
    bytes: u64,
    languages: Vec<Counted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependency_files: Option<u64>,
    manifests: Vec<Manifest<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more_manifests: Option<u64>,
    entry_points: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    readme: Option<Readme<'a>>,
    tree: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_searched: &'a [String],
}

#[derive(Serialize)]
struct Counted<'a> {
    language: &'a str,
    files: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Readme<'a> {
    path: &'a str,
    head: &'a str,
}

#[derive(Serialize)]
struct Manifest<'a> {
    path: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scripts: Vec<Script<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    entry_points: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    members: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

#[derive(Serialize)]
struct Script<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    command: &'a str,
}

impl OverviewOutput {
    /// The JSON text of a `TreeOverview`, as the tools of a session have it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let languages = self.languages.iter().map(|(language, count)| Counted {
            language,
            files: count.files,
            bytes: count.bytes,
        });
        rows::text(&Shape {
            files: self.count.files,
            bytes: self.count.bytes,
            languages: languages.collect(),
            dependency_files: self.dependencies.map(|count| count.files),
            manifests: self.manifests.iter().map(manifest).collect(),
            more_manifests: (self.more_manifests > 0).then_some(self.more_manifests),
            entry_points: &self.entry_points,
            readme: self.readme.as_ref().map(|(path, head)| Readme { path, head }),
            tree: &self.tree,
            not_searched: &self.unlisted,
        })
    }
}

fn manifest(ManifestSummary { path, kind, facts, problem }: &ManifestSummary) -> Manifest<'_> {
    let scripts = facts.scripts.iter();
    Manifest {
        path,
        kind,
        name: facts.name.as_deref(),
        version: facts.version.as_deref(),
        scripts: scripts.map(|(name, command)| Script { name, command }).collect(),
        entry_points: &facts.entry_points,
        members: &facts.members,
        problem: problem.as_deref(),
    }
}
