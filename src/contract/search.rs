//! Structured searches of an opened target.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use napi::Env;
use napi::Result;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use toolwright_fs::HeldKind;
use toolwright_fs::Opener;
use toolwright_policy::Access;
use toolwright_policy::Rules;
use toolwright_search::Found;
use toolwright_search::GrepError;
use toolwright_search::Named;
use toolwright_search::Scope;

use super::rules::ContractRules;
use super::sidecar::SidecarMade;
use super::sidecar::SidecarRequest;
use super::target::Opened;
use super::target::OpenedTarget;
use crate::cancel::CancelHandle;
use crate::error;
use crate::error::NativeError;
use crate::job;
use crate::job::Outcome;
use crate::options;

/// What records take at most where nothing else is said.
const MOST_BYTES: usize = 64 << 20;
/// Beyond the limit of a sidecar file, so that it is certain to become full.
const BEYOND: usize = 64 << 10;

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
    /// The tool whose rules deny files.
    pub tool_id: String,
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
    /// The matches.
    pub matches: Option<Vec<ContractGrepMatch>>,
    /// How many files were searched.
    pub files_scanned: Option<f64>,
    /// There are more.
    pub truncated: bool,
    /// Where all of them are, as `path:line:text`.
    pub sidecar: Option<SidecarMade>,
    /// How many files and directories could not be searched.
    pub unsearched: Option<f64>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Outcome for ContractGrepOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
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
    /// The tool whose rules deny files.
    pub tool_id: String,
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
    /// How many directories could not be listed.
    pub unlisted: Option<f64>,
    /// True when the call was cancelled.
    pub cancelled: bool,
    /// What went wrong.
    pub error: Option<NativeError>,
}

impl Outcome for ContractGlobOutcome {
    fn failed(error: NativeError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

#[napi]
impl OpenedTarget {
    /// Searches the directory or the file for a regular expression. What the policy does not allow
    /// and what `rules` deny is passed over.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractGrepOutcome>")]
    pub fn grep<'env>(
        &self,
        env: &'env Env,
        request: ContractGrepRequest,
        rules: Option<&ContractRules>,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        let rules = rules.map(|rules| Arc::clone(&rules.0));
        let (opened, cancel) = (self.opened(), cancel.flag());
        job::long(env, move || {
            match opened {
                Ok(opened) => grep(&opened, &request, rules.as_deref(), &cancel),
                Err(closed) => Err(Failed::Native(closed)),
            }
            .unwrap_or_else(|failed| {
                match failed.told("grep", &request.pattern, request.timeout_ms) {
                    Some(error) => ContractGrepOutcome::failed(error),
                    None => {
                        ContractGrepOutcome { cancelled: true, ..ContractGrepOutcome::default() }
                    }
                }
            })
        })
    }

    /// Names the files below the directory that fit a pattern. What the policy does not allow and
    /// what `rules` deny is passed over.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractGlobOutcome>")]
    pub fn glob<'env>(
        &self,
        env: &'env Env,
        request: ContractGlobRequest,
        rules: Option<&ContractRules>,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        let rules = rules.map(|rules| Arc::clone(&rules.0));
        let (opened, cancel) = (self.opened(), cancel.flag());
        job::long(env, move || {
            match opened {
                Ok(opened) => glob(&opened, &request, rules.as_deref(), &cancel),
                Err(closed) => Err(Failed::Native(closed)),
            }
            .unwrap_or_else(|failed| {
                match failed.told("glob", &request.pattern, request.timeout_ms) {
                    Some(error) => ContractGlobOutcome::failed(error),
                    None => {
                        ContractGlobOutcome { cancelled: true, ..ContractGlobOutcome::default() }
                    }
                }
            })
        })
    }
}

enum Failed {
    Search(GrepError),
    Native(NativeError),
}

impl From<GrepError> for Failed {
    fn from(error: GrepError) -> Self {
        Self::Search(error)
    }
}

impl Failed {
    /// Nothing for a cancellation.
    fn told(self, tool: &str, pattern: &str, timeout_ms: f64) -> Option<NativeError> {
        let error = match self {
            Self::Native(native) => return Some(native),
            Self::Search(GrepError::Cancelled { .. }) => return None,
            Self::Search(error) => error,
        };
        let (hint, said) = (error.hint(), error.to_string());
        if let GrepError::TimedOut { partial, .. } = error {
            let ms = options::milliseconds(timeout_ms).as_millis();
            let summary = format!("Search timed out after {ms}ms");
            let place = format!("{summary}: {tool}. {said}");
            let found = String::from_utf8_lossy(&partial).into_owned();
            let native = NativeError::new("PROCESS_TIMEOUT", summary, &place, hint);
            return Some(native.with("command", tool).with("output", found));
        }
        let native = NativeError::new("TOOL_GREP_FAILED", said.clone(), &said, hint);
        Some(native.with("pattern", pattern))
    }
}

/// What a search is run with.
struct Search<'a> {
    opened: &'a Opened,
    opener: Opener,
    rules: Option<&'a Rules>,
    tool: &'a str,
}

impl<'a> Search<'a> {
    fn new(
        opened: &'a Opened,
        rules: Option<&'a Rules>,
        tool: &'a str,
    ) -> std::result::Result<Self, Failed> {
        let below = opened.held.opener().map_err(|error| {
            let native = error::from_fs(&error);
            native.map_or_else(
                || Failed::Search(GrepError::Cancelled { path: opened.held.place().to_owned() }),
                Failed::Native,
            )
        })?;
        Ok(Self { opened, opener: below, rules, tool })
    }

