//! The course of every search: look at the start, walk from there, and collect the output.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::error::GrepError;
use crate::ignore_rules::IgnoreRules;
use crate::left_out::{LeftOutLog, SearchLeftOuts};
use crate::listing::{WalkError, display_path};
use crate::name_filter::NameFilter;
use crate::output::{Output, Unsearched};
use crate::parallel::{self, VisitorBuilder};
use crate::query::{OpenFile, Scope};
use crate::stop_signal::{StopSignal, Stopped};
use crate::tree::Tree;
use crate::work_queue::{Outcome, WorkQueue};
use crate::worker_output::WorkerOutput;

/// Everything that a search needs, whatever it does with the files.
pub(crate) struct Search<'a> {
    pub(crate) scope: &'a Scope<'a>,
    /// The name of the start in the output and in errors.
    pub(crate) display: &'a Path,
    pub(crate) open: &'a OpenFile<'a>,
    /// Patterns for names, relative to the start.
    pub(crate) globs: &'a [&'a str],
    /// Whether a start that is left out by its name is searched by the rules inside of it alone.
    pub(crate) frees_start: bool,
}

/// What a search has found.
pub(crate) struct Found {
    pub(crate) output: Output,
    pub(crate) unsearched: Unsearched,
    pub(crate) left_out: SearchLeftOuts,
}

enum Start {
    File(File),
    Directory,
    Other,
}

impl Search<'_> {
    /// Runs the search. `to_text` turns the output into text for an error.
    pub(crate) fn run(
        self,
        builder: &dyn VisitorBuilder,
        to_text: fn(&[u8]) -> Vec<u8>,
    ) -> Result<Found, GrepError> {
        let Self { scope, display, open, globs, frees_start } = self;
        let names = NameFilter::new(scope.start, globs)?;
        let log = LeftOutLog::new(scope.filter, NameFilter::asked(globs));
        let Scope { root, start, deadline, cancel, parallelism, .. } = *scope;
        let halt = AtomicBool::new(false);
        let stop_signal = StopSignal { deadline, cancel, halt: &halt };
        let queue = WorkQueue::new(scope.max_bytes, scope.max_results, stop_signal);
        let kind = open_start(start, open).map_err(|error| refused(display, error))?;
        let problem = match (&kind, names.problem()) {
            // No pattern chooses a start that is a file, so a broken one cannot be its name.
            (Start::File(_), Some(problem)) => return Err(problem),
            (_, problem) => problem,
        };
        let output = WorkerOutput::new(&queue);
        output.enter(start);
        let walked = match &kind {
            Start::Directory => {
                let rules = IgnoreRules::new(root, open, names).freeing_start(frees_start);
                let max_files_per_task = builder.max_files_per_task();
                let with_metadata = builder.wants_metadata();
                let tree =
                    Tree { open, stop_signal, rules, log: &log, max_files_per_task, with_metadata };
                tree.begin(start).and_then(|tasks| {
                    parallel::run(&tree, &queue, &output, tasks, parallelism, builder)
                        .map_err(WalkError::Stopped)
                })
            }
            Start::File(file) => builder.visit_start(file, &output).map(|()| {
                output.flush();
            }),
            Start::Other => return Err(GrepError::NotSearchable { path: display.to_owned() }),
        };
        match walked {
            Ok(()) => {}
            Err(WalkError::Failed(error)) => return Err(refused(display, error)),
            Err(WalkError::Stopped(stopped)) => queue.stop(stopped, None, output.take()),
        }
        drop(output);
        let Outcome { output, unsearched, stopped } = queue.into_outcome();
        let Some((stopped, path)) = stopped else {
            return match problem {
                Some(problem) if output.is_empty() => Err(problem),
                // How far the threads of a full search have come depends on the machine.
                _ if output.full => {
                    Ok(Found { output, unsearched, left_out: SearchLeftOuts::default() })
                }
                _ => Ok(Found { output, unsearched, left_out: log.into_all() }),
            };
        };
        let path = display_path(&path, start, display);
        Err(match stopped {
            Stopped::TimedOut => {
                let (lines, matches) = output.into_lines();
                GrepError::TimedOut { path, partial: to_text(&lines), matches }
            }
            Stopped::Cancelled | Stopped::Halted => GrepError::Cancelled { path },
        })
    }
}

fn open_start(start: &Path, open: &OpenFile<'_>) -> io::Result<Start> {
    if start.as_os_str().is_empty() {
        return Ok(Start::Directory);
    }
    let file = open(start)?;
    let metadata = file.metadata()?;
    Ok(if metadata.is_dir() {
        Start::Directory
    } else if metadata.is_file() {
        Start::File(file)
    } else {
        Start::Other
    })
}

fn refused(display: &Path, source: io::Error) -> GrepError {
    let path = display.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => GrepError::Missing { path },
        _ => GrepError::Unreadable { path, source },
    }
}
