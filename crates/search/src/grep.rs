//! The two searches for lines: one returns text, the other records.

use std::path::Path;

use crate::error::GrepError;
use crate::file_search::LineSearch;
use crate::left_out::SearchLeftOuts;
use crate::listing::display_path;
use crate::matcher::{MatchRules, matcher};
use crate::output::Unsearched;
use crate::printer::{Format, Layout};
use crate::query::{GrepOptions, GrepRequest, LineQuery, OpenFile, Prints, Scope};
use crate::records::{self, Hit};
use crate::search::{Found, Search};

/// The text of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepText {
    /// `path:line:text` lines, then notes on what was not searched, then a marker if the output was
    /// cut. Empty if nothing matched and everything could be read.
    pub text: Vec<u8>,
    /// Whether more lines matched than fitted.
    pub truncated: bool,
    /// The number of matching lines in `text`.
    pub matches: u64,
    /// The number of files and directories that could not be searched, whether or not `text` has
    /// room for them.
    pub unsearched: u64,
    /// How many files were searched; nothing if the output was cut.
    pub files_searched: u64,
    /// What was left out because of its name; nothing if the output was cut.
    pub left_out: SearchLeftOuts,
}

/// Searches for a pattern, and prints what `rg -n --no-heading -H` prints.
pub fn grep(request: &GrepRequest<'_>, open: &OpenFile<'_>) -> Result<GrepText, GrepError> {
    let GrepRequest { root, start, display, deadline, cancel, parallelism, .. } = *request;
    let scope = &Scope {
        root,
        start,
        filter: &|_| true,
        max_results: u64::MAX,
        max_bytes: request.max_output_bytes,
        deadline,
        cancel,
        parallelism,
    };
    let options = request.options;
    let regex = matcher(
        request.pattern,
        MatchRules { multiline: options.multiline, ..Default::default() },
    )?;
    let format = Format::Text;
    let layout = Layout { format, prints: options.prints, has_windows: options.is_for_model };
    let options = GrepOptions {
        context: if options.prints == Prints::Lines { options.context } else { 0 },
        ..options
    };
    let lines = LineSearch::new(scope, display, open, regex, layout, options);
    let globs = options.glob.as_slice();
    let search = Search { scope, display, open, globs, frees_start: options.is_for_model };
    let Found { output, mut unsearched, left_out } = search.run(&lines, <[u8]>::to_vec)?;
    let displayed = |path: &Path| display_path(path, start, display);
    unsearched.rename(displayed);
    let stopped_in = displayed(&output.stopped_in);
    let (text, truncated, matches) = output.into_text(&stopped_in, &unsearched, request.advice);
    let files_searched = if truncated { 0 } else { lines.files_searched.into_inner() };
    Ok(GrepText {
        text,
        truncated,
        matches,
        unsearched: unsearched.total,
        files_searched,
        left_out,
    })
}

/// The matching lines of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMatches {
    records: Vec<u8>,
    /// How many there are.
    pub count: u64,
    /// Whether there are more.
    pub truncated: bool,
    /// How many files were searched.
    pub files_searched: u64,
    /// The files and directories that could not be searched, or not to their end.
    pub unsearched: Unsearched,
    /// What was left out because of its name.
    pub left_out: SearchLeftOuts,
}

impl LineMatches {
    /// The lines, by path, and within a file from its beginning.
    pub fn hits(&self) -> impl Iterator<Item = Hit<'_>> {
        records::hits(&self.records)
    }
}

/// Finds matching lines. Passes over binary files.
pub fn find_lines(
    scope: &Scope<'_>,
    query: &LineQuery<'_>,
    open: &OpenFile<'_>,
) -> Result<LineMatches, GrepError> {
    let LineQuery { pattern, globs, case_insensitive } = *query;
    let regex = matcher(pattern, MatchRules { case_insensitive, multiline: false })?;
    let layout = Layout { format: Format::Record, prints: Prints::Lines, has_windows: true };
    let lines = LineSearch::new(scope, scope.start, open, regex, layout, GrepOptions::default());
    let search = Search { scope, display: scope.start, open, globs, frees_start: true };
    let Found { output, unsearched, left_out } = search.run(&lines, records::hits_to_text)?;
    let truncated = output.full;
    let (records, count) = output.into_lines();
    let files_searched = lines.files_searched.into_inner();
    Ok(LineMatches { records, count, truncated, files_searched, unsearched, left_out })
}
