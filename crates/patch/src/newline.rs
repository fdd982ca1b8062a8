//! What a patch says about the newline at the end of the file.

use crate::error::PatchError;
use crate::hunk::{Patch, Sign};
use crate::lines::Lines;

/// The two places where `\ No newline at end of file` means something: after the last removed line
/// and after the last added line of the last hunk. After a context line it changes nothing, and
/// without any the end of the file stays as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FinalNewline {
    /// The marked removed line: the file has no final newline before.
    removed: Option<usize>,
    /// The marked added line: the file has none afterwards.
    added: Option<usize>,
}

impl FinalNewline {
    /// Reads the markers of `patch` and checks them against `file`.
    pub(crate) fn read(patch: &Patch<'_>, file: &Lines<'_>) -> Result<Self, PatchError> {
        let mut found = Self::default();
        let Some(last) = patch.hunks.last() else { return Ok(found) };
        let hunk = last.number;
        for line in patch.body(last) {
            let ended = [
                line.is_old().then_some(found.removed).flatten(),
                line.is_new().then_some(found.added).flatten(),
            ];
            if let Some(patch_line) = ended.into_iter().flatten().next() {
                return Err(PatchError::MisplacedMarker { hunk, patch_line });
            }
            match line.sign {
                Sign::Removed if line.unterminated => found.removed = Some(line.patch_line),
                Sign::Added if line.unterminated => found.added = Some(line.patch_line),
                _ => {}
            }
        }
        match found {
            Self { removed: Some(patch_line), .. } if file.terminated() => {
                Err(PatchError::NewlinePresent { hunk, patch_line })
            }
            Self { removed: None, added: Some(patch_line) } if !file.terminated() => {
                Err(PatchError::NewlineMissing { hunk, patch_line })
            }
            _ => Ok(found),
        }
    }

    /// The line of the patch that says the last hunk reaches the end of the file.
    pub(crate) fn marked(&self) -> Option<usize> {
        self.removed.or(self.added)
    }

    /// Whether the edited file has to end without a newline although nothing in the patch says so:
    /// it did before.
    pub(crate) fn stays_missing(&self, file: &Lines<'_>) -> bool {
        !file.terminated() && self.marked().is_none()
    }
}
