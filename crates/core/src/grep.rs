//! `grep`: a regular expression searched for in files.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::Serialize;
use toolwright_fs::{DirectoryGrant, FileLocation, FsError, Root};
use toolwright_names::printable_path;
pub use toolwright_search::{GrepOptions, Prints};
use toolwright_search::{GrepRequest, GrepText, Hit, LineMatches, LineQuery, Parallelism, Scope};

use crate::access::visibility::is_in_git;
use crate::empty_search::{AskedNames, any_of, named, notes, other_patterns};
use crate::failure::{Unfinished, searches};
use crate::session_search::{Search, SearchInput};
use crate::voice::Door;
use crate::voice::searches::empty::{self, Argument, Meant, NoLines, at_door};
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
    /// What is printed.
    pub options: GrepOptions<'a>,
}

/// The text of a search below a root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchText {
    /// Lines, or nothing where nothing matches.
    pub text: String,
    /// What the text does not say, for a model.
    pub note: Option<String>,
}

impl GrepInput<'_> {
    /// Searches: `file:line:text` lines, or nothing where nothing matches.
    pub fn run(&self, cancel: &AtomicBool) -> Result<SearchText, Unfinished> {
        let (root, located) = self.start().map_err(searches::start)?;
        let Self { pattern, limit_bytes, timeout, options, .. } = *self;
        if options.is_for_model && is_in_git(&located.relative) {
            return Ok(SearchText::empty(at_door(empty::GIT, Door::Tools)));
        }
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
            options,
        };
        let result =
            toolwright_search::grep(&request, &|path| root.open_listed(path))
                .map_err(|error| searches::below_root(error, "grep", pattern, limit_bytes, timeout))
                .map_err(|error| {
                    if options.is_for_model { searches::with_multiline(error) } else { error }
                })?;
        let note = (options.is_for_model
            && result.matches == 0
            && !result.truncated
            && result.text.is_empty())
        .then(|| {
            let GrepText { left_out, files_searched, .. } = &result;
            let display = |path: &Path| printable_path(path).into_owned();
            let named = named(&left_out.any, &display);
            let finds = |pattern: &str| {
                let request = GrepRequest { pattern, max_output_bytes: 1, ..request };
                // A text that is cut says that there is something.
                toolwright_search::grep(&request, &|path| root.open_listed(path))
                    .is_ok_and(|found| found.matches > 0 || found.truncated)
            };
            let others = other_patterns(pattern);
            let meant = any_of(&others)
                .filter(|any| finds(any))
                .and_then(|_| others.iter().find(|(_, pattern)| finds(pattern)));
            let text = empty::no_lines(&NoLines {
                pattern,
                searched: *files_searched,
                left_out: &named,
                total: left_out.any.total,
                meant: meant.map(|(meant, pattern)| (*meant, pattern.as_str())),
            });
            at_door(&text, Door::Tools)
        });
        Ok(SearchText { text: text::within(result.text, limit_bytes), note })
    }

    fn start(&self) -> Result<(Root, FileLocation), FsError> {
        let root = self.root.open()?;
        let located = root.locate(self.path)?;
        Ok((root, located))
    }
}

impl SearchText {
    pub(crate) fn empty(note: String) -> Self {
        Self { text: String::new(), note: Some(note) }
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
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The file, as a path that the tools take.
    pub path: String,
    /// The number of the line, from one.
    pub line: u64,
    /// The line without its end, or the part of a long one around its first match.
    pub text: String,
    /// If it is a part: the byte of the line at which the match begins, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
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
    /// What the matches do not say.
    pub notes: Vec<String>,
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
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            notes: &'a [String],
        }
        let sidecar = self.sidecar.as_ref();
        rows::text(&MatchListing {
            items: &self.matches,
            files_scanned: self.files_searched,
            output_path: sidecar.map(|path| path.to_string_lossy()),
            last: sidecar.and(self.last.as_deref()),
            count: sidecar.and(self.count),
            not_searched: &self.unsearched,
            notes: &self.notes,
        })
    }
}

/// What one target has.
struct SearchedTarget {
    lines: LineMatches,
    /// Why no file was searched.
    why: Option<String>,
    /// Which of the other patterns it has, if it has no match.
    meant: Option<usize>,
}

