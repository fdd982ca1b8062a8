//! `grep`: a regular expression searched for in files.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use toolwright_fs::{FsError, Granted, Located, Root};
use toolwright_search::{GrepRequest, Hit, LineMatches, LineQuery};

use crate::failure::{Unfinished, searches};
use crate::session_search::{Search, SearchInput};
use crate::sidecar::SidecarFile;
use crate::text;

/// A search below a root, whose result is a text as ripgrep prints it.
#[derive(Debug, Clone, Copy)]
pub struct GrepInput<'a> {
    /// The root.
    pub root: &'a Granted,
    /// The file or directory to search, relative to the root or absolute.
    pub path: &'a str,
    /// The regular expression.
    pub pattern: &'a str,
    /// The longest text that is given.
    pub limit_bytes: usize,
    /// When to give up.
    pub timeout: Duration,
}

/// A search whose start is found.
struct GrepPlan<'a> {
    input: &'a GrepInput<'a>,
    root: Root,
    located: Located,
    display: PathBuf,
}

impl GrepInput<'_> {
    /// Searches: `file:line:text` lines, or nothing where nothing matches.
    pub fn run(&self, cancel: &AtomicBool) -> Result<String, Unfinished> {
        self.plan().map_err(searches::start)?.run(cancel)
    }

    fn plan(&self) -> Result<GrepPlan<'_>, FsError> {
        let root = self.root.open()?;
        let located = root.locate(self.path)?;
        let display = display_path(&root, self.path, &located);
        Ok(GrepPlan { input: self, root, located, display })
    }
}

impl GrepPlan<'_> {
    fn run(&self, cancel: &AtomicBool) -> Result<String, Unfinished> {
        let &GrepInput { pattern, limit_bytes, timeout, .. } = self.input;
        let request = GrepRequest {
            root: &self.located.root,
            start: &self.located.relative,
            display: &self.display,
            pattern,
            max_output_bytes: limit_bytes,
            deadline: Instant::now().checked_add(timeout),
            cancel,
        };
        let found = toolwright_search::grep(&request, &|path| self.root.open_listed(path))
            .map_err(|error| searches::grep(error, pattern, limit_bytes, timeout))?;
        Ok(text::within(found.text, limit_bytes))
    }
}

/// The start path in the output: relative to the root, and as it was written where that can be printed
/// in front of file names.
fn display_path(root: &Root, path: &str, located: &Located) -> PathBuf {
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
#[derive(Debug, Clone, Copy)]
pub struct SessionGrepInput<'a> {
    /// What is searched.
    pub search: SearchInput<'a>,
    /// The names of files to search, as `rg -g` takes them.
    pub glob: Option<&'a str>,
    /// Ignore case.
    pub case_insensitive: bool,
    /// The most bytes of a line.
    pub max_line_bytes: usize,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// There are more.
    pub is_truncated: bool,
    /// The file with all of them, as `path:line:text`.
    pub sidecar: Option<SidecarFile>,
    /// What could not be searched, or not to its end, and why: `path: why`.
    pub unsearched: Vec<String>,
}

impl SessionGrepInput<'_> {
    /// Searches each target in turn.
    pub fn run(&self, cancel: &AtomicBool) -> Result<SessionGrepOutput, Unfinished> {
        let globs: Vec<&str> = self.glob.into_iter().collect();
        let (pattern, case_insensitive) = (self.search.pattern, self.case_insensitive);
        let query = LineQuery { pattern, globs: &globs, case_insensitive };
        let all = self.search.run("grep", cancel, |scope, open| {
            toolwright_search::find_lines(scope, &query, open)
        })?;
        self.output(&all)
    }

    fn output(&self, all: &[(Search<'_>, LineMatches)]) -> Result<SessionGrepOutput, Unfinished> {
        let hits =
            || all.iter().flat_map(|(search, found)| found.hits().map(move |hit| (search, hit)));
        let to_match = |(search, hit): (&Search<'_>, Hit<'_>)| Match {
            path: search.display(&hit.path),
            line: hit.line,
            text: text::clipped(hit.text, self.max_line_bytes).into_owned(),
        };
        let count: u64 = all.iter().map(|(_, found)| found.count).sum();
        let is_stopped = all.iter().any(|(_, found)| found.truncated);
        let is_truncated = is_stopped || count > self.search.max_results;
        let max = usize::try_from(self.search.max_results).unwrap_or(usize::MAX);
        let last = is_truncated.then(|| {
            // The first half of what fits is for the beginning.
            let room = max / 2;
            let before = hits().count().saturating_sub(room).max(max - room);
            hits().skip(before).map(to_match).collect()
        });
        let lines = hits().map(|(search, hit)| {
            let mut line = format!("{}:{}:", search.display(&hit.path), hit.line).into_bytes();
            line.extend_from_slice(hit.text);
            line.push(b'\n');
            Cow::Owned(line)
        });
        Ok(SessionGrepOutput {
            matches: hits().take(max).map(to_match).collect(),
            last,
            count: (!is_stopped).then_some(count),
            files_searched: all.iter().map(|(_, found)| found.files_searched).sum(),
            is_truncated,
            sidecar: self.search.fill_sidecar(is_truncated, lines)?,
            unsearched: all
                .iter()
                .flat_map(|(search, found)| search.unsearched(&found.unsearched))
                .collect(),
        })
    }
}
