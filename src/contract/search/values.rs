//! What searches are given, and what they give back.

use napi_derive::napi;

use crate::contract::Unfinished;
use crate::contract::sidecar::{SidecarMade, SidecarRequest};
use crate::error::NativeError;

/// What to search for.
#[napi(object)]
#[derive(Debug)]
pub struct ContractGrepRequest {
    /// A regular expression.
    pub pattern: String,
    /// The names of files to search, as `rg -g` takes them.
    pub glob: Option<String>,
    /// Letters count for both cases.
    pub case_insensitive: bool,
    /// No more matches than these are given back.
    pub max_matches: f64,
    /// A line is cut to about so many bytes.
    pub max_line_bytes: f64,
    /// When to give up.
    pub timeout_ms: f64,
    /// The tool that rules are asked about.
    pub tool_id: String,
    /// The user has agreed to this search: also to what rules ask about.
    pub agreed: bool,
    /// Where all matches go when there are more.
    pub sidecar: Option<SidecarRequest>,
}

/// A matching line.
#[napi(object)]
#[derive(Debug)]
pub struct ContractGrepMatch {
    /// The file, as a path that the tools take.
    pub path: String,
    /// From one.
    pub line: u32,
    /// The line without its end.
    pub text: String,
}

/// What became of a search.
#[napi(object)]
#[derive(Debug, Default)]
pub struct ContractGrepOutcome {
    /// The matches, as many as fit.
    pub matches: Option<Vec<ContractGrepMatch>>,
    /// The last of them, where there are more: half as many as fit, and none of the first half.
    pub last: Option<Vec<ContractGrepMatch>>,
    /// How many there are, if the search came to its end.
    pub count: Option<f64>,
    /// How many files were searched.
    pub files_scanned: Option<f64>,
    /// There are more.
    pub truncated: bool,
    /// Where all of them are, as `path:line:text`.
    pub sidecar: Option<SidecarMade>,
    /// What could not be searched, or not to its end, and why: `path: why`.
    pub not_searched: Option<Vec<String>>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Unfinished for ContractGrepOutcome {
    fn unfinished(error: Option<NativeError>) -> Self {
        Self { cancelled: error.is_none(), error, ..Self::default() }
    }
}

/// Which files to name.
#[napi(object)]
#[derive(Debug)]
pub struct ContractGlobRequest {
    /// A pattern as `rg -g` takes it, relative to the directory.
    pub pattern: String,
    /// No more entries than these are given back.
    pub max_entries: f64,
    /// When to give up.
    pub timeout_ms: f64,
    /// The tool that rules are asked about.
    pub tool_id: String,
    /// The user has agreed to this search: also to what rules ask about.
    pub agreed: bool,
    /// Where all entries go when there are more.
    pub sidecar: Option<SidecarRequest>,
}

/// What became of it.
#[napi(object)]
#[derive(Debug, Default)]
pub struct ContractGlobOutcome {
    /// The files, sorted, as paths that the tools take.
    pub entries: Option<Vec<String>>,
    /// There are more.
    pub truncated: bool,
    /// Where all of them are, one on each line.
    pub sidecar: Option<SidecarMade>,
    /// The directories that could not be listed, and why: `path: why`.
    pub not_listed: Option<Vec<String>>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Unfinished for ContractGlobOutcome {
    fn unfinished(error: Option<NativeError>) -> Self {
        Self { cancelled: error.is_none(), error, ..Self::default() }
    }
}