impl SessionGrepInput {
    /// Searches each target in turn.
    pub fn run(&self, cancel: &AtomicBool) -> Result<SessionGrepOutput, Unfinished> {
        let globs: Vec<&str> = self.glob.as_deref().into_iter().collect();
        let Self { search: SearchInput { pattern, .. }, case_insensitive, .. } = self;
        let query = LineQuery { pattern, globs: &globs, case_insensitive: *case_insensitive };
        let others = other_patterns(pattern);
        let any = any_of(&others);
        let all = self.search.run("grep", cancel, |search, scope, open| {
            let lines = toolwright_search::find_lines(scope, &query, open)?;
            let finds = |pattern: &str| {
                let query = LineQuery { pattern, ..query };
                let scope = Scope { max_results: 1, ..*scope };
                toolwright_search::find_lines(&scope, &query, open)
                    .is_ok_and(|lines| lines.count > 0)
            };
            let is_empty = lines.count == 0 && !lines.truncated;
            let meant = any
                .as_deref()
                .filter(|any| is_empty && finds(any))
                .and_then(|_| others.iter().position(|(_, pattern)| finds(pattern)));
            let asked = globs.first().filter(|_| lines.files_searched == 0);
            let why = asked.map(|pattern| {
                let display = |path: &Path| search.display(path);
                let (argument, root) = (Argument::Glob, scope.root);
                let asked = AskedNames { pattern, argument, root, display: &display };
                asked.sentence(scope, &lines.left_out, open)
            });
            Ok(SearchedTarget { lines, why: why.transpose()?, meant })
        })?;
        let notes = self.notes(&all, &others);
        let all: Vec<_> = all.into_iter().map(|(search, one)| (search, one.lines)).collect();
        let mut output = self.output(&all)?;
        let is_cut = |one: &Match| one.column.is_some();
        if output.matches.iter().chain(output.last.iter().flatten()).any(is_cut) {
            output.notes.push(empty::WINDOWS.to_owned());
        }
        output.notes.extend(notes);
        Ok(output)
    }

    /// What the matches do not say: why there are none, or what was left out.
    fn notes(
        &self,
        all: &[(Search<'_>, SearchedTarget)],
        others: &[(Meant, String)],
    ) -> Vec<String> {
        let door = Door::Session;
        if all.iter().any(|(_, one)| one.lines.count > 0) {
            let of = |(search, one): &(Search<'_>, SearchedTarget)| {
                notes(&one.lines.left_out, &|path| search.display(path), door)
            };
            return all.iter().flat_map(of).collect();
        }
        if all.is_empty() {
            return vec![at_door(empty::GIT, door)];
        }
        if let Some(why) = all.iter().find_map(|(_, one)| one.why.as_ref())
            && all.iter().all(|(_, one)| one.lines.files_searched == 0)
        {
            return vec![at_door(why, door)];
        }
        let left_out = all
            .iter()
            .flat_map(|(search, one)| named(&one.lines.left_out.any, &|path| search.display(path)));
        let left_out: Vec<_> = left_out.take(3).collect();
        let meant = all.iter().filter_map(|(_, one)| one.meant).min();
        let meant = meant.and_then(|at| others.get(at));
        let text = empty::no_lines(&NoLines {
            pattern: &self.search.pattern,
            searched: all.iter().map(|(_, one)| one.lines.files_searched).sum(),
            left_out: &left_out,
            total: all.iter().map(|(_, one)| one.lines.left_out.any.total).sum(),
            meant: meant.map(|(meant, pattern)| (*meant, pattern.as_str())),
        });
        vec![at_door(&text, door)]
    }

    fn output(&self, all: &[(Search<'_>, LineMatches)]) -> Result<SessionGrepOutput, Unfinished> {
        let hits =
            || all.iter().flat_map(|(search, result)| result.hits().map(move |hit| (search, hit)));
        let to_match = |(search, hit): (&Search<'_>, Hit<'_>)| Match {
            path: search.display(hit.path),
            line: hit.line,
            text: String::from_utf8_lossy(hit.text).into_owned(),
            column: hit.column,
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
            if let Some(column) = hit.column.filter(|&column| column > 1) {
                line.extend_from_slice(format!(" [column {column}]").as_bytes());
            }
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
            notes: Vec::new(),
        })
    }
}
