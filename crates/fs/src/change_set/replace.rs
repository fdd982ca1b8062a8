//! Change sets that replace the files in their way.

use std::sync::atomic::AtomicBool;

use super::{Change, ChangeSet, ChangedFiles, FileChange, Place};
use crate::open_target::{self, TargetKind};
use crate::{OpenTarget, Root, UpdateError, WriteOptions};

/// Where the new content of a file comes from.
enum Content {
    /// From the change with this index.
    Own(usize),
    /// The file goes, and the change with this index makes of it what the next one gets.
    ForNext(usize),
    /// From the file before.
    OfLast,
}

impl ChangeSet<'_> {
    /// As [`Self::run`], but a file that stands where one is created, or moved, is replaced. A move
    /// over a file is then two of [`ChangedFiles::files`]: one that is deleted and one that is updated.
    ///
    /// # Errors
    ///
    /// As [`Self::run`]. A file that appears meanwhile is not replaced.
    pub fn run_replacing<E>(
        &self,
        options: &WriteOptions,
        cancel: &AtomicBool,
        mut transform: impl FnMut(usize, &[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<ChangedFiles, UpdateError<E>> {
        let mut changes = Vec::with_capacity(self.changes.len());
        let mut contents = Vec::with_capacity(self.changes.len());
        for (index, &FileChange { place, change }) in self.changes.iter().enumerate() {
            let change = match change {
                Change::Create { .. } if is_file(self.root, place) => Change::Update,
                Change::Move { to } if is_file(self.root, to) => {
                    changes.push(FileChange { place, change: Change::Delete });
                    contents.push(Content::ForNext(index));
                    changes.push(FileChange { place: to, change: Change::Update });
                    contents.push(Content::OfLast);
                    continue;
                }
                change => change,
            };
            changes.push(FileChange { place, change });
            contents.push(Content::Own(index));
        }
        let mut moved = Vec::new();
        ChangeSet { changes: &changes, ..*self }.run(options, cancel, |index, old| {
            match contents[index] {
                Content::Own(change) => transform(change, old),
                Content::ForNext(change) => {
                    moved = transform(change, old)?;
                    Ok(Vec::new())
                }
                Content::OfLast => Ok(std::mem::take(&mut moved)),
            }
        })
    }
}

/// Where that cannot be known, it is none: the change itself says why.
fn is_file(root: &Root, place: Place<'_>) -> bool {
    let is_file = |target: &OpenTarget| matches!(target.kind(), TargetKind::File { .. });
    match place {
        Place::Path(path) => open_target::open_below(root, path).is_ok_and(|one| is_file(&one)),
        Place::Opened(target) => is_file(target),
    }
}
