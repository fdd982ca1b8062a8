//! What is in a tree: how many files in which languages and directories, which projects, and where
//! their programs begin.
//!
//! The files are those that a search without patterns would read. Nothing else is counted, so that
//! no number tells of a file that is not shown.

mod directory_tally;
mod languages;
mod manifest;
mod manifest_fields;
mod manifest_kinds;
mod manifest_lines;
mod tally;

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

pub use directory_tally::{DirectoryTally, MAX_DEPTH};
pub use manifest::{MAX_MANIFEST_BYTES, Manifest, ManifestFacts, ManifestProblem};
pub use tally::Count;
use tally::Tally;

use crate::error::GrepError;
use crate::listing::{FileMetadata, WalkError};
use crate::output::Unsearched;
use crate::parallel::VisitorBuilder;
use crate::query::{OpenFile, Scope};
use crate::search::{Found, Search};
use crate::stop_signal::{StopSignal, Stopped};
use crate::tree::Visitor;
use crate::worker_output::WorkerOutput;

/// The stop signal is checked once for this many files.
const FILES_PER_CHECK: usize = 64;

/// How much of a README is read.
const README_BYTES: usize = 4096;

/// What is in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// All files, by directory.
    pub tree: DirectoryTally,
    /// The files in a known language, without those of dependencies: the most bytes first.
    pub languages: Vec<(&'static str, Count)>,
    /// Files in directories such as `node_modules`, which hold what others wrote.
    pub dependencies: Count,
    /// The manifests nearest to the start.
    pub manifests: Vec<Manifest>,
    /// How many manifests there are in all.
    pub manifest_count: u64,
    /// Files in which programs commonly begin, relative to the root: those nearest to the start.
    pub entry_points: Vec<PathBuf>,
    /// The text in which the start introduces itself.
    pub readme: Option<Readme>,
    /// The directories that could not be listed.
    pub unlisted: Unsearched,
}

/// The beginning of a README.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readme {
    /// Where it is, relative to the root.
    pub path: PathBuf,
    /// Its first bytes; not always whole characters.
    pub head: Vec<u8>,
}

/// Looks at the files below a directory. The first `depth` levels are kept by name, at most
/// [`MAX_DEPTH`]; the limits on results in `scope` do not apply.
///
/// ```
/// use std::fs::{self, File};
/// use std::path::Path;
/// use std::sync::atomic::AtomicBool;
///
/// use toolwright_search::{Parallelism, Scope, overview};
///
/// let directory = tempfile::tempdir()?;
/// fs::write(directory.path().join("Cargo.toml"), "[package]\nname = \"small\"\n")?;
/// fs::create_dir(directory.path().join("src"))?;
/// fs::write(directory.path().join("src/main.rs"), "fn main() {}\n")?;
/// let root = directory.path().canonicalize()?;
/// let scope = Scope {
///     root: &root,
///     start: Path::new(""),
///     filter: &|_| true,
///     max_results: u64::MAX,
///     max_bytes: usize::MAX,
///     deadline: None,
///     cancel: &AtomicBool::new(false),
///     parallelism: Parallelism::default(),
/// };
/// // A real caller passes an opener that cannot leave the root.
/// let found = overview(&scope, 2, &|path| File::open(root.join(path)))?;
/// assert_eq!(found.tree.files, 2);
/// assert_eq!(found.languages[0].0, "TOML");
/// assert_eq!(found.manifests[0].facts.as_ref().ok().and_then(|it| it.name.as_deref()), Some("small"));
/// assert_eq!(found.entry_points, [Path::new("src/main.rs")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn overview(
    scope: &Scope<'_>,
    depth: usize,
    open: &OpenFile<'_>,
) -> Result<Overview, GrepError> {
    let counting = Counting { scope, open, depth: depth.min(MAX_DEPTH), total: Mutex::default() };
    let search = Search { scope, display: scope.start, open, globs: &[], frees_start: true };
    let Found { unsearched: unlisted, .. } = search.run(&counting, <[u8]>::to_vec)?;
    let Counting { total, .. } = counting;
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let halt = AtomicBool::new(false);
    let stop_signal = StopSignal { deadline: scope.deadline, cancel: scope.cancel, halt: &halt };
    describe(&total, unlisted, scope, open, stop_signal)
}

