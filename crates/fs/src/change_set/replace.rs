//! Change sets that replace the files in their way.

use std::sync::atomic::AtomicBool;

use super::{Before, Change, ChangeSet, ChangedFiles, FileChange, Place, Unwatched, Watch};
use crate::open_target::{self, LastLink, TargetKind};
use crate::{OpenTarget, UpdateError, WriteOptions};

impl ChangeSet<'_> {
    /// As [`Self::run`], but a file that stands where one is created, or a file or link where one is
    /// moved to, is replaced. To create is to write: a link is followed. A move over a file is two of
    /// [`ChangedFiles::files`]: one that is deleted and one that is replaced.
    ///
    /// # Errors
    ///
    /// As [`Self::run`]. A file that appears meanwhile is not replaced.
    pub fn run_replacing<E>(
        &self,
        options: &WriteOptions,
        cancel: &AtomicBool,
        transform: impl FnMut(usize, Before<'_>) -> Result<Vec<u8>, E>,
    ) -> Result<ChangedFiles, UpdateError<E>> {
        self.run_replacing_watched(options, cancel, transform, &mut Unwatched)
    }

    /// As [`Self::run_replacing`], with someone who may refuse the changes once they are known.
    pub fn run_replacing_watched<E>(
        &self,
        options: &WriteOptions,
        cancel: &AtomicBool,
        transform: impl FnMut(usize, Before<'_>) -> Result<Vec<u8>, E>,
        watch: &mut impl Watch<E>,
    ) -> Result<ChangedFiles, UpdateError<E>> {
        let opened: Vec<Option<OpenTarget>> = self
            .changes
            .iter()
            .map(|change| match change {
                FileChange { place: Place::Path(path), change: Change::Create { .. } } => {
                    open_target::open_below(self.root, path, LastLink::Followed).ok()
                }
                _ => None,
            })
            .collect();
        let mut changes = Vec::with_capacity(self.changes.len());
        for (&FileChange { place, change }, opened) in self.changes.iter().zip(&opened) {
            let target = match (place, opened) {
                (Place::Opened(target), _) | (_, Some(target)) => Some(target),
                _ => None,
            };
            changes.push(match (change, target.map(OpenTarget::kind)) {
                (Change::Create { .. }, Some(TargetKind::File { .. })) => {
                    FileChange { place, change: Change::Update }
                }
                // Through a link that leads to nothing yet.
                (Change::Create { .. }, Some(TargetKind::Missing)) => {
                    let through = target.filter(|one| one.is_creatable()).map(Place::Opened);
                    FileChange { place: through.unwrap_or(place), change }
                }
                (Change::Move { to }, _) => FileChange { place, change: Change::MoveOnto { to } },
                _ => FileChange { place, change },
            });
        }
        ChangeSet { changes: &changes, ..*self }.run_watched(options, cancel, transform, watch)
    }
}
