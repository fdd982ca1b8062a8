//! `grep`: a regular expression searched for in files.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::Serialize;
use toolwright_fs::{DirectoryGrant, FileLocation, FsError, Root};
use toolwright_search::{GrepRequest, Hit, LineMatches, LineQuery, Parallelism};

use crate::failure::{Unfinished, searches};
use crate::session_search::{Search, SearchInput};
use crate::{rows, text, voice};

/// A search below a root, whose result is a text as ripgrep prints it.
#[derive(Debug, Clone, Copy)]
pub struct GrepInput<'a> {
    /// The root.
    pub root: &'a DirectoryGrant,
    /// The file or directory to search, relative to the root or absolute.
    pub path: &'a str,
    /// The regular expression.
    pub pattern: &'a str,
    /// The longest text that is given.
    pub limit_bytes: usize,
    /// When to give up.
    pub timeout: Duration,
}

impl GrepInput<'_> {
    /// Searches: `file:line:text` lines, or nothing where nothing matches.
    pub fn run(&self, cancel: &AtomicBool) -> Result<String, Unfinished> {
        let (root, located) = self.start().map_err(searches::start)?;
        let Self { pattern, limit_bytes, timeout, .. } = *self;
        let request = GrepRequest {
            root: &located.root,
            start: &located.relative,
            display: &display_path(&root, self.path, &located),
            pattern,
            max_output_bytes: limit_bytes,
            deadline: Instant::now().checked_add(timeout),
            cancel,
            parallelism: Parallelism::default(),
            advice: voice::searches::AFTER_CUT,
        };
        let result = toolwright_search::grep(&request, &|path| root.open_listed(path))
            .map_err(|error| searches::grep(error, pattern, limit_bytes, timeout))?;
        Ok(text::within(result.text, limit_bytes))
    }

    fn start(&self) -> Result<(Root, FileLocation), FsError> {
        let root = self.root.open()?;
        let located = root.locate(self.path)?;
        Ok((root, located))
    }
}

/// The start path in the output: relative to the root, and as it was written where that can be printed
/// in front of file names.
fn display_path(root: &Root, path: &str, located: &FileLocation) -> PathBuf {
    let written = Path::new(path);
    let relative = if written.is_absolute() {
        written
            .strip_prefix(root.path())
            .or_else(|_| written.strip_prefix(&located.root))
            .unwrap_or(&located.relative)
    } else {
        written
    };
    if relative.components().any(|component| component == Component::ParentDir) {
        return located.relative.clone();
    }
    relative.components().filter(|component| *component != Component::CurDir).collect()
}

/// A search of a session, whose result is a list of matches.
#[derive(Debug, Clone)]
pub struct SessionGrepInput {
    /// What is searched.
    pub search: SearchInput,
    /// The names of files to search, as `rg -g` takes them.
    pub glob: Option<String>,
    /// Ignore case.
    pub case_insensitive: bool,
    /// The most bytes of a line.
    pub max_line_bytes: usize,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The file, as a path that the tools take.
    pub path: String,
    /// The number of the line, from one.
    pub line: u64,
    /// The line without its end.
    pub text: String,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionGrepOutput {
    /// The matches, as many as fit.
    pub matches: Vec<Match>,
    /// The last of them, where there are more: half as many as fit, and none of the first half.
    pub last: Option<Vec<Match>>,
    /// How many there are, if the search came to its end.
    pub count: Option<u64>,
    /// How many files were searched.
    pub files_searched: u64,
    /// The file with all of them, as `path:line:text`, where there are more.
    pub sidecar: Option<PathBuf>,
    /// What could not be searched, or not to its end, and why: `path: why`.
    pub unsearched: Vec<String>,
}

impl SessionGrepOutput {
    /// The JSON text of a `MatchListing`, as the tools of a session have it. Where all matches are given, the
    /// last ones and their number are left out.
    #[must_use]
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct MatchListing<'a> {
            items: &'a [Match],
            files_scanned: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            output_path: Option<Cow<'a, str>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            last: Option<&'a [Match]>,
            #[serde(skip_serializing_if = "Option::is_none")]
            count: Option<u64>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            not_searched: &'a [String],
        }
        let sidecar = self.sidecar.as_ref();
        rows::text(&MatchListing {
            items: &self.matches,
            files_scanned: self.files_searched,
            output_path: sidecar.map(|path| path.to_string_lossy()),
            last: sidecar.and(self.last.as_deref()),
            count: sidecar.and(self.count),
            not_searched: &self.unsearched,
        })
    }
}

impl SessionGrepInput {
    /// Searches each target in turn.
    pub fn run(&self, cancel: &AtomicBool) -> Result<SessionGrepOutput, Unfinished> {
        let globs: Vec<&str> = self.glob.as_deref().into_iter().collect();
        let Self { search: SearchInput { pattern, .. }, case_insensitive, .. } = self;
        let query = LineQuery { pattern, globs: &globs, case_insensitive: *case_insensitive };
        let all = self.search.run("grep", cancel, |scope, open| {
            toolwright_search::find_lines(scope, &query, open)
        })?;
        self.output(&all)
    }

    fn output(&self, all: &[(Search<'_>, LineMatches)]) -> Result<SessionGrepOutput, Unfinished> {
        let hits =
            || all.iter().flat_map(|(search, result)| result.hits().map(move |hit| (search, hit)));
        let to_match = |(search, hit): (&Search<'_>, Hit<'_>)| Match {
            path: search.display(hit.path),
            line: hit.line,
            text: text::clipped(hit.text, self.max_line_bytes).into_owned(),
        };
        let count: u64 = all.iter().map(|(_, result)| result.count).sum();
        let is_stopped = all.iter().any(|(_, result)| result.truncated);
        let is_truncated = is_stopped || count > self.search.max_results;
        let max = self.search.max_results();
        let last = is_truncated.then(|| {
            // The first half of what fits is for the beginning.
            let room = max / 2;
            let before = hits().count().saturating_sub(room).max(max - room);
            hits().skip(before).map(to_match).collect()
        });
        let lines = hits().map(|(search, hit)| {
            let mut line = format!("{}:{}:", search.display(hit.path), hit.line).into_bytes();
            line.extend_from_slice(hit.text);
            line.push(b'\n');
            Cow::Owned(line)
        });
        Ok(SessionGrepOutput {
            matches: hits().take(max).map(to_match).collect(),
            last,
            count: (!is_stopped).then_some(count),
            files_searched: all.iter().map(|(_, result)| result.files_searched).sum(),
            sidecar: is_truncated.then(|| self.search.sidecar.fill(lines)).transpose()?,
            unsearched: all
                .iter()
                .flat_map(|(search, result)| search.unsearched(&result.unsearched))
                .collect(),
        })
    }
}
