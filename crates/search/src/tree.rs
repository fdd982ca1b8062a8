//! The tree below a directory, divided into tasks in path order. A task may be replaced by more
//! tasks, so a search that is full after the first file has listed one directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use crate::ignore_rules::{ActiveRules, IgnoreRules, Verdict};
use crate::left_out::LeftOutLog;
use crate::listing::{FileMetadata, Listing, Task, WalkError, has_moved};
use crate::query::OpenFile;
use crate::stop_signal::{StopSignal, Stopped};
use crate::worker_output::WorkerOutput;

/// Handles the files that a walk does not ignore.
pub(crate) trait Visitor {
    /// Returns false if no other file is wanted. The metadata are known if the builder asked for them.
    fn visit(&mut self, path: &Path, metadata: FileMetadata) -> Result<bool, Stopped>;
}

/// The part of a search that all its threads share.
pub(crate) struct Tree<'a> {
    pub(crate) open: &'a OpenFile<'a>,
    pub(crate) stop_signal: StopSignal<'a>,
    pub(crate) rules: IgnoreRules<'a>,
    pub(crate) log: &'a LeftOutLog<'a>,
    pub(crate) max_files_per_task: usize,
    pub(crate) with_metadata: bool,
}

impl Tree<'_> {
    /// Divides `start` into tasks.
    pub(crate) fn begin(&self, start: &Path) -> Result<Vec<Task>, WalkError> {
        self.stop_signal.check().map_err(WalkError::Stopped)?;
        let listing =
            Listing::read(start.to_owned(), self.open, self.with_metadata, self.stop_signal)?;
        let rules = self.rules.begin(start, listing.markers);
        let mut tasks = Vec::new();
        Task::divide(listing, &rules, self.max_files_per_task, &mut tasks);
        Ok(tasks)
    }

    /// Runs `task`, and appends the tasks that replace it to `children`. Ends early if the visitor
    /// wants no more.
    pub(crate) fn run(
        &self,
        task: &Task,
        output: &WorkerOutput<'_>,
        visitor: &mut dyn Visitor,
        children: &mut Vec<Task>,
    ) -> Result<(), Stopped> {
        let Task { listing, entries, rules } = task;
        let mut path = Vec::with_capacity(256);
        for index in entries.clone() {
            let is_dir = listing.is_dir(index);
            listing.path_into(index, &mut path);
            let path = Path::new(OsStr::from_bytes(&path));
            match self.rules.decide(rules, path, listing.name(index), is_dir) {
                Verdict::Shown => {}
                Verdict::Unasked => continue,
                Verdict::LeftOut(why) => {
                    self.log.note(path, why, is_dir);
                    continue;
                }
                Verdict::ShownByName(why) if is_dir => {
                    output.enter(path);
                    self.enter(path, &rules.only_by_name(why), output, children)?;
                    continue;
                }
                Verdict::ShownByName(why) => self.log.note_shown(path, why),
            }
            output.enter(path);
            if is_dir {
                self.enter(path, rules, output, children)?;
            } else if !visitor.visit(path, listing.metadata(index))? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn enter(
        &self,
        dir: &Path,
        rules: &Arc<ActiveRules>,
        output: &WorkerOutput<'_>,
        children: &mut Vec<Task>,
    ) -> Result<(), Stopped> {
        self.stop_signal.check()?;
        output.count_opened();
        match Listing::read(dir.to_owned(), self.open, self.with_metadata, self.stop_signal) {
            Ok(listing) => {
                let rules = self.rules.enter(rules, dir, listing.markers);
                Task::divide(listing, &rules, self.max_files_per_task, children);
            }
            Err(WalkError::Stopped(stopped)) => return Err(stopped),
            Err(WalkError::Failed(error)) if has_moved(&error) => {}
            Err(WalkError::Failed(error)) => output.skip(dir, error.to_string()),
        }
        Ok(())
    }
}
