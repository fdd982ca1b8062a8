//! Structured searches of an opened target.

mod values;

use std::borrow::Cow;
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use napi::bindgen_prelude::{ClassInstance, Object};
use napi::{Env, Result};
use napi_derive::napi;
use toolwright_core::access::target::Target;
use toolwright_core::access::visibility::Visibility;
use toolwright_core::failure::Failure;
use toolwright_core::voice;
use toolwright_fs::{FsError, Opener, TargetKind};
use toolwright_policy::Rules;
use toolwright_search::{FileList, GrepError, Hit, LineMatches, LineQuery, Scope, Unsearched};
use values::{
    ContractGlobOutcome, ContractGlobRequest, ContractGrepMatch, ContractGrepOutcome,
    ContractGrepRequest,
};

use super::rules::ContractRules;
use super::sidecar::SidecarRequest;
use super::target::OpenedTarget;
use super::{Unfinished, file_error};
use crate::cancel::CancelHandle;
use crate::error::NativeError;
use crate::{job, options};

/// What records take at most where nothing else is said.
const MOST_BYTES: usize = 64 << 20;
/// Beyond the limit of a sidecar file, so that it is certain to become full.
const BEYOND: usize = 64 << 10;

#[napi]
impl OpenedTarget {
    /// Searches the directory or the file, and then those of `also`, for a regular expression. What the
    /// policy does not allow is passed over, and what any of `rules` denies, or asks about and nobody has agreed to.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractGrepOutcome>")]
    pub fn grep<'env>(
        &self,
        env: &'env Env,
        request: ContractGrepRequest,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        self.search(env, also, rules, cancel, move |opened, rules, cancel| {
            grep(opened, &request, rules, cancel)
                .map_err(|failed| failed.told("grep", &request.pattern, request.timeout_ms))
        })
    }

    /// Names the files below the directory that fit a pattern, and then those below the directories of
    /// `also`. What the policy does not allow is passed over, and what any of `rules` denies, or asks about and nobody has agreed to.
    #[napi(catch_unwind, ts_return_type = "Promise<ContractGlobOutcome>")]
    pub fn glob<'env>(
        &self,
        env: &'env Env,
        request: ContractGlobRequest,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
    ) -> Result<Object<'env>> {
        self.search(env, also, rules, cancel, move |opened, rules, cancel| {
            glob(opened, &request, rules, cancel)
                .map_err(|failed| failed.told("glob", &request.pattern, request.timeout_ms))
        })
    }
}

