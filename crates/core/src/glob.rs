//! `glob`: the names of files that fit a pattern.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;

use toolwright_fs::{FsError, TargetKind};

use crate::failure::Unfinished;
use crate::session_search::SearchInput;
use crate::sidecar::SidecarFile;

/// A listing of a session.
#[derive(Debug, Clone, Copy)]
pub struct GlobInput<'a> {
    /// What is listed. The pattern is relative to each directory, as `rg -g` takes it.
    pub search: SearchInput<'a>,
}

/// What a listing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobOutput {
    /// The files, sorted, as paths that the tools take.
    pub entries: Vec<String>,
    /// There are more.
    pub is_truncated: bool,
    /// The file with all of them, one on each line.
    pub sidecar: Option<SidecarFile>,
    /// The directories that could not be listed, and why: `path: why`.
    pub unlisted: Vec<String>,
}

impl GlobInput<'_> {
    /// Lists each directory in turn.
    pub fn run(&self, cancel: &AtomicBool) -> Result<GlobOutput, Unfinished> {
        let Self { search: input } = *self;
        for target in input.targets {
            if target.file.kind() != TargetKind::Directory {
                let path = target.file.display_path().to_owned();
                return Err(Unfinished::from(FsError::NotADirectory { path }).for_session());
            }
        }
        let all = input.run("glob", cancel, |scope, open| {
            toolwright_search::list_files(scope, &[input.pattern], open)
        })?;
        let paths =
            || all.iter().flat_map(|(search, list)| list.paths().map(move |path| (search, path)));
        let count: u64 = all.iter().map(|(_, list)| list.count).sum();
        let is_truncated = all.iter().any(|(_, list)| list.truncated) || count > input.max_results;
        let max = usize::try_from(input.max_results).unwrap_or(usize::MAX);
        let lines = paths().map(|(search, path)| {
            let mut line = search.display_path(&path).as_os_str().as_bytes().to_vec();
            line.push(b'\n');
            Cow::Owned(line)
        });
        Ok(GlobOutput {
            entries: paths().take(max).map(|(search, path)| search.display(&path)).collect(),
            is_truncated,
            sidecar: input.fill_sidecar(is_truncated, lines)?,
            unlisted: all
                .iter()
                .flat_map(|(search, list)| search.unsearched(&list.unlisted))
                .collect(),
        })
    }
}