    /// Whether a file may be seen, by its path below the directory.
    fn keeps(&self, relative: &Path) -> bool {
        let place = self.place(relative);
        self.opened.policy.allows(Access::Read, &place)
            && !self.rules.is_some_and(|rules| rules.denies_path(self.tool, "fs.read", &place))
    }

    fn place(&self, relative: &Path) -> std::path::PathBuf {
        self.opened.held.directory_place().join(relative)
    }

    fn shown(&self, relative: &Path) -> String {
        self.opened.policy.display(&self.place(relative)).to_string_lossy().into_owned()
    }

    fn run<T>(
        &self,
        most: u64,
        sidecar: Option<&SidecarRequest>,
        timeout: Duration,
        cancel: &AtomicBool,
        search: impl FnOnce(
            &Scope<'_>,
            &toolwright_search::OpenFile<'_>,
        ) -> std::result::Result<T, GrepError>,
    ) -> std::result::Result<T, GrepError> {
        let held = &self.opened.held;
        let is_file = matches!(held.kind(), HeldKind::File { .. });
        let scope = Scope {
            root: held.directory_place(),
            start: if is_file { held.name() } else { Path::new("") },
            keep: &|path| self.keeps(path),
            max_records: if sidecar.is_some() { u64::MAX } else { most },
            max_bytes: sidecar.map_or(MOST_BYTES, |sidecar| {
                options::size(sidecar.limit_bytes).saturating_add(BEYOND)
            }),
            deadline: Instant::now().checked_add(timeout),
            cancel,
        };
        search(&scope, &|path| self.opener.open(path))
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn grep(
    opened: &Opened,
    request: &ContractGrepRequest,
    rules: Option<&Rules>,
    cancel: &AtomicBool,
) -> std::result::Result<ContractGrepOutcome, Failed> {
    let search = Search::new(opened, rules, &request.tool_id)?;
    let most = options::bytes(request.max_matches);
    let globs: Vec<&str> = request.glob.iter().map(String::as_str).collect();
    let timeout = options::milliseconds(request.timeout_ms);
    let sidecar = request.sidecar.as_ref();
    let found: Found = search.run(most, sidecar, timeout, cancel, |scope, open| {
        toolwright_search::find(scope, &request.pattern, &globs, request.case_insensitive, open)
    })?;
    let line_limit = options::size(request.max_line_bytes);
    let matches = found.hits().take(usize::try_from(most).unwrap_or(usize::MAX)).map(|hit| {
        ContractGrepMatch {
            path: search.shown(&hit.path),
            line: u32::try_from(hit.line).unwrap_or(u32::MAX),
            text: clipped(hit.text, line_limit),
        }
    });
    let matches = Some(matches.collect());
    let truncated = found.truncated || found.count > most;
    let lines = found.hits().map(|hit| {
        let mut line = format!("{}:{}:", search.shown(&hit.path), hit.line).into_bytes();
        line.extend_from_slice(hit.text);
        line.push(b'\n');
        Cow::Owned(line)
    });
    let made = sidecar.filter(|_| truncated).map(|sidecar| sidecar.fill(lines)).transpose();
    Ok(ContractGrepOutcome {
        matches,
        files_scanned: Some(found.files_scanned as f64),
        truncated,
        sidecar: made.map_err(Failed::Native)?,
        unsearched: Some(found.unsearched as f64),
        ..ContractGrepOutcome::default()
    })
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn glob(
    opened: &Opened,
    request: &ContractGlobRequest,
    rules: Option<&Rules>,
    cancel: &AtomicBool,
) -> std::result::Result<ContractGlobOutcome, Failed> {
    let search = Search::new(opened, rules, &request.tool_id)?;
    let most = options::bytes(request.max_entries);
    let timeout = options::milliseconds(request.timeout_ms);
    let sidecar = request.sidecar.as_ref();
    let named: Named = search.run(most, sidecar, timeout, cancel, |scope, open| {
        toolwright_search::name(scope, &[&request.pattern], open)
    })?;
    let entries = named.paths().take(usize::try_from(most).unwrap_or(usize::MAX));
    let entries = Some(entries.map(|path| search.shown(&path)).collect());
    let truncated = named.truncated || named.count > most;
    let lines = named.paths().map(|path| {
        let place = opened.policy.display(&search.place(&path));
        let mut line = place.as_os_str().as_bytes().to_vec();
        line.push(b'\n');
        Cow::Owned(line)
    });
    let made = sidecar.filter(|_| truncated).map(|sidecar| sidecar.fill(lines)).transpose();
    Ok(ContractGlobOutcome {
        entries,
        truncated,
        sidecar: made.map_err(Failed::Native)?,
        unlisted: Some(named.unlisted as f64),
        ..ContractGlobOutcome::default()
    })
}

/// A line for a model: text, and not too much of it.
fn clipped(line: &[u8], limit: usize) -> String {
    if line.len() <= limit {
        return String::from_utf8_lossy(line).into_owned();
    }
    let mut text = options::text(line[..limit].to_vec(), limit);
    // The beginning of a character at the end was none of its own.
    while text.ends_with(char::REPLACEMENT_CHARACTER) {
        text.pop();
    }
    text.push('…');
    text
}
