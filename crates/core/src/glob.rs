//! `glob`: the names of files that fit a pattern.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::failure::Unfinished;
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
