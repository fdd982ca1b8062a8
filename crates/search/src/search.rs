//! The course of every search: look at the start, walk from there, and collect the output.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::error::GrepError;
use crate::ignore_rules::IgnoreRules;
use crate::listing::{WalkError, display_path};
use crate::name_filter::NameFilter;
use crate::output::{Output, Unsearched};
use crate::parallel::{self, Parallelism, VisitorBuilder};
use crate::query::{OpenFile, Scope};
use crate::stop_signal::{StopSignal, Stopped};
use crate::tree::Tree;
use crate::work_queue::{Outcome, WorkQueue};
use crate::worker_output::WorkerOutput;

/// Everything that a search needs, whatever it does with the files.
pub(crate) struct Search<'a> {
    pub(crate) root: &'a Path,
    pub(crate) start: &'a Path,
    /// The name of `start` in the output and in errors.
    pub(crate) display: &'a Path,
    pub(crate) open: &'a OpenFile<'a>,
    pub(crate) names: NameFilter,
    pub(crate) max_bytes: usize,
    pub(crate) max_matches: u64,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) parallelism: Parallelism,
}

enum Start {
    File(File),
    Directory,
    Other,
}

impl<'a> Search<'a> {
    pub(crate) fn in_scope(
        scope: &Scope<'a>,
        names: NameFilter,
        open: &'a OpenFile<'a>,
        parallelism: Parallelism,
    ) -> Self {
        let Scope { root, start, max_results, max_bytes, deadline, cancel, .. } = *scope;
        let (display, max_matches) = (start, max_results);
        Self {
            root,
            start,
            display,
            open,
            names,
            max_bytes,
            max_matches,
            deadline,
            cancel,
            parallelism,
        }
    }

    /// Runs the search. `to_text` turns the output into text for an error.
    pub(crate) fn run(
        self,
        builder: &dyn VisitorBuilder,
        to_text: fn(&[u8]) -> Vec<u8>,
    ) -> Result<(Output, Unsearched), GrepError> {
        let Self { root, start, display, open, .. } = self;
        let halt = AtomicBool::new(false);
        let stop_signal = StopSignal { deadline: self.deadline, cancel: self.cancel, halt: &halt };
        let queue = WorkQueue::new(self.max_bytes, self.max_matches, stop_signal);
        let kind = open_start(start, open).map_err(|error| refused(display, error))?;
        let output = WorkerOutput::new(&queue);
        output.enter(start);
        let walked = match &kind {
            Start::Directory => {
                let rules = IgnoreRules::new(root, open, self.names);
                let max_files_per_task = builder.max_files_per_task();
                let tree = Tree { root, open, stop_signal, rules, max_files_per_task };
                tree.begin(start).and_then(|tasks| {
                    parallel::run(&tree, &queue, &output, tasks, self.parallelism, builder)
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
        let Some((stopped, path)) = stopped else { return Ok((output, unsearched)) };
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
