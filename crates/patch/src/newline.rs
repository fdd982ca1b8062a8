//! What a patch says about the newline at the end of the file.

use crate::error::PatchError;
use crate::hunk::{Patch, Sign};
use crate::lines::Lines;

/// The two markers `\ No newline at end of file` that count: after the last removed line and after
/// the last added line of the last hunk. After a context line the marker changes nothing. Without a
/// marker the end of the file stays as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FinalNewline {
    /// The marked removed line: the old file has no final newline.
    removed: Option<usize>,
    /// The marked added line: the new file has none.
    added: Option<usize>,
}

impl FinalNewline {
    /// Reads the markers of `patch` and checks them against `file`.
    pub(crate) fn read(patch: &Patch<'_>, file: &Lines<'_>) -> Result<Self, PatchError> {
        let mut markers = Self::default();
        let Some(last) = patch.hunks.last() else { return Ok(markers) };
        let hunk = last.number;
        for line in patch.body(last) {
            let ended = [
                line.is_old().then_some(markers.removed).flatten(),
                line.is_new().then_some(markers.added).flatten(),
            ];
            if let Some(patch_line) = ended.into_iter().flatten().next() {
                return Err(PatchError::MisplacedMarker { hunk, patch_line });
            }
            match line.sign {
                Sign::Removed if line.unterminated => markers.removed = Some(line.patch_line),
                Sign::Added if line.unterminated => markers.added = Some(line.patch_line),
                _ => {}
            }
        }
        match markers {
            Self { removed: Some(patch_line), .. } if file.terminated => {
                Err(PatchError::NewlinePresent { hunk, patch_line })
            }
            Self { removed: None, added: Some(patch_line) } if !file.terminated => {
                Err(PatchError::NewlineMissing { hunk, patch_line })
            }
            _ => Ok(markers),
        }
    }

    /// The patch line whose marker ties the last hunk to the end of the file.
    pub(crate) fn marked(&self) -> Option<usize> {
        self.removed.or(self.added)
    }

    /// Whether the edited file ends without a newline although no marker asks for it, because the
    /// old file did.
    pub(crate) fn stays_missing(&self, file: &Lines<'_>) -> bool {
        !file.terminated && self.marked().is_none()
    }
}
