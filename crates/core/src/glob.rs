//! `glob`: the names of files that fit a pattern.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::Serialize;
use toolwright_fs::{DirectoryGrant, FsErrorKind};
use toolwright_names::printable_path;
use toolwright_search::{FileList, Parallelism, Scope};

use crate::access::visibility::is_in_git;
use crate::empty_search::{AskedNames, notes};
use crate::failure::{Unfinished, searches};
use crate::grep::SearchText;
use crate::rows;
use crate::session_search::{Search, SearchInput};
use crate::voice::Door;
use crate::voice::searches::LIST_CUT;
use crate::voice::searches::empty::{self, Argument, at_door};

/// A listing below a root, whose result is a text.
#[derive(Debug, Clone, Copy)]
pub struct ListInput<'a> {
    /// The root.
    pub root: &'a DirectoryGrant,
    /// The directory to list, relative to the root or absolute.
    pub path: &'a str,
    /// The pattern, relative to the directory.
    pub pattern: &'a str,
    /// The longest text that is given.
    pub limit_bytes: usize,
    /// When to give up.
    pub timeout: Duration,
}

impl ListInput<'_> {
    /// Lists the files: one path on each line, relative to the root.
    pub fn run(&self, cancel: &AtomicBool) -> Result<SearchText, Unfinished> {
        let Self { limit_bytes, timeout, .. } = *self;
        let pattern = &*anchored(self.pattern);
        let root = self.root.open().map_err(searches::start)?;
        let located = root.locate(self.path).map_err(searches::start)?;
        if !located.is_directory {
            return Err(FsErrorKind::NotADirectory.at(self.path).into());
        }
        if is_in_git(&located.relative) {
            return Ok(SearchText::empty(at_door(empty::GIT, Door::Tools)));
        }
        // The last line of a list that was cut says so.
        let has_end = limit_bytes > LIST_CUT.len() * 2;
        let scope = Scope {
            root: &located.root,
            start: &located.relative,
            filter: &|_| true,
            max_results: u64::MAX,
            max_bytes: if has_end { limit_bytes - LIST_CUT.len() } else { limit_bytes },
            deadline: Instant::now().checked_add(timeout),
            cancel,
            parallelism: Parallelism::default(),
        };
        let open = |path: &Path| root.open_listed(path);
        let display = |path: &Path| printable_path(path).into_owned();
        let failed = |error| searches::below_root(error, "glob", pattern, limit_bytes, timeout);
        let list = toolwright_search::list_files(&scope, &[pattern], &open).map_err(failed)?;
        let mut text = String::new();
        for path in list.paths() {
            let _ = writeln!(text, "{}", printable_path(path));
        }
        let FileList { unlisted, left_out, .. } = &list;
        for (path, why) in &unlisted.named {
            let _ = writeln!(text, "[not listed: {}: {why}]", printable_path(path));
        }
        text.truncate(whole_lines(&text, limit_bytes));
        if list.truncated && has_end {
            text.truncate(whole_lines(&text, limit_bytes - LIST_CUT.len()));
            text.push_str(LIST_CUT);
        }
        let note = if list.count == 0 && !list.truncated {
            let (argument, root) = (Argument::Pattern, scope.root);
            let asked = AskedNames { pattern, argument, root, display: &display };
            let sentence = asked.sentence(&scope, left_out, &open).map_err(failed)?;
            Some(at_door(&sentence, Door::Tools))
        } else {
            let notes = notes(left_out, &display, Door::Tools);
            (!notes.is_empty()).then(|| notes.join("\n"))
        };
        Ok(SearchText { text, note })
    }
}

/// `./x` is `x` in the directory itself.
fn anchored(pattern: &str) -> Cow<'_, str> {
    let rest = pattern.trim_start_matches("./");
    if rest.len() == pattern.len() { pattern.into() } else { format!("/{rest}").into() }
}

/// How much of a text is whole lines within a limit.
fn whole_lines(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    text.as_bytes()[..limit].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
}

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
    /// What the entries do not say.
    pub notes: Vec<String>,
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
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            notes: &'a [String],
        }
        let output_path = self.sidecar.as_ref().map(|path| path.to_string_lossy());
        let Self { entries: items, unlisted: not_searched, notes, .. } = self;
        rows::text(&Listing { items, output_path, not_searched, notes })
    }
}

impl GlobInput {
    /// Lists each directory in turn.
    pub fn run(&self, cancel: &AtomicBool) -> Result<GlobOutput, Unfinished> {
        let Self { search: input } = self;
        input.over.check_directories()?;
        let pattern = &*input.pattern;
        let all = input.run("glob", cancel, |search, scope, open| {
            let list = toolwright_search::list_files(scope, &[pattern], open)?;
            let display = |path: &Path| search.display(path);
            let (argument, root) = (Argument::Pattern, scope.root);
            let asked = AskedNames { pattern, argument, root, display: &display };
            let why = (list.count == 0)
                .then(|| asked.sentence(scope, &list.left_out, open))
                .transpose()?;
            Ok((list, why))
        })?;
        let notes = listing_notes(&all);
        let all: Vec<_> = all.into_iter().map(|(search, (list, _))| (search, list)).collect();
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
            notes,
        })
    }
}

/// Why there are no entries, or what was left out of them.
fn listing_notes(all: &[(Search<'_>, (FileList, Option<String>))]) -> Vec<String> {
    let door = Door::Session;
    if all.iter().any(|(_, (list, _))| list.count > 0) {
        let of = |(search, (list, _)): &(Search<'_>, (FileList, _))| {
            notes(&list.left_out, &|path| search.display(path), door)
        };
        return all.iter().flat_map(of).collect();
    }
    let why = all.iter().find_map(|(_, (_, why))| why.as_deref());
    vec![at_door(why.unwrap_or(empty::GIT), door)]
}
