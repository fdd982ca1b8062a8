//! `glob`: the names of files that fit a pattern.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::failure::Unfinished;
use crate::rows;
use crate::session_search::SearchInput;

/// A listing of a session.
#[derive(Debug, Clone)]
pub struct GlobInput {
    /// What is listed. The pattern is relative to each directory, as `rg -g` takes it.
    pub search: SearchInput,
}

/// What a listing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobOutput {
    /// The files, sorted, as paths that the tools take.
    pub entries: Vec<String>,
    /// The file with all of them, one on each line, where there are more.
    pub sidecar: Option<PathBuf>,
    /// The directories that could not be listed, and why: `path: why`.
    pub unlisted: Vec<String>,
}

impl GlobOutput {
    /// The JSON text of a `Listing` of paths, as the tools of a session have it.
    #[must_use]
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Listing<'a> {
            items: &'a [String],
            #[serde(skip_serializing_if = "Option::is_none")]
            output_path: Option<Cow<'a, str>>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            not_searched: &'a [String],
        }
        let output_path = self.sidecar.as_ref().map(|path| path.to_string_lossy());
        rows::text(&Listing { items: &self.entries, output_path, not_searched: &self.unlisted })
    }
}

impl GlobInput {
    /// Lists each directory in turn.
    pub fn run(&self, cancel: &AtomicBool) -> Result<GlobOutput, Unfinished> {
        let Self { search: input } = self;
        input.over.check_directories()?;
        let all = input.run("glob", cancel, |scope, open| {
            toolwright_search::list_files(scope, &[&*input.pattern], open)
        })?;
        let paths =
            || all.iter().flat_map(|(search, list)| list.paths().map(move |path| (search, path)));
        let count: u64 = all.iter().map(|(_, list)| list.count).sum();
        let is_truncated = all.iter().any(|(_, list)| list.truncated) || count > input.max_results;
        let lines = paths().map(|(search, path)| {
            let mut line = search.display_path(path).as_os_str().as_bytes().to_vec();
            line.push(b'\n');
            Cow::Owned(line)
        });
        Ok(GlobOutput {
            entries: paths()
                .take(input.max_results())
                .map(|(search, path)| search.display(path))
                .collect(),
            sidecar: is_truncated.then(|| input.sidecar.fill(lines)).transpose()?,
            unlisted: all
                .iter()
                .flat_map(|(search, list)| search.unsearched(&list.unlisted))
                .collect(),
        })
    }
}
