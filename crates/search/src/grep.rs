//! The two searches for lines: one returns text, the other records.

use std::path::Path;

use crate::error::GrepError;
use crate::file_search::LineSearch;
use crate::listing::display_path;
use crate::matcher::matcher;
use crate::name_filter::NameFilter;
use crate::output::Unsearched;
use crate::printer::Format;
use crate::query::{GrepRequest, LineQuery, OpenFile, Scope};
use crate::records::{self, Hit};
use crate::search::Search;

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
    let regex = matcher(request.pattern, false)?;
    let lines = LineSearch::new(scope, display, open, regex, Format::Text);
    let search = Search { scope, display, open, names: NameFilter::new(&[])? };
    let (output, mut unsearched) = search.run(&lines, <[u8]>::to_vec)?;
    let displayed = |path: &Path| display_path(path, start, display);
    unsearched.rename(displayed);
    let stopped_in = displayed(&output.stopped_in);
    let (text, truncated, matches) = output.into_text(&stopped_in, &unsearched, request.advice);
    Ok(GrepText { text, truncated, matches, unsearched: unsearched.total })
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
    let regex = matcher(query.pattern, query.case_insensitive)?;
    let lines = LineSearch::new(scope, scope.start, open, regex, Format::Record);
    let names = NameFilter::new(query.globs)?;
    let search = Search { scope, display: scope.start, open, names };
    let (output, unsearched) = search.run(&lines, records::hits_to_text)?;
    let truncated = output.full;
    let (records, count) = output.into_lines();
    let files_searched = lines.files_searched.into_inner();
    Ok(LineMatches { records, count, truncated, files_searched, unsearched })
}