/// Reads what the counted files say.
fn describe(
    total: &Tally,
    unlisted: Unsearched,
    scope: &Scope<'_>,
    open: &OpenFile<'_>,
    stop_signal: StopSignal<'_>,
) -> Result<Overview, GrepError> {
    let below_start = |path: &[u8]| scope.start.join(OsStr::from_bytes(path));
    let mut manifests = Vec::new();
    for path in total.manifests.paths().map(below_start) {
        stop_signal.check().map_err(|stopped| stopped_at(stopped, &path))?;
        manifests.extend(manifest::read(path, open));
    }
    let mut languages: Vec<_> =
        total.languages.iter().map(|(&language, &count)| (language, count)).collect();
    languages.sort_by_key(|(_, count)| Reverse(count.bytes));
    let readme = total.readme.as_ref().and_then(|(_, name)| {
        let path = below_start(name);
        let head = head(open, &path, README_BYTES)?;
        Some(Readme { path, head })
    });
    Ok(Overview {
        tree: total.tree.clone(),
        languages,
        dependencies: total.dependencies,
        manifests,
        manifest_count: total.manifests.total,
        entry_points: total.entry_points.paths().map(below_start).collect(),
        readme,
        unlisted,
    })
}

fn stopped_at(stopped: Stopped, path: &Path) -> GrepError {
    let path = path.to_owned();
    match stopped {
        Stopped::TimedOut => GrepError::TimedOut { path, partial: Vec::new(), matches: 0 },
        Stopped::Cancelled | Stopped::Halted => GrepError::Cancelled { path },
    }
}

/// The first bytes of a regular file.
fn head(open: &OpenFile<'_>, path: &Path, limit: usize) -> Option<Vec<u8>> {
    let file = open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::with_capacity(limit);
    file.take(limit as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

struct Counting<'a> {
    scope: &'a Scope<'a>,
    open: &'a OpenFile<'a>,
    depth: usize,
    total: Mutex<Tally>,
}

impl VisitorBuilder for Counting<'_> {
    fn max_files_per_task(&self) -> usize {
        // A large directory is divided among the threads.
        1024
    }

    fn wants_metadata(&self) -> bool {
        true
    }

    fn build<'o>(&'o self, output: &'o WorkerOutput<'_>) -> Box<dyn Visitor + 'o> {
        Box::new(Counter { counting: self, output, tally: Tally::default(), visited: 0 })
    }

    fn visit_start(&self, file: &File, output: &WorkerOutput<'_>) -> Result<(), WalkError> {
        let metadata = file.metadata()?;
        let is_executable = metadata.permissions().mode() & 0o111 != 0;
        let metadata = FileMetadata { bytes: metadata.len(), is_executable };
        self.build(output).visit(self.scope.start, metadata).map(drop).map_err(WalkError::Stopped)
    }
}

/// The tally of one thread, merged into the total at its end.
struct Counter<'a> {
    counting: &'a Counting<'a>,
    output: &'a WorkerOutput<'a>,
    tally: Tally,
    visited: usize,
}

impl Counter<'_> {
    fn language_of(&self, path: &Path, name: &[u8], is_executable: bool) -> Option<&'static str> {
        let by_name = languages::by_name(name);
        if by_name.is_some() || !is_executable || !languages::may_be_script(name) {
            return by_name;
        }
        self.output.count_opened();
        let content = head(self.counting.open, path, languages::FIRST_LINE_BYTES)?;
        languages::by_first_line(&content)
    }
}

impl Visitor for Counter<'_> {
    fn visit(&mut self, path: &Path, metadata: FileMetadata) -> Result<bool, Stopped> {
        let Counting { scope, depth, .. } = self.counting;
        if self.visited.is_multiple_of(FILES_PER_CHECK) {
            self.output.stop_signal().check()?;
        }
        self.visited += 1;
        if !(scope.filter)(path) {
            return Ok(true);
        }
        let below = path.strip_prefix(scope.start).unwrap_or(path);
        // A start that is a file has only its name.
        let below = if below.as_os_str().is_empty() { path } else { below };
        let FileMetadata { bytes, is_executable } = metadata;
        let is_of_dependency = self.tally.add(below.as_os_str().as_bytes(), bytes, *depth);
        let name = path.file_name().unwrap_or_default().as_bytes();
        if !is_of_dependency && let Some(language) = self.language_of(path, name, is_executable) {
            self.tally.add_language(language, bytes);
        }
        Ok(true)
    }
}

impl Drop for Counter<'_> {
    fn drop(&mut self) {
        let mut total = self.counting.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.merge(std::mem::take(&mut self.tally));
    }
}