impl OpenedTarget {
    /// Searches all of them on a thread of the search's own. An error of `search` is none for a cancellation.
    fn search<'env, T: Unfinished>(
        &self,
        env: &'env Env,
        also: Vec<ClassInstance<'_, OpenedTarget>>,
        rules: Vec<ClassInstance<'_, ContractRules>>,
        cancel: &CancelHandle,
        search: impl FnOnce(
            &[Arc<Target>],
            &[Arc<Rules>],
            &AtomicBool,
        ) -> std::result::Result<T, Option<NativeError>>
        + Send
        + 'static,
    ) -> Result<Object<'env>> {
        let rules: Vec<Arc<Rules>> = rules.iter().map(|rules| Arc::clone(&rules.0)).collect();
        let also = also.iter().map(|target| target.target());
        let opened = iter::once(self.target()).chain(also);
        let (opened, cancel) = (opened.collect::<std::result::Result<Vec<_>, Failure>>(), cancel.flag());
        job::long(env, move || {
            opened
                .map_err(|failure| Some(failure.into()))
                .and_then(|opened| search(&opened, &rules, &cancel))
                .unwrap_or_else(T::unfinished)
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
    fn of(opened: &Target, error: &FsError) -> Self {
        file_error::told(error).map_or_else(
            || Self::Search(GrepError::Cancelled { path: opened.file.real_path().to_owned() }),
            Self::Native,
        )
    }

    /// Nothing for a cancellation.
    fn told(self, tool: &str, pattern: &str, timeout_ms: f64) -> Option<NativeError> {
        let error = match self {
            Self::Native(native) => return Some(native),
            Self::Search(GrepError::Cancelled { .. }) => return None,
            Self::Search(error) => error,
        };
        let (hint, said) = (voice::searches::hint(&error), error.to_string());
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
    opened: &'a Target,
    opener: Opener,
    /// Those of the session, then those above it.
    rules: &'a [Arc<Rules>],
    tool: &'a str,
    agreed: bool,
}

impl<'a> Search<'a> {
    fn new(
        opened: &'a Target,
        rules: &'a [Arc<Rules>],
        tool: &'a str,
        agreed: bool,
    ) -> std::result::Result<Self, Failed> {
        let below = opened.file.opener().map_err(|error| Failed::of(opened, &error))?;
        Ok(Self { opened, opener: below, rules, tool, agreed })
    }

    /// Whether a file may be seen, by its path below the directory.
    fn keeps(&self, relative: &Path) -> bool {
        self.visibility().shows(&self.place(relative))
    }

    fn visibility(&self) -> Visibility<'_> {
        Visibility {
            policy: &self.opened.policy,
            rules: self.rules,
            tool: self.tool,
            is_approved: self.agreed,
        }
    }

    fn place(&self, relative: &Path) -> std::path::PathBuf {
        self.opened.file.directory_path().join(relative)
    }

    /// What a search was kept from, as far as the caller may know of it.
    fn unsearched<'u>(&'u self, unsearched: &'u Unsearched) -> impl Iterator<Item = String> + 'u {
        let named = unsearched.named.iter().filter(|(path, _)| self.keeps(path));
        let named = named.map(|(path, why)| format!("{}: {why}", self.display(path)));
        let rest = unsearched.total.saturating_sub(unsearched.named.len() as u64);
        named.chain((rest > 0).then(|| format!("and {rest} more")))
    }

    fn display(&self, relative: &Path) -> String {
        self.opened.policy.display_path(&self.place(relative)).to_string_lossy().into_owned()
    }

    fn run<T>(
        &self,
        most: u64,
        sidecar: Option<&SidecarRequest>,
        deadline: Option<Instant>,
        cancel: &AtomicBool,
        search: impl FnOnce(
            &Scope<'_>,
            &toolwright_search::OpenFile<'_>,
        ) -> std::result::Result<T, GrepError>,
    ) -> std::result::Result<T, GrepError> {
        let held = &self.opened.file;
        let is_file = matches!(held.kind(), TargetKind::File { .. });
        let scope = Scope {
            root: held.directory_path(),
            start: if is_file { held.name() } else { Path::new("") },
            filter: &|path| self.keeps(path),
            max_results: if sidecar.is_some() { u64::MAX } else { most },
            max_bytes: sidecar.map_or(MOST_BYTES, |sidecar| {
                options::size(sidecar.limit_bytes).saturating_add(BEYOND)
            }),
            deadline,
            cancel,
        };
        search(&scope, &|path| self.opener.open(path))
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn grep(
    opened: &[Arc<Target>],
    request: &ContractGrepRequest,
    rules: &[Arc<Rules>],
    cancel: &AtomicBool,
) -> std::result::Result<ContractGrepOutcome, Failed> {
    let most = options::bytes(request.max_matches);
    let globs: Vec<&str> = request.glob.iter().map(String::as_str).collect();
    let deadline = Instant::now().checked_add(options::milliseconds(request.timeout_ms));
    let query = LineQuery {
        pattern: &request.pattern,
        globs: &globs,
        case_insensitive: request.case_insensitive,
    };
    let sidecar = request.sidecar.as_ref();
    let mut all: Vec<(Search<'_>, LineMatches)> = Vec::with_capacity(opened.len());
    for opened in opened {
        let search = Search::new(opened, rules, &request.tool_id, request.agreed)?;
        let found = search.run(most, sidecar, deadline, cancel, |scope, open| {
            toolwright_search::find_lines(scope, &query, open)
        })?;
        all.push((search, found));
    }
    let hits = || all.iter().flat_map(|(search, found)| found.hits().map(move |hit| (search, hit)));
    let line_limit = options::size(request.max_line_bytes);
    let shown = |(search, hit): (&Search<'_>, Hit<'_>)| ContractGrepMatch {
        path: search.display(&hit.path),
        line: u32::try_from(hit.line).unwrap_or(u32::MAX),
        text: clipped(hit.text, line_limit),
    };
    let most_shown = usize::try_from(most).unwrap_or(usize::MAX);
    let matches = hits().take(most_shown).map(shown);
    let count: u64 = all.iter().map(|(_, found)| found.count).sum();
    let is_stopped = all.iter().any(|(_, found)| found.truncated);
    let truncated = is_stopped || count > most;
    let last = truncated.then(|| {
        // The first half of what fits is for the beginning.
        let room = most_shown / 2;
        let before = hits().count().saturating_sub(room).max(most_shown - room);
        hits().skip(before).map(shown).collect()
    });
    let lines = hits().map(|(search, hit)| {
        let mut line = format!("{}:{}:", search.display(&hit.path), hit.line).into_bytes();
        line.extend_from_slice(hit.text);
        line.push(b'\n');
        Cow::Owned(line)
    });
    let made = sidecar.filter(|_| truncated).map(|sidecar| sidecar.fill(lines)).transpose();
    let unsearched = all.iter().flat_map(|(search, found)| search.unsearched(&found.unsearched));
    Ok(ContractGrepOutcome {
        matches: Some(matches.collect()),
        last,
        count: (!is_stopped).then_some(count as f64),
        files_scanned: Some(all.iter().map(|(_, found)| found.files_searched).sum::<u64>() as f64),
        truncated,
        sidecar: made.map_err(Failed::Native)?,
        not_searched: Some(unsearched.collect()),
        ..ContractGrepOutcome::default()
    })
}

fn glob(
    opened: &[Arc<Target>],
    request: &ContractGlobRequest,
    rules: &[Arc<Rules>],
    cancel: &AtomicBool,
) -> std::result::Result<ContractGlobOutcome, Failed> {
    let most = options::bytes(request.max_entries);
    let deadline = Instant::now().checked_add(options::milliseconds(request.timeout_ms));
    let sidecar = request.sidecar.as_ref();
    let mut all: Vec<(Search<'_>, FileList)> = Vec::with_capacity(opened.len());
    for opened in opened {
        if opened.file.kind() != TargetKind::Directory {
            let path = opened.file.display_path().to_owned();
            return Err(Failed::of(opened, &FsError::NotADirectory { path }));
        }
        let search = Search::new(opened, rules, &request.tool_id, request.agreed)?;
        let named = search.run(most, sidecar, deadline, cancel, |scope, open| {
            toolwright_search::list_files(scope, &[&request.pattern], open)
        })?;
        all.push((search, named));
    }
    let paths =
        || all.iter().flat_map(|(search, named)| named.paths().map(move |path| (search, path)));
    let entries = paths().take(usize::try_from(most).unwrap_or(usize::MAX));
    let entries = entries.map(|(search, path)| search.display(&path));
    let count: u64 = all.iter().map(|(_, named)| named.count).sum();
    let truncated = all.iter().any(|(_, named)| named.truncated) || count > most;
    let lines = paths().map(|(search, path)| {
        let place = search.opened.policy.display_path(&search.place(&path));
        let mut line = place.as_os_str().as_bytes().to_vec();
        line.push(b'\n');
        Cow::Owned(line)
    });
    let made = sidecar.filter(|_| truncated).map(|sidecar| sidecar.fill(lines)).transpose();
    let unlisted = all.iter().flat_map(|(search, named)| search.unsearched(&named.unlisted));
    Ok(ContractGlobOutcome {
        entries: Some(entries.collect()),
        truncated,
        sidecar: made.map_err(Failed::Native)?,
        not_listed: Some(unlisted.collect()),
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
