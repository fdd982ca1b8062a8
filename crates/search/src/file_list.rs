//! Lists the files of a tree, as `rg --files -g PATTERN` does.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::GrepError;
use crate::left_out::SearchLeftOuts;
use crate::listing::{FileMetadata, WalkError};
use crate::output::Unsearched;
use crate::parallel::VisitorBuilder;
use crate::query::{OpenFile, PathFilter, Scope};
use crate::records;
use crate::search::{Found, Search};
use crate::stop_signal::Stopped;
use crate::tree::Visitor;
use crate::worker_output::WorkerOutput;

/// The files that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    records: Vec<u8>,
    /// How many there are.
    pub count: u64,
    /// Whether there are more.
    pub truncated: bool,
    /// The directories that could not be listed.
    pub unlisted: Unsearched,
    /// What was left out because of its name.
    pub left_out: SearchLeftOuts,
}

impl FileList {
    /// Paths relative to the root, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        records::paths(&self.records)
    }
}

/// Lists the files that a search would read: those whose names match `globs`, as `rg -g` takes them, and all
/// without any.
pub fn list_files(
    scope: &Scope<'_>,
    globs: &[&str],
    open: &OpenFile<'_>,
) -> Result<FileList, GrepError> {
    let lister = FileLister(scope);
    let search = Search { scope, display: scope.start, open, globs, frees_start: true };
    let Found { output, unsearched: unlisted, left_out } =
        search.run(&lister, records::paths_to_text)?;
    let truncated = output.full;
    let (records, count) = output.into_lines();
    Ok(FileList { records, count, truncated, unlisted, left_out })
}

struct FileLister<'a>(&'a Scope<'a>);

impl VisitorBuilder for FileLister<'_> {
    fn max_files_per_task(&self) -> usize {
        // Once listed, a name costs next to nothing.
        usize::MAX
    }

    fn build<'o>(&'o self, output: &'o WorkerOutput<'_>) -> Box<dyn Visitor + 'o> {
        Box::new(NameVisitor { output, filter: self.0.filter })
    }

    fn visit_start(&self, _: &File, output: &WorkerOutput<'_>) -> Result<(), WalkError> {
        // As in ripgrep, a file that was named is listed whatever the patterns say.
        let mut visitor = self.build(output);
        visitor.visit(self.0.start, FileMetadata::default()).map(drop).map_err(WalkError::Stopped)
    }
}

struct NameVisitor<'o> {
    output: &'o WorkerOutput<'o>,
    filter: &'o PathFilter<'o>,
}

impl Visitor for NameVisitor<'_> {
    fn visit(&mut self, path: &Path, _: FileMetadata) -> Result<bool, Stopped> {
        if !(self.filter)(path) {
            return Ok(true);
        }
        let more = self.output.push_line(&[path.as_os_str().as_bytes(), b"\0"], true);
        self.output.stopped().map_or(Ok(more), Err)
    }
}
